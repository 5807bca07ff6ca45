"""How many moves local search evaluates per second, by kind of cell, with one and two threads; and bytes per object.

    python benchmarks/kernels.py [--objects 10000] [--containers 500] [--seconds 1] [--write]

Every model has the same world, a capacity that must hold, and a goal that is made of one kind of cell. A move is one
(object, container); within a round no two are the same. **Made** moves are made, their exact objective is read, and
they are undone: that is what every kept move goes through. **Scanned** ones are judged by the first tier, a block of
containers for one object, exactly where nothing bends after the tallies. Only moves that break nothing count. Each
thread has a searcher's own copy of all cells. Writes `benchmarks/results/kernels.md`.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from harness import command, table
from machine import facts
from numpy.typing import NDArray

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.jit import kernel
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, Flat
from rebalancer.engines.local_search.kernels.propagate import fine, flush, shift
from rebalancer.engines.local_search.kernels.scan import FORBIDDEN, block
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.trail import new_trail
from rebalancer.model import Cells, ConstraintCells, GoalCells, Model, ModelBuilder, Param, assemble
from rebalancer.problem import Problem

RESULT = Path(__file__).parent / "results" / "kernels.md"
#: Containers that each object is tried in, per round.
BLOCK = 32
NAMES = [field.name for field in fields(Flat)]
#: Arrays that searchers share; the others are each one's own.
SHARED = NAMES[: NAMES.index("values")]


@kernel
def make(f: Any, objects: Any, places: Any) -> int:
    """Make each move, read what it is worth, undo it; return how many break nothing."""
    allowed, total = 0, 0.0
    for i in range(len(objects)):
        o, a = objects[i], f.place[objects[i]]
        for j in range(places.shape[1]):
            shift(f, o, places[i, j])
            flush(f)
            total += fine(f, 0)
            if f.counts[N_BROKEN] == 0:
                allowed += 1
            shift(f, o, a)
            flush(f)
    return allowed if total < FORBIDDEN else 0


@kernel
def scan(f: Any, t: Any, objects: Any, places: Any) -> int:
    """Judge each move without making it; return how many no bound forbids."""
    allowed = 0
    for i in range(len(objects)):
        for j in range(places.shape[1]):
            t.to[j] = places[i, j]
        block(f, t, objects[i], places.shape[1], FORBIDDEN)
        for j in range(places.shape[1]):
            if t.cost[j] < FORBIDDEN:
                allowed += 1
    return allowed


def make_moves(flat: Flat, objects: NDArray[np.int32], places: NDArray[np.int32]) -> int:
    """Return how many made moves break nothing."""
    return int(make(flat, objects, places))


def scan_moves(flat: Flat, objects: NDArray[np.int32], places: NDArray[np.int32]) -> int:
    """Return how many scanned moves no bound forbids."""
    return int(scan(flat, new_trail(1, 0, len(flat.place)), objects, places))


Kind = Callable[[ModelBuilder], Cells]
Tier = Callable[[Flat, NDArray[np.int32], NDArray[np.int32]], int]


def amount(builder: ModelBuilder, dimension: str = "cpu") -> Cells:
    """Return what each host holds."""
    return builder.amount("host", dimension, "AFTER")


def by_pair(builder: ModelBuilder) -> Cells:
    """Return what each host holds of each pair of objects: nearly always nothing."""
    return builder.amount("host", "cpu", "AFTER", partition="pair")


def hosts(builder: ModelBuilder) -> NDArray[np.int64]:
    """Return the numbers of all hosts."""
    return np.arange(len(builder.problem.containers))


def above(builder: ModelBuilder, level: int = 200, dimension: str = "cpu") -> Cells:
    """Return what each host holds above a level, which may be negative."""
    return builder.linear([(amount(builder, dimension), 1)], -level)


#: A goal of each kind of cell.
KINDS: dict[str, Kind] = {
    "linear": lambda b: b.total(b.linear([(amount(b), 3), (amount(b, "mem"), Fraction(1, 2))])),
    "movement": lambda b: b.total(b.amount("host", "cpu", "NEW")),
    "hinge": lambda b: b.total(b.hinge(above(b))),
    "step": lambda b: b.total(b.step(above(b))),
    "square": lambda b: b.total(b.square(amount(b))),
    "ceil": lambda b: b.total(b.ceil(amount(b), Param.constant(Fraction(7)))),
    "mod": lambda b: b.total(b.mod(amount(b), Param.constant(Fraction(7)))),
    "group counts, table": lambda b: b.total(b.hinge(b.linear([(b.amount("rack", "", partition="job"), 1)], -1))),
    "group counts, hash rows": lambda b: b.total(b.hinge(b.linear([(b.amount("host", "", partition="pair"), 1)], -1))),
    "largest": lambda b: b.largest(amount(b)),
    "smallest": lambda b: b.largest(amount(b), smallest=True),
    "n-th largest": lambda b: b.nth_largest(amount(b), 10),
    "sum but the largest": lambda b: b.total(b.all_but_largest(b.amount("rack", "cpu", partition="job"), 2)),
    "larger of two": lambda b: b.total(b.largest_of([amount(b), amount(b, "mem")])),
    "product": lambda b: b.total(b.product(amount(b), amount(b, "mem"))),
    "quotient": lambda b: b.total(b.ratio(amount(b), b.linear([(amount(b, "mem"), 1)], 1))),
    "spread": lambda b: b.spread(amount(b)),
    "hinge of a sum of hinges": lambda b: b.hinge(b.linear([(b.total(b.hinge(above(b))), 1)], -50)),
    "hinge over the average": lambda b: b.total(
        b.hinge(b.linear([(amount(b), 1), (b.total(amount(b)), Fraction(-1, 400))]))
    ),
    "hinge of two, hash rows": lambda b: b.total(
        b.hinge(b.linear([(by_pair(b), 1), (b.step(b.amount("host", "", partition="pair")), 5)], -15))
    ),
    "largest, hash rows": lambda b: b.total(b.largest(by_pair(b), None, hosts(b), 1, len(hosts(b)))),
    "smallest, hash rows": lambda b: b.total(b.largest(by_pair(b), None, hosts(b), 1, len(hosts(b)), smallest=True)),
    "sum but the largest, hash rows": lambda b: b.total(b.all_but_largest(by_pair(b), 2)),
}


def world(objects: int, containers: int, seed: int) -> Problem:
    """Return tasks of random sizes on hosts in racks of 20, in jobs of five and in pairs."""
    rng = np.random.default_rng(seed)
    hosts, tasks = [f"h{n}" for n in range(containers)], [f"t{n}" for n in range(objects)]
    home = rng.integers(containers, size=objects).tolist()
    solver = Rebalancer("task", "host")
    solver.set_assignment({task: hosts[at] for task, at in zip(tasks, home, strict=True)}, containers=hosts)
    for dimension in ("cpu", "mem"):
        solver.add_object_dimension(dimension, dict(zip(tasks, rng.integers(1, 20, objects).tolist(), strict=True)))
        room = rng.integers(11, 15, containers) * objects // containers
        solver.add_container_dimension(dimension, dict(zip(hosts, room.tolist(), strict=True)))
    solver.add_scope("rack", {f"r{n}": hosts[20 * n : 20 * (n + 1)] for n in range(-(-containers // 20))})
    for partition, size in (("job", 5), ("pair", 2)):  # pairs on hosts are so many cells that they are hash rows
        groups = {f"{partition}{n}": tasks[size * n : size * (n + 1)] for n in range(-(-objects // size))}
        solver.add_partition(partition, groups)
    return solver.problem


def model_of(problem: Problem, kind: Kind) -> Model:
    """Return the model of a goal and of the capacity of every host, which may be broken no further."""
    builder = ModelBuilder(problem)
    fits = tuple(CapacitySpec(scope="host", dimension="cpu").components(builder))
    capacity = ConstraintCells("fits", "capacity", "DEFAULT", Fraction(0), Fraction(0), 1, fits)
    return assemble(builder, [GoalCells("goal", "none", Fraction(1), 0, kind(builder))], [capacity])


def moves(flat: Flat, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return every object once, and some containers for each, all of them different and none its own."""
    objects = rng.permutation(len(flat.place)).astype(np.int32)
    containers = len(flat.load) - 1
    step = rng.integers(1, containers // BLOCK, len(objects))[:, None]
    places = (flat.place[objects][:, None] + step * np.arange(1, BLOCK + 1)) % containers
    return objects, places.astype(np.int32)


@dataclass(frozen=True)
class Speed:
    """Moves per second, and the share of all tried that they are."""

    allowed: float
    share: float


def speed(tier: Tier, flats: list[Flat], seconds: float, seed: int) -> Speed:
    """Return what some threads evaluate together, each on its own copy."""
    allowed, tried, spans = [0] * len(flats), [0] * len(flats), [0.0] * len(flats)
    ready = threading.Barrier(len(flats))

    def work(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        prepared = [moves(flats[number], rng) for _ in range(3)]
        tier(flats[number], *prepared[0])
        ready.wait()
        began = time.perf_counter()
        while spans[number] < seconds:
            objects, places = prepared[tried[number] // places_of(prepared) % 3]
            allowed[number] += tier(flats[number], objects, places)
            tried[number] += places.size
            spans[number] = time.perf_counter() - began

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(flats))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    per_second = sum(count / span for count, span in zip(allowed, spans, strict=True))
    return Speed(per_second, sum(allowed) / sum(tried))


def places_of(prepared: list[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> int:
    """Return the moves of one round."""
    return prepared[0][1].size


def sizes(flat: Flat) -> tuple[int, int]:
    """Return the bytes that searchers share, and those that each has of its own."""
    shared = sum(getattr(flat, name).nbytes for name in SHARED)
    return shared, sum(getattr(flat, name).nbytes for name in NAMES) - shared


def measured(name: str, kind: Kind, problem: Problem, options: argparse.Namespace) -> list[str]:
    """Return the cells of one kind."""
    model = model_of(problem, kind)
    flattener = Flattener(model)
    flats = [flattener.at(model.problem.initial) for _ in range(2)]
    for flat in flats:
        compute(flat, np.array([1.0, 0.0][: model.positions]))
    cells = [name]
    share = 0.0
    for tier in (make_moves, scan_moves):
        one, two = (speed(tier, flats[:threads], options.seconds, options.seed) for threads in (1, 2))
        cells += [f"{one.allowed / 1e6:.2f}", f"{two.allowed / 1e6:.2f}", f"{two.allowed / one.allowed:.2f}"]
        share = one.share if tier is make_moves else share
    shared, own = (size / len(problem.objects) for size in sizes(flats[0]))
    return [*cells, f"{100 * share:.0f} %", f"{shared:,.0f}", f"{own:,.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--containers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.containers <= 2 * BLOCK:
        parser.error(f"--containers must be more than {2 * BLOCK}, got {options.containers}")
    problem = world(options.objects, options.containers, options.seed)
    rows = []
    for name, kind in KINDS.items():
        rows.append(measured(name, kind, problem, options))
        print(" | ".join(rows[-1]), flush=True)
    header = ["goal", "made, 1 thread", "2 threads", "ratio", "scanned, 1 thread", "2 threads", "ratio"]
    header += ["feasible", "bytes per object, shared", "each searcher's own"]
    text = (
        "# Moves per second\n\n"
        f"`{command('kernels.py', options, ('objects', 'containers', 'seconds', 'seed', 'write'))}`, {facts()},"
        f" numba {version('numba')}.\n\n"
        f"Million distinct feasible moves, fully evaluated, per second; {options.objects:,} objects ×"
        f" {options.containers:,} containers, capacity on every one of them. See `kernels.py` for what is counted.\n\n"
        f"{table(header, rows)}\n"
    )
    print(text)
    if options.write:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
