from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rebalancer.specs.expression import Expression
from rebalancer.specs.object_expression import ObjectExpressionSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, settled, table, world


def false_of(holds: dict[str, Any], moves: dict[str, str | None] | None = None, **fields: Any) -> float:
    """Of how many objects it is false."""
    return goal(world(), ObjectExpressionSpec(holds=holds, **fields), moves)


def test_places() -> None:
    assert false_of({"within": {"items": ["h0", "h1"]}}) == 2  # e, f; d is nowhere
    assert false_of({"within": {"scope": "rack", "items": ["r1"]}}) == 3
    assert false_of({"within": {"scope": "rack"}}, {"a": "h3"}) == 1
    assert false_of({"within": {"items": []}}, objects=["a", "d"]) == 1


def test_counts_beside_the_object_itself() -> None:
    assert false_of({"count": {"of": ["a", "e"], "min": 1}}) == 3  # a, c, e see none; b and f one
    assert false_of({"count": {"of": ["a", "e"], "min": 1, "count_self": True}}) == 1
    assert false_of({"count": {"of": ["a", "e"], "max": 0}}) == 2
    assert false_of({"count": {"scope": "rack", "of": ["a", "b", "c"], "min": 2, "max": 2}}) == 2  # e, f see 0
    assert false_of({"count": {"of": [], "min": 1}}, objects=["a"]) == 1


def test_containers_outside_the_scope() -> None:
    beside = {"scope": "rack", "of": ["e"], "max": 0}
    assert false_of({"count": beside}, {"a": "h3"}) == 1 + 1  # f, and a in no rack
    assert false_of({"count": beside | {"missing": "unconstrained"}}, {"a": "h3"}) == 1


def test_where_an_object_is_now() -> None:
    assert false_of({"now": {"object": "c"}}, objects=["a"]) == 1
    assert false_of({"now": {"object": "c"}}, {"a": "h1"}, objects=["a"]) == 0
    assert false_of({"now": {"object": "c"}}, {"a": "h3", "c": "h3"}, objects=["a"]) == 1  # at the start, not later
    assert false_of({"now": {"scope": "rack", "object": "c"}}, objects=["a"]) == 0
    assert false_of({"now": {"object": "d"}}, objects=["a"]) == 1  # d was nowhere
    assert false_of({"not": {"now": {"object": "c"}}}, objects=["c"]) == 1  # must leave


def test_and_or_not() -> None:
    first, second = {"within": {"items": ["h0"]}}, {"count": {"of": ["e"], "min": 1}}
    assert false_of({"or": [first, second]}) == 2  # c and e; f has e beside it
    assert false_of({"and": [first, second]}) == 5
    assert false_of({"and": [first, second]}, {"e": "h0"}) == 3  # a and b
    assert false_of({"not": [first, second]}) == 3
    assert false_of({"not": {"or": [first, {"not": second}]}}) == 4  # only f
    assert false_of({"all_of": []}) == 0
    assert false_of({"any_of": []}) == 5
    assert false_of({"none_of": []}) == 0


def test_or_is_per_object() -> None:
    """One object takes this branch, another that; as wholes, neither branch would hold of both."""
    branches = [{"within": {"items": ["h0"]}}, {"within": {"items": ["h1"]}}]
    assert false_of({"any_of": branches}, objects=["a", "c"]) == 0


def test_constraint_has_a_component_per_kind_and_place() -> None:
    lonely = ObjectExpressionSpec(objects=["a", "b", "c"], holds={"count": {"of": ["a"], "min": 1}})
    assert broken(world(), lonely) == (2, 2)  # a on h0, c on h1
    assert broken(world(), lonely, {"c": "h0"}) == (1, 1)
    assert feasible(settled(), lonely, {"c": "h0"})
    assert not feasible(settled(), lonely, {"b": "h1"})
    rows = [row for row in table(world(), lonely) if row[4]]
    assert rows == [("h1", "b and 1 more", 1, 0, 1), ("h0", "a", 1, 0, 1)]
    assert broken(world(), ObjectExpressionSpec(objects=[], holds={"any_of": []})) == (0, 0)


def test_many_objects_and_hosts_make_few_cells() -> None:
    """Kinds of objects × places, not objects × containers."""
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import ProblemBuilder

    hosts = {f"h{number}": [f"t{number}-{each}" for each in range(10)] for number in range(500)}
    out = ProblemBuilder("task", "host")
    out.set_assignment(hosts, [])
    out.add_scope("rack", {f"r{rack}": [f"h{number}" for number in range(rack, 500, 20)] for rack in range(20)})
    spec = ObjectExpressionSpec(holds={"count": {"scope": "rack", "of": ["t0-0", "t1-0"], "min": 1}})
    (part,) = spec.components(ModelBuilder(out.build()))
    assert (part.cells.groups, part.cells.items) == (2, 20)


def test_an_expression_is_one_thing() -> None:
    for wrong in ({}, {"within": {}, "now": {"object": "a"}}, {"and": [{}]}, {"or": [{"any": []}]}):
        with pytest.raises(ValidationError):
            Expression.model_validate(wrong)


def test_faults() -> None:
    nested = {"or": [{"within": {"scope": "rack", "items": ["r9"]}}, {"not": {"count": {"of": ["zz"], "min": 1}}}]}
    found = faults(world(), ObjectExpressionSpec(holds=nested))
    assert [(fault.code, fault.value) for fault in found] == [("unknown-name", "r9"), ("unknown-name", "zz")]
    unbounded = ObjectExpressionSpec(holds={"or": [{"count": {"of": ["a"]}}]})
    assert codes(faults(world(), unbounded)) == [("missing-field", "count")]
