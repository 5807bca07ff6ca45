"""The `rebalance` command, one file per verb."""

from rebalancer.cli.group import main

__all__ = ["main"]
