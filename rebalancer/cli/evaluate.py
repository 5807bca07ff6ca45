"""`rebalance evaluate`: scores an assignment, solves nothing."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from rebalancer.cli import faults
from rebalancer.cli.assignment_file import AssignmentFile
from rebalancer.cli.options import FilePath, common, scenario_argument
from rebalancer.cli.scenario_file import read_scenario


@click.command(name="evaluate")
@scenario_argument
@click.option(
    "--assignment",
    metavar="FILE.csv",
    type=FilePath(),
    help="Score this assignment too. Its columns are named like the object and the container; no container: unplaced.",
)
@common
def command(scenario: str, assignment: str | None, as_json: bool) -> int:
    """Score the initial assignment of SCENARIO and, if given, another one."""
    from rebalancer.solver import Rebalancer

    read = read_scenario(scenario)
    table = None if assignment is None else AssignmentFile(assignment, read.problem)
    with nullcontext() if table is None else table.located():
        evaluation = Rebalancer.from_scenario(read).evaluate(None if table is None else table.frame)
    if as_json:
        faults.print_json({**evaluation.to_json(), "worsened": list(evaluation.worsened)})
        return 0
    from rich.console import Console

    from rebalancer.report.results import show_evaluation

    show_evaluation(evaluation, Console(file=sys.stdout), compared=table is not None)
    return 0
