"""What the kernels keep up to date is what the evaluator computes from scratch, for every spec and kind of cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rebalancer import CapacitySpec, GroupCountSpec, Rebalancer
from rebalancer.engines.local_search.flat import atoms, flatten
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, X_PLACE, X_WIDTH, Flat
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.model import Cells, GoalCells, Model, ModelBuilder, Param, assemble
from rebalancer.problem import ProblemBuilder
from rebalancer.specs.registry import BUILT_IN
from tests.examples import examples
from tests.property.problems import models, models_with
from tests.property.test_every_kind_of_cell import formulas


def assignment_of(flat: Flat, model: Model) -> NDArray[np.int32]:
    containers = len(model.problem.containers)
    return np.where(flat.place == containers, -1, flat.place).astype(np.int32)


def walk(model: Model, seed: int, moves: int = 40) -> None:
    """Move objects at random, out of every container too, and back again."""
    flattener = Flattener(model)
    flat = flattener.at(model.problem.initial)
    before = [np.copy(array) for array in (flat.values, flat.broken, flat.place, flat.numbers)]
    objects, containers = len(model.problem.objects), len(model.problem.containers)
    rng = np.random.default_rng(seed)
    agree(flat, model)
    if not objects:
        return
    log = []
    for step in range(moves):
        obj, to = int(rng.integers(objects)), int(rng.integers(containers + 1))
        log.append((obj, int(flat.place[obj])))
        move(flat, obj, to)
        if step % 4 == 0:
            agree(flat, model)
    agree(flat, model)
    fresh = flattener.at(assignment_of(flat, model))
    for name in ("values", "broken", "paid", "load"):
        np.testing.assert_array_equal(getattr(flat, name), getattr(fresh, name), err_msg=name)
    for obj, source in reversed(log):
        move(flat, obj, source)
    after = (flat.values, flat.broken, flat.place, flat.numbers)
    if (flat.specials.reshape(-1, X_WIDTH)[:, X_PLACE] < 0).any():  # which nodes of `ranks` are free may differ
        before, after = before[:3], after[:3]
    for known, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(known, now)


def agree(flat: Flat, model: Model) -> None:
    score = model.evaluate(assignment_of(flat, model))
    assert tuple(objective(flat, position)[0] for position in range(model.positions)) == score.integers
    assert (flat.counts[N_BROKEN] == 0) == score.feasible


@pytest.mark.parametrize("key", sorted(BUILT_IN))
@examples(6)
@given(data=st.data())
def test_every_spec(key: str, data: st.DataObject) -> None:
    walk(data.draw(models_with(key)), data.draw(st.integers(0, 2**20)))


@pytest.mark.parametrize("key", sorted(BUILT_IN))
@examples(4)
@given(data=st.data())
def test_every_spec_with_petabytes_in_bytes(key: str, data: st.DataObject) -> None:
    walk(data.draw(models_with(key, 2**51)), data.draw(st.integers(0, 2**20)), 12)


@examples(40)
@given(models(), st.integers(0, 2**20))
def test_any_mixture(model: Model, seed: int) -> None:
    walk(model, seed)


@contextmanager
def in_hash_rows() -> Iterator[None]:
    """Keep only what is not 0, as where there are very many cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atoms, "DENSE_CELLS", 0)
        patch.setattr(atoms, "DENSE_SHARE", 0)
        patch.setattr(flatten, "FEW_WORDS", 0)
        patch.setattr(flatten, "DENSE_WORDS", 0)
        yield


@examples(40)
@given(models(), st.integers(0, 2**20))
def test_hash_rows_hold_what_tables_hold(model: Model, seed: int) -> None:
    with in_hash_rows():
        walk(model, seed)


def test_cells_that_hold_nothing_may_be_beyond_their_bounds() -> None:
    """Each host is to have less than nothing, which all but one have not."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": [], "h2": [], "h3": []})
    solver.add_object_dimension("heat", {"a": -2})
    limit = {"type": "ABSOLUTE", "global_limit": -1}
    solver.add_constraint(CapacitySpec(scope="host", dimension="heat", limit=limit), policy="HARD")
    with in_hash_rows():
        flat = Flattener(solver.model).at(solver.model.problem.initial)
        assert (flat.counts[N_BROKEN], flat.broken.max()) == (3, 3)
        move(flat, 0, 4)  # out of all, which breaks `placed` as well
        assert (flat.counts[N_BROKEN], flat.broken[0]) == (5, 4)
        walk(solver.model, 1)


@pytest.mark.parametrize("key", sorted(BUILT_IN))
@examples(6)
@given(data=st.data())
def test_every_spec_in_hash_rows(key: str, data: st.DataObject) -> None:
    with in_hash_rows():
        walk(data.draw(models_with(key)), data.draw(st.integers(0, 2**20)))


@examples(80)
@given(formulas(), st.integers(0, 2**20))
def test_every_kind_of_cell_in_hash_rows(case: tuple[ModelBuilder, Cells], seed: int) -> None:
    builder, cells = case
    goal = GoalCells("goal", "any", 1, 0, builder.total(cells))  # type: ignore[arg-type]
    with in_hash_rows():
        walk(assemble(builder, [goal], []), seed)


@examples(80)
@given(formulas(), st.integers(0, 2**20))
def test_every_kind_of_cell(case: tuple[ModelBuilder, Cells], seed: int) -> None:
    builder, cells = case
    goal = GoalCells("goal", "any", 1, 0, builder.total(cells))  # type: ignore[arg-type]
    walk(assemble(builder, [goal], []), seed)


def test_limits_that_differ_in_few_cells_are_not_written_down_cell_by_cell() -> None:
    """Of 400 jobs on 300 hosts one has two tasks on its host: no word for each of the 120,000 cells."""
    solver = Rebalancer(object_name="task", container_name="host")
    hosts = {f"h{at}": [f"t{at}"] for at in range(300)}
    hosts["h0"] += [f"t{at}" for at in range(300, 400)]
    solver.set_assignment(hosts)
    jobs = {f"j{at}": [f"t{at}"] for at in range(400)}
    jobs["j0"].append("t301")
    solver.add_partition("job", jobs)
    solver.add_constraint(GroupCountSpec(scope="host", partition_name="job", limit=1))
    assert len(Flattener(solver.model).fixed["words"]) < 1000


def test_exceptions_are_those_of_items_and_not_of_their_classes() -> None:
    """Three hosts, each a class of its own, in another order: the one limit that differs stays that of its host."""
    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": [f"t{at}" for at in range(12)], "h1": [], "h2": []})
    world.add_partition("job", {f"j{job}": [f"t{at}" for at in range(3 * job, 3 * job + 3)] for job in range(4)})
    builder = ModelBuilder(world.build())
    room = [[-1, -1, -1]] * 3 + [[-1, -1, -3]]
    limits = Param.of(np.array(room, object), 4, 3, column=np.array([2, 0, 1]))
    excess = builder.hinge(builder.linear([(builder.tally("host", partition="job"), 1)], limits))
    model = assemble(builder, [GoalCells("goal", "any", Fraction(1), 0, builder.total(excess))], [])
    with in_hash_rows():
        walk(model, 0)
