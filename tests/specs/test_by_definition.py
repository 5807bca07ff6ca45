"""Specs over sets of objects, against their definitions written once more, object by object, on random small worlds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, check_entries

TASKS = ["t0", "t1", "t2", "t3", "t4"]
HOSTS = ["h0", "h1", "h2", "h3"]
Where = dict[str, str | None]


class World:
    """Five tasks on four hosts, of which some may be in no rack; r2 has no host; jobs may overlap."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.start: Where = {task: draw.choice([*HOSTS, None]) for task in TASKS}
        self.rack = {host: draw.choice(["r0", "r1", "r1", None]) for host in HOSTS}
        self.job = {job: [task for task in TASKS if draw.random() < 0.5] for job in ("j0", "j1")}
        builder = ProblemBuilder("task", "host")
        contents = {host: [task for task in TASKS if self.start[task] == host] for host in HOSTS}
        builder.set_assignment(contents, [task for task in TASKS if self.start[task] is None])
        racks = {rack: [host for host in HOSTS if self.rack[host] == rack] for rack in ("r0", "r1", "r2")}
        builder.add_scope("rack", racks)
        builder.add_partition("job", self.job)
        self.problem = builder.build()
        self.items = {"host": HOSTS, "rack": ["r0", "r1", "r2"], "placed": ["placed", "unplaced"]}

    def item(self, scope: str, host: str | None) -> str | None:
        if scope == "placed":
            return "placed" if host else "unplaced"
        return host if scope == "host" or host is None else self.rack[host]

    def some(self) -> list[str]:
        return [task for task in TASKS if self.draw.random() < 0.6]

    def scope(self) -> str:
        return self.draw.choice(["host", "rack", "rack", "placed"])

    def kept(self, scope: str) -> tuple[list[str], dict[str, Any]]:
        items = self.items[scope]
        if self.draw.random() < 0.7:
            return items, {}
        dropped = self.draw.choice(items)
        return [item for item in items if item != dropped], {"filter": {"items_blacklist": [dropped]}}

    def inside(self, where: Where, scope: str, item: str | None, tasks: list[str]) -> list[str]:
        return [task for task in tasks if item is not None and self.item(scope, where[task]) == item]

    def out(self, where: Where, scope: str, tasks: list[str], missing: str) -> int:
        placed = [task for task in set(tasks) if where[task] is not None]
        return sum(missing == "refuse" and self.item(scope, where[task]) is None for task in placed)

    def missing(self) -> str:
        return self.draw.choice(["refuse", "unconstrained"])

    def groups(self) -> tuple[list[list[str]], dict[str, Any]]:
        kind = self.draw.choice(["partition", "groups", "objects", "all"])
        if kind == "partition":
            return list(self.job.values()), {"partition": "job"}
        if kind == "groups":
            return [self.job["j1"]], {"partition": "job", "groups": ["j1"]}
        some = self.some()
        return ([some], {"objects": some}) if kind == "objects" else ([TASKS], {})


#: A spec's fields and what it comes to: as a goal, and as the violation of a constraint (None: it is no such).
Measure = Callable[[Where], float]
Case = tuple[dict[str, Any], Measure | None, Measure | None]


def conditional_presence(world: World) -> Case:
    draw, scope, source, target = world.draw, world.scope(), world.some(), world.some()
    kept, chosen = world.kept(scope)
    least, most = draw.choice([(1, None), (0, 0), (0, 1), (1, 2), (2, 2), (2, None)])
    itself, missing = draw.random() < 0.5, world.missing()

    def value(where: Where) -> float:
        total = world.out(where, scope, source, missing)
        for item in kept:
            there = world.inside(where, scope, item, target)
            seen = [
                len([task for task in there if itself or task != one])
                for one in world.inside(where, scope, item, source)
            ]
            total += max([0, *(least - number for number in seen)])
            total += max([0, *(number - most for number in seen)]) if most is not None else 0
        return total

    fields = {"scope": scope, "source": source, "target": target, "min": least, "count_self": itself} | chosen
    fields |= {"missing": missing} | ({} if most is None else {"max": most})
    return fields, value, value


def group_conflict(world: World) -> Case:
    scope, first, others, missing = world.scope(), world.some(), world.some(), world.missing()
    if world.draw.random() < 0.3:
        others = list(TASKS)
    kept, chosen = world.kept(scope)

    def value(where: Where) -> float:
        total = world.out(where, scope, first, missing)
        for item in kept:
            there = world.inside(where, scope, item, sorted({*first, *others}))
            stay = 0  # the most objects that can stay without a conflict
            for bits in range(2 ** len(there)):
                chosen = [task for position, task in enumerate(there) if bits >> position & 1]
                clash = any(a in first and b in others for a in chosen for b in chosen if a != b)
                stay = max(stay, 0 if clash else len(chosen))
            total += len(there) - stay
        return total

    fields = {"scope": scope, "objects": first, "missing": missing} | chosen
    return fields | ({} if others == TASKS else {"others": others}), value, value


def skew(world: World) -> Case:
    draw, scope, missing = world.draw, world.scope(), world.missing()
    groups, who = world.groups()
    kept, chosen = world.kept(scope)
    hosts = draw.choice([None, None, ["h0", "h1", "h2"], ["h1"]])
    slack, needed, used = draw.choice([0, 1, 1, 2]), draw.choice([0, 1, 2, 3]), draw.random() < 0.5
    counted = world.some() if "partition" not in who and draw.random() < 0.4 else None
    places: list[str | None] = [*HOSTS, None] if hosts is None else [*hosts]
    domains = [item for item in kept if item in {world.item(scope, place) for place in places}]

    def value(where: Where) -> float:
        total = world.out(where, scope, sorted({task for group in groups for task in group}), missing)

        def here(item: str, tasks: list[str]) -> int:
            return sum(where[task] in places and world.item(scope, where[task]) == item for task in tasks)

        for group in groups:
            number = {item: here(item, group if counted is None else counted) for item in domains}
            joined = [item for item in domains if here(item, group)]
            compared = [number[item] for item in domains if number[item] or not used]
            floor = min(compared, default=0) if len(compared) >= needed else 0
            total += max(0, max((number[item] for item in joined), default=0) - floor - slack)
        return total

    fields = {"scope": scope, "max_skew": slack, "min_domains": needed, "missing": missing} | who | chosen
    fields |= {"domains": "used"} if used else {}
    fields |= {} if counted is None else {"counted": counted}
    return fields | ({} if hosts is None else {"containers": hosts}), value, value


def count_cost(world: World) -> Case:
    draw, scope = world.draw, world.scope()
    groups, who = world.groups()
    kept, chosen = world.kept(scope)
    costs = draw.choice([[0, 1, 3, 6], [5, 2, 2, 9], [2], [0, 0, 1], [1, 0, 4]])
    budget = draw.choice([0, 1, 3])

    def cost(number: int) -> int:
        if number < len(costs):
            return costs[number]
        return costs[-1] + (number - len(costs) + 1) * (costs[-1] - costs[-2] if len(costs) > 1 else 0)

    def by_group(where: Where) -> list[int]:
        return [sum(cost(len(world.inside(where, scope, item, group))) for item in kept) for group in groups]

    fields = {"scope": scope, "costs": costs, "budget": budget} | who | chosen
    return (
        fields,
        lambda where: sum(by_group(where)),
        lambda where: sum(max(0, total - budget) for total in by_group(where)),
    )


def gang(world: World) -> Case:
    groups, who = world.groups()
    least = world.draw.choice([None, 1, 2, 3])

    def value(where: Where) -> float:
        total = 0
        for group in groups:
            placed = sum(where[task] is not None for task in group)
            total += max(0, min(placed, (len(group) if least is None else least) - placed))
        return total

    return who | ({} if least is None else {"minimum": least}), value, value


def unplaced_cost(world: World) -> Case:
    some, cost = world.some(), world.draw.choice([1, 0.5, -2])
    own = {task: world.draw.choice([3, 10]) for task in world.some()}

    def value(where: Where) -> float:
        return sum(own.get(task, cost) for task in some if where[task] is None)

    return {"objects": some, "cost": cost, "object_costs": own}, value, None


def coverage(world: World) -> Case:
    scope, copies = world.scope(), world.draw.choice([1, 1, 2])
    groups, who = world.groups()
    kept, chosen = world.kept(scope)
    excuse = world.some() if world.draw.random() < 0.5 else None

    def value(where: Where) -> float:
        total = 0
        for group in groups:
            for item in kept:
                possible = item in {world.item(scope, host) for host in [*HOSTS, None]}
                excused = excuse is not None and world.inside(where, scope, item, excuse)
                if possible and not excused:
                    total += max(0, copies - len(world.inside(where, scope, item, group)))
        return total

    fields = {"scope": scope, "copies": copies} | who | chosen
    return fields | ({} if excuse is None else {"unless": excuse}), value, value


def anchored_colocation(world: World) -> Case:
    draw, scope, some, missing = world.draw, world.scope(), world.some(), world.missing()
    anchors = draw.choice([None, [], ["t0"], ["t0", "t3"]])
    kept, chosen = world.kept(scope)
    limit = draw.choice([0, 1, 1, 2])

    def value(where: Where) -> float:
        holding = [item for item in kept if world.inside(where, scope, item, anchors or [])]
        lonely = [item for item in kept if item not in holding and world.inside(where, scope, item, some)]
        wrong = max(0, len(lonely) - (0 if holding else limit)) if some else 0
        return wrong + world.out(where, scope, some, missing)

    fields = {"scope": scope, "objects": some, "limit": limit, "missing": missing} | chosen
    return fields | ({} if anchors is None else {"anchors": anchors}), value, value


Test = Callable[[str, Where], bool]


def expression(world: World, depth: int = 2) -> tuple[dict[str, Any], Test]:
    draw = world.draw
    kind = draw.choice(["within", "count", "count", "now"] + (["all_of", "any_of", "none_of"] * 2 if depth else []))
    if kind.endswith("_of"):
        inner = [expression(world, depth - 1) for _ in range(draw.choice([0, 1, 2, 2]))]
        combine: Callable[[list[bool]], bool] = {"all_of": all, "any_of": any, "none_of": lambda v: not any(v)}[kind]
        return {kind: [fields for fields, _ in inner]}, lambda task, where: combine([t(task, where) for _, t in inner])
    scope = draw.choice(["host", "rack"])
    if kind == "within":
        items = draw.choice([None, world.items[scope][:1], world.items[scope][1:]])

        def within(task: str, where: Where) -> bool:
            item = world.item(scope, where[task])
            return item is not None and (items is None or item in items)

        return {"within": {"scope": scope} | ({} if items is None else {"items": items})}, within
    if kind == "now":
        other = draw.choice(TASKS)
        start = world.item(scope, world.start[other])
        return {
            "now": {"scope": scope, "object": other}
        }, lambda task, where: start is not None and world.item(scope, where[task]) == start
    least, most = draw.choice([(1, None), (0, 0), (0, 1), (1, 2), (2, None)])
    of, itself, missing = world.some(), draw.random() < 0.5, world.missing()

    def count(task: str, where: Where) -> bool:
        item = world.item(scope, where[task])
        if item is None:
            return missing == "unconstrained"
        seen = len([other for other in world.inside(where, scope, item, of) if itself or other != task])
        return least <= seen and (most is None or seen <= most)

    fields = {"scope": scope, "of": of, "min": least, "count_self": itself, "missing": missing}
    return {"count": fields | ({} if most is None else {"max": most})}, count


def object_expression(world: World) -> Case:
    some = world.some()
    fields, test = expression(world)

    def value(where: Where) -> float:
        return sum(where[task] is not None and not test(task, where) for task in some)

    return {"objects": some, "holds": fields}, value, value


def fallback_tiers(world: World) -> Case:
    draw, some = world.draw, world.some()
    tiers = [(*expression(world, 1), draw.choice([0, 1, 5, 2.5, -1])) for _ in range(draw.choice([1, 2, 3]))]
    otherwise = draw.choice([None, 10])

    def cost(task: str, where: Where) -> float:
        last = tiers[-1][2] if otherwise is None else otherwise
        return next((price for _, test, price in tiers if test(task, where)), last)

    def goal(where: Where) -> float:
        return sum(cost(task, where) for task in some if where[task] is not None)

    def violation(where: Where) -> float:
        return sum(where[task] is not None and not any(test(task, where) for _, test, _ in tiers) for task in some)

    fields = {"objects": some, "tiers": [{"holds": holds, "cost": price} for holds, _, price in tiers]}
    return fields | ({} if otherwise is None else {"otherwise": otherwise}), goal, violation


def group_pair_affinities(world: World) -> Case:
    draw, scope = world.draw, world.scope()
    kept, chosen = world.kept(scope)
    entries = [(world.some(), world.some(), draw.choice([1, -2, 0.5])) for _ in range(draw.choice([1, 2]))]
    if draw.random() < 0.5:
        entries.append((entries[0][0], entries[0][0], 3))
    how = draw.choice(["pairs", "objects", "items"])

    def value(where: Where) -> float:
        total = 0.0
        for first, second, affinity in entries:
            for item in kept:
                ours, theirs = (world.inside(where, scope, item, tasks) for tasks in (first, second))
                pairs = [(a, b) for a in ours for b in theirs if a != b]
                number = {"pairs": len(pairs), "objects": len({a for a, _ in pairs}), "items": int(bool(pairs))}[how]
                total -= affinity * number
        return total

    affinities = [{"first": first, "second": second, "affinity": affinity} for first, second, affinity in entries]
    return {"scope": scope, "affinities": affinities, "count": how} | chosen, value, None


CASES = [
    conditional_presence,
    group_conflict,
    skew,
    count_cost,
    gang,
    unplaced_cost,
    coverage,
    anchored_colocation,
    object_expression,
    fallback_tiers,
    group_pair_affinities,
]


def assignment_of(problem: Problem, where: Where) -> np.ndarray:
    places = [where[task] for task in problem.objects]
    return np.array([-1 if host is None else problem.containers.index[host] for host in places], np.int32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_evaluator_agrees_with_the_definition(case: Callable[[World], Case]) -> None:
    for seed in range(40):
        world = World(seed)
        fields, goal, violation = case(world)
        spec: Spec = registry.get(case.__name__).model_validate(fields)
        goals = [Goal(spec)] if goal else []
        constraints = [Constraint(spec)] if violation else []
        found = check_entries(world.problem, goals, constraints)
        assert not found, (fields, found)
        model = compile_model(world.problem, goals, constraints)
        for _ in range(12):
            where = {task: world.draw.choice([*HOSTS, None]) for task in TASKS}
            score = model.evaluate(assignment_of(world.problem, where))
            if goal:
                assert score.goals[0] == pytest.approx(goal(where)), (seed, fields, where)
            if violation:
                assert score.violations[0] == pytest.approx(violation(where)), (seed, fields, where)
