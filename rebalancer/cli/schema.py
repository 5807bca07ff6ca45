"""`rebalance schema`: the JSON schema of scenario files."""

from __future__ import annotations

import click

from rebalancer.cli import faults
from rebalancer.cli.options import common


@click.command(name="schema")
@common
def command(as_json: bool) -> int:
    """Print the JSON schema of scenario files, for editors that complete and check YAML.

    A scenario names it in its first line: `# yaml-language-server: $schema=scenario.schema.json`.
    """
    from rebalancer.scenario.schema import json_schema

    faults.print_json(json_schema())
    return 0
