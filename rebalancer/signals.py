"""Exceptions out of signal handlers, where they cannot be lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def raiser(error: type[BaseException]) -> Callable[[FrameType | None], None]:
    """Return what a signal handler calls, with its frame, to raise an exception: at once, or where an import ends.

    What is raised within an import may be lost: with Python's lock of imports, so that a searcher that imports
    something waits for ever, or in a library that tries whether something is there, or is half there from then on.
    """
    outside = len(_importers(sys._getframe()))  # whoever imports us is not to be waited for

    def interrupt(frame: FrameType | None) -> None:
        importers = _importers(frame)
        if len(importers) <= outside:
            raise error

        def give_up(*_event: object) -> None:
            sys.settrace(None)
            raise error

        sys.settrace(lambda *_event: None)  # of a frame alone nothing is traced
        importers[-1 - outside].f_trace = give_up

    return interrupt


def _importers(frame: FrameType | None) -> list[FrameType]:
    """Return who called the machinery of imports, and still waits for it; the innermost one first."""
    out = []
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>" and frame.f_back is not None:
            out.append(frame.f_back)
        frame = frame.f_back
    return out
