"""How close to the optimum instances of the ROADEF/EURO challenge 2012 come in a given time.

    python benchmarks/roadef_core.py [FOLDER] [--instances a1_1,a1_3,a1_5] [--time-limit 60s] [--workers 2] [--write]

FOLDER holds `model_<instance>.txt` and `assignment_<instance>.txt`; where it is left out, those that the tests use.
Each instance is imported and solved as `rebalance` would. ``--write`` replaces `benchmarks/results/roadef_core.md`.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

from machine import facts

RESULT = Path(__file__).parent / "results" / "roadef_core.md"
INSTANCES = Path(__file__).parents[1] / "tests" / "data" / "roadef"
HEADER = (
    "| instance | processes | machines | status | initial | objective | bound | gap | seconds | first below 1 % after |"
)


def solve(folder: Path, instance: str, time_limit: float, workers: int) -> str:
    """Import and solve an instance; return its row."""
    from rebalancer import Rebalancer
    from rebalancer.engines.base import Progress
    from rebalancer.scenario.importers.google_machine_reassignment import convert

    close = math.inf

    def watch(progress: Progress) -> None:
        nonlocal close
        if progress.gap is not None and progress.gap < 0.01:
            close = min(close, progress.seconds)

    with tempfile.TemporaryDirectory() as scenario:
        convert(folder / f"model_{instance}.txt", folder / f"assignment_{instance}.txt", scenario, overwrite=True)
        began = time.monotonic()
        solver = Rebalancer.from_yaml(f"{scenario}/scenario.yaml")
        problem = solver.problem
        solution = solver.solve(time_limit=time_limit, workers=workers, on_progress=watch)
        seconds = time.monotonic() - began
    row = solution.objective.iloc[0]
    status = solution.status.value
    numbers = " | ".join(f"{row[name]:,.0f}" for name in ("initial", "final", "bound"))
    sizes = f"{len(problem.objects):,} | {len(problem.containers):,}"
    first = f"{close:.1f} s" if math.isfinite(close) else "-"
    return f"| {instance} | {sizes} | {status} | {numbers} | {row['gap']:.4%} | {seconds:.1f} | {first} |"


def main() -> None:
    from rebalancer.scenario.durations import parse_duration

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=INSTANCES)
    parser.add_argument("--instances", default="a1_1,a1_3,a1_5")
    parser.add_argument("--time-limit", default="60s")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    limit = parse_duration(arguments.time_limit)
    rows = [HEADER, "|" + "---|" * (HEADER.count("|") - 1)]
    print("\n".join(rows))
    for instance in arguments.instances.split(","):
        rows.append(solve(arguments.folder, instance, limit, arguments.workers))
        print(rows[-1], flush=True)
    if arguments.write:
        text = (
            "# Google machine reassignment\n\n"
            f"`python benchmarks/roadef_core.py --time-limit {arguments.time_limit} --write`, {facts()},"
            f" {arguments.workers} workers.\n\n" + "\n".join(rows) + "\n"
        )
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
