"""What `rebalance solve -o` writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from rebalancer.folders import OutputFolder, cannot_write

if TYPE_CHECKING:
    from rebalancer.solution import Solution


def write_solution(folder: OutputFolder, solution: Solution) -> list[str]:
    """Write ``assignment.csv``, ``moves.csv`` and, last, ``result.json``; return their names."""

    def result(stream: TextIO) -> None:
        json.dump(solution.to_json(), stream, ensure_ascii=False, indent=2, allow_nan=False)
        stream.write("\n")

    files: dict[str, Callable[[TextIO], None]] = {
        "assignment.csv": lambda stream: solution.assignment.to_frame().to_csv(stream, lineterminator="\n"),
        "moves.csv": lambda stream: solution.moves.to_csv(stream, index=False, lineterminator="\n"),
        "result.json": result,
    }
    folder.write(files)
    return list(files)


__all__ = ["OutputFolder", "cannot_write", "write_solution"]
