"""Random tiny problems over every spec, small enough to enumerate."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rebalancer.model import Model
from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, Policy, check_entries

AMOUNTS = st.sampled_from([0, 1, 2, 3, 5, 1.5])
OFFERS = st.sampled_from([0, 2, 3, 5, 7, 2.5])
DIMENSIONS = st.sampled_from(["cpu", "mem", ""])
ANY_DIMENSION = st.sampled_from(["cpu", "mem", "task_count", "vec", "net"])
SCOPES = st.sampled_from(["host", "rack"])
SMALL = st.sampled_from([0, 1, 2, 0.5])
LIMITS = st.one_of(
    SMALL,
    st.builds(
        lambda kind, value: {"type": kind, "global_limit": value}, st.sampled_from(["ABSOLUTE", "RELATIVE"]), SMALL
    ),
)


@st.composite
def worlds(draw: st.DrawFn, objects: int = 5, containers: int = 3) -> Problem:
    """A few tasks on a few hosts.

    Some unplaced, racks that may miss a host, jobs that may overlap, squads within teams, a dynamic dimension.
    """
    tasks = [f"t{index}" for index in range(draw(st.integers(1, objects)))]
    hosts = [f"h{index}" for index in range(draw(st.integers(1, containers)))]
    contents: dict[str, list[str]] = {host: [] for host in hosts}
    unassigned = []
    for task in tasks:
        place = draw(st.integers(-1, 3 * len(hosts) - 1))
        (unassigned if place < 0 else contents[hosts[place % len(hosts)]]).append(task)
    builder = ProblemBuilder("task", "host")
    builder.set_assignment(contents, unassigned)
    for dimension in ("cpu", "mem"):
        builder.add_object_dimension(dimension, {task: draw(AMOUNTS) for task in tasks})
        builder.add_scope_dimension(dimension, "host", {host: draw(OFFERS) for host in hosts})
        builder.add_scope_dimension(dimension, "rack", {rack: draw(OFFERS) for rack in ("r0", "r1")})
    builder.add_object_dimension("vec", {task: [draw(AMOUNTS), draw(AMOUNTS)] for task in tasks})
    builder.add_dynamic_object_dimension(
        "net", "rack", {"r0": {task: draw(AMOUNTS) for task in tasks}}, default=draw(SMALL)
    )
    racks: dict[str, list[str]] = {"r0": [], "r1": []}
    for host in hosts:
        rack = draw(st.sampled_from(["r0", "r1", None]))
        if rack:
            racks[rack].append(host)
    builder.add_scope("rack", racks)
    builder.add_partition("job", {job: [task for task in tasks if draw(st.booleans())] for job in ("j0", "j1")})
    squads: dict[str, list[str]] = {"x0": [], "x1": [], "y0": []}
    for task in tasks:
        squad = draw(st.sampled_from(["x0", "x1", "y0", None]))
        if squad:
            squads[squad].append(task)
    builder.add_partition("squad", squads)  # disjoint, and inside the teams
    builder.add_partition("team", {"x": [*squads["x0"], *squads["x1"]], "y": squads["y0"], "z": []})
    return builder.build()


def _spec(key: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Spec]:
    return st.fixed_dictionaries(fields).map(
        lambda given: registry.get(key).model_validate({k: v for k, v in given.items() if v is not None})
    )


def specs(problem: Problem) -> st.SearchStrategy[Spec]:
    """Any spec that fits the world; ones that turn out not to fit are dropped by `models`."""
    tasks, hosts = st.sampled_from(list(problem.objects)), st.sampled_from(list(problem.containers))
    some_tasks, some_hosts = st.lists(tasks, max_size=3, unique=True), st.lists(hosts, max_size=2, unique=True)
    flag = st.booleans()
    filters = st.one_of(st.none(), some_hosts.map(lambda names: {"items_whitelist": names}))
    rack_filters = st.sampled_from([None, {"items_whitelist": ["r0"]}])
    hosts_only = st.just("host")
    weights = st.sampled_from([1, 2, 0.5])
    return st.one_of(
        _spec(
            "capacity",
            scope=SCOPES,
            dimension=st.sampled_from(["cpu", "mem", "", "vec", "net"]),
            bound=st.sampled_from(["MAX", "MIN"]),
            limit=LIMITS,
            definition=st.sampled_from(
                [
                    "AFTER",
                    "DURING",
                    "DURING_AND_AFTER",
                    "DOUBLE_DURING",
                    "DOUBLE_DURING_AND_AFTER",
                    "NEW",
                    "OLD",
                    "MOVED_DATA",
                ]
            ),
        ),
        _spec(
            "capacity",
            scope=hosts_only,
            dimension=DIMENSIONS,
            bound=st.just("MIN"),
            limit=LIMITS,
            zero_allowed=flag,
            filter=filters,
        ),
        _spec(
            "group_count",
            scope=SCOPES,
            partition_name=st.just("job"),
            dimension=DIMENSIONS,
            definition=st.sampled_from(["AFTER", "DURING", "DURING_AND_AFTER", "STAYED"]),
            bound=st.sampled_from(["MAX", "MIN", "EXACT", "MULTIPLE"]),
            limit=st.one_of(st.sampled_from([1, 2, 0.5]), st.just({"type": "RELATIVE", "global_limit": 0.5})),
        ),
        _spec(
            "group_count",
            scope=SCOPES,
            partition_name=st.just("job"),
            bound=st.sampled_from(["MAX", "MIN"]),
            limit=SMALL,
            squares=flag,
        ),
        _spec(
            "group_count",
            scope=hosts_only,
            partition_name=st.just("job"),
            bound=st.just("MIN"),
            limit=st.sampled_from([2, 3]),
            zero_allowed=st.just(True),
            minimum_limit=st.sampled_from([0, 1]),
        ),
        _spec(
            "balance",
            scope=SCOPES,
            dimension=DIMENSIONS.filter(bool),
            formula=st.sampled_from(["LINEAR", "SQUARES", "MAX", "IDEAL", "RELATIVE_UTIL_VARIANCE"]),
            bound_type=st.sampled_from(["RELATIVE", "ABSOLUTE", "RELATIVE_UTIL"]),
            upper_bound=st.sampled_from([0, 1, 0.5]),
            fix_average_to_initial=flag,
            definition=st.sampled_from(["AFTER", "DURING", "NEW", "OLD"]),
        ),
        _spec(
            "balance",
            scope=SCOPES,
            dimension=DIMENSIONS.filter(bool),
            balance_metric=st.just("CAPACITY_PER_ITEM"),
            formula=st.sampled_from(["LINEAR", "MAX"]),  # squares of quotients are exact, but take CP-SAT minutes
            bound_type=st.sampled_from(["RELATIVE", "ABSOLUTE", "RELATIVE_UTIL"]),
            upper_bound=st.sampled_from([0, 1, 0.5]),
            definition=st.sampled_from(["AFTER", "DURING", "NEW"]),
        ),
        _spec(
            "to_free",
            containers=some_hosts,
            dimension=st.sampled_from(["cpu", None]),
            formula=st.sampled_from(["MINIMIZE_TOTAL_UTILIZATION", "MINIMIZE_OCCUPIED_CONTAINERS"]),
        ),
        _spec("non_accepting", scope=hosts_only, items=some_hosts),
        _spec(
            "avoid_assignments",
            scope=hosts_only,
            assignments=st.lists(st.fixed_dictionaries({"object": tasks, "scope_items": some_hosts}), max_size=2),
        ),
        _spec("avoid_moving", objects=some_tasks),
        _spec(
            "minimize_movement",
            scope=st.sampled_from(["", "host", "rack"]),
            dimension=DIMENSIONS,
            do_not_normalize=flag,
            magic_scaling=flag,
        ),
        _spec(
            "minimize_movement",
            dimension=DIMENSIONS,
            do_not_normalize=st.just(True),
            allowance=st.sampled_from([1, 0.5]),
        ),
        _spec(
            "assignment_affinities",
            scope=hosts_only,
            affinities=st.lists(
                st.fixed_dictionaries(
                    {"object_name": tasks, "scope_item_name": hosts, "affinity": st.sampled_from([1, -2, 0.5])}
                ),
                max_size=3,
            ),
        ),
        _spec(
            "colocate_groups",
            scope=SCOPES,
            partition_name=st.just("job"),
            bound=st.sampled_from(["MAX", "MIN"]),
            limits=st.sampled_from([1, 2]),
            squares=flag,
            group_to_weight=st.just({"j0": 2}),
            scope_item_weights=st.none(),
        ),
        _spec(
            "group_diversity",
            scope=SCOPES,
            partition_name=st.just("job"),
            dimension=DIMENSIONS.filter(bool),
            bound=st.sampled_from(["MIN", "MAX"]),
            limit=SMALL,
            filter=st.none(),
        ),
        _spec(
            "group_isolation_limit",
            scope=SCOPES,
            partition_name=st.sampled_from(["job", "squad"]),
            limit=st.sampled_from([0, 1, 0.5]),
            groups_allowed=st.sampled_from([0, 1, 2]),
        ),
        _spec(
            "group_capacity",
            scope=SCOPES,
            partition_name=st.just("team"),
            contribution_partition=st.sampled_from([None, "squad"]),
            definition=st.sampled_from(["AFTER", "DURING", "DURING_AND_AFTER"]),
            bound=st.sampled_from(["MAX", "MIN", "EXACT"]),
            limit=SMALL,
            contribution=st.sampled_from([1, 0.5, 2]),
            util_type=st.sampled_from(["LINEAR", "STEP"]),
        ),
        _spec(
            "group_capacity",
            scope=SCOPES,
            partition_name=st.just("team"),
            definition=st.sampled_from(["AFTER", "DURING"]),
            limit=st.sampled_from([0, 1]),
            contribution=st.just({"global_limit": 1, "scope_item_limits": {}}),
            util_type=st.just("STEP_MOD_K"),
            bundle_config=st.sampled_from([1, 2, 3]),
        ),
        _spec(
            "capacity_with_group_presence",
            scope=SCOPES,
            partition_name=st.sampled_from(["job", "team"]),
            dimension=DIMENSIONS.filter(bool),
            bound=st.sampled_from(["MAX", "MIN"]),
            scope_item_to_limit=LIMITS,
            group_to_presence_weight=st.sampled_from([0, 1, 2.5]),
            round_up_group_util_on_scope_item=flag,
            intent=st.sampled_from(["PER_SCOPE_ITEM", "PER_GROUP_AND_SCOPE_ITEM"]),
            group_util_multipliers=st.lists(
                st.fixed_dictionaries(
                    {
                        "value": st.sampled_from([0.5, 1.5]),
                        "target": st.sampled_from(["COMMON", "UTILIZATION", "PRESENCE_WEIGHT"]),
                    }
                ),
                max_size=2,
            ),
        ),
        _spec(
            "capacity_with_group_presence",
            scope=st.just("rack"),
            partition_name=st.just("team"),
            dimension=st.just("cpu"),
            scope_item_to_limit=LIMITS,
            aggregation_scope=st.sampled_from([None, "host"]),
            aggregation_partition=st.just("squad"),
            intent=st.just("PER_GROUP_AND_SCOPE_ITEM"),
        ),
        _spec(
            "disaster_recovery_capacity",
            scope=SCOPES,
            dimension=st.sampled_from(["cpu", "vec"]),
            primary_to_set_of_secondary_objects=st.dictionaries(
                tasks, st.lists(tasks, max_size=2, unique=True), max_size=2
            ),
            shared_disaster_groups=st.none(),
        ),
        _spec(
            "disaster_recovery_capacity",
            scope=hosts_only,
            dimension=st.just("mem"),
            primary_to_set_of_secondary_objects=st.dictionaries(
                tasks, st.lists(tasks, max_size=3, unique=True), max_size=2
            ),
            shared_disaster_groups=st.lists(some_hosts, max_size=2),
        ),
        _spec("util_increase_cost", scope=SCOPES, dimension=DIMENSIONS.filter(bool), lower_bound=SMALL, squares=flag),
        _spec(
            "minimize_containers",
            scope=SCOPES,
            dimension=DIMENSIONS.filter(bool),
            max_free_limit=st.sampled_from([None, 1, 2]),
            filter=st.none(),
            container_costs=st.none(),
        ),
        _spec(
            "minimize_containers",
            scope=hosts_only,
            dimension=st.just("cpu"),
            container_costs=st.dictionaries(hosts, st.sampled_from([2, 0.5]), max_size=2),
        ),
        _spec("maximize_allocation", scope=SCOPES, dimension=DIMENSIONS.filter(bool)),
        _spec(
            "minimize_nth_largest_utilization",
            scope=SCOPES,
            dimension=DIMENSIONS.filter(bool),
            n=st.sampled_from([0, 1, 2]),
            target_utilization=st.sampled_from([0, 0.5]),
        ),
        _spec("minimize_squares", scope=SCOPES, dimension=DIMENSIONS.filter(bool)),
        _spec(
            "scope_affinities",
            scope=hosts_only,
            dimension=DIMENSIONS.filter(bool),
            affinities=st.dictionaries(hosts, st.sampled_from([1, -2, 0.5]), max_size=2),
        ),
        _spec(
            "working_set",
            scope=SCOPES,
            dimension=DIMENSIONS.filter(bool),
            metric=st.sampled_from(["AVG", "MAX"]),
            working_units=st.lists(
                st.fixed_dictionaries({"endpoints": some_tasks, "weight": st.sampled_from([1, 2, 0.5])}), max_size=2
            ),
        ),
        _spec(
            "exclusive_scope_items",
            scope=hosts_only,
            dimension=DIMENSIONS.filter(bool),
            partition_name=st.sampled_from([None, "job"]),
            formula=st.sampled_from(["MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT", "AGGRESSIVE_PACKING"]),
            scope_item_weights=st.dictionaries(hosts, st.sampled_from([2, 0.5]), max_size=1),
            conflict_info_list=st.lists(
                st.fixed_dictionaries(
                    {
                        "scope_item": hosts,
                        "conflicting_scope_items_with_overlap": st.lists(
                            st.fixed_dictionaries(
                                {"conflicting_scope_item": hosts, "overlap": st.sampled_from([1, 0.5])}
                            ),
                            max_size=2,
                        ),
                    }
                ),
                max_size=2,
            ),
        ),
        _spec(
            "group_move_limit",
            partition_name=st.just("job"),
            limit=SMALL,
            dimension=st.sampled_from([None, "cpu", "net"]),
            source_scope_items_affecting_limit_filter=filters,
            destination_scope_items_affecting_limit_filter=filters,
        ),
        _spec(
            "pair_affinities",
            scope=st.sampled_from(["", "rack"]),
            limit=SMALL,
            affinities=st.lists(
                st.fixed_dictionaries(
                    {
                        "pair": st.fixed_dictionaries({"object1": tasks, "object2": tasks}),
                        "affinity": st.sampled_from([1, -2, 0.5]),
                    }
                ),
                max_size=3,
            ),
        ),
        _spec(
            "group_assignment_affinities",
            scope=hosts_only,
            partition_name=st.just("job"),
            dimension=st.sampled_from(["cpu", "net"]),
            affinities=st.lists(
                st.fixed_dictionaries(
                    {
                        "group": st.sampled_from(["j0", "j1"]),
                        "scope_item": hosts,
                        "target_dimension_value": SMALL,
                        "affinity": st.sampled_from([1, -2, 0.5]),
                    }
                ),
                max_size=2,
            ),
        ),
        _spec(
            "group_dependency",
            scope=st.just("rack"),
            partition_name=st.just("job"),
            dependencies=st.sampled_from([{"j0": ["j1"]}, {"j0": ["j1"], "j1": ["j0"]}]),
            dimension=DIMENSIONS,
            filter=rack_filters,
        ),
        _spec(
            "leftover_ratio",
            scope=SCOPES,
            dimension=DIMENSIONS,
            other_dimension=st.sampled_from(["cpu", "", "net"]),
            target=st.sampled_from([0, 1, 2, 0.5, Fraction(1, 3)]),
        ),
        _spec(
            "largest_group_movement",
            partition_name=st.sampled_from(["job", "squad"]),
            scope=st.sampled_from(["", "rack"]),
            dimension=DIMENSIONS,
        ),
        _spec(
            "transition_cost",
            scope=st.just("rack"),
            costs=st.sampled_from([{"r0": {"r0": 1, "r1": 2.5}}, {"r1": {"r0": 3, "r1": 0.5}}, {}]),
            default=SMALL,
            dimension=st.sampled_from(["cpu", "", "net"]),
            allowance=SMALL,
        ),
        _spec(
            "transition_cost", costs=st.dictionaries(hosts, st.dictionaries(hosts, SMALL, max_size=2)), default=SMALL
        ),
        _spec(
            "capacity_ratio",
            scope=st.just("rack"),
            dimension=ANY_DIMENSION,
            ratios=st.sampled_from([{"r0": {"r1": 0.5}}, {"r0": {"r1": 2}, "r1": {"r0": 1, "r1": 0.5}}]),
        ),
        _spec(
            "drain_capacity",
            scope=st.just("rack"),
            dimension=ANY_DIMENSION,
            spill_distribution=st.sampled_from([{"r0": {"r1": 0.5}}, {"r0": {"r1": 1}, "r1": {"r0": 0.25}}]),
        ),
        _spec(
            "nested_scope_limit",
            scope=hosts_only,
            outer_scope=st.just("rack"),
            dimension=ANY_DIMENSION,
            limit=st.sampled_from([0.5, 1, {"global_limit": 0.5, "scope_item_limits": {"h0": 0.75}}]),
            filter=filters,
        ),
        _spec(
            "aggregated_group",
            scope=SCOPES,
            partition_name=st.just("job"),
            dimension=st.sampled_from(["cpu", "mem", "", "net"]),
            limit=SMALL,
            within_group_aggregation_type=st.sampled_from(["SUM", "MAX"]),
            group_aggregation_type=st.sampled_from(["SUM", "MAX"]),
            container_aggregation_type=st.sampled_from(["SUM", "MAX"]),
        ),
        _spec(
            "aggregated_group",
            scope=st.just("rack"),
            partition_name=st.just("job"),
            limit=SMALL,
            contributions=st.just({"r0": 0.5, "r1": {"scope_item_limits": {"r1": 3}}}),
            filter=rack_filters,
        ),
        _spec("sum_of_max", scope=SCOPES, partition_name=st.just("job"), dimension=ANY_DIMENSION, filter=rack_filters),
        _spec(
            "items_affinity",
            scope=hosts_only,
            partition_name=st.just("job"),
            dimension=ANY_DIMENSION,
            scope_items_of_type1=some_hosts,
            scope_items_of_type2=some_hosts,
        ),
        _spec("move_group", partition_name=st.sampled_from(["job", "squad"])),
        _spec(
            "exclusive_objects",
            scope=SCOPES,
            pairs=st.lists(st.fixed_dictionaries({"object1": tasks, "object2": tasks}), max_size=2),
            separate=flag,
            filter=rack_filters,
        ),
        _spec(
            "object_affinities",
            scope=st.sampled_from(["", "rack"]),
            affinities=st.lists(
                st.fixed_dictionaries(
                    {
                        "object0": tasks,
                        "object1": st.one_of(tasks, st.sampled_from(["h0", "r1"])),
                        "objects_n": some_tasks,
                    }
                ),
                max_size=2,
            ),
        ),
        _spec(
            "throttling",
            scope=SCOPES,
            dimension=ANY_DIMENSION,
            definition=st.sampled_from(["ANY", "IN", "OUT"]),
            limit=SMALL,
        ),
        _spec(
            "flow",
            scope=SCOPES,
            dimension=DIMENSIONS,
            bound=st.sampled_from(["UPPER", "LOWER"]),
            pairs=st.lists(st.fixed_dictionaries({"object1": tasks, "object2": tasks}), max_size=2),
            limit=SMALL,
            coefficients=st.sampled_from([1, 2, {"global_limit": 1, "scope_item_limits": {"h0": 0}}]),
            source_filter=filters,
        ),
        _spec(
            "sr_buffer_capacity",
            scope=st.just("rack"),
            partition_name=st.just("job"),
            dimension=ANY_DIMENSION,
            scope_item_pairs=st.sampled_from(
                [
                    [{"scope_item1": "r0", "scope_item2": "r1"}],
                    [{"scope_item1": "r0", "scope_item2": "r0"}, {"scope_item1": "r1", "scope_item2": "r0"}],
                ]
            ),
            matching_error=SMALL,
        ),
        _spec(
            "diversify_within_scope_item",
            scope=st.just("rack"),
            partition_name=st.just("job"),
            dimension=st.sampled_from(["cpu", "mem"]),
            group_to_limit=LIMITS,
            scope_item_filter=rack_filters,
        ),
        _spec(
            "exclusive_swaps",
            subset_objects=st.one_of(st.none(), some_tasks),
            subset_definition=st.sampled_from(
                ["AT_LEAST_ONE_IN_SUBSET", "EXACTLY_ONE_IN_SUBSET", "BOTH_SAME_SIDE_OF_SUBSET"]
            ),
        ),
        _spec(
            "exclusive_groups",
            scope=SCOPES,
            partition_name=st.sampled_from(["job", "squad"]),
            dimension=st.sampled_from(["cpu", "mem"]),
        ),
        logic(st.sampled_from(["logical_or", "logical_and"])),
        logic(st.sampled_from(["logical_or", "logical_and"]), depth=2),
        _spec(
            "moves_in_progress",
            moves=st.lists(st.fixed_dictionaries({"obj_name": tasks, "to_container": hosts}), max_size=1),
        ),
        _spec("placed", objects=st.one_of(st.none(), some_tasks)),
        weights.flatmap(lambda _: _spec("placed")),
    )


LEAVES: list[dict[str, Any]] = [
    {"capacity": {"scope": "host", "dimension": "cpu"}},
    {"capacity": {"scope": "rack", "dimension": "mem", "limit": {"type": "ABSOLUTE", "global_limit": 2}}},
    {"capacity": {"scope": "rack", "definition": "NEW", "limit": {"type": "ABSOLUTE", "global_limit": 0}}},
    {"group_count": {"scope": "host", "partition": "job", "bound": "MIN", "dimension": "cpu"}},
    {"group_count": {"scope": "rack", "partition": "job", "bound": "MAX"}},
    {"minimize_movement": {"dimension": "mem", "do_not_normalize": True, "allowance": 1}},
    {"move_group": {"partition": "job"}},
]


def logic(key: st.SearchStrategy[str], depth: int = 1) -> st.SearchStrategy[Spec]:
    """Constraints combined, nested at will."""
    entries = st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.fixed_dictionaries(
            {"logical_and": st.fixed_dictionaries({"generic_specs": st.lists(inner, min_size=1, max_size=2)})}
        ),
        max_leaves=depth,
    )
    chosen = st.tuples(key, st.lists(entries, min_size=1, max_size=2))
    return chosen.map(lambda given: registry.get(given[0]).model_validate({"generic_specs": given[1]}))


@st.composite
def models(draw: st.DrawFn, objects: int = 5, containers: int = 3) -> Model:
    """A compiled random problem with goals at two tuple positions and constraints of every policy."""
    problem = draw(worlds(objects, containers))
    goals, constraints = [], []
    for spec in draw(st.lists(specs(problem), min_size=1, max_size=3)):
        entry = Goal(spec, None, Fraction(str(draw(st.sampled_from([1, 2, 0.3, -1])))), draw(st.integers(0, 1)))
        if spec.is_goal() and not check_entries(problem, [entry], []):
            goals.append(entry)
    for spec in draw(st.lists(specs(problem), max_size=3)):
        demand = Constraint(
            spec,
            None,
            draw(st.sampled_from(list(Policy))),
            Fraction(draw(st.sampled_from([1, 100]))),
            Fraction(draw(st.sampled_from([0, 10000]))),
            draw(st.integers(0, 1)),
        )
        if spec.is_constraint() and not check_entries(problem, [], [demand]):
            constraints.append(demand)
    return compile_model(problem, goals, constraints)


def every_assignment(problem: Problem) -> list[np.ndarray]:
    """All assignments, unplaced objects included."""
    choices = range(-1, len(problem.containers))
    return [np.array(choice, np.int32) for choice in itertools.product(choices, repeat=len(problem.objects))]
