"""How far small fleets are proven, and when: CP-SAT alone and seeded by local search, beside HiGHS on a plain MIP.

    python benchmarks/exact.py --data FOLDER [--sizes 50x5,200x10,500x20,1000x50,5000x100] [--kinds fleet,moves,one,two]
        [--seeds 1] [--at 10s,30s,60s] [--methods auto,cpsat,seeded,highs] [--seeding 5s] [--workers 2] [--runs 1]
        [--write]

Fleets of the kinds ``fleet`` and ``moves`` are those of `generate.py` in FOLDER; for ``moves`` one resource is in
balance, and each move costs the same. So it does in those of the kinds ``one`` and ``two``, which are plain
(`fleet.plain`): one resource or two in balance.

``seeded`` searches for `--seeding` with local search and hands its answer to CP-SAT; that time counts. HiGHS cannot be
watched, so it has a run for each of the times; the MIP is in `fleet_mip.py`. Where two methods prove different optima
the benchmark fails. Of several ``--runs``, which differ in the search's seed, medians are told; HiGHS has one.
``--write`` replaces `benchmarks/results/exact.md`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from fleet import Goals, Instance, generate, plain, write_scenario
from fleet_mip import formulate
from harness import command, table
from machine import facts
from timeline import Timeline, gap

if TYPE_CHECKING:
    from rebalancer.solution import Solution

RESULT = Path(__file__).parent / "results" / "exact.md"

#: What the fleets of each kind are to reach.
_ONE = Goals(("cpu",), True, 1)
KINDS = {"fleet": Goals(), "moves": _ONE, "one": _ONE, "two": Goals(("cpu", "mem"), True, 1)}
#: Those with fleets that are drawn here.
PLAIN = ("one", "two")


@dataclass(frozen=True)
class Course:
    """What a method knew at each time, and its proven optimum (up to `rounding`) with its time, if any."""

    known: list[tuple[float | None, float | None]]
    optimum: float | None
    seconds: float
    rounding: float = 0.0


def fixable(instance: Instance) -> Instance:
    """Return the instance with the jobs cut that have more objects than there are hosts: nothing has to stay broken."""
    job, hosts = instance["job"], len(instance["cap_cpu"])
    rank = np.arange(len(job)) - np.searchsorted(job, job)  # jobs are in the order of their objects
    _, cut = np.unique(job * len(job) + rank // hosts, return_inverse=True)
    return {**instance, "job": cut.astype(np.int64)}


def draw(kind: str, objects: int, containers: int, seed: int, options: argparse.Namespace) -> Instance:
    """Return an instance of a kind."""
    if kind in PLAIN:
        return plain(objects, containers, seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "instance.npz"
        generate(options.data, objects, containers, seed, file)
        with np.load(file) as arrays:
            return fixable(dict(arrays))


def run_ours(scenario: Path, method: str, times: list[float], options: argparse.Namespace, seed: int) -> Course:
    """Solve with an engine of ours and a seed for its search; ``seeded``: with local search first."""
    from rebalancer import Rebalancer

    timeline = Timeline()
    solver = Rebalancer.from_yaml(scenario)
    timeline.rounding = float(solver.model.epsilon[0])

    def solve(engine: str, until: float, start: Any = None) -> Solution:
        left = until - (time.monotonic() - timeline.began)
        return solver.solve(engine, left, workers=options.workers, seed=seed, start=start, on_progress=timeline)

    if method == "seeded":
        solution = solve("cpsat", times[-1], solve(options.seeding_engine, options.seeding).assignment)
    else:
        solution = solve(method, times[-1])
    seconds = time.monotonic() - timeline.began
    row = solution.objective.iloc[0]
    found, bound = float(row["final"]), None if row["bound"] != row["bound"] else float(row["bound"])
    timeline.note(found, bound)
    known = [timeline.at(moment) for moment in times[:-1]] + [timeline.known[-1]]
    return Course(known, found if solution.status.value == "OPTIMAL" else None, seconds, timeline.rounding)


def run_highs(instance: Instance, goals: Goals, times: list[float]) -> Course:
    """Solve the plain MIP, once for each time; building it counts as it does for ours."""
    known: list[tuple[float | None, float | None]] = []
    for moment in times:
        began = time.monotonic()
        mip = formulate(instance, goals)
        left = moment - (time.monotonic() - began)
        objective, bound, proven = mip.solve(max(1.0, left))
        known.append((objective, bound))
        if proven:
            rest = len(times) - len(known)
            return Course(known + [known[-1]] * rest, objective, time.monotonic() - began)
    return Course(known, None, times[-1])


def row_of(runs: list[Course]) -> list[str]:
    """Return the cells of a row: medians, to which what is not known is worse than all that is."""

    def middle(values: list[float | None], shown: str) -> str:
        number = median(np.inf if value is None else value for value in values)
        return format(number, shown) if np.isfinite(number) else "-"

    cells = []
    for each in zip(*(run.known for run in runs), strict=True):
        cells += [middle([objective for objective, _ in each], ".6f"), middle([gap(*pair) for pair in each], ".2%")]
    seconds = middle([None if run.optimum is None else run.seconds for run in runs], ".1f")
    return [
        *cells,
        seconds if seconds == "-" else f"{seconds} s",
        f"{sum(run.optimum is not None for run in runs)} of {len(runs)}",
    ]


def main() -> None:
    from rebalancer.scenario.durations import parse_duration

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with generate.py")
    parser.add_argument("--sizes", default="50x5,200x10,500x20,1000x50,5000x100")
    parser.add_argument("--kinds", default="fleet")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--at", default="10s,30s,60s")
    parser.add_argument("--methods", default="auto,cpsat,seeded,highs")
    parser.add_argument("--seeding", type=parse_duration, default=5.0)
    parser.add_argument("--seeding-engine", default="local_search")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    names = options.at.split(",")
    times = [parse_duration(name) for name in names]
    if times != sorted(times) or options.seeding >= times[-1]:
        parser.error("--at: the times must rise, and the last be after --seeding")
    if options.runs < 1:
        parser.error("--runs: at least 1")
    if not set(options.kinds.split(",")) <= KINDS.keys():
        parser.error(f"--kinds: of {', '.join(KINDS)}")
    known = [f"{what} at {name}" for name in names for what in ("objective", "gap")]
    header = ["size", "kind", "seed", "method", *known, "optimal after", "proven"]
    print(table(header, []))
    rows = []
    for size, kind, name in product(*(each.split(",") for each in (options.sizes, options.kinds, options.seeds))):
        seed = int(name)
        objects, containers = map(int, size.replace("×", "x").split("x"))
        instance, goals = draw(kind, objects, containers, seed, options), KINDS[kind]
        optima: dict[str, float] = {}
        slack = 1e-6
        with tempfile.TemporaryDirectory() as folder:
            scenario = write_scenario(instance, Path(folder), goals)
            for method in options.methods.split(","):
                if method == "highs":
                    runs = [run_highs(instance, goals, times)]
                else:
                    runs = [run_ours(scenario, method, times, options, number) for number in range(options.runs)]
                rows.append([f"{objects:,} × {containers:,}", kind, str(seed), method, *row_of(runs)])
                print(f"| {' | '.join(rows[-1])} |", flush=True)
                for number, run in enumerate(runs):
                    if run.optimum is not None:
                        optima[f"{method} {number}"] = run.optimum
                        slack = max(slack, run.rounding)
        if optima and max(optima.values()) - min(optima.values()) > slack:
            raise SystemExit(f"{size}, {kind}, seed {seed}: different optima: {optima}")
    if options.write:
        stated = command(
            "exact.py",
            options,
            ["data", "sizes", "kinds", "seeds", "at", "methods", "seeding", "workers", "runs", "write"],
        )
        text = (
            f"# Proven gaps over time\n\n`{stated}`, {facts()}.\n\nThe gap is (objective − bound) / objective; what is "
            f"proven may show the model's rounding as its gap. The last column says how many runs were proven, the "
            f"others are medians.\n\n{table(header, rows)}\n"
        )
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
