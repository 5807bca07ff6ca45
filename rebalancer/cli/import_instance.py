"""`rebalance import`: turns instances of other tools and challenges into scenario folders."""

from __future__ import annotations

from collections.abc import Callable

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

    _write(lambda: convert(model, assignment, output, overwrite=overwrite), output, as_json)
    return 0


@command.command(name="kubernetes")
@click.argument("nodes", metavar="NODES.json", type=FilePath())
@click.argument("pods", metavar="PODS.json", type=FilePath())
@click.argument("budgets", metavar="[PDBS.json]", type=FilePath(), required=False)
@click.option("-o", "--output", metavar="DIR", type=FilePath(), required=True, help="The scenario folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier import.")
@common
def kubernetes(nodes: str, pods: str, budgets: str | None, output: str, overwrite: bool, as_json: bool) -> int:
    """Import a snapshot of a cluster: what `kubectl get -o json` prints of nodes, pods and disruption budgets."""
    from rebalancer.scenario.importers.kubernetes import convert

    _write(lambda: convert(nodes, pods, budgets, output, overwrite=overwrite), output, as_json)
    return 0


def _write(convert: Callable[[], None], output: str, as_json: bool) -> None:
    """Convert, and say where the scenario is."""
    try:
        convert()
    except OSError as error:
        raise InputError([cannot_write(output, error)]) from None
    scenario = f"{output.rstrip('/')}/scenario.yaml"
    if as_json:
        faults.print_json({"scenario": scenario})
    else:
        click.echo(f"wrote {scenario}; next: rebalance solve {scenario}")
