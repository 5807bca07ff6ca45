"""The catalogue of specs: key to class.

Users add their own with `register` or the entry-point group ``rebalancer.specs``.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from pydantic.alias_generators import to_camel, to_snake

from rebalancer.specs.base import Spec

#: One line per spec: key -> module and class.
BUILT_IN = {
    "aggregated_group": "rebalancer.specs.aggregated_group:AggregatedGroupSpec",
    "assignment_affinities": "rebalancer.specs.assignment_affinities:AssignmentAffinitiesSpec",
    "avoid_assignments": "rebalancer.specs.avoid_assignments:AvoidAssignmentsSpec",
    "avoid_moving": "rebalancer.specs.avoid_moving:AvoidMovingSpec",
    "balance": "rebalancer.specs.balance:BalanceSpec",
    "capacity": "rebalancer.specs.capacity:CapacitySpec",
    "capacity_ratio": "rebalancer.specs.capacity_ratio:CapacityRatioSpec",
    "capacity_with_group_presence": "rebalancer.specs.capacity_with_group_presence:CapacityWithGroupPresenceSpec",
    "colocate_groups": "rebalancer.specs.colocate_groups:ColocateGroupsSpec",
    "disaster_recovery_capacity": "rebalancer.specs.disaster_recovery_capacity:DisasterRecoveryCapacitySpec",
    "diversify_within_scope_item": "rebalancer.specs.diversify_within_scope_item:DiversifyWithinScopeItemSpec",
    "drain_capacity": "rebalancer.specs.drain_capacity:DrainCapacitySpec",
    "exclusive_groups": "rebalancer.specs.exclusive_groups:ExclusiveGroupsSpec",
    "exclusive_objects": "rebalancer.specs.exclusive_objects:ExclusiveObjectsSpec",
    "exclusive_scope_items": "rebalancer.specs.exclusive_scope_items:ExclusiveScopeItemsSpec",
    "exclusive_swaps": "rebalancer.specs.exclusive_swaps:ExclusiveSwapsSpec",
    "flow": "rebalancer.specs.flow:FlowSpec",
    "group_assignment_affinities": "rebalancer.specs.group_assignment_affinities:GroupAssignmentAffinitiesSpec",
    "group_capacity": "rebalancer.specs.group_capacity:GroupCapacitySpec",
    "group_count": "rebalancer.specs.group_count:GroupCountSpec",
    "group_dependency": "rebalancer.specs.group_dependency:GroupDependencySpec",
    "group_diversity": "rebalancer.specs.group_diversity:GroupDiversitySpec",
    "group_isolation_limit": "rebalancer.specs.group_isolation_limit:GroupIsolationLimitSpec",
    "group_move_limit": "rebalancer.specs.group_move_limit:GroupMoveLimitSpec",
    "items_affinity": "rebalancer.specs.items_affinity:ItemsAffinitySpec",
    "largest_group_movement": "rebalancer.specs.largest_group_movement:LargestGroupMovementSpec",
    "leftover_ratio": "rebalancer.specs.leftover_ratio:LeftoverRatioSpec",
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
    "pair_affinities": "rebalancer.specs.pair_affinities:PairAffinitiesSpec",
    "placed": "rebalancer.specs.placed:PlacedSpec",
    "scope_affinities": "rebalancer.specs.scope_affinities:ScopeAffinitiesSpec",
    "sr_buffer_capacity": "rebalancer.specs.sr_buffer_capacity:SRBufferCapacitySpec",
    "sum_of_max": "rebalancer.specs.sum_of_max:SumOfMaxSpec",
    "throttling": "rebalancer.specs.throttling:ThrottlingSpec",
    "to_free": "rebalancer.specs.to_free:ToFreeSpec",
    "transition_cost": "rebalancer.specs.transition_cost:TransitionCostSpec",
    "util_increase_cost": "rebalancer.specs.util_increase_cost:UtilIncreaseCostSpec",
    "working_set": "rebalancer.specs.working_set:WorkingSetSpec",
}

_registered: dict[str, type[Spec]] = {}


def register(spec: type[Spec]) -> type[Spec]:
    """Add a spec class of one's own; usable as a decorator.

    Raises
    ------
    ValueError
        The class has no key, or the key is taken by another class.
    """
    if not spec.key:
        raise ValueError(f"{spec.__name__} has no key")
    taken = _registered.get(spec.key)
    if spec.key in BUILT_IN or (taken is not None and taken is not spec):
        raise ValueError(f"the spec key '{spec.key}' is taken")
    _registered[spec.key] = spec
    return spec


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


def canonical_key(text: str) -> str:
    """Return the key that a name in a file means.

    ``groupCount``, ``groupCountSpec`` and ``GroupCountSpec`` are ``group_count``.
    """
    for tail in ("Spec", "_spec"):
        if text.endswith(tail) and len(text) > len(tail):
            text = text[: -len(tail)]
    return to_snake(text)


def file_key(key: str) -> str:
    """Return the camelCase form of a key, as Rebalancer writes it."""
    return to_camel(key)


_entry_points_loaded = False


def _load_entry_points() -> None:
    global _entry_points_loaded
    if not _entry_points_loaded:
        _entry_points_loaded = True
        for point in entry_points(group="rebalancer.specs"):
            register(point.load())
