"""The files of a solution, as `rebalance solve -o` and nightly jobs write them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from rebalancer.indented import indented
from rebalancer.solution import assigned, moved

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rebalancer.solution import Solution

Writer = Callable[[TextIO], None]


def solution_files(solution: Solution) -> dict[str, Writer]:
    """Return ``assignment.csv``, ``moves.csv`` and, last, ``result.json``: name -> function that writes the text."""
    return {
        "assignment.csv": lambda stream: _write_csv(stream, assigned(solution)),
        "moves.csv": lambda stream: _write_csv(stream, moved(solution)),
        "result.json": lambda stream: write_json(stream, solution.to_json()),
    }


def write_json(stream: TextIO, content: dict[str, Any]) -> None:
    """Write one JSON object, indented, and the end of its last line."""
    stream.write(indented(content) + "\n")


def _write_csv(stream: TextIO, columns: Mapping[str, NDArray[np.object_]]) -> None:
    """Write a table of names; None is an empty field."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
