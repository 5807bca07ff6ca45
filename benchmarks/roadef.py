"""What CP-SAT alone finds and proves on instances of the ROADEF/EURO challenge 2012, at given times of one run.

    python benchmarks/roadef.py [FOLDER] [--instances a1_1,a1_3,a1_5] [--at 60s,300s] [--workers 2] [--jobs 1] [--write]

FOLDER holds `model_<instance>.txt` and `assignment_<instance>.txt`; where it is left out, those that the tests use.
Each instance is imported, all of it, and solved as `rebalance` would; what is known at each of the times `--at` is
noted. `--jobs` runs so many at once. ``--write`` replaces `benchmarks/results/roadef.md`.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from machine import facts

RESULT = Path(__file__).parent / "results" / "roadef.md"
INSTANCES = Path(__file__).parents[1] / "tests" / "data" / "roadef"


def solve(folder: Path, times: list[float], workers: int, instance: str) -> str:
    """Import and solve an instance; return its row."""
    from rebalancer import Rebalancer
    from rebalancer.engines.base import Progress
    from rebalancer.scenario.importers.google_machine_reassignment import convert

    known: dict[float, tuple[float | None, float | None]] = {}
    latest: tuple[float | None, float | None] = (None, None)

    def note(seconds: float) -> None:
        for time in times:
            if seconds > time:
                known.setdefault(time, latest)

    def watch(progress: Progress) -> None:
        nonlocal latest
        note(progress.seconds)
        latest = (
            latest[0] if progress.objective is None else progress.objective,
            latest[1] if progress.bound is None else progress.bound,
        )

    with tempfile.TemporaryDirectory() as scenario:
        convert(folder / f"model_{instance}.txt", folder / f"assignment_{instance}.txt", scenario, overwrite=True)
        solver = Rebalancer.from_yaml(f"{scenario}/scenario.yaml")
        problem = solver.problem
        solution = solver.solve(time_limit=times[-1], workers=workers, on_progress=watch)
    row = solution.objective.iloc[0]
    latest = (row["final"], row["bound"])
    note(float("inf"))
    known[times[-1]] = latest
    cells = [instance, f"{len(problem.objects):,}", f"{len(problem.containers):,}", f"{row['initial']:,.0f}"]
    for time in times:
        objective, bound = known[time]
        cells += [_number(objective), _number(bound), _gap(objective, bound)]
    return f"| {' | '.join(cells)} | {solution.status.value} | {solution.seconds:.0f} |"


def _number(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:,.0f}"


def _gap(objective: float | None, bound: float | None) -> str:
    if objective is None or bound is None or bound != bound:
        return "-"
    return f"{(objective - bound) / max(1.0, abs(objective)):.4%}"


def main() -> None:
    from rebalancer.scenario.durations import parse_duration

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=INSTANCES)
    parser.add_argument("--instances", default="a1_1,a1_3,a1_5")
    parser.add_argument("--at", default="60s,300s")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    names = arguments.at.split(",")
    columns = ["instance", "processes", "machines", "initial"]
    columns += [f"{what} at {name}" for name in names for what in ("objective", "bound", "gap")] + ["status", "seconds"]
    rows = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    print("\n".join(rows))
    work = partial(solve, arguments.folder, [parse_duration(name) for name in names], arguments.workers)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(work, arguments.instances.split(",")):
            rows.append(row)
            print(row, flush=True)
    if arguments.write:
        text = (
            "# Google machine reassignment\n\n"
            f"`python benchmarks/roadef.py --instances {arguments.instances} --at {arguments.at} --workers "
            f"{arguments.workers} --jobs {arguments.jobs} --write`, {facts()}.\n\n" + "\n".join(rows) + "\n"
        )
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
