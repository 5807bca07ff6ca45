"""`rebalance check`: reads and validates a scenario or a nightly job, solves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebalancer.cli import faults
from rebalancer.cli.options import common, scenario_argument
from rebalancer.cli.scenario_file import read_scenario_or_job

if TYPE_CHECKING:
    from rebalancer.model import Model
    from rebalancer.scenario.reader import Scenario


@click.command(name="check")
@scenario_argument
@common
def command(scenario: str, as_json: bool) -> int:
    """Read and validate SCENARIO, or a nightly job with its snapshot; solve nothing.

    Every fault is reported at once, with its line and what was probably meant.
    """
    from rebalancer.rounding import coarse_goals
    from rebalancer.solver import Rebalancer

    read = read_scenario_or_job(scenario, warn=not as_json)
    model = Rebalancer.from_scenario(read).model
    found = summary(read, model)
    if as_json:
        warnings = [*read.warnings, *map(read.locate, coarse_goals(model, read.goals, read.constraints))]
        faults.print_json({"errors": [], "warnings": [faults.record(warning) for warning in warnings], **found})
        return 0
    click.echo(f"{scenario} is valid")
    click.echo()
    labels = _lines(found)
    width = max(len(label) for label, _ in labels)
    for label, text in labels:
        click.echo(f"{label:<{width}}  {text}".rstrip())
    return 0


def summary(scenario: Scenario, model: Model) -> dict[str, Any]:
    """Return what is in a scenario: how many of what, by name."""
    problem = scenario.problem
    moving = int(model.problem.in_progress.sum())
    return {
        "object": problem.object_name,
        "container": problem.container_name,
        "objects": len(problem.objects),
        "unplaced": int((problem.initial < 0).sum()),
        "in_progress": moving,
        "containers": len(problem.containers),
        "scopes": {name: len(scope.items) for name, scope in problem.scopes.items()},
        "partitions": {name: len(partition.groups) for name, partition in problem.partitions.items()},
        "dimensions": problem.dimension_names(),
        "constraints": [
            {"name": entry.name, "spec": entry.spec_key, "policy": entry.policy}
            for entry in model.constraints
            if not entry.implicit
        ],
        "goals": [
            {"name": goal.name, "spec": goal.spec_key, "weight": float(goal.weight), "tuple_pos": goal.tuple_pos}
            for goal in model.goals
        ],
    }


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    from rebalancer.report.numbers import listed, number

    states = [
        f"{found[key]:,d} {text}"
        for key, text in (("unplaced", "unplaced"), ("in_progress", "moving already"))
        if found[key]
    ]
    objects = f"{found['objects']:,d}" + (f" ({', '.join(states)})" if states else "")
    return [
        (found["object"], objects),  # what users call things has no plural that we could know
        (found["container"], f"{found['containers']:,d}"),
        ("scopes", _sizes(found["scopes"])),
        ("partitions", _sizes(found["partitions"])),
        ("dimensions", listed(found["dimensions"])),
        ("constraints", listed([f"{entry['name']} ({entry['policy']})" for entry in found["constraints"]]) or "none"),
        (
            "goals",
            listed(
                [
                    f"{goal['name']} (weight {number(goal['weight'])}, position {goal['tuple_pos']})"
                    for goal in found["goals"]
                ]
            )
            or "none",
        ),
    ]


def _sizes(sizes: dict[str, int]) -> str:
    from rebalancer.report.numbers import listed

    return listed([f"{name} ({size:,d})" for name, size in sizes.items()]) or "none"
