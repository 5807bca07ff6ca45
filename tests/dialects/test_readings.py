"""The two readings of a rule agree: what one object at a time can reach is what a finished assignment may be.

All placements of up to five alike objects on three hosts are enumerated, by counts. Where a system never looks back,
and so may drift into what it would not start, the finished reading accepts less, and only what can be reached.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from rebalancer.dialects.base import Dialect, State
from rebalancer.dialects.entries import Rules, expand, refusals
from rebalancer.dialects.fenzo import Fenzo
from rebalancer.dialects.firmament import Firmament
from rebalancer.dialects.kubernetes import Kubernetes
from rebalancer.dialects.marathon import Marathon
from rebalancer.dialects.yarn import Yarn
from tests.dialects.problems import holds, solver_of

HOSTS = {f"h{n}": {"zone": f"z{n}"} for n in range(3)}
TASKS = [f"t{n}" for n in range(5)]
FACTS = {"app": dict.fromkeys(TASKS, "x"), "tags": {task: ["x"] for task in TASKS}}


def marathon(*constraint: str, **fields: Any) -> Dialect:
    return Marathon.model_validate({"app": "x", "constraints": [constraint], **fields})


def spread(skew: int, domains: int | None = None) -> Dialect:
    entry = {"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": domains}
    return Kubernetes.model_validate({"spec": {"topologySpreadConstraints": [{**entry, "labelSelector": {}}]}})


def near(kind: str) -> Dialect:
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}]
    return Kubernetes.model_validate(
        {"spec": {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}}
    )


def yarn(constraint: str) -> Dialect:
    return Yarn.model_validate({"map": [{"sourceTags": ["x"], "constraint": constraint}]})


def fenzo(**constraint: Any) -> Dialect:
    return Fenzo.model_validate({"hard": [constraint]})


EXACT = {
    "UNIQUE": marathon("zone", "UNIQUE"),
    "MAX_PER 2": marathon("zone", "MAX_PER", "2"),
    "CLUSTER": marathon("zone", "CLUSTER"),
    "LIKE": marathon("zone", "LIKE", "z[01]"),
    "GROUP_BY 3": marathon("zone", "GROUP_BY", "3"),
    "quota 2": marathon("zone", "GROUP_BY", "2", group_by="quota"),
    "quota 3": marathon("zone", "GROUP_BY", "3", group_by="quota"),
    "skew 1": spread(1),
    "skew 2": spread(2),
    "skew 1, 4 domains": spread(1, 4),
    "affinity": near("podAffinity"),
    "anti-affinity": near("podAntiAffinity"),
    "NOTIN": yarn("NOTIN,NODE,x"),
    "at most one other": yarn("CARDINALITY,RACK,x,0,1"),
    "exclusive": fenzo(type="ExclusiveHostConstraint"),
    "unique attribute": fenzo(type="UniqueHostAttrConstraint", attribute="zone"),
    "balanced 3": fenzo(type="BalancedHostAttrConstraint", attribute="zone", expectedValues=3),
    "xor": Firmament.model_validate({"flow": [{"construct": "xor", "p": 4, "r": 2}]}),
}
#: Values that were never used are always accepted, so gaps of more than 1 can be reached.
DRIFTING = {
    "GROUP_BY 1": marathon("zone", "GROUP_BY", "1"),
    "balanced 1": fenzo(type="BalancedHostAttrConstraint", attribute="zone", expectedValues=1),
}


def finished(statement: Dialect) -> set[tuple[int, ...]]:
    """Return the counts by host that are legal as a whole."""
    solver = solver_of(statement, HOSTS, dict.fromkeys(TASKS), FACTS)
    return {counts for counts in every() if holds(solver, placed(counts))}


def reached(statement: Dialect) -> set[tuple[int, ...]]:
    """Return the counts by host that can be reached one object after the other."""
    problem = solver_of(statement, HOSTS, dict.fromkeys(TASKS), FACTS).problem
    expansion = expand(problem, [Rules(statement)])
    found, open_ones = {(0, 0, 0)}, [(0, 0, 0)]
    while open_ones:
        counts = open_ones.pop()
        if sum(counts) == len(TASKS):
            continue
        where = np.full(len(TASKS), -1, np.int32)
        where[: sum(counts)] = np.repeat(np.arange(3), counts)
        for host in range(3):
            if not refusals(expansion.rules, State(expansion.problem, where), sum(counts), host):
                grown = tuple(count + (position == host) for position, count in enumerate(counts))
                if grown not in found:
                    found.add(grown)
                    open_ones.append(grown)
    return found


def every() -> Iterator[tuple[int, ...]]:
    return (counts for counts in product(range(len(TASKS) + 1), repeat=3) if sum(counts) <= len(TASKS))


def placed(counts: tuple[int, ...]) -> dict[str, str | None]:
    homes = [host for host, count in zip(HOSTS, counts, strict=True) for _ in range(count)]
    return dict(zip(TASKS, [*homes, *[None] * len(TASKS)], strict=False))


@pytest.mark.parametrize("name", EXACT)
def test_the_readings_agree(name: str) -> None:
    assert finished(EXACT[name]) == reached(EXACT[name])


@pytest.mark.parametrize("name", DRIFTING)
def test_the_finished_reading_is_stricter_where_order_drifts(name: str) -> None:
    assert finished(DRIFTING[name]) < reached(DRIFTING[name])


def test_support_of_ones_own_kind_never_starts_one_at_a_time() -> None:
    assert reached(yarn("IN,NODE,x")) == {(0, 0, 0)}
    assert finished(yarn("IN,NODE,x")) == {counts for counts in every() if 1 not in counts}
