"""Random tiny problems over every spec, small enough to enumerate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from rebalancer.engines.neighbourhood.state import integers_of
from rebalancer.model import CellValues, Model
from rebalancer.model.model import holds
from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, Policy, check_entries
from tests.property.catalogue import CATALOGUE, specs

AMOUNTS = st.sampled_from([0, 1, 2, 3, 5, 1.5])
OFFERS = st.sampled_from([0, 2, 3, 5, 7, 2.5])
#: Sizes for brute force over every spec: numbers of tasks and hosts with 64 assignments at most.
TINY = st.sampled_from([(3, 3), (4, 1), (3, 2), (3, 3), (2, 3), (2, 2), (5, 1), (3, 3)])
WEIGHTS = st.sampled_from([Fraction(1), Fraction(2), Fraction("0.3"), Fraction(-1)])
POSITIONS = st.integers(0, 1)


@st.composite
def worlds(draw: st.DrawFn, objects: int = 5, containers: int = 3) -> Problem:
    """A few tasks on a few hosts: any number up to these."""
    return draw(world(draw(st.integers(1, objects)), draw(st.integers(1, containers))))


@cache
def world(tasks: int, hosts: int, times: int = 1) -> st.SearchStrategy[Problem]:
    """So many tasks on so many hosts; amounts so many times as large, and odd.

    Some unplaced, racks that may miss a host, jobs that may overlap, squads within teams, a dynamic dimension.
    """
    task_names, host_names = [f"t{at}" for at in range(tasks)], [f"h{at}" for at in range(hosts)]

    def one_each(count: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(values, min_size=count, max_size=count)

    def large(values: st.SearchStrategy[float]) -> st.SearchStrategy[float]:
        return values if times == 1 else values.map(lambda value: int(value * times) + 1 if value else 0)

    def build(drawn: Any) -> Problem:
        places, cpu, mem, first, second, in_r0, elsewhere, offers, rack_offers, rack_of, jobs, squad_of = drawn
        contents: dict[str, list[str]] = {host: [] for host in host_names}
        unassigned = []
        for task, place in zip(task_names, places, strict=True):
            (unassigned if place < 0 else contents[host_names[place % hosts]]).append(task)
        builder = ProblemBuilder("task", "host")
        builder.set_assignment(contents, unassigned)
        for position, (dimension, amounts) in enumerate((("cpu", cpu), ("mem", mem))):
            builder.add_object_dimension(dimension, dict(zip(task_names, amounts, strict=True)))
            builder.add_scope_dimension(dimension, "host", dict(zip(host_names, offers[position::2], strict=True)))
            builder.add_scope_dimension(
                dimension, "rack", dict(zip(("r0", "r1"), rack_offers[position::2], strict=True))
            )
        builder.add_object_dimension(
            "vec", {task: [*pair] for task, *pair in zip(task_names, first, second, strict=True)}
        )
        builder.add_dynamic_object_dimension(
            "net", "rack", {"r0": dict(zip(task_names, in_r0, strict=True))}, default=elsewhere
        )
        builder.add_scope("rack", {rack: _members(host_names, rack_of, rack) for rack in ("r0", "r1")})
        builder.add_partition(
            "job", {"j0": _members(task_names, jobs[::2], True), "j1": _members(task_names, jobs[1::2], True)}
        )
        squads = {squad: _members(task_names, squad_of, squad) for squad in ("x0", "x1", "y0")}
        builder.add_partition("squad", squads)  # disjoint, and inside the teams
        builder.add_partition("team", {"x": [*squads["x0"], *squads["x1"]], "y": squads["y0"], "z": []})
        return builder.build()

    return st.tuples(
        one_each(tasks, st.integers(-1, 3 * hosts - 1)),
        *(one_each(tasks, large(AMOUNTS)) for _ in range(5)),
        st.sampled_from([0, 1, 2, 0.5]),
        one_each(2 * hosts, large(OFFERS)),
        one_each(4, large(OFFERS)),
        one_each(hosts, st.sampled_from(["r0", "r1", None])),
        one_each(2 * tasks, st.booleans()),
        one_each(tasks, st.sampled_from(["x0", "x1", "y0", None])),
    ).map(build)


def _members(names: list[str], owners: list[Any], owner: Any) -> list[str]:
    return [name for name, its in zip(names, owners, strict=True) if its == owner]


@st.composite
def models(draw: st.DrawFn, objects: int = 5, containers: int = 3) -> Model:
    """A compiled random problem with goals at two tuple positions and constraints of every policy."""
    problem = draw(worlds(objects, containers))
    keys = st.sampled_from(sorted(CATALOGUE))
    goals, constraints = [], []
    for key in draw(st.lists(keys, min_size=1, max_size=3)):
        goal = draw(_goals(draw(_specs(key, problem))))
        if goal.spec.is_goal() and not check_entries(problem, [goal], []):
            goals.append(goal)
    for key in draw(st.lists(keys, max_size=3)):
        demand = draw(_constraints(draw(_specs(key, problem))))
        if demand.spec.is_constraint() and not check_entries(problem, [], [demand]):
            constraints.append(demand)
    return compile_model(problem, goals, constraints)


@st.composite
def models_with(draw: st.DrawFn, key: str, times: int = 1) -> Model:
    """A compiled random problem with one spec, as goal, constraint or both, and a goal that pulls tasks anywhere."""
    tasks, hosts = draw(TINY)
    problem = draw(world(tasks, hosts, times))
    spec = registry.get(key)
    kinds = [kind for kind, fits in (("goal", spec.is_goal()), ("constraint", spec.is_constraint())) if fits]
    if len(kinds) == 2:
        kinds = draw(st.sampled_from([kinds[:1], kinds[1:], kinds]))
    goals = [draw(_goals(draw(_specs(key, problem))))] if "goal" in kinds else []
    constraints = [draw(_constraints(draw(_specs(key, problem))))] if "constraint" in kinds else []
    assume(not check_entries(problem, goals, constraints))
    return compile_model(problem, [*goals, draw(_pulls(tasks, hosts))], constraints)


def _specs(key: str, problem: Problem) -> st.SearchStrategy[Spec]:
    return specs(key, len(problem.objects), len(problem.containers))


def _goals(spec: Spec) -> st.SearchStrategy[Goal]:
    return st.builds(Goal, st.just(spec), st.none(), WEIGHTS, POSITIONS)


def _constraints(spec: Spec) -> st.SearchStrategy[Constraint]:
    return st.builds(
        Constraint,
        st.just(spec),
        st.none(),
        st.sampled_from(Policy),
        st.sampled_from([Fraction(1), Fraction(100)]),
        st.sampled_from([Fraction(0), Fraction(10000)]),
        POSITIONS,
    )


@cache
def _pulls(tasks: int, hosts: int) -> st.SearchStrategy[Goal]:
    """Affinities of every task to every host."""
    cells = [(f"t{task}", f"h{host}") for task in range(tasks) for host in range(hosts)]

    def goal(affinities: list[int], position: int) -> Goal:
        listed = [
            {"object_name": task, "scope_item_name": host, "affinity": affinity}
            for (task, host), affinity in zip(cells, affinities, strict=True)
        ]
        spec = registry.get("assignment_affinities").model_validate({"scope": "host", "affinities": listed})
        return Goal(spec, "pulls", tuple_pos=position)

    return st.builds(goal, st.lists(st.integers(-2, 3), min_size=len(cells), max_size=len(cells)), POSITIONS)


def every_assignment(problem: Problem) -> list[np.ndarray]:
    """All assignments, unplaced objects included."""
    return _assignments(len(problem.objects), len(problem.containers))


@cache
def _assignments(objects: int, containers: int) -> list[np.ndarray]:
    choices = itertools.product(range(-1, containers), repeat=objects)
    return [np.array(choice, np.int32) for choice in choices]


def every_feasible(model: Model) -> Iterator[CellValues]:
    """All assignments that hold the hard cells, which are all that is evaluated of them so far."""
    for assignment in every_assignment(model.problem):
        values = CellValues(model.problem, assignment)
        if all(holds(values, hard) for hard in model.hard):
            yield values


def optimum(model: Model) -> tuple[int, ...] | None:
    """The best objective of all assignments that hold the hard cells; None where none does."""
    return min((integers_of(model, values) for values in every_feasible(model)), default=None)
