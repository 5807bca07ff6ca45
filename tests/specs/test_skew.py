from __future__ import annotations

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.skew import SkewSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table


def world() -> Problem:
    """Zones by host: a has 3 of web, b 1, c 0 (and x), d no host; h9 is in no zone."""
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["w0", "w1"], "h1": ["w2"], "h2": ["w3", "y"], "h3": ["x"], "h9": []}, ["w4"])
    out.add_scope("zone", {"a": ["h0", "h1"], "b": ["h2"], "c": ["h3"], "d": []})
    out.add_partition("app", {"web": ["w0", "w1", "w2", "w3", "w4"], "xy": ["x", "y"]})
    return out.build()


WEB = {"partition": "app", "groups": ["web"]}


def spec(**fields: object) -> SkewSpec:
    return SkewSpec(**({"scope": "zone"} | (WEB if "objects" not in fields else {}) | fields))


def test_the_fullest_is_compared_with_the_emptiest_domain() -> None:
    assert broken(world(), spec()) == (2, 1)  # 3 − 0 − 1; d has no host
    assert broken(world(), spec(max_skew=3)) == (0, 0)
    assert broken(world(), spec(max_skew=0)) == (3, 1)
    assert goal(world(), spec(), {"w4": "h3"}) == 1
    assert goal(world(), spec(), {"w4": "h3", "w0": "h3"}) == 0  # 2, 1, 2
    assert goal(world(), spec(), {"w0": "h9"}) == 1  # 2, 1, 0


def test_too_few_domains_make_the_floor_0() -> None:
    two = {"filter": {"items_whitelist": ["a", "b"]}}
    assert goal(world(), spec(**two)) == 1
    assert goal(world(), spec(**two, min_domains=2)) == 1
    assert goal(world(), spec(**two, min_domains=3)) == 2
    assert goal(world(), spec(filter={"items_whitelist": ["d"]}, min_domains=3)) == 0


def test_over_used_domains_only() -> None:
    used = {"domains": "used"}
    assert goal(world(), spec(**used)) == 1  # 3 − 1 − 1
    assert goal(world(), spec(**used, min_domains=2)) == 1
    assert goal(world(), spec(**used, min_domains=3)) == 2  # a third is to be opened first
    assert goal(world(), spec(**used, min_domains=3), {"w4": "h3"}) == 1
    nowhere = dict.fromkeys(["w0", "w1", "w2", "w3"])
    assert goal(world(), spec(**used, min_domains=3, max_skew=0), nowhere) == 0
    assert goal(world(), spec(**used, min_domains=2, max_skew=0), {**nowhere, "w0": "h0"}) == 1
    assert goal(world(), spec(**used, min_domains=1, max_skew=0), {**nowhere, "w0": "h0"}) == 0


def test_a_gap_may_shrink_or_stay_but_not_grow() -> None:
    """3/1/2: one more in b or c keeps the gap of 2 or less, one more in a does not."""
    out = ProblemBuilder("task", "host")
    tasks = [f"t{number}" for number in range(7)]
    out.set_assignment({"a": tasks[:3], "b": tasks[3:4], "c": tasks[4:6]}, tasks[6:])
    even = SkewSpec(scope="host", domains="used", min_domains=3)
    problem = out.build()
    assert feasible(problem, even, {"t6": "b"})
    assert feasible(problem, even, {"t6": "c"})
    assert not feasible(problem, even, {"t6": "a"})


def test_each_group_on_its_own_or_all_together() -> None:
    every = SkewSpec(scope="zone", partition="app")
    assert table(world(), every) == [(None, "web", 3, 1, 2), (None, "xy", 1, 1, 0)]  # x, y in b and c
    assert goal(world(), SkewSpec(scope="zone")) == 1  # 3, 2, 1
    assert goal(world(), spec(objects=["w0", "w1", "x"])) == 1  # 2, 0, 1
    assert goal(world(), spec(objects=[])) == 0


def test_others_are_counted_where_the_judged_are() -> None:
    judged = spec(objects=["x"], counted=WEB, max_skew=1)
    assert goal(world(), judged) == 0  # x is in c, which has none of web
    assert goal(world(), judged, {"x": "h0"}) == 2  # a has 3, c 0
    assert goal(world(), judged, {"x": None}) == 0


def test_only_some_containers_make_domains() -> None:
    assert goal(world(), spec(containers=["h0", "h2"])) == 0  # 2 − 1 − 1: w2 on h1 does not count
    assert goal(world(), spec(containers=["h0", "h1", "h2"])) == 1
    assert goal(world(), spec(containers=["h9"])) == 0


def test_containers_outside_the_scope() -> None:
    assert goal(world(), spec(max_skew=5), {"w0": "h9"}) == 0
    assert broken(world(), spec(max_skew=5, missing="refuse"), {"w0": "h9"}) == (1, 1)
    assert broken(world(), spec(max_skew=5, missing="refuse"), {"w0": None}) == (0, 0)


def test_faults() -> None:
    assert codes(faults(world(), spec(max_skew=-1))) == [("out-of-range", "max_skew")]
    assert codes(faults(world(), spec(min_domains=-1))) == [("out-of-range", "min_domains")]
    assert codes(faults(world(), spec(counted=["x"]))) == [("unsupported-field", "counted")]
    assert codes(faults(world(), SkewSpec(scope="zone", groups=["web"]))) == [("missing-field", "groups")]
    both = SkewSpec(scope="zone", partition="app", objects=["x"])
    assert codes(faults(world(), both)) == [("unsupported-field", "objects")]
    assert codes(faults(world(), SkewSpec(scope="zone", partition="ap"))) == [("unknown-name", "partition_name")]
