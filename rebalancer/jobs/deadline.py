"""The deadline of a run: the search gets what is left of it, less what planning and writing need."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rebalancer.jobs.times import spoken
from rebalancer.signals import raiser

#: What is set aside for planning, verifying and writing: this share of the whole, and at most so many seconds.
_RESERVE, _MOST_RESERVED = 0.2, 600.0
#: Seconds after which a run is told again: what is raised while a finalizer runs, say, is lost.
_AGAIN = 5.0


class DeadlinePassed(BaseException):
    """A run takes longer than it may. No `Exception`: nothing on the way may mistake it for a failure of its own."""


class Deadline:
    """How long a run may still take.

    Parameters
    ----------
    seconds : float or None
        From now; None: as long as it takes.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._until = None if seconds is None else time.monotonic() + seconds

    def __str__(self) -> str:
        return "none" if self.seconds is None else spoken(self.seconds)

    @property
    def left(self) -> float | None:
        """Seconds that are left, below zero once it has passed; None: no end."""
        return None if self._until is None else self._until - time.monotonic()

    def check(self) -> None:
        """Raise where it has passed.

        Raises
        ------
        DeadlinePassed
        """
        if self.left is not None and self.left <= 0:
            raise DeadlinePassed

    def for_search(self) -> float | None:
        """Return the seconds that the search may take; None: as many as it likes.

        Raises
        ------
        DeadlinePassed
            Nothing is left for it.
        """
        if self.left is None or self.seconds is None:
            return None
        seconds = self.left - min(_RESERVE * self.seconds, _MOST_RESERVED)
        if seconds <= 0:
            raise DeadlinePassed
        return seconds

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Raise DeadlinePassed inside, wherever the main thread is when it passes: in a query that never ends, say.

        In another thread, where no signal arrives, it is looked at only between the stages of a run.
        """
        if self.left is None or threading.current_thread() is not threading.main_thread():
            yield
            return

        give_up = raiser(DeadlinePassed)

        def passed(number: int, frame: FrameType | None) -> None:
            give_up(frame)

        self.check()
        before = signal.signal(signal.SIGALRM, passed)
        signal.setitimer(signal.ITIMER_REAL, max(self.left, 1e-3), _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
