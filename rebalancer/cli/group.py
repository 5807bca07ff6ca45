"""The command group: verbs are loaded when they are used; what goes wrong ends in one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

import rebalancer
from rebalancer.cli.exits import Exit
from rebalancer.cli.stdout import OutputError, standard_output
from rebalancer.problem.errors import Fault, InputError, nearest

#: One line per verb: name -> module, whose ``command`` it is.
VERBS = {
    "check": "rebalancer.cli.check",
    "check-placement": "rebalancer.cli.check_placement",
    "doctor": "rebalancer.cli.doctor",
    "evaluate": "rebalancer.cli.evaluate",
    "history": "rebalancer.cli.history",
    "import": "rebalancer.cli.import_instance",
    "languages": "rebalancer.cli.languages",
    "nightly": "rebalancer.cli.nightly",
    "plan": "rebalancer.cli.plan",
    "schema": "rebalancer.cli.schema",
    "solve": "rebalancer.cli.solve",
    "specs": "rebalancer.cli.specs",
    "verify": "rebalancer.cli.verify",
}

#: Set to anything, it shows the traceback of an internal error, as ``--debug`` does.
DEBUG_VARIABLE = "REBALANCE_DEBUG"


class VerbGroup(click.Group):
    """Loads a verb's module when the verb is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a verb, or None where there is no such verb."""
        if name not in VERBS:
            return None
        command: click.Command = import_module(VERBS[name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the arguments name; an unknown one is an error with the nearest name."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            close = nearest(name, VERBS)
            ctx.fail(f"No such command '{name}'." + (f" Did you mean '{close}'?" if close else ""))
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run the command and exit with its code. Never shows a traceback unless asked for one."""
        arguments = list(sys.argv[1:] if args is None else args)
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        as_json = "--json" in options
        debug = "--debug" in options or bool(os.environ.get(DEBUG_VARIABLE))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A name that the terminal cannot show is no reason to fail.
                stream.reconfigure(errors="backslashreplace")
        try:
            with standard_output():
                code = self._run(arguments, prog_name or "rebalance", as_json, debug)
        except OutputError as error:
            code = _bad_output(error)
        sys.exit(int(code or 0))

    def _run(self, arguments: list[str], program: str, as_json: bool, debug: bool) -> Any:
        """Return the exit code; whatever goes wrong is reported, but for standard output itself."""
        try:
            return super().main(arguments, program, standalone_mode=False)
        except InputError as error:
            return _bad_input(error.faults, as_json)
        except click.ClickException as error:
            return _bad_usage(error, as_json)
        except (KeyboardInterrupt, click.Abort) as error:
            if isinstance(error.__cause__, EOFError):  # of which click makes an interrupt; no verb asks anything
                return _internal(error.__cause__, as_json, debug)
            print("interrupted", file=sys.stderr)
            return Exit.INTERRUPTED
        except OutputError:
            raise
        except Exception as error:
            return _internal(error, as_json, debug)


def _bad_input(faults: Sequence[Fault], as_json: bool) -> Exit:
    from rebalancer.cli.faults import report

    report(faults, as_json)
    return Exit.BAD_INPUT


def _bad_usage(error: click.ClickException, as_json: bool) -> Exit:
    if as_json:
        from rebalancer.cli.faults import report

        close = getattr(error, "possibilities", None)
        report([Fault("usage", error.format_message(), suggestion=close[0] if close else None)], True)
    else:
        error.show()
    return Exit.BAD_INPUT


def _bad_output(error: OutputError) -> Exit:
    print(f"error[unwritable-output]: {error}", file=sys.stderr)
    return Exit.INTERNAL


def _internal(error: Exception, as_json: bool, debug: bool) -> Exit:
    from rebalancer.cli.faults import internal, report

    if debug:
        traceback.print_exc()
    hint = "" if debug else f"; please report it with the traceback that --debug or {DEBUG_VARIABLE}=1 shows"
    report([internal(error, hint)], as_json)
    return Exit.INTERNAL


#: Below the verbs in the help; \b keeps the lines as they are.
_EXIT_CODES = """\b
Exit codes:
  0  done, nothing broken (SOFT constraints do not count)
  1  internal error
  2  bad usage or bad input; nothing was written
  3  done, but some constraint stays broken
  4  infeasible, proven
  5  no solution found in the time limit
  6  another run of the job is under way
  7  the plan is stale, or valid in part only
  8  a guard of the job refuses
"""


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXIT_CODES)
@click.version_option(rebalancer.__version__, prog_name="rebalance", message="%(prog)s %(version)s")
def main() -> None:
    """Find a better placement of objects in containers, and prove how good it is.

    A SCENARIO is a YAML file that says what is where, what must hold and what is good.
    """
