"""Engines: what searches for a good assignment of a model. They read cells and know no spec."""

from __future__ import annotations

from rebalancer.engines.base import Engine

#: Engines by name; ``auto`` picks.
NAMES = ("auto", "cpsat")


def get(name: str) -> Engine:
    """Return an engine.

    Raises
    ------
    KeyError
        There is no such engine.
    """
    if name not in NAMES:
        raise KeyError(name)
    from rebalancer.engines.cpsat.engine import CpsatEngine

    return CpsatEngine()
