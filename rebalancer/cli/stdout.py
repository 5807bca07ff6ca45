"""Standard streams that cannot be written to: a full disk, a closed descriptor, a reader that has gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    """A stream whose failures to write are told from all others. A reader that has gone wants no more: that is none."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._telling():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._telling():
            self._stream.flush()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            _silence(self._stream)
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
        _silence(stream)
        raise
    finally:
        sys.stdout = stream


class _Unfailing:
    """A stream that loses what it cannot write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def unfailing_stderr() -> None:
    """Have whatever is written to standard error from now on cost nothing but itself where that is not possible."""
    if sys.stderr is None:  # closed before the program started: the next file to be opened would take its place
        descriptor = os.open(os.devnull, os.O_WRONLY)
        sys.stderr = open(descriptor, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process runs
    stream: Any = _Unfailing(sys.stderr)
    sys.stderr = stream


def _silence(stream: Any) -> None:
    """Have a stream write nowhere: keep the interpreter from trying, and complaining, when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
