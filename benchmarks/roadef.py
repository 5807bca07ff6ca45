"""Instances of the ROADEF/EURO challenge 2012, all costs: what is found and proven by when, beside the peer.

    python benchmarks/roadef.py [FOLDER] [--instances a1_1,a1_3,a1_5] [--at 10s,60s,300s] [--separate] [--engine auto]
        [--workers 2] [--seed 0] [--jobs 1] [--peer-python PYTHON] [--peer-cache FILE] [--write]

FOLDER, or folders in it, hold `model_<instance>.txt` and `assignment_<instance>.txt`; where it is left out, those that
the tests use. It may hold `best_known.json` (then there are scores), `checker.py` (then it judges our answers) and
`run_peer.py`. Each instance is imported, all of it, and solved as `rebalance` would. What is known at each of the times
``--at`` is taken from one run; with ``--separate`` each has a run of its own, which is what the challenge measures
where an engine plans for its time limit. ``--jobs`` runs so many at once. The score is that of the challenge:
100 · (cost − best known) / initial cost. ``--write`` replaces `benchmarks/results/roadef_ENGINE.md`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from harness import command, load_module, peer_result, table
from machine import facts
from timeline import Timeline, gap

RESULTS = Path(__file__).parent / "results"
INSTANCES = Path(__file__).parents[1] / "tests" / "data" / "roadef"
PEER_MOVES = "strat,swapsample"


def files(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return model and assignment file of every instance in a folder and in the folders in it."""
    models = {path.stem.removeprefix("model_"): path for path in sorted(folder.rglob("model_*.txt"))}
    return {name: (path, path.with_name(f"assignment_{name}.txt")) for name, path in models.items()}


def solve(folder: Path, times: list[float], options: argparse.Namespace, instance: str) -> dict[str, Any]:
    """Import and solve an instance; return objective and bound at each time."""
    from rebalancer import Rebalancer
    from rebalancer.scenario.importers.google_machine_reassignment import convert

    paths = files(folder)[instance]
    known: dict[float, tuple[float | None, float | None]] = {}
    with tempfile.TemporaryDirectory() as scenario:
        convert(*paths, scenario, overwrite=True)
        for limit in times if options.separate else times[-1:]:
            solver = Rebalancer.from_yaml(f"{scenario}/scenario.yaml")
            timeline = Timeline(float(solver.model.epsilon[0]))
            solution = solver.solve(
                engine=options.engine,
                time_limit=limit,
                workers=options.workers,
                seed=options.seed,
                on_progress=timeline,
            )
            row = solution.objective.iloc[0]
            check(folder, paths, solution.assignment, float(row["final"]))
            if not options.separate:
                known = {time: timeline.at(time) for time in times}
            known[limit] = (float(row["final"]), None if row["bound"] != row["bound"] else float(row["bound"]))
    return {
        "instance": instance,
        "processes": len(solver.problem.objects),
        "machines": len(solver.problem.containers),
        "initial": float(row["initial"]),
        "known": known,
        "status": solution.status.value,
        "seconds": solution.seconds,
    }


def check(folder: Path, paths: tuple[Path, Path], assignment: Any, cost: float) -> None:
    """Compare a cost with what the checker in the folder says, if there is one.

    Raises
    ------
    SystemExit
        They differ, or the answer breaks a rule.
    """
    import numpy as np

    if not (folder / "checker.py").exists():
        return
    checker = load_module(folder / "checker.py")
    model = checker.load_model(paths[0])
    machines = np.empty(len(assignment), np.int64)
    machines[assignment.index.str[1:].astype(int)] = assignment.str[1:].astype(int)
    judged = checker.evaluate(model, checker.load_assignment(paths[1], model), machines)
    if not judged["feasible"] or judged["cost"]["total"] != round(cost):
        raise SystemExit(
            f"{paths[0].stem}: we report {cost:,.0f}, the checker {judged['cost']}, {judged['violations']}"
        )


def run_peer(folder: Path, instance: str, seconds: int, options: argparse.Namespace) -> dict[str, Any] | None:
    """Run the peer on an instance, or take what it did from the cache; return its record, None where it fails."""
    home = files(folder)[instance][0].parent
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "peer.json"
        call = [folder / "run_peer.py", home, instance, "--level", "full", "--moves", PEER_MOVES]
        call += ["--time", seconds, "--out", out]
        key = f"{instance} {PEER_MOVES} {seconds}"
        record: dict[str, Any] | None = peer_result(options.peer_python, call, out, options.peer_cache, key)
    return record


def row_of(
    found: dict[str, Any], best: dict[str, float], peer: dict[str, Any] | None
) -> tuple[list[str], list[float | None]]:
    """Return the cells of an instance, and its scores: ours at each time, then the peer's and the winner's."""

    def score(cost: float | None) -> float | None:
        reference = best.get("best_known")
        return None if cost is None or reference is None else 100 * (cost - reference) / found["initial"]

    cells = [found["instance"], f"{found['processes']:,}", f"{found['machines']:,}", _number(found["initial"])]
    cells.append(_number(best.get("best_known")))
    scores = []
    for objective, _ in found["known"].values():
        scores.append(score(objective))
        cells += [_number(objective), _score(scores[-1])]
    objective, bound = list(found["known"].values())[-1]
    distance = gap(objective, bound)
    cells += [_number(bound), "-" if distance is None else f"{distance:.4%}", found["status"]]
    others: list[float | None] = [None, best.get("winner_60s_measured", best.get("winner_300s_published"))]
    if peer is not None:
        others[0] = peer["final"]["total"] if peer["feasible"] else None
    cells.append(_number(others[0]))
    for cost in others:
        scores.append(score(cost))
        cells.append(_score(scores[-1]))
    return cells, scores


def summary(name: str, columns: Sequence[Sequence[float | None]], times: int, statistic: Any) -> list[str]:
    """Return a row with a statistic of each column of scores, over the instances that have one."""
    values = [[score for score in column if score is not None] for column in columns]
    told = [_score(statistic(column)) if column else "-" for column in values]
    cells = [name, "", "", "", ""]
    for score in told[:times]:
        cells += ["", score]
    return [*cells, "", "", "", "", *told[times:]]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _score(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 2) + 0.0:.2f}"  # 0.00, not -0.00


def main() -> None:
    from rebalancer.scenario.durations import parse_duration

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=INSTANCES)
    parser.add_argument("--instances", default="a1_1,a1_3,a1_5", help="or: all")
    parser.add_argument("--at", default="60s,300s")
    parser.add_argument("--separate", action="store_true", help="a run of its own for each time")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--peer-seconds", type=int, default=60)
    parser.add_argument("--peer-cache", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    names = options.at.split(",")
    times = [parse_duration(name) for name in names]
    if times != sorted(times):
        parser.error("--at: the times must rise")
    instances = list(files(options.folder)) if options.instances == "all" else options.instances.split(",")
    hints = options.folder / "best_known.json"
    best = json.loads(hints.read_text()) if hints.exists() else {}

    header = ["instance", "processes", "machines", "initial", "best known"]
    header += [f"{what} at {name}" for name in names for what in ("objective", "score")]
    header += ["bound", "gap", "status", f"peer at {options.peer_seconds}s", "its score", "winner's score"]
    print(table(header, []))
    rows, scores = [], []
    peers = {}
    if options.peer_python or options.peer_cache:  # one after the other, and not beside ours
        peers = {name: run_peer(options.folder, name, options.peer_seconds, options) for name in instances}
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(partial(solve, options.folder, times, options), instances):
            name = found["instance"]
            cells, scored = row_of(found, best.get(name, {}), peers.get(name))
            rows.append(cells)
            scores.append(scored)
            print(f"| {' | '.join(cells)} |", flush=True)
    columns = list(zip(*scores, strict=True))
    rows += [summary(name, columns, len(times), f) for name, f in (("mean", statistics.fmean), ("worst", max))]
    print(*(f"| {' | '.join(cells)} |" for cells in rows[-2:]), sep="\n")
    if options.write:
        shown = ["instances", "at", "separate", "engine", "workers", "seed", "jobs", "peer_python", "peer_seconds"]
        stated = command("roadef.py FOLDER", options, [*shown, "write"])
        runs = "a run for each time" if options.separate else "one run, read at each time"
        text = (
            f"# Google machine reassignment\n\n`{stated}`, {facts()}; {runs}.\n\n"
            "The winner's score is that of its program in 60 s on a machine like this one, or else as published, of "
            f"300 s.\n\n{table(header, rows)}\n"
        )
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"roadef_{options.engine}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
