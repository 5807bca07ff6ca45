"""Finds, proves and plans better placements of objects in containers.

Everything public is importable from here, and loaded when it is first used: `import rebalancer` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebalancer.plan import Cap as Cap
    from rebalancer.plan import Plan as Plan
    from rebalancer.plan import PlanOptions as PlanOptions
    from rebalancer.plan import plan_moves as plan_moves
    from rebalancer.problem.errors import InputError as InputError
    from rebalancer.solution import Evaluation as Evaluation
    from rebalancer.solution import Solution as Solution
    from rebalancer.solver import Rebalancer as Rebalancer
    from rebalancer.specs.aggregated_group import AggregatedGroupSpec as AggregatedGroupSpec
    from rebalancer.specs.anchored_colocation import AnchoredColocationSpec as AnchoredColocationSpec
    from rebalancer.specs.assignment_affinities import AssignmentAffinitiesSpec as AssignmentAffinitiesSpec
    from rebalancer.specs.avoid_assignments import AvoidAssignmentsSpec as AvoidAssignmentsSpec
    from rebalancer.specs.avoid_moving import AvoidMovingSpec as AvoidMovingSpec
    from rebalancer.specs.balance import BalanceSpec as BalanceSpec
    from rebalancer.specs.capacity import CapacitySpec as CapacitySpec
    from rebalancer.specs.capacity_ratio import CapacityRatioSpec as CapacityRatioSpec
    from rebalancer.specs.capacity_with_group_presence import (
        CapacityWithGroupPresenceSpec as CapacityWithGroupPresenceSpec,
    )
    from rebalancer.specs.colocate_groups import ColocateGroupsSpec as ColocateGroupsSpec
    from rebalancer.specs.conditional_presence import ConditionalPresenceSpec as ConditionalPresenceSpec
    from rebalancer.specs.count_cost import CountCostSpec as CountCostSpec
    from rebalancer.specs.coverage import CoverageSpec as CoverageSpec
    from rebalancer.specs.disaster_recovery_capacity import DisasterRecoveryCapacitySpec as DisasterRecoveryCapacitySpec
    from rebalancer.specs.diversify_within_scope_item import (
        DiversifyWithinScopeItemSpec as DiversifyWithinScopeItemSpec,
    )
    from rebalancer.specs.drain_capacity import DrainCapacitySpec as DrainCapacitySpec
    from rebalancer.specs.exclusive_groups import ExclusiveGroupsSpec as ExclusiveGroupsSpec
    from rebalancer.specs.exclusive_objects import ExclusiveObjectsSpec as ExclusiveObjectsSpec
    from rebalancer.specs.exclusive_scope_items import ExclusiveScopeItemsSpec as ExclusiveScopeItemsSpec
    from rebalancer.specs.exclusive_swaps import ExclusiveSwapsSpec as ExclusiveSwapsSpec
    from rebalancer.specs.fallback_tiers import FallbackTiersSpec as FallbackTiersSpec
    from rebalancer.specs.fields import Filter as Filter
    from rebalancer.specs.fields import Limit as Limit
    from rebalancer.specs.flow import FlowSpec as FlowSpec
    from rebalancer.specs.gang import GangSpec as GangSpec
    from rebalancer.specs.group_assignment_affinities import (
        GroupAssignmentAffinitiesSpec as GroupAssignmentAffinitiesSpec,
    )
    from rebalancer.specs.group_capacity import GroupCapacitySpec as GroupCapacitySpec
    from rebalancer.specs.group_conflict import GroupConflictSpec as GroupConflictSpec
    from rebalancer.specs.group_count import GroupCountSpec as GroupCountSpec
    from rebalancer.specs.group_dependency import GroupDependencySpec as GroupDependencySpec
    from rebalancer.specs.group_diversity import GroupDiversitySpec as GroupDiversitySpec
    from rebalancer.specs.group_isolation_limit import GroupIsolationLimitSpec as GroupIsolationLimitSpec
    from rebalancer.specs.group_move_limit import GroupMoveLimitSpec as GroupMoveLimitSpec
    from rebalancer.specs.group_pair_affinities import GroupPairAffinitiesSpec as GroupPairAffinitiesSpec
    from rebalancer.specs.items_affinity import ItemsAffinitySpec as ItemsAffinitySpec
    from rebalancer.specs.largest_group_movement import LargestGroupMovementSpec as LargestGroupMovementSpec
    from rebalancer.specs.leftover_ratio import LeftoverRatioSpec as LeftoverRatioSpec
    from rebalancer.specs.logical_and import LogicalAndSpec as LogicalAndSpec
    from rebalancer.specs.logical_or import LogicalOrSpec as LogicalOrSpec
    from rebalancer.specs.maximize_allocation import MaximizeAllocationSpec as MaximizeAllocationSpec
    from rebalancer.specs.minimize_containers import MinimizeContainersSpec as MinimizeContainersSpec
    from rebalancer.specs.minimize_movement import MinimizeMovementSpec as MinimizeMovementSpec
    from rebalancer.specs.minimize_nth_largest_utilization import (
        MinimizeNthLargestUtilizationSpec as MinimizeNthLargestUtilizationSpec,
    )
    from rebalancer.specs.minimize_squares import MinimizeSquaresSpec as MinimizeSquaresSpec
    from rebalancer.specs.move_group import MoveGroupSpec as MoveGroupSpec
    from rebalancer.specs.moves_in_progress import MovesInProgressSpec as MovesInProgressSpec
    from rebalancer.specs.nested_scope_limit import NestedScopeLimitSpec as NestedScopeLimitSpec
    from rebalancer.specs.non_accepting import NonAcceptingSpec as NonAcceptingSpec
    from rebalancer.specs.object_affinities import ObjectAffinitiesSpec as ObjectAffinitiesSpec
    from rebalancer.specs.object_expression import ObjectExpressionSpec as ObjectExpressionSpec
    from rebalancer.specs.pair_affinities import PairAffinitiesSpec as PairAffinitiesSpec
    from rebalancer.specs.placed import PlacedSpec as PlacedSpec
    from rebalancer.specs.scope_affinities import ScopeAffinitiesSpec as ScopeAffinitiesSpec
    from rebalancer.specs.skew import SkewSpec as SkewSpec
    from rebalancer.specs.sr_buffer_capacity import SRBufferCapacitySpec as SRBufferCapacitySpec
    from rebalancer.specs.sum_of_max import SumOfMaxSpec as SumOfMaxSpec
    from rebalancer.specs.throttling import ThrottlingSpec as ThrottlingSpec
    from rebalancer.specs.to_free import ToFreeSpec as ToFreeSpec
    from rebalancer.specs.transition_cost import TransitionCostSpec as TransitionCostSpec
    from rebalancer.specs.unplaced_cost import UnplacedCostSpec as UnplacedCostSpec
    from rebalancer.specs.util_increase_cost import UtilIncreaseCostSpec as UtilIncreaseCostSpec
    from rebalancer.specs.working_set import WorkingSetSpec as WorkingSetSpec

__version__ = "0.1.0"

#: Public name -> module, besides the specs, which the registry knows.
_HOMES = {
    "Cap": "rebalancer.plan",
    "Evaluation": "rebalancer.solution",
    "Filter": "rebalancer.specs.fields",
    "InputError": "rebalancer.problem.errors",
    "Limit": "rebalancer.specs.fields",
    "Plan": "rebalancer.plan",
    "PlanOptions": "rebalancer.plan",
    "Rebalancer": "rebalancer.solver",
    "Solution": "rebalancer.solution",
    "plan_moves": "rebalancer.plan",
}


def _homes() -> dict[str, str]:
    """Return every public name and its module."""
    from rebalancer.specs.registry import BUILT_IN

    specs = {name: module for module, _, name in (target.partition(":") for target in BUILT_IN.values())}
    return _HOMES | specs


def __getattr__(name: str) -> Any:
    if name == "__all__":  # so that `from rebalancer import *` finds what is not loaded yet
        return sorted(_homes())
    home = _HOMES.get(name)
    if home is None and name.endswith("Spec"):
        home = _homes().get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_homes()})
