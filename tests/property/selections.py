"""Random specs over sets of objects, by key: what `catalogue` draws of those that select objects themselves."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.property.drawing import AFFINITY, FLAG, SCOPES, SMALL, Fields, Names, fields, mapping, pick, some

#: Scopes of the worlds, the built-in one of what is placed among them.
ANY_SCOPE = pick("host", "rack", "rack", "placed")
MISSING = pick(None, "refuse", "unconstrained")


def sets(names: Names) -> st.SearchStrategy[object]:
    """Some objects: listed, groups of a partition, all of them, less some, nobody."""
    return (
        names.some_tasks
        | fields(partition=pick("job"), groups=pick(["j0"], ["j1"]), excluding=pick(None) | names.some_tasks)
        | fields(partition=pick("squad"), excluding_groups=pick(["x0"], ["x1", "y0"]))
        | pick({}, [])
    )


def groups(names: Names) -> st.SearchStrategy[dict[str, object]]:
    """Whom a spec looks at group by group."""
    return fields(objects=sets(names)) | pick(
        {}, {"partition": "job"}, {"partition": "squad"}, {"partition": "squad", "groups": ["x0", "y0"]}
    )


def grouped(names: Names, own: Fields) -> Fields:
    """The fields of a spec, and whom it looks at."""
    return st.tuples(groups(names), own).map(lambda parts: parts[0] | parts[1])


def filters(names: Names, scope: str) -> st.SearchStrategy[object]:
    """A filter of the items of a scope, or none."""
    return {
        "host": names.filters,
        "rack": pick(None, {"items_whitelist": ["r0"]}, {"items_blacklist": ["r0"]}),
        "placed": pick(None, {"items_whitelist": ["placed"]}, {"items_whitelist": ["unplaced"]}),
    }[scope]


def scoped(names: Names, **own: st.SearchStrategy[object]) -> Fields:
    """The fields of a spec on any scope, filtered or not."""
    return ANY_SCOPE.flatmap(lambda scope: fields(scope=pick(scope), filter=filters(names, scope), **own))


def bounds(most: int = 2) -> Fields:
    """A least and a most number."""
    return pick({"min": 1}, {"min": most}, {"max": 0}, {"max": 1}, {"min": 1, "max": 1}, {"min": 1, "max": most})


def expressions(names: Names) -> Fields:
    """Expressions, nested a little."""
    counted = fields(scope=pick(None, "rack"), of=sets(names), count_self=FLAG, missing=MISSING)
    count = st.tuples(counted, bounds()).map(lambda parts: {"count": parts[0] | parts[1]})
    within = pick(
        {"within": {"items": ["h0"]}}, {"within": {"scope": "rack", "items": ["r1"]}}, {"within": {"scope": "rack"}}
    )
    now = fields(now=fields(scope=pick(None, "rack"), object=names.tasks))
    return st.recursive(
        count | within | now,
        lambda inner: st.builds(
            lambda key, parts: {key: parts},
            pick("and", "or", "not", "all_of"),
            st.lists(inner, max_size=2),
        ),
        max_leaves=3,
    )


SELECTIONS: dict[str, Callable[[Names], Fields]] = {
    "anchored_colocation": lambda names: scoped(
        names, objects=sets(names), anchors=pick(None) | sets(names), limit=pick(0, 1, 1, 2), missing=MISSING
    ),
    "conditional_presence": lambda names: st.tuples(
        scoped(names, source=sets(names), target=sets(names), count_self=FLAG, missing=MISSING), bounds()
    ).map(lambda parts: parts[0] | parts[1]),
    "count_cost": lambda names: grouped(
        names,
        scoped(
            names,
            costs=pick([0, 1, 3], [0, 0, 1], [2, 5, 1], [1], [{"count": 1, "cost": 2}, {"count": 3, "cost": 0.5}]),
            budget=SMALL,
        ),
    ),
    "coverage": lambda names: grouped(names, scoped(names, copies=pick(1, 2), unless=pick(None) | sets(names))),
    "fallback_tiers": lambda names: fields(
        objects=pick(None) | sets(names),
        tiers=some(fields(holds=expressions(names), cost=pick(0, 1, 2.5, -1)), 3),
        otherwise=pick(None, 4),
    ),
    "gang": lambda names: grouped(names, fields(minimum=pick(None, 1, 2, 3))),
    "group_conflict": lambda names: scoped(
        names, objects=sets(names), others=pick(None) | sets(names), missing=MISSING
    ),
    "group_pair_affinities": lambda names: scoped(
        names,
        affinities=some(fields(first=sets(names), second=sets(names), affinity=AFFINITY), 2),
        count=pick("pairs", "objects", "items"),
    ),
    "object_expression": lambda names: fields(objects=pick(None) | sets(names), holds=expressions(names)),
    "skew": lambda names: (
        grouped(
            names,
            scoped(
                names,
                max_skew=pick(0, 1, 2),
                domains=pick("eligible", "used"),
                min_domains=pick(None, 1, 2, 3),
                containers=pick(None) | names.some_hosts,
                missing=MISSING,
            ),
        )
        | fields(scope=SCOPES, objects=sets(names), counted=sets(names), max_skew=pick(0, 1))
    ),
    "unplaced_cost": lambda names: fields(
        objects=pick(None) | sets(names),
        cost=pick(1, 0.5, -2),
        object_costs=pick(None) | mapping(names.tasks, SMALL, 2),
    ),
}
