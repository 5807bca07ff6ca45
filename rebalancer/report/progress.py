"""What runs long looks like while it runs: one live line on a terminal, lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TextIO

from rebalancer.report.numbers import number, percent, seconds

if TYPE_CHECKING:
    from types import TracebackType

    from rich.live import Live
    from rich.text import Text

    from rebalancer.engines.base import Progress


class Reporter(Protocol):
    """Shows progress while it is entered. May be called from any thread."""

    def __enter__(self) -> Reporter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, progress: Progress) -> None:
        """Show one improvement."""

    def stage(self, what: str) -> None:
        """Show what is done now that the search is over."""


def reporter(quiet: bool, stream: TextIO | None = None) -> Reporter:
    """Return the reporter that suits the stream (stderr, which may be closed)."""
    out = stream if stream is not None else sys.stderr
    if quiet or out is None or out.closed:
        return Silent()
    return LiveLine(out) if out.isatty() else Lines(out)


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, progress: Progress) -> None:
        """Show nothing."""

    def stage(self, what: str) -> None:
        """Show nothing."""


class Lines(Silent):
    """One line per better answer. Better bounds alone are not lines: there may be hundreds a second."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._best: Progress | None = None
        self._shown: dict[int, str] = {}  # objective by tuple position
        self._lock = threading.Lock()

    def __call__(self, progress: Progress) -> None:
        """Write a line if the answer is a better one."""
        with self._lock:
            self._best = best_of(self._best, progress)
            position, objective = self._best.tuple_pos, number(self._best.objective)
            if self._shown.get(position) == objective:
                return
            # what is shown of later positions holds no longer
            self._shown = {shown: text for shown, text in self._shown.items() if shown < position}
            self._shown[position] = objective
            self.stream.write(f"{seconds(progress.seconds):>8}  {describe(self._best, '  ')}\n")
            self.stream.flush()

    def stage(self, what: str) -> None:
        """Write a line that says what is done now."""
        self.stream.write(f"{what}\n")
        self.stream.flush()


class LiveLine(Silent):
    """One line that is overwritten, with the time running."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._began = time.monotonic()
        self._latest: Progress | None = None
        self._stage = "reading and compiling"
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> LiveLine:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._began = time.monotonic()
        spinner = Spinner("dots", style="cyan")

        def line() -> Spinner:
            spinner.update(text=self._text())
            return spinner

        console = Console(file=self.stream)
        self._live = Live(
            console=console, get_renderable=line, transient=True, refresh_per_second=8, redirect_stdout=False
        )
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Remember what the next refresh shows."""
        with self._lock:
            self._latest = best_of(self._latest, progress)

    def stage(self, what: str) -> None:
        """Have the next refresh show what is done now."""
        with self._lock:
            self._latest, self._stage = None, what

    def _text(self) -> Text:
        from rich.text import Text

        clock = seconds(time.monotonic() - self._began)
        what = self._stage if self._latest is None else describe(self._latest, " · ", thousands=True)
        return Text(f"{what} · {clock}", no_wrap=True, overflow="ellipsis")


def best_of(before: Progress | None, progress: Progress) -> Progress:
    """Return progress with the best answer and bound of its tuple position: news may arrive out of order."""
    if before is None or before.tuple_pos != progress.tuple_pos:
        return progress
    objectives = [value for value in (before.objective, progress.objective) if value is not None]
    bounds = [value for value in (before.bound, progress.bound) if value is not None]
    objective, bound = min(objectives, default=None), max(bounds, default=None)
    gap = None if objective is None or bound is None else max(0.0, objective - bound) / max(1.0, abs(objective))
    return replace(progress, objective=objective, bound=bound, gap=gap)


def describe(progress: Progress, separator: str, thousands: bool = False) -> str:
    """Return tuple position, objective, bound and gap in one line."""
    return separator.join(
        [
            f"position {progress.tuple_pos}",
            f"objective {number(progress.objective, thousands)}",
            f"bound {number(progress.bound, thousands)}",
            f"gap {percent(progress.gap)}",
        ]
    )
