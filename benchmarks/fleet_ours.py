"""Solves an instance of the synthetic fleet in a process of its own; `synthetic.py` calls it.

    python benchmarks/fleet_ours.py SCENARIO OUT --started T --seconds 60 --marks 10,30 --engine auto

T is `time.monotonic` when the process was started: all seconds count from there, and the time limit does too. Writes
OUT.json (events, seconds, memory) and OUT.npz (the assignments at the marks and at the end, by host index).
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from machine import peak_memory


class Snapshots:
    """Keeps the assignment known at each mark, by asking the incumbent that the searchers share whenever one offers."""

    def __init__(self, started: float, marks: list[float]) -> None:
        from rebalancer.engines.incumbent import Incumbent

        self.kept: dict[float, Any] = {}
        latest: Any = None
        offer = Incumbent.offer

        def watched(incumbent: Incumbent, *given: Any, **named: Any) -> bool:
            nonlocal latest
            taken = offer(incumbent, *given, **named)
            if incumbent.request.on_progress is not None:  # the others search for parts of an answer
                seconds = time.monotonic() - started
                for mark in marks:
                    if seconds > mark and latest is not None:
                        self.kept.setdefault(mark, latest)
                latest = incumbent.best
            return taken

        Incumbent.offer = watched  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenario")
    parser.add_argument("out")
    parser.add_argument("--started", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--marks", default="")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    started = arguments.started

    import numpy as np
    import pandas as pd

    from rebalancer import Rebalancer
    from rebalancer.engines.base import Progress

    imported = time.monotonic() - started
    events: list[tuple[float, float]] = []

    def watch(progress: Progress) -> None:
        if progress.objective is not None:
            events.append((time.monotonic() - started, progress.objective))

    snapshots = Snapshots(started, [float(mark) for mark in arguments.marks.split(",") if mark])
    solver = Rebalancer.from_yaml(arguments.scenario)
    loaded = time.monotonic() - started
    solution = solver.solve(
        engine=arguments.engine,
        time_limit=arguments.seconds - loaded,
        seed=arguments.seed,
        workers=arguments.workers,
        on_progress=watch,
    )
    answered = time.monotonic() - started
    problem = solver.problem
    number_of = [pd.Series(part.array).str[1:].to_numpy(np.int64) for part in (problem.objects, problem.containers)]
    final = pd.Categorical(solution.assignment, categories=problem.containers.array).codes
    answers = {"final": final} | {f"{mark:g}": found for mark, found in snapshots.kept.items()}
    order = np.argsort(number_of[0])
    np.savez(f"{arguments.out}.npz", **{name: number_of[1][found[order]] for name, found in answers.items()})
    row = solution.objective.iloc[0]
    found = {
        "status": solution.status.value,
        "imported": imported,
        "loaded": loaded,
        "wall": answered,
        "cpu": time.process_time(),
        "peak_mb": peak_memory(),
        "objective": float(row["final"]),
        "rounding": float(
            solver.model.epsilon[0]
        ),  # progress tells what an integer guarantees, which may be so much less
        "bound": None if pd.isna(row["bound"]) else float(row["bound"]),
        "events": events,
    }
    with open(f"{arguments.out}.json", "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
