"""Exit codes of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebalancer.exits import Exit

if TYPE_CHECKING:
    from rebalancer.solution import Solution


def of_solution(solution: Solution) -> Exit:
    """Return the exit code of a solution."""
    if solution.status.value == "INFEASIBLE":
        return Exit.INFEASIBLE
    if solution.status.value == "UNKNOWN":
        return Exit.UNKNOWN
    return Exit.BROKEN if solution.broken else Exit.DONE


__all__ = ["Exit", "of_solution"]
