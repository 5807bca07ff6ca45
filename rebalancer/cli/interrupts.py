"""Signals while solving: the first keeps the best answer so far, if there is one; the second gives up."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from rebalancer.cli.process import HANG_UP, ending_signals

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

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and number == HANG_UP:
            return  # a shell that ends passes on what its terminal has sent already
        if stop.is_set() or not (answered is None or answered.is_set()):
            importer = _importer(frame)
            if importer is None:
                raise KeyboardInterrupt
            _give_up_after(importer)
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


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return who waits for the modules that are being imported; None where none are."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            found = frame.f_back
        frame = frame.f_back
    return found


def _give_up_after(importer: FrameType) -> None:
    """Raise KeyboardInterrupt where an import ends.

    What is raised within one may be lost: with the lock of imports, so that a searcher that imports something waits for
    ever, or in a library, which is half there from then on.
    """

    def give_up(frame: FrameType, event: str, argument: Any) -> None:
        sys.settrace(None)
        raise KeyboardInterrupt

    sys.settrace(lambda *_: None)
    importer.f_trace = give_up


def noting(answered: threading.Event, show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Return what shows progress and sets ``answered`` once there is an answer to keep."""

    def progress(news: Progress) -> None:
        if news.objective is not None:
            answered.set()
        show(news)

    return progress
