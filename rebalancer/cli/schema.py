"""`rebalance schema`: the JSON schemas of the files that the command reads and writes."""

from __future__ import annotations

from typing import Any

import click

from rebalancer.cli import faults
from rebalancer.cli.options import common
from rebalancer.problem.errors import nearest

#: What there is a schema of.
KINDS = ("scenario", "job", "plan")


@click.command(name="schema")
@click.argument("kind", metavar="[scenario|job|plan]", default="scenario")
@common
def command(kind: str, as_json: bool) -> int:
    """Print the JSON schema of scenario files, of job files, or of plan.json.

    Editors that complete and check YAML need it: a scenario names it in its first line, `# yaml-language-server:
    $schema=scenario.schema.json`.
    """
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        hint = f"did you mean '{close}'?" if close else f"there is {', '.join(KINDS)}"
        raise click.UsageError(f"unknown kind of file '{kind}'; {hint}")
    faults.print_json(schema_of(kind))
    return 0


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    if kind == "job":
        from rebalancer.jobs.schema import json_schema as of_jobs

        return of_jobs()
    if kind == "plan":
        from rebalancer.plan.schema import json_schema as of_plans

        return of_plans()
    from rebalancer.scenario.schema import json_schema as of_scenarios

    return of_scenarios()
