"""Exit codes of the command."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalancer.solution import Solution


class Exit(IntEnum):
    """What the command tells its caller."""

    DONE = 0  # nothing broken; DEFAULT and HARD count, SOFT does not
    INTERNAL = 1
    BAD_INPUT = 2  # bad usage or bad input; nothing was written
    BROKEN = 3  # done, but some constraint stays broken
    INFEASIBLE = 4  # proven
    UNKNOWN = 5  # no solution found in the time limit
    STALE = 7  # the plan does not hold any more, or in part only
    INTERRUPTED = 130  # ended by a second Ctrl-C, or by one where there is no answer to keep


def of_solution(solution: Solution) -> Exit:
    """Return the exit code of a solution."""
    if solution.status.value == "INFEASIBLE":
        return Exit.INFEASIBLE
    if solution.status.value == "UNKNOWN":
        return Exit.UNKNOWN
    return Exit.BROKEN if solution.broken else Exit.DONE
