"""`rebalance import`: turns instances of other tools and challenges into scenario folders."""

from __future__ import annotations

import click

from rebalancer.cli import faults
from rebalancer.cli.options import FilePath, common
from rebalancer.cli.output import cannot_write
from rebalancer.problem.errors import InputError


@click.group(name="import")
def command() -> None:
    """Turn the files of another tool into a scenario folder."""


@command.command(name="google-machine-reassignment")
@click.argument("model", metavar="MODEL", type=FilePath())
@click.argument("assignment", metavar="ASSIGNMENT", type=FilePath())
@click.option("-o", "--output", metavar="DIR", type=FilePath(), required=True, help="The scenario folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier import.")
@common
def google_machine_reassignment(model: str, assignment: str, output: str, overwrite: bool, as_json: bool) -> int:
    """Import an instance of the ROADEF/EURO 2012 challenge."""
    from rebalancer.scenario.importers.google_machine_reassignment import convert

    try:
        convert(model, assignment, output, overwrite=overwrite)
    except OSError as error:
        raise InputError([cannot_write(output, error)]) from None
    scenario = f"{output.rstrip('/')}/scenario.yaml"
    if as_json:
        faults.print_json({"scenario": scenario})
    else:
        click.echo(f"wrote {scenario}; next: rebalance solve {scenario}")
    return 0
