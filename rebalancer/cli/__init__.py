"""The `rebalance` command, one file per verb."""

from rebalancer.cli.group import main, run

__all__ = ["main", "run"]
