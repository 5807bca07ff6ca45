"""`rebalance verify`: whether a plan still holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from rebalancer.cli import faults
from rebalancer.cli.assignment_file import AssignmentFile
from rebalancer.cli.exits import Exit
from rebalancer.cli.options import FilePath, common
from rebalancer.cli.scenario_file import read_scenario_or_job
from rebalancer.problem.errors import Fault, InputError

#: Steps that are listed on a terminal.
_SHOWN = 20


@click.command(name="verify")
@click.argument("plan", metavar="PLAN", type=FilePath())
@click.option(
    "--state",
    metavar="FILE.csv",
    type=FilePath(),
    help="Where everything is now; otherwise as the scenario says. Columns are named like the object and container.",
)
@click.option(
    "--scenario",
    metavar="SCENARIO",
    type=FilePath(),
    help="The scenario, or the nightly job; otherwise the one that PLAN was made from.",
)
@common
def command(plan: str, state: str | None, scenario: str | None, as_json: bool) -> int:
    """Replay PLAN (a plan.json, or its folder) against the state it was made for, or a newer one.

    Exit code 0: still valid; 7: valid in part, or stale.
    """
    from rebalancer.plan.read import read_plan, verify_plan
    from rebalancer.solver import Rebalancer

    path = str(Path(plan) / "plan.json") if os.path.isdir(plan) else plan
    content = read_plan(path)
    folder = _folder_of(content, path)
    read = read_scenario_or_job(scenario or _scenario_of(content, folder, path))
    solver = Rebalancer.from_scenario(read)
    table = None if state is None else AssignmentFile(state, read.problem)
    with nullcontext() if table is None else table.located():
        evaluation = solver.evaluate(None if table is None else table.frame)
    verdict = verify_plan(solver.model, content, evaluation._assignment, read.plan)
    verdict.reasons.extend(_changed(content, folder, read.queries))
    if as_json:
        faults.print_json(verdict.to_json())
    else:
        click.echo(verdict.summary)
        for line in [*(f"{key}: {why}" for key, why in verdict.invalid.items())][:_SHOWN] + verdict.reasons:
            click.echo(line)
        if len(verdict.invalid) > _SHOWN:
            click.echo(f"… and {len(verdict.invalid) - _SHOWN} more are not valid")
    return Exit.DONE if verdict.verdict == "VALID" else Exit.STALE


def _folder_of(content: dict[str, Any], path: str) -> str:
    """Return the folder that the names of a plan's inputs are relative to: the one where it was made.

    It may not be the current one. A plan mostly lies somewhere below it, so that one of the folders above the plan has
    the first of the inputs; one where it is as it was comes first.
    """
    from rebalancer.plan.formats import digests

    name, digest = next(iter(content["inputs"].items()), ("", ""))
    folders = [folder for folder in ("", *map(str, Path(path).resolve().parents))
               if os.path.isfile(os.path.join(folder, name))]  # fmt: skip
    for folder in folders:
        file = os.path.join(folder, name)
        if digests([file])[file] == digest:
            return folder
    return folders[0] if folders else ""


def _scenario_of(content: dict[str, Any], folder: str, path: str) -> str:
    """Return the scenario or job file that a plan was made from."""
    name = next(iter(content["inputs"]), None)
    if name is None or not os.path.exists(os.path.join(folder, name)):
        missing = "the plan names no scenario" if name is None else f"its scenario '{name}' is not there"
        raise InputError([Fault("missing-scenario", f"{missing}; give --scenario", (), name, None, path)])
    return os.path.join(folder, name)


def _changed(content: dict[str, Any], folder: str, queries: Mapping[str, str]) -> list[str]:
    """Return which inputs are not what they were; ``queries`` has the digests of what databases return now."""
    from rebalancer.plan.formats import digests

    out = []
    for name, digest in content["inputs"].items():
        file = os.path.join(folder, name)
        if name in queries:
            changed = queries[name] != digest
        elif "://" in name:  # of a database that is not asked here
            continue
        elif not os.path.exists(file):
            out.append(f"'{name}' is not there any more")
            continue
        else:
            changed = digests([file])[file] != digest
        if changed:
            out.append(f"'{name}' has changed since the plan was made")
    return out
