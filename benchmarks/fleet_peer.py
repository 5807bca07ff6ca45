"""Runs the peer on an instance of the synthetic fleet, in the peer's environment; `synthetic.py` calls it.

    PEER_PYTHON benchmarks/fleet_peer.py FOLDER INSTANCE.npz OUT.json --moves strat --time 120 --seed 0

FOLDER holds `generate.py` and `run_peer.py`, which states the model, solves it, and judges its answer and states on
the way to it with `generate.evaluate`. Here each of those is judged in full, with the same scorer as ours.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fleet import Evaluate, Instance, judge
from machine import peak_memory


def main() -> None:
    folder, npz, out, *options = sys.argv[1:]
    sys.path.insert(0, folder)
    import run_peer

    evaluate: Evaluate = run_peer.gs.evaluate
    scores: list[dict[str, Any]] = []

    def record(instance: Instance, assignment: Any) -> dict[str, Any]:
        scores.append(judge(evaluate, instance, assignment))
        return scores[-1]

    run_peer.gs.evaluate = record
    sys.argv = [str(Path(folder) / "run_peer.py"), npz, "--out", out, *options]
    run_peer.main()
    result = json.loads(Path(out).read_text())
    _, final, *trajectory = scores  # it judges the initial assignment, the answer, and then the way
    if len(trajectory) != len(result.get("trajectory", [])):
        raise SystemExit("the peer's driver judges other states than expected")
    phases = result["phases"]
    run = {
        "moves": result["solver"],
        "seconds": result["limit_s"],
        "end": result["end"],
        "wall": round(sum(phase["wall"] for phase in phases), 2),
        "cpu": round(sum(phase["user"] + phase["sys"] for phase in phases), 2),
        "search": result["solve_s"],
        "peak_mb": peak_memory(),
        "reported": result["peer_final"]["value"],
        "final": final,
        "points": [[point[0], score] for point, score in zip(result["trajectory"], trajectory, strict=True)],
    }
    Path(out).write_text(json.dumps(run), encoding="utf-8")


if __name__ == "__main__":
    main()
