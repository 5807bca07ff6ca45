"""The synthetic fleet, beside the peer: same model, same machine, one scorer.

    python benchmarks/synthetic.py --data FOLDER --sizes 1000x50,10000x500,100000x5000,1000000x20000@180
        --seeds 1,2,3 --seconds 60 [--peer-python PYTHON] [--peer-seconds 120] [--peer-cache FILE] [--write]

FOLDER holds `generate.py` and `run_peer.py`; PYTHON is that of the environment with the peer in it; ``@180`` gives the
peer other seconds at one size. The peer's results are kept in, and taken from, ``--peer-cache``. ``--only ours`` or
``--only peer`` runs one of both. What is compared is explained in `fleet.py` and in the README.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fleet import Instance, bounds, generate, judge, write_scenario
from harness import command, load_module, peer_result, table
from machine import facts

HERE = Path(__file__).parent
RESULT = HERE / "results" / "synthetic.md"
MARKS = (10.0, 30.0)
#: Each broken component costs so much in our objective while it is broken; nothing else in it comes near.
BROKEN = 10_000.0
DETAILS = [
    "size",
    "seed",
    "who",
    "balance",
    "bound",
    "broken",
    "moved",
    "first unbroken",
    "loaded",
    "wall",
    "CPU",
    "MB",
]
DETAILS += ["bytes per object"]


def marks_before(seconds: float) -> list[float]:
    """Return the times before the end at which our objective is told."""
    return [mark for mark in MARKS if mark < seconds]


def header(seconds: float) -> list[str]:
    """Return the columns of the table of objectives."""
    ours = [f"ours at {mark:g} s" for mark in (*marks_before(seconds), seconds)]
    peer = ["peer at 60 s", "at its end", "after", "ours as good after", "times faster"]
    return ["size", "seed", "lower bound", "proven by ours", *ours, *peer]


@dataclass(frozen=True)
class Size:
    """How large an instance is, and how long the peer gets for it."""

    objects: int
    containers: int
    peer_seconds: int

    @classmethod
    def of(cls, text: str, peer_seconds: int) -> Size:
        size, _, own = text.partition("@")
        objects, containers = map(int, size.replace("×", "x").split("x"))
        return cls(objects, containers, int(own or peer_seconds))

    @property
    def peer_moves(self) -> str:
        """The peer's best move types at this size."""
        if self.objects <= 2_000:
            return "single,swap"
        return "strat,swapsample" if self.objects <= 20_000 else "strat"

    def __str__(self) -> str:
        return f"{self.objects:,} × {self.containers:,}"


def run_ours(scenario: Path, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Solve in a fresh process; return what it reports with its assignments under ``answers``."""
    marks = ",".join(f"{mark:g}" for mark in marks_before(options.seconds))
    call = [sys.executable, HERE / "fleet_ours.py", scenario, out, "--started", str(time.monotonic())]
    call += ["--seconds", str(options.seconds), "--marks", marks, "--engine", options.engine]
    subprocess.run([*map(str, call), "--workers", str(options.workers)], check=True)
    found: dict[str, Any] = json.loads(Path(f"{out}.json").read_text())
    with np.load(f"{out}.npz") as answers:
        found["answers"] = dict(answers)
    return found


def run_peer(npz: Path, out: Path, size: Size, options: argparse.Namespace) -> dict[str, Any] | None:
    """Run the peer, or take from the cache what it did on this instance; return its record, None where it fails."""
    moves = options.peer_moves or size.peer_moves
    instance = hashlib.sha256(npz.with_suffix(".json").read_bytes()).hexdigest()[:16]
    call = [HERE / "fleet_peer.py", options.data, npz, out, "--moves", moves, "--time", size.peer_seconds]
    key = f"{size} {instance} {moves} {size.peer_seconds}"
    record: dict[str, Any] | None = peer_result(options.peer_python, call, out, options.peer_cache, key)
    if record is None:
        return None
    if not record["final"]["broken"] and not _same(record["reported"], record["final"]["objective"]):
        raise SystemExit(f"the peer reports {record['reported']}, the scorer {record['final']['objective']}")
    if record["cpu"] < 0.9 * record["wall"]:
        told = f"the peer had {record['cpu']:.0f} CPU seconds in {record['wall']:.0f} s: the machine was busy"
        print(f"warning: {size}: {told}", file=sys.stderr)
    return record


def peer_at(record: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """Return the peer's last score up to a time of its search; None before the first."""
    known = [score for when, score in record["points"] if when <= seconds]
    return record["final"] if seconds >= record["search"] else known[-1] if known else None


def ours_at(found: dict[str, Any], seconds: float) -> float:
    """Return our objective as known at a time since the process began, at most; infinite before the first."""
    known = [objective for when, objective in found["events"] if when <= seconds]
    return min(known, default=float("inf")) + found["rounding"]


def reached(found: dict[str, Any], objective: float) -> float | None:
    """Return when our objective first was surely as low; None: never."""
    return next((when for when, value in found["events"] if value + found["rounding"] <= objective), None)


def our_cells(found: dict[str, Any], scores: dict[str, dict[str, Any]], seconds: float) -> list[str]:
    """Return our objective at each mark and at the end."""
    final, cells = scores["final"], []
    if not final["broken"] and not _same(final["objective"], found["objective"]):
        raise SystemExit(f"we report {found['objective']}, the scorer {final['objective']}")
    for mark in marks_before(seconds):
        told, score = ours_at(found, mark), scores.get(f"{mark:g}")
        # an engine may tell of an answer before it hands it over: then there is only what it tells
        judged = score is not None and not score["broken"] and score["objective"] <= told
        cells.append(_objective(score["objective"], score) if score and judged else _objective(told, None))
    return [*cells, _objective(final["objective"], final)]


def peer_cells(peer: dict[str, Any], ours: dict[str, Any] | None) -> list[str]:
    """Return the peer's objective at 60 s and at its end, and how much sooner ours was as good."""
    last, middle = peer["final"], peer_at(peer, 60)
    cells = [_objective(score["objective"], score) if score else "-" for score in (middle, last)]
    goal = BROKEN - 1 if last["broken"] else last["objective"]
    when = None if ours is None else reached(ours, goal)
    cells.append(f"{peer['search']:.0f} s")
    return cells + (["-", "-"] if when is None else [f"{when:.2f} s", f"{peer['search'] / when:.1f}"])


def details(
    size: Size, final: dict[str, Any], bound: float, unbroken: float | None, loaded: float, run: dict[str, Any]
) -> list[str]:
    """Return what there is to say about an answer but its objective: ``run`` has `wall`, `cpu` and `peak_mb`."""
    first = "never" if unbroken is None else f"{unbroken:.1f} s"
    cells = [f"{final['balance']:.6f}", f"{bound:.6f}", str(final["broken"]), f"{final['moved']:,}", first]
    cells += [f"{seconds:.1f} s" for seconds in (loaded, run["wall"], run["cpu"])]
    return [*cells, f"{run['peak_mb']:,.0f}", f"{run['peak_mb'] * 2**20 / size.objects:,.0f}"]


def compare(
    size: Size,
    instance: Instance,
    ours: dict[str, Any] | None,
    peer: dict[str, Any] | None,
    evaluate: Any,
    seconds: float,
) -> tuple[list[str], list[list[str]]]:
    """Return the cells of the objectives, and of the details of each of both."""
    balance_bound, objective_bound = bounds(instance)
    cells, others = [f"{objective_bound:.6f}"], []
    if ours is None:
        cells += ["-"] * (len(marks_before(seconds)) + 2)
    else:
        cells.append("-" if ours["bound"] is None else f"{max(0.0, ours['bound']):.6f}")
        scores = {name: judge(evaluate, instance, answer) for name, answer in ours["answers"].items()}
        cells += our_cells(ours, scores, seconds)
        unbroken = reached(ours, BROKEN - 1)
        others.append(["ours", *details(size, scores["final"], balance_bound, unbroken, ours["loaded"], ours)])
    if peer is None:
        cells += ["-"] * 5
    else:
        cells += peer_cells(peer, ours)
        if ours is not None and not peer["final"]["broken"] and (ours["bound"] or 0.0) > peer["final"]["objective"]:
            raise SystemExit(f"the peer is at {peer['final']['objective']}, below our bound {ours['bound']}")
        unbroken = next((when for when, score in peer["points"] if not score["broken"]), None)
        loaded = peer["wall"] - peer["search"]
        others.append([f"peer, {peer['moves']}", *details(size, peer["final"], balance_bound, unbroken, loaded, peer)])
    return cells, others


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6


def _objective(objective: float, score: dict[str, Any] | None) -> str:
    """Return an objective with the balance in it, where an assignment of that time was judged."""
    if objective >= BROKEN or (score is not None and score["broken"]):
        return "broken"
    return f"{objective:.6f}" + ("" if score is None else f" ({score['balance']:.6f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with generate.py and run_peer.py")
    parser.add_argument("--sizes", default="1000x50,10000x500,100000x5000,1000000x20000@180")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--seconds", type=float, default=60, help="of our whole process")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--peer-seconds", type=int, default=120, help="of the peer's search alone")
    parser.add_argument("--peer-moves", help="the peer's move types; its best at each size where left out")
    parser.add_argument("--peer-cache", type=Path)
    parser.add_argument("--only", choices=("ours", "peer"))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    generator = load_module(arguments.data / "generate.py")
    columns = header(arguments.seconds)
    rows, further = [], []
    for text in arguments.sizes.split(","):
        size = Size.of(text, arguments.peer_seconds)
        for seed in map(int, arguments.seeds.split(",")):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                npz = folder / "instance.npz"
                generate(arguments.data, size.objects, size.containers, seed, npz)
                instance = generator.load(npz)
                ours = peer = None
                if arguments.only != "peer":
                    ours = run_ours(write_scenario(instance, folder), folder / "ours", arguments)
                if arguments.only != "ours" and (arguments.peer_python or arguments.peer_cache):
                    peer = run_peer(npz, folder / "peer.json", size, arguments)
                row, detail = compare(size, instance, ours, peer, generator.evaluate, arguments.seconds)
            rows.append([str(size), str(seed), *row])
            further += [[str(size), str(seed), *cells] for cells in detail]
            print(table(columns, rows[-1:]), table(DETAILS, further[-len(detail) :]), sep="\n", flush=True)
    if arguments.write:
        shown = ["data", "sizes", "seeds", "seconds", "engine", "workers", "peer_python", "peer_seconds", "peer_moves"]
        stated = command("synthetic.py", arguments, [*shown, "write"])
        text = (
            f"# The synthetic fleet, beside the peer\n\n`{stated}`, {facts()}; the peer is rebalancer 1.0.4.\n\n"
            "Objective (balance in it), lower is better; our seconds are those of the whole process, from its start "
            "and the tables on disk; the peer's are those of its search alone.\n\n"
            f"{table(columns, rows)}\n\nAt the end:\n\n{table(DETAILS, further)}\n"
        )
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
