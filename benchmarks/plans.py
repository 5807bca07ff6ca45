"""How long a move plan takes to be made and verified, and how many waves and extra moves it needs.

python benchmarks/plans.py [--sizes 1000,10000,100000] [--seed 1] [--write]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import command, table
from machine import facts, peak_memory
from numpy.typing import NDArray

from rebalancer import Cap, CapacitySpec, GroupCountSpec, Rebalancer, plan_moves

RESULT = Path(__file__).parent / "results" / "plans.md"
#: Objects per host and job, and hosts per rack, of shuffled fleets.
PER_HOST, JOB, PER_RACK = 20, 5, 10
#: How much more room hosts have there than start and end ask for.
ROOM = 1.02
#: What of a fleet has been moved by somebody else when its plan is verified against a newer state.
STRANGERS = 0.005

Fleet = tuple[Rebalancer, dict[str, str]]
Case = tuple[str, Callable[[], Fleet], dict[str, Any]]


def names(letter: str, numbers: NDArray[np.int64]) -> list[str]:
    """Return names of numbered things."""
    return [f"{letter}{number}" for number in numbers.tolist()]


def fleet(
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    sizes: dict[str, NDArray[np.int64]],
    rooms: dict[str, NDArray[np.int64]],
    job: NDArray[np.int64] | None = None,
) -> Fleet:
    """Return a solver, and where everything goes.

    Capacities per host; with jobs, one object of a job per host and two per rack.
    """
    tasks, hosts = names("t", np.arange(len(start))), names("h", np.arange(len(next(iter(rooms.values())))))
    solver = Rebalancer("task", "host")
    solver.set_assignment(dict(zip(tasks, names("h", start), strict=True)), containers=hosts)
    for dimension, size in sizes.items():
        solver.add_object_dimension(dimension, dict(zip(tasks, size.tolist(), strict=True)))
        solver.add_container_dimension(dimension, dict(zip(hosts, rooms[dimension].tolist(), strict=True)))
        solver.add_constraint(CapacitySpec(scope="host", dimension=dimension))
    if job is not None:
        jobs: dict[str, list[str]] = {}
        for task, of in zip(tasks, names("j", job), strict=True):
            jobs.setdefault(of, []).append(task)
        racks: dict[str, list[str]] = {}
        for host, rack in zip(hosts, names("r", np.arange(len(hosts)) // PER_RACK), strict=True):
            racks.setdefault(rack, []).append(host)
        solver.add_partition("job", jobs)
        solver.add_scope("rack", racks)
        for scope, limit in (("host", 1), ("rack", 2)):
            most = {"type": "ABSOLUTE", "global_limit": limit}
            solver.add_constraint(GroupCountSpec(scope=scope, partition="job", limit=most))
    return solver, dict(zip(tasks, names("h", end), strict=True))


def shuffled(objects: int, seed: int) -> Fleet:
    """Everything moves: from one random assignment to another."""
    rng = np.random.default_rng(seed)
    hosts = objects // PER_HOST
    start, end = (spread(rng, objects, hosts) for _ in range(2))
    sizes = {name: np.maximum(1, rng.lognormal(4, 0.7, objects)).astype(np.int64) for name in ("cpu", "memory")}
    rooms = {
        name: np.ceil(ROOM * np.maximum(*(np.bincount(place, size, hosts) for place in (start, end)))).astype(np.int64)
        for name, size in sizes.items()
    }
    return fleet(start, end, sizes, rooms, np.arange(objects) // JOB)


def spread(rng: np.random.Generator, objects: int, hosts: int) -> NDArray[np.int64]:
    """Return a random assignment that spreads each job over hosts and racks."""
    racks = hosts // PER_RACK
    slot = np.argsort(rng.random((objects // JOB, 2 * racks)), axis=1)[:, :JOB]
    first = rng.integers(0, PER_RACK, (objects // JOB, 1))
    second = (first + rng.integers(1, PER_RACK, (objects // JOB, 1))) % PER_RACK
    return (slot % racks * PER_RACK + np.where(slot < racks, first, second)).reshape(-1)


def full(hosts: int, swaps: int) -> Fleet:
    """Every host is at 95 %, and pairs of them swap what is too large for the rest."""
    start = np.repeat(np.arange(hosts), 18)
    size = np.where(np.arange(len(start)) % 18 == 0, 10, 5)
    end = start.copy()
    large = np.arange(2 * swaps) * 18
    end[large] = start[large].reshape(-1, 2)[:, ::-1].reshape(-1)
    return fleet(start, end, {"memory": size}, {"memory": np.full(hosts, 100)})


def cyclic(cycles: int, length: int, spare: int) -> Fleet:
    """Hosts with one object each, that go round in circles; a few hosts are empty."""
    start = np.arange(cycles * length)
    end = start // length * length + (start + 1) % length
    hosts = cycles * length + spare
    return fleet(start, end, {"memory": np.full(len(start), 10)}, {"memory": np.full(hosts, 10)})


def cases(sizes: list[int], seed: int) -> list[Case]:
    """Return what is measured: a name, a fleet, and caps."""
    one, two = Cap(default=1), Cap(default=2)
    capped = {
        "max_in_flight": 500,
        "max_in_per_container": two,
        "max_out_per_container": two,
        "max_per_group": {"job": one},
    }
    out: list[Case] = [(f"shuffled {size:,} × {size // PER_HOST:,}", _shuffled(size, seed), {}) for size in sizes]
    largest = max(sizes)
    out += [
        (f"shuffled {largest:,}, 500 in flight, 2 in and out per host, 1 per job", _shuffled(largest, seed), capped),
        (f"shuffled {largest:,}, 100 in flight", _shuffled(largest, seed), {"max_in_flight": 100}),
        ("full: 5,000 hosts at 95 %, 200 swaps", lambda: full(5000, 200), {}),
        ("full: 400 hosts at 95 %, all of them swap", lambda: full(400, 200), {}),
        ("cyclic: 100 circles of 10 full hosts, 3 empty ones", lambda: cyclic(100, 10, 3), {}),
    ]
    return out


def _shuffled(objects: int, seed: int) -> Callable[[], Fleet]:
    return lambda: shuffled(objects, seed)


def clocks() -> tuple[float, float]:
    """Return seconds on the wall, and of the processor."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    """Return how much later it is, on both clocks."""
    wall, processor = clocks()
    return wall - began[0], processor - began[1]


def measure(case: Case, seed: int) -> list[str]:
    """Return a row of the table."""
    name, made, caps = case
    solver, end = made()
    evaluation = solver.evaluate(end)
    began = clocks()
    plan = plan_moves(evaluation, **caps)
    planned = since(began)
    began = clocks()
    verdict = plan.verify()
    verified = since(began)
    if verdict.verdict != "VALID":
        raise SystemExit(f"{name}: the plan is not valid where it starts")
    rng = np.random.default_rng(seed)
    now = evaluation.assignment.copy()
    now[:] = [evaluation._model.problem.containers[at] for at in plan.start.tolist()]
    moved = rng.random(len(now)) < STRANGERS
    now[moved] = names("h", rng.integers(0, len(evaluation._model.problem.containers), int(moved.sum())))
    began = clocks()
    verdict = plan.verify(now)
    again = since(began)
    waves = f"{plan.waves:,}" if plan.exact else f"{plan.waves:,} (≥ {plan.lower_bound:,})"
    return [
        name,
        f"{len(plan.steps):,}",
        f"{len(plan.staged):,}",
        f"{len(plan.blocked):,}",
        waves,
        f"{planned[0]:.1f} s ({planned[1]:.1f} s)",
        f"{verified[0]:.1f} s ({verified[1]:.1f} s)",
        f"{again[0]:.1f} s ({again[1]:.1f} s), {len(verdict.valid) / max(1, len(plan.steps)):.1%}",
        f"{peak_memory():.0f} MB",
    ]


def main() -> None:
    """Measure and show every case; write the result where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,100000", help="objects of the shuffled fleets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    rows = []
    for case in cases([int(size) for size in arguments.sizes.split(",")], arguments.seed):
        rows.append(measure(case, arguments.seed))
        print(" | ".join(rows[-1]), flush=True)
    if not arguments.write:
        return
    columns = ("fleet", "steps", "staged", "blocked", "waves", "plan and verify, there and back", "verify again",
               "verify against a newer state, still valid", "memory so far")  # fmt: skip
    said = command("plans.py", arguments, ("sizes", "seed", "write"))
    text = f"# Move plans\n\n`{said}`, {facts()}. What the columns mean is in [README.md](../README.md#move-plans).\n\n"
    RESULT.write_text(text + table(columns, rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
