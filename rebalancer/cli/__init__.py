"""The `rebalance` command, one file per verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rebalancer.cli.process import run

if TYPE_CHECKING:
    from rebalancer.cli.group import main as main


def __getattr__(name: str) -> Any:
    """Load the command when it is used: until then nothing heavy is, and a signal finds its handler."""
    if name == "main":
        from rebalancer.cli.group import main

        return main
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["main", "run"]
