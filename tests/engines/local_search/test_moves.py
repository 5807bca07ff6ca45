"""What the kernels keep up to date is what the evaluator computes from scratch, for every spec and kind of cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.engines.local_search import atoms, flatten
from rebalancer.engines.local_search.flatten import Flattener
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, X_PLACE, X_WIDTH, Flat
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.model import Cells, GoalCells, Model, ModelBuilder, assemble
from rebalancer.specs.registry import BUILT_IN
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
@settings(max_examples=12)
@given(data=st.data())
def test_every_spec(key: str, data: st.DataObject) -> None:
    walk(data.draw(models_with(key)), data.draw(st.integers(0, 2**20)))


@pytest.mark.parametrize("key", sorted(BUILT_IN))
@settings(max_examples=4)
@given(data=st.data())
def test_every_spec_with_petabytes_in_bytes(key: str, data: st.DataObject) -> None:
    walk(data.draw(models_with(key, 2**51)), data.draw(st.integers(0, 2**20)), 12)


@settings(max_examples=60)
@given(models(), st.integers(0, 2**20))
def test_any_mixture(model: Model, seed: int) -> None:
    walk(model, seed)


@contextmanager
def in_hash_rows() -> Iterator[None]:
    """Keep only what is not 0, as where there are very many cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atoms, "DENSE_CELLS", 0)
        patch.setattr(atoms, "DENSE_SHARE", 0)
        patch.setattr(flatten, "DENSE_WORDS", 0)
        yield


@settings(max_examples=60)
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
@settings(max_examples=12)
@given(data=st.data())
def test_every_spec_in_hash_rows(key: str, data: st.DataObject) -> None:
    with in_hash_rows():
        walk(data.draw(models_with(key)), data.draw(st.integers(0, 2**20)))


@settings(max_examples=150)
@given(formulas(), st.integers(0, 2**20))
def test_every_kind_of_cell_in_hash_rows(case: tuple[ModelBuilder, Cells], seed: int) -> None:
    builder, cells = case
    goal = GoalCells("goal", "any", 1, 0, builder.total(cells))  # type: ignore[arg-type]
    with in_hash_rows():
        walk(assemble(builder, [goal], []), seed)


@settings(max_examples=150)
@given(formulas(), st.integers(0, 2**20))
def test_every_kind_of_cell(case: tuple[ModelBuilder, Cells], seed: int) -> None:
    builder, cells = case
    goal = GoalCells("goal", "any", 1, 0, builder.total(cells))  # type: ignore[arg-type]
    walk(assemble(builder, [goal], []), seed)
