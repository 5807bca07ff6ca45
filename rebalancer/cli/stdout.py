"""Standard output that cannot be written to: a full disk, a closed descriptor, a reader that has gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OutputError(Exception):
    """Standard output cannot be written to.

    Attributes
    ----------
    cause : OSError
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"cannot write to standard output: {cause.strerror or cause}")
        self.cause = cause


class _Guarded:
    """A stream whose failures to write are told from all others."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def standard_output() -> Iterator[None]:
    """Raise OutputError where standard output fails, at the latest at the end, when it is flushed."""
    stream: Any = sys.stdout
    if stream is None:  # closed before the program started
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            sys.stdout = nowhere
            try:
                yield
            finally:
                sys.stdout = stream
        return
    guarded: Any = _Guarded(stream)
    sys.stdout = guarded
    try:
        yield
        guarded.flush()
    except OutputError:
        # Nothing more can be written: keep the interpreter from trying, and complaining, when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise
    finally:
        sys.stdout = stream
