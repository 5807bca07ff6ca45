"""Specs: rules as the user states them, one file each, compiled into cells of the model.

What it takes to write a spec of one's own is importable from here, and loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebalancer.specs.base import Bound as Bound
    from rebalancer.specs.base import Definition as Definition
    from rebalancer.specs.base import Spec as Spec
    from rebalancer.specs.fields import PARTITION_ALIASES as PARTITION_ALIASES
    from rebalancer.specs.fields import ContainerName as ContainerName
    from rebalancer.specs.fields import DimensionName as DimensionName
    from rebalancer.specs.fields import DimensionOrCount as DimensionOrCount
    from rebalancer.specs.fields import Filter as Filter
    from rebalancer.specs.fields import Flag as Flag
    from rebalancer.specs.fields import GroupName as GroupName
    from rebalancer.specs.fields import ItemFilter as ItemFilter
    from rebalancer.specs.fields import ItemName as ItemName
    from rebalancer.specs.fields import Limit as Limit
    from rebalancer.specs.fields import Name as Name
    from rebalancer.specs.fields import Number as Number
    from rebalancer.specs.fields import ObjectName as ObjectName
    from rebalancer.specs.fields import Part as Part
    from rebalancer.specs.fields import PartitionName as PartitionName
    from rebalancer.specs.fields import ScopeName as ScopeName
    from rebalancer.specs.fields import ScopeOrContainer as ScopeOrContainer
    from rebalancer.specs.fields import Whole as Whole
    from rebalancer.specs.fields import exact as exact
    from rebalancer.specs.fields import limit_field as limit_field
    from rebalancer.specs.registry import register as register

_BASE = ("Bound", "Definition", "Spec")
_FIELDS = (
    "PARTITION_ALIASES",
    "ContainerName",
    "DimensionName",
    "DimensionOrCount",
    "Filter",
    "Flag",
    "GroupName",
    "ItemFilter",
    "ItemName",
    "Limit",
    "Name",
    "Number",
    "ObjectName",
    "Part",
    "PartitionName",
    "ScopeName",
    "ScopeOrContainer",
    "Whole",
    "exact",
    "limit_field",
)
_HOMES = {
    **dict.fromkeys(_BASE, "rebalancer.specs.base"),
    **dict.fromkeys(_FIELDS, "rebalancer.specs.fields"),
    "register": "rebalancer.specs.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
