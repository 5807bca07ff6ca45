"""Random specs by key: what each spec of the registry may ask for in the worlds of `problems`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import strategies as st

from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from tests.property.drawing import (
    AFFINITY,
    ANY_DIMENSION,
    CPU_OR_MEM,
    DIMENSIONS,
    FLAG,
    HOST,
    JOB,
    JOB_OR_SQUAD,
    LIMITS,
    RACK,
    RACK_FILTERS,
    SCOPES,
    SMALL,
    Fields,
    Names,
    fields,
    mapping,
    pick,
    some,
)
from tests.property.selections import SELECTIONS

#: What is combined by logic, and nested in it.
LEAVES: list[dict[str, Any]] = [
    {"capacity": {"scope": "host", "dimension": "cpu"}},
    {"capacity": {"scope": "rack", "dimension": "mem", "limit": {"type": "ABSOLUTE", "global_limit": 2}}},
    {"capacity": {"scope": "rack", "definition": "NEW", "limit": {"type": "ABSOLUTE", "global_limit": 0}}},
    {"group_count": {"scope": "host", "partition": "job", "bound": "MIN", "dimension": "cpu"}},
    {"group_count": {"scope": "rack", "partition": "job", "bound": "MAX"}},
    {"minimize_movement": {"dimension": "mem", "do_not_normalize": True, "allowance": 1}},
    {"move_group": {"partition": "job"}},
]


@cache
def specs(key: str, tasks: int, hosts: int) -> st.SearchStrategy[Spec]:
    """Specs of a key for a world of so many tasks and hosts. Some do not fit it: check before use."""
    task, host = pick(*(f"t{at}" for at in range(tasks))), pick(*(f"h{at}" for at in range(hosts)))
    some_tasks = st.lists(task, min_size=1, max_size=3, unique=True)
    some_hosts = st.lists(host, min_size=1, max_size=2, unique=True)
    order = st.permutations([f"h{at}" for at in range(hosts)])
    filters = pick(None) | fields(items_whitelist=some_hosts)
    names = Names(task, host, some_tasks, some_hosts, pairs(tasks), order, filters)
    spec = registry.get(key)
    return CATALOGUE[key](names).map(spec.model_validate)


def pairs(tasks: int) -> Fields:
    """Two tasks, different ones where there are two."""
    drawn = st.permutations([f"t{at}" for at in range(tasks)])
    return drawn.map(lambda order: {"object1": order[0], "object2": order[-1]})


def conflicts(host_names: list[str], overlaps: list[float]) -> dict[str, Any]:
    """The first host in conflict with some of the others."""
    return {
        "scope_item": host_names[0],
        "conflicting_scope_items_with_overlap": [
            {"conflicting_scope_item": name, "overlap": overlap}
            for name, overlap in zip(host_names[1:], overlaps, strict=False)
        ],
    }


def object_affinities(names: Names, scope: str, item: str) -> Fields:
    """Affinities to each other and to one scope item."""
    entry = fields(object0=names.tasks, object1=names.tasks | pick(item), objects_n=names.some_tasks)
    return fields(scope=pick(scope), affinities=some(entry, 2))


def logic(_: Names) -> Fields:
    """Constraints to combine, nested at will."""
    nested = st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: fields(logical_and=fields(generic_specs=some(inner, 2))),
        max_leaves=2,
    )
    return fields(generic_specs=some(nested, 2))


#: One entry per key of the registry.
CATALOGUE: dict[str, Callable[[Names], Fields]] = {
    "aggregated_group": lambda names: (
        fields(
            scope=SCOPES,
            partition_name=JOB,
            dimension=pick("cpu", "mem", "", "net"),
            limit=SMALL,
            within_group_aggregation_type=pick("SUM", "MAX"),
            group_aggregation_type=pick("SUM", "MAX"),
            container_aggregation_type=pick("SUM", "MAX"),
        )
        | fields(
            scope=RACK,
            partition_name=JOB,
            limit=SMALL,
            contributions=pick({"r0": 0.5, "r1": {"scope_item_limits": {"r1": 3}}}),
            filter=RACK_FILTERS,
        )
    ),
    "assignment_affinities": lambda names: fields(
        scope=HOST,
        affinities=some(fields(object_name=names.tasks, scope_item_name=names.hosts, affinity=AFFINITY), 3),
    ),
    "avoid_assignments": lambda names: fields(
        scope=HOST, assignments=some(fields(object=names.tasks, scope_items=names.some_hosts), 2)
    ),
    "avoid_moving": lambda names: fields(objects=names.some_tasks),
    "balance": lambda names: (
        fields(
            scope=SCOPES,
            dimension=CPU_OR_MEM,
            formula=pick("LINEAR", "SQUARES", "MAX", "IDEAL", "RELATIVE_UTIL_VARIANCE"),
            bound_type=pick("RELATIVE", "ABSOLUTE", "RELATIVE_UTIL"),
            upper_bound=pick(0, 1, 0.5),
            fix_average_to_initial=FLAG,
            definition=pick("AFTER", "DURING", "NEW", "OLD"),
        )
        | fields(
            scope=SCOPES,
            dimension=CPU_OR_MEM,
            balance_metric=pick("CAPACITY_PER_ITEM"),
            formula=pick("LINEAR", "SQUARES", "MAX", "RELATIVE_UTIL_VARIANCE"),
            bound_type=pick("RELATIVE", "ABSOLUTE", "RELATIVE_UTIL"),
            upper_bound=pick(0, 1, 0.5),
            definition=pick("AFTER", "DURING", "NEW"),
        )
    ),
    "capacity": lambda names: (
        fields(
            scope=SCOPES,
            dimension=pick("cpu", "mem", "", "vec", "net"),
            bound=pick("MAX", "MIN"),
            limit=LIMITS,
            definition=pick(
                "AFTER",
                "DURING",
                "DURING_AND_AFTER",
                "DOUBLE_DURING",
                "DOUBLE_DURING_AND_AFTER",
                "NEW",
                "OLD",
                "MOVED_DATA",
            ),
        )
        | fields(
            scope=HOST, dimension=DIMENSIONS, bound=pick("MIN"), limit=LIMITS, zero_allowed=FLAG, filter=names.filters
        )
    ),
    "capacity_ratio": lambda names: fields(
        scope=RACK,
        dimension=ANY_DIMENSION,
        ratios=pick({"r0": {"r1": 0.5}}, {"r0": {"r1": 2}, "r1": {"r0": 1, "r1": 0.5}}),
    ),
    "capacity_with_group_presence": lambda names: (
        fields(
            scope=SCOPES,
            partition_name=pick("job", "team"),
            dimension=CPU_OR_MEM,
            bound=pick("MAX", "MIN"),
            scope_item_to_limit=LIMITS,
            group_to_presence_weight=pick(0, 1, 2.5),
            round_up_group_util_on_scope_item=FLAG,
            intent=pick("PER_SCOPE_ITEM", "PER_GROUP_AND_SCOPE_ITEM"),
            group_util_multipliers=some(
                fields(value=pick(0.5, 1.5), target=pick("COMMON", "UTILIZATION", "PRESENCE_WEIGHT")), 2
            ),
        )
        | fields(
            scope=RACK,
            partition_name=pick("team"),
            dimension=pick("cpu"),
            scope_item_to_limit=LIMITS,
            aggregation_scope=pick(None, "host"),
            aggregation_partition=pick("squad"),
            intent=pick("PER_GROUP_AND_SCOPE_ITEM"),
        )
    ),
    "colocate_groups": lambda names: fields(
        scope=SCOPES,
        partition_name=JOB,
        bound=pick("MAX", "MIN"),
        limits=pick(1, 2),
        squares=FLAG,
        group_to_weight=pick({"j0": 2}),
    ),
    "disaster_recovery_capacity": lambda names: (
        fields(
            scope=SCOPES,
            dimension=pick("cpu", "vec"),
            primary_to_set_of_secondary_objects=mapping(names.tasks, names.some_tasks, 2),
        )
        | fields(
            scope=HOST,
            dimension=pick("mem"),
            primary_to_set_of_secondary_objects=mapping(names.tasks, names.some_tasks, 2),
            shared_disaster_groups=some(names.some_hosts, 2),
        )
    ),
    "diversify_within_scope_item": lambda names: fields(
        scope=RACK, partition_name=JOB, dimension=CPU_OR_MEM, group_to_limit=LIMITS, scope_item_filter=RACK_FILTERS
    ),
    "drain_capacity": lambda names: fields(
        scope=RACK,
        dimension=ANY_DIMENSION,
        spill_distribution=pick({"r0": {"r1": 0.5}}, {"r0": {"r1": 1}, "r1": {"r0": 0.25}}),
    ),
    "exclusive_groups": lambda names: fields(scope=SCOPES, partition_name=JOB_OR_SQUAD, dimension=CPU_OR_MEM),
    "exclusive_objects": lambda names: fields(
        scope=SCOPES,
        pairs=some(names.pairs, 2),
        separate=FLAG,
        filter=RACK_FILTERS,
    ),
    "exclusive_scope_items": lambda names: fields(
        scope=HOST,
        dimension=CPU_OR_MEM,
        partition_name=pick(None, "job"),
        formula=pick("MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT", "AGGRESSIVE_PACKING"),
        scope_item_weights=mapping(names.hosts, pick(2, 0.5), 1),
        conflict_info_list=some(st.builds(conflicts, names.hosts_in_order, some(pick(1, 0.5), 2)), 2),
    ),
    "exclusive_swaps": lambda names: fields(
        subset_objects=pick(None) | names.some_tasks,
        subset_definition=pick("AT_LEAST_ONE_IN_SUBSET", "EXACTLY_ONE_IN_SUBSET", "BOTH_SAME_SIDE_OF_SUBSET"),
    ),
    "flow": lambda names: fields(
        scope=SCOPES,
        dimension=DIMENSIONS,
        bound=pick("UPPER", "LOWER"),
        pairs=some(names.pairs, 2),
        limit=SMALL,
        coefficients=pick(1, 2, {"global_limit": 1, "scope_item_limits": {"h0": 0}}),
        source_filter=names.filters,
    ),
    "group_assignment_affinities": lambda names: fields(
        scope=HOST,
        partition_name=JOB,
        dimension=pick("cpu", "net"),
        affinities=some(
            fields(group=pick("j0", "j1"), scope_item=names.hosts, target_dimension_value=SMALL, affinity=AFFINITY),
            2,
        ),
    ),
    "group_capacity": lambda names: (
        fields(
            scope=SCOPES,
            partition_name=pick("team"),
            contribution_partition=pick(None, "squad"),
            definition=pick("AFTER", "DURING", "DURING_AND_AFTER"),
            bound=pick("MAX", "MIN", "EXACT"),
            limit=SMALL,
            contribution=pick(1, 0.5, 2),
            util_type=pick("LINEAR", "STEP"),
        )
        | fields(
            scope=SCOPES,
            partition_name=pick("team"),
            definition=pick("AFTER", "DURING"),
            limit=pick(0, 1),
            contribution=pick({"global_limit": 1, "scope_item_limits": {}}),
            util_type=pick("STEP_MOD_K"),
            bundle_config=pick(1, 2, 3),
        )
    ),
    "group_count": lambda names: (
        fields(
            scope=SCOPES,
            partition_name=JOB,
            dimension=DIMENSIONS,
            definition=pick("AFTER", "DURING", "DURING_AND_AFTER", "STAYED"),
            bound=pick("MAX", "MIN", "EXACT", "MULTIPLE"),
            limit=pick(1, 2, 0.5) | pick({"type": "RELATIVE", "global_limit": 0.5}),
        )
        | fields(scope=SCOPES, partition_name=JOB, bound=pick("MAX", "MIN"), limit=SMALL, squares=FLAG)
        | fields(
            scope=HOST,
            partition_name=JOB,
            bound=pick("MIN"),
            limit=pick(2, 3),
            zero_allowed=pick(True),
            minimum_limit=pick(0, 1),
        )
    ),
    "group_dependency": lambda names: fields(
        scope=RACK,
        partition_name=JOB,
        dependencies=pick({"j0": ["j1"]}, {"j0": ["j1"], "j1": ["j0"]}),
        dimension=DIMENSIONS,
        filter=RACK_FILTERS,
    ),
    "group_diversity": lambda names: fields(
        scope=SCOPES, partition_name=JOB, dimension=CPU_OR_MEM, bound=pick("MIN", "MAX"), limit=SMALL
    ),
    "group_isolation_limit": lambda names: fields(
        scope=SCOPES, partition_name=JOB_OR_SQUAD, limit=pick(0, 1, 0.5), groups_allowed=pick(0, 1, 2)
    ),
    "group_move_limit": lambda names: fields(
        partition_name=JOB,
        limit=SMALL,
        dimension=pick(None, "cpu", "net"),
        source_scope_items_affecting_limit_filter=names.filters,
        destination_scope_items_affecting_limit_filter=names.filters,
    ),
    "items_affinity": lambda names: fields(
        scope=HOST,
        partition_name=JOB,
        dimension=ANY_DIMENSION,
        scope_items_of_type1=names.some_hosts,
        scope_items_of_type2=names.some_hosts,
    ),
    "largest_group_movement": lambda names: fields(
        partition_name=JOB_OR_SQUAD, scope=pick("", "rack"), dimension=DIMENSIONS
    ),
    "leftover_ratio": lambda names: fields(
        scope=SCOPES,
        dimension=DIMENSIONS,
        other_dimension=pick("cpu", "", "net"),
        target=pick(0, 1, 2, 0.5, Fraction(1, 3)),
    ),
    "logical_and": logic,
    "logical_or": logic,
    "maximize_allocation": lambda names: fields(scope=SCOPES, dimension=CPU_OR_MEM),
    "minimize_containers": lambda names: (
        fields(scope=SCOPES, dimension=CPU_OR_MEM, max_free_limit=pick(None, 1, 2))
        | fields(scope=HOST, dimension=pick("cpu"), container_costs=mapping(names.hosts, pick(2, 0.5), 2))
    ),
    "minimize_movement": lambda names: (
        fields(scope=pick("", "host", "rack"), dimension=DIMENSIONS, do_not_normalize=FLAG, magic_scaling=FLAG)
        | fields(dimension=DIMENSIONS, do_not_normalize=pick(True), allowance=pick(1, 0.5))
    ),
    "minimize_nth_largest_utilization": lambda names: fields(
        scope=SCOPES, dimension=CPU_OR_MEM, n=pick(0, 1, 2), target_utilization=pick(0, 0.5)
    ),
    "minimize_squares": lambda names: fields(scope=SCOPES, dimension=CPU_OR_MEM),
    "move_group": lambda names: fields(partition_name=JOB_OR_SQUAD),
    "moves_in_progress": lambda names: fields(moves=some(fields(obj_name=names.tasks, to_container=names.hosts), 1)),
    "nested_scope_limit": lambda names: fields(
        scope=HOST,
        outer_scope=RACK,
        dimension=ANY_DIMENSION,
        limit=pick(0.5, 1, {"global_limit": 0.5, "scope_item_limits": {"h0": 0.75}}),
        filter=names.filters,
    ),
    "non_accepting": lambda names: fields(scope=HOST, items=names.some_hosts),
    "object_affinities": lambda names: object_affinities(names, "", "h0") | object_affinities(names, "rack", "r1"),
    "pair_affinities": lambda names: fields(
        scope=pick("", "rack"),
        limit=SMALL,
        affinities=some(fields(pair=names.pairs, affinity=AFFINITY), 3),
    ),
    "placed": lambda names: fields(objects=pick(None, []) | names.some_tasks),
    "scope_affinities": lambda names: fields(
        scope=HOST, dimension=CPU_OR_MEM, affinities=mapping(names.hosts, AFFINITY, 2)
    ),
    "sr_buffer_capacity": lambda names: fields(
        scope=RACK,
        partition_name=JOB,
        dimension=ANY_DIMENSION,
        scope_item_pairs=pick(
            [{"scope_item1": "r0", "scope_item2": "r1"}],
            [{"scope_item1": "r0", "scope_item2": "r0"}, {"scope_item1": "r1", "scope_item2": "r0"}],
        ),
        matching_error=SMALL,
    ),
    "sum_of_max": lambda names: fields(scope=SCOPES, partition_name=JOB, dimension=ANY_DIMENSION, filter=RACK_FILTERS),
    "throttling": lambda names: fields(
        scope=SCOPES, dimension=ANY_DIMENSION, definition=pick("ANY", "IN", "OUT"), limit=SMALL
    ),
    "to_free": lambda names: fields(
        containers=names.some_hosts,
        dimension=pick("cpu", None),
        formula=pick("MINIMIZE_TOTAL_UTILIZATION", "MINIMIZE_OCCUPIED_CONTAINERS"),
    ),
    "transition_cost": lambda names: (
        fields(
            scope=RACK,
            costs=pick({"r0": {"r0": 1, "r1": 2.5}}, {"r1": {"r0": 3, "r1": 0.5}}, {}),
            default=SMALL,
            dimension=pick("cpu", "", "net"),
            allowance=SMALL,
        )
        | fields(costs=mapping(names.hosts, mapping(names.hosts, SMALL, 2), 2), default=SMALL)
    ),
    "util_increase_cost": lambda names: fields(scope=SCOPES, dimension=CPU_OR_MEM, lower_bound=SMALL, squares=FLAG),
    "working_set": lambda names: fields(
        scope=SCOPES,
        dimension=CPU_OR_MEM,
        metric=pick("AVG", "MAX"),
        working_units=some(fields(endpoints=names.some_tasks, weight=pick(1, 2, 0.5)), 2),
    ),
    **SELECTIONS,
}
