"""What `rebalance solve -o` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebalancer.exports import solution_files
from rebalancer.folders import OutputFolder, cannot_write

if TYPE_CHECKING:
    from rebalancer.solution import Solution


def write_solution(folder: OutputFolder, solution: Solution) -> list[str]:
    """Write ``assignment.csv``, ``moves.csv`` and, last, ``result.json``; return their names."""
    files = solution_files(solution)
    folder.write(files)
    return list(files)


__all__ = ["OutputFolder", "cannot_write", "write_solution"]
