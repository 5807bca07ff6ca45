"""Options and arguments that verbs share."""

from __future__ import annotations

import functools
import logging
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from rebalancer.problem.errors import nearest

# Generic for type checkers; at run time only in newer versions.
if TYPE_CHECKING:
    _Number: TypeAlias = click.ParamType[float]
    _Text: TypeAlias = click.ParamType[str]
    _Numbers: TypeAlias = click.ParamType[list[Fraction]]
else:
    _Number = _Text = _Numbers = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any])


class Duration(_Number):
    """A time span such as ``90``, ``60s``, ``5m``, ``1.5h`` or ``1h30m``, in seconds; as in scenario files."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        from rebalancer.scenario.durations import parse_duration

        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Share(_Number):
    """A share such as ``0.01`` or ``1%``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a fraction of 1."""
        if not isinstance(value, str):
            return float(value)
        text = value.strip()
        if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?\s*%?", text):
            self.fail(f"{value!r} is not a share; write 0.01 or 1%", param, ctx)
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)


class Targets(_Numbers):
    """One number, or several with commas between them."""

    name = "target"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Fraction]:
        """Return the numbers exactly."""
        from rebalancer.problem import PlainText, to_fraction

        if not isinstance(value, str):
            return list(value)
        try:
            return [to_fraction(PlainText(part.strip())) for part in value.split(",")]
        except ValueError as error:
            self.fail(f"{error}; write 10 or 10,0.5", param, ctx)


class EngineName(_Text):
    """The name of an engine."""

    name = "engine"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is."""
        from rebalancer.engines import NAMES

        if value not in NAMES:
            close = nearest(str(value), NAMES)
            hint = f"did you mean '{close}'?" if close else f"there is {', '.join(NAMES)}"
            self.fail(f"unknown engine '{value}'; {hint}", param, ctx)
        return str(value)


class FilePath(click.Path):
    """The path of a file or folder; an empty one is a variable that was not set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as it is."""
        if not value:
            self.fail("expected a path, got nothing", param, ctx)
        return super().convert(value, param, ctx)


scenario_argument = click.argument("scenario", metavar="SCENARIO", type=FilePath())


def common(function: _F) -> _F:
    """Add ``--json``, ``--verbose`` and ``--debug``; the function gets ``as_json``."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, and nothing else there.")
    @click.option("-v", "--verbose", is_flag=True, help="Log what is being done to stderr.")
    @click.option("--debug", is_flag=True, help="Log everything, and show the traceback of an internal error.")
    @functools.wraps(function)
    def run(*args: Any, verbose: bool, debug: bool, **options: Any) -> Any:
        configure_logging(verbose, debug)
        return function(*args, **options)

    return run  # type: ignore[return-value]


def configure_logging(verbose: bool, debug: bool, lines: logging.Formatter | None = None) -> None:
    """Send the library's log to stderr: warnings, and more if asked for; as text, or in lines of another form."""
    log = logging.getLogger("rebalancer")
    for handler in [known for known in log.handlers if getattr(known, "of_command", False)]:
        log.removeHandler(handler)
    handler = logging.StreamHandler(sys.stderr)
    handler.of_command = True  # type: ignore[attr-defined]
    handler.setFormatter(lines or logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING)
