"""Engines: what searches for a good assignment of a model. They read cells and know no spec."""

from __future__ import annotations

from importlib import import_module

from rebalancer.engines.base import Engine

#: Where each engine is; what it needs is imported when it is used. ``auto`` picks and combines.
_WHERE = {
    "auto": "rebalancer.engines.auto:AutoEngine",
    "cpsat": "rebalancer.engines.cpsat.engine:CpsatEngine",
    "local_search": "rebalancer.engines.local_search.engine:LocalSearchEngine",
    "neighbourhood": "rebalancer.engines.neighbourhood.engine:NeighbourhoodEngine",
}
NAMES = tuple(_WHERE)


def get(name: str) -> Engine:
    """Return an engine.

    Raises
    ------
    KeyError
        There is no such engine.
    """
    module, _, engine = _WHERE[name].partition(":")
    made: Engine = getattr(import_module(module), engine)()
    return made
