"""Signals while solving: the first keeps the best answer so far, if there is one; the second gives up."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from rebalancer.cli.process import HANG_UP, ending_signals
from rebalancer.signals import raiser

if TYPE_CHECKING:
    from rebalancer.engines.base import Progress

_NOTICE = b"stopping with the best answer so far; interrupt again to give up\n"


@contextmanager
def kept_answers(
    stop: threading.Event,
    as_line: Callable[[bytes], bytes] = bytes,
    answered: threading.Event | None = None,
    notice: bytes = _NOTICE,
) -> Iterator[None]:
    """Set ``stop`` at the first signal that ends the command, raise KeyboardInterrupt at the second.

    Only the main thread can receive signals; in another one this does nothing.

    Parameters
    ----------
    stop : threading.Event
    as_line : callable
        Makes of what the first signal prints on stderr a line of the log that is written there.
    answered : threading.Event, optional
        Set once there is an answer to keep. Until then the first signal raises KeyboardInterrupt: nobody who interrupts
        the reading of a large problem wants to wait for its end.
    notice : bytes
        What the first signal prints.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    give_up = raiser(KeyboardInterrupt)

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and number == HANG_UP:
            return  # a shell that ends passes on what its terminal has sent already
        if stop.is_set() or not (answered is None or answered.is_set()):
            give_up(frame)
            return
        stop.set()
        with suppress(OSError):
            os.write(2, as_line(notice))  # print is not safe here: the signal may come in the middle of another one

    before = {number: signal.signal(number, interrupted) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def noting(answered: threading.Event, show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Return what shows progress and sets ``answered`` once there is an answer to keep."""

    def progress(news: Progress) -> None:
        if news.objective is not None:
            answered.set()
        show(news)

    return progress
