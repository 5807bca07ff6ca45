"""Threads that an answer does not wait for: they have to end before Python does, or native code in them aborts it."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from contextlib import suppress

#: Seconds that they have to notice that they are not needed any more.
_PATIENCE = 5.0

_left: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def leave_behind(thread: threading.Thread) -> None:
    """Go on without a thread that has been told to stop; only the end of the process waits for it."""
    _left.add(thread)


def wait() -> None:
    """Wait for those that have been left behind, together no longer than for one, unless somebody interrupts that."""
    until = time.monotonic() + _PATIENCE
    with suppress(KeyboardInterrupt):
        for thread in tuple(_left):
            thread.join(max(0.0, until - time.monotonic()))


atexit.register(wait)

__all__ = ["leave_behind", "wait"]
