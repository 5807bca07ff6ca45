"""Exit codes of the command: also what the history and the metrics of nightly jobs say of a run."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the command tells its caller."""

    DONE = 0  # nothing broken; DEFAULT and HARD count, SOFT does not
    INTERNAL = 1
    BAD_INPUT = 2  # bad usage or bad input; nothing was written
    BROKEN = 3  # done, but some constraint stays broken
    INFEASIBLE = 4  # proven
    UNKNOWN = 5  # no solution found in the time limit
    LOCKED = 6  # another run of the job is under way
    STALE = 7  # the plan does not hold any more, or in part only; or a new one did not pass its verification
    REFUSED = 8  # a guard of a nightly job said no
    INTERRUPTED = 130  # ended by a second Ctrl-C, or by one where there is no answer to keep
