"""The files of a solution, as `rebalance solve -o` and nightly jobs write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from rebalancer.indented import indented

if TYPE_CHECKING:
    from rebalancer.solution import Solution

Writer = Callable[[TextIO], None]


def solution_files(solution: Solution) -> dict[str, Writer]:
    """Return ``assignment.csv``, ``moves.csv`` and, last, ``result.json``: name -> function that writes the text."""
    return {
        "assignment.csv": lambda stream: solution.assignment.to_frame().to_csv(stream, lineterminator="\n"),
        "moves.csv": lambda stream: solution.moves.to_csv(stream, index=False, lineterminator="\n"),
        "result.json": lambda stream: write_json(stream, solution.to_json()),
    }


def write_json(stream: TextIO, content: dict[str, Any]) -> None:
    """Write one JSON object, indented, and the end of its last line."""
    stream.writelines(indented(content))
    stream.write("\n")
