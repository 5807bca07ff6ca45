"""Ctrl-C and SIGTERM while solving: the first keeps the best answer so far, the second gives up."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NOTICE = b"stopping with the best answer so far; interrupt again to give up\n"


@contextmanager
def kept_answers(stop: threading.Event) -> Iterator[None]:
    """Set ``stop`` at the first signal, raise KeyboardInterrupt at the second.

    Only the main thread can receive signals; in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        os.write(2, _NOTICE)  # print is not safe here: the signal may have come in the middle of another one

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
