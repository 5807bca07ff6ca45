"""`rebalance check-placement`: whether one object may go to a container now, and which rule refuses."""

from __future__ import annotations

import click

from rebalancer.cli import faults
from rebalancer.cli.exits import Exit
from rebalancer.cli.options import common, scenario_argument
from rebalancer.cli.scenario_file import read_scenario


@click.command(name="check-placement")
@scenario_argument
@click.argument("object_name", metavar="OBJECT")
@click.argument("container_name", metavar="CONTAINER")
@common
def command(scenario: str, object_name: str, container_name: str, as_json: bool) -> int:
    """Say whether OBJECT may go to CONTAINER now, while all others stay where they are.

    Rules of other schedulers (Marathon, Kubernetes, …) answer as their own system does when it places one object after
    the other; any other constraint refuses what would break it. Exit code 3 if some rule refuses.
    """
    from rebalancer.solver import Rebalancer

    found = Rebalancer.from_scenario(read_scenario(scenario)).check_placement(object_name, container_name)
    if as_json:
        faults.print_json(found.to_json())
    elif found.allowed:
        click.echo(f"{found.object} may go to {found.container}")
        for one in found.displacements:
            click.echo(f"  then {one.rule}: {one.reason}")
    else:
        click.echo(f"{found.object} may not go to {found.container}:")
        for refusal in found.refusals:
            click.echo(f"  {refusal.rule}: {refusal.reason}")
    return Exit.DONE if found.allowed else Exit.BROKEN
