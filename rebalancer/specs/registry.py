"""The catalogue of specs: key to class.

Users add their own with `register` or the entry-point group ``rebalancer.specs``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import TypeVar

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import field_key

#: One line per spec: key -> module and class.
BUILT_IN = {
    "aggregated_group": "rebalancer.specs.aggregated_group:AggregatedGroupSpec",
    "anchored_colocation": "rebalancer.specs.anchored_colocation:AnchoredColocationSpec",
    "assignment_affinities": "rebalancer.specs.assignment_affinities:AssignmentAffinitiesSpec",
    "avoid_assignments": "rebalancer.specs.avoid_assignments:AvoidAssignmentsSpec",
    "avoid_moving": "rebalancer.specs.avoid_moving:AvoidMovingSpec",
    "balance": "rebalancer.specs.balance:BalanceSpec",
    "capacity": "rebalancer.specs.capacity:CapacitySpec",
    "capacity_ratio": "rebalancer.specs.capacity_ratio:CapacityRatioSpec",
    "capacity_with_group_presence": "rebalancer.specs.capacity_with_group_presence:CapacityWithGroupPresenceSpec",
    "colocate_groups": "rebalancer.specs.colocate_groups:ColocateGroupsSpec",
    "conditional_presence": "rebalancer.specs.conditional_presence:ConditionalPresenceSpec",
    "count_cost": "rebalancer.specs.count_cost:CountCostSpec",
    "coverage": "rebalancer.specs.coverage:CoverageSpec",
    "disaster_recovery_capacity": "rebalancer.specs.disaster_recovery_capacity:DisasterRecoveryCapacitySpec",
    "diversify_within_scope_item": "rebalancer.specs.diversify_within_scope_item:DiversifyWithinScopeItemSpec",
    "drain_capacity": "rebalancer.specs.drain_capacity:DrainCapacitySpec",
    "exclusive_groups": "rebalancer.specs.exclusive_groups:ExclusiveGroupsSpec",
    "exclusive_objects": "rebalancer.specs.exclusive_objects:ExclusiveObjectsSpec",
    "exclusive_scope_items": "rebalancer.specs.exclusive_scope_items:ExclusiveScopeItemsSpec",
    "exclusive_swaps": "rebalancer.specs.exclusive_swaps:ExclusiveSwapsSpec",
    "fallback_tiers": "rebalancer.specs.fallback_tiers:FallbackTiersSpec",
    "flow": "rebalancer.specs.flow:FlowSpec",
    "gang": "rebalancer.specs.gang:GangSpec",
    "group_assignment_affinities": "rebalancer.specs.group_assignment_affinities:GroupAssignmentAffinitiesSpec",
    "group_capacity": "rebalancer.specs.group_capacity:GroupCapacitySpec",
    "group_conflict": "rebalancer.specs.group_conflict:GroupConflictSpec",
    "group_count": "rebalancer.specs.group_count:GroupCountSpec",
    "group_dependency": "rebalancer.specs.group_dependency:GroupDependencySpec",
    "group_diversity": "rebalancer.specs.group_diversity:GroupDiversitySpec",
    "group_isolation_limit": "rebalancer.specs.group_isolation_limit:GroupIsolationLimitSpec",
    "group_move_limit": "rebalancer.specs.group_move_limit:GroupMoveLimitSpec",
    "group_pair_affinities": "rebalancer.specs.group_pair_affinities:GroupPairAffinitiesSpec",
    "items_affinity": "rebalancer.specs.items_affinity:ItemsAffinitySpec",
    "largest_group_movement": "rebalancer.specs.largest_group_movement:LargestGroupMovementSpec",
    "leftover_ratio": "rebalancer.specs.leftover_ratio:LeftoverRatioSpec",
    "logical_and": "rebalancer.specs.logical_and:LogicalAndSpec",
    "logical_or": "rebalancer.specs.logical_or:LogicalOrSpec",
    "maximize_allocation": "rebalancer.specs.maximize_allocation:MaximizeAllocationSpec",
    "minimize_containers": "rebalancer.specs.minimize_containers:MinimizeContainersSpec",
    "minimize_movement": "rebalancer.specs.minimize_movement:MinimizeMovementSpec",
    "minimize_nth_largest_utilization": (
        "rebalancer.specs.minimize_nth_largest_utilization:MinimizeNthLargestUtilizationSpec"
    ),
    "minimize_squares": "rebalancer.specs.minimize_squares:MinimizeSquaresSpec",
    "move_group": "rebalancer.specs.move_group:MoveGroupSpec",
    "moves_in_progress": "rebalancer.specs.moves_in_progress:MovesInProgressSpec",
    "nested_scope_limit": "rebalancer.specs.nested_scope_limit:NestedScopeLimitSpec",
    "non_accepting": "rebalancer.specs.non_accepting:NonAcceptingSpec",
    "object_affinities": "rebalancer.specs.object_affinities:ObjectAffinitiesSpec",
    "object_expression": "rebalancer.specs.object_expression:ObjectExpressionSpec",
    "pair_affinities": "rebalancer.specs.pair_affinities:PairAffinitiesSpec",
    "placed": "rebalancer.specs.placed:PlacedSpec",
    "scope_affinities": "rebalancer.specs.scope_affinities:ScopeAffinitiesSpec",
    "skew": "rebalancer.specs.skew:SkewSpec",
    "sr_buffer_capacity": "rebalancer.specs.sr_buffer_capacity:SRBufferCapacitySpec",
    "sum_of_max": "rebalancer.specs.sum_of_max:SumOfMaxSpec",
    "throttling": "rebalancer.specs.throttling:ThrottlingSpec",
    "to_free": "rebalancer.specs.to_free:ToFreeSpec",
    "transition_cost": "rebalancer.specs.transition_cost:TransitionCostSpec",
    "unplaced_cost": "rebalancer.specs.unplaced_cost:UnplacedCostSpec",
    "util_increase_cost": "rebalancer.specs.util_increase_cost:UtilIncreaseCostSpec",
    "working_set": "rebalancer.specs.working_set:WorkingSetSpec",
}

#: What a key looks like.
_KEY = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

_SpecClass = TypeVar("_SpecClass", bound=type[Spec])

_log = logging.getLogger(__name__)

_registered: dict[str, type[Spec]] = {}
#: Name of an entry point, as a key -> why its spec is not there.
_unloadable: dict[str, str] = {}
_entry_points_loaded = False


def register(spec: _SpecClass) -> _SpecClass:
    """Add a spec class of one's own; usable as a decorator.

    Parameters
    ----------
    spec : subclass of Spec
        With a ``key`` in snake_case, and ``goal``, ``components`` or both. A class of the main module (a notebook, a
        script) that is defined again replaces the earlier one.

    Raises
    ------
    TypeError
        Not a subclass of Spec.
    ValueError
        The key is missing, not in snake_case or taken, or the spec is neither a goal nor a constraint.
    """
    if not (isinstance(spec, type) and issubclass(spec, Spec)):
        hint = f"; register the class {type(spec).__name__} itself" if isinstance(spec, Spec) else ""
        raise TypeError(f"expected a subclass of Spec to register, got {spec!r}{hint}")
    known: type[Spec] = spec
    name, key = known.__name__, known.key
    if not key:
        what = f"the key of {name} is a field" if "key" in known.model_fields else f"{name} has no key"
        raise ValueError(f"{what}; write in its body: key: ClassVar[str] = '{field_key(name)}'")
    if not _KEY.fullmatch(key):
        raise ValueError(f"the key of {name} must be in snake_case, such as '{field_key(name)}', got '{key}'")
    if key in _beside():
        raise ValueError(f"the key '{key}' of {name} is what scenarios write beside a spec; choose another one")
    taken = _taken(known)
    if taken is not None:
        raise ValueError(f"the key '{key}' of {name} is taken by {taken}")
    if not (known.is_goal() or known.is_constraint()):
        raise ValueError(f"{name} has neither goal(model) nor components(model): it can be neither goal nor constraint")
    _registered[key] = known
    return spec


def _beside() -> set[str]:
    """Return what may stand beside a spec in a file, and is therefore no key."""
    from rebalancer.specs.entries import Constraint, Goal

    return {part.name for entry in (Goal, Constraint) for part in fields(entry)}


def _taken(spec: type[Spec]) -> str | None:
    """Return which other class has the key of a spec, or one that files cannot tell from it."""
    plain = field_key(spec.key)
    if plain in BUILT_IN:
        return BUILT_IN[plain]
    for key, other in _registered.items():
        again = other.__module__ == spec.__module__ == "__main__" and other.__qualname__ == spec.__qualname__
        if field_key(key) == plain and other is not spec and not again:
            return f"{other.__module__}:{other.__qualname__}"
    return None


def keys() -> list[str]:
    """Return every key of the catalogue in alphabetical order."""
    _load_entry_points()
    return sorted({*BUILT_IN, *_registered})


def get(key: str) -> type[Spec]:
    """Return the class of a key.

    Raises
    ------
    KeyError
        There is no such spec.
    """
    if key in BUILT_IN:
        module, _, name = BUILT_IN[key].partition(":")
        found: type[Spec] = getattr(import_module(module), name)
        return found
    _load_entry_points()
    return _registered[key]


def unloadable() -> Mapping[str, str]:
    """Return the entry points that could not be loaded: name, as a key, and why."""
    _load_entry_points()
    return _unloadable


def canonical_key(text: str) -> str:
    """Return the key that a name means: ``groupCount``, ``group_count_spec`` and ``GroupCountSpec`` are group_count."""
    plain = field_key(text)
    return next((key for key in _registered if field_key(key) == plain), plain)


def _load_entry_points() -> None:
    """Register what installed distributions offer: spec classes, or modules that register theirs.

    One that fails is logged and kept in `unloadable`; it breaks no other.
    """
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    _entry_points_loaded = True
    for point in entry_points(group="rebalancer.specs"):
        try:
            found = point.load()
            if not isinstance(found, ModuleType):
                register(found)
        except (Exception, SystemExit) as error:  # whatever somebody else's module may raise
            origin = f" of {point.dist.name} {point.dist.version}" if point.dist is not None else ""
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            why = f"the entry point '{point.name} = {point.value}'{origin} cannot be loaded: {reason}"
            _unloadable[field_key(point.name)] = why
            _log.warning("%s", why)
