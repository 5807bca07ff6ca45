"""A slice is the model, as far as the freed objects can tell: the same integers, whatever they do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.slices import Slicer
from rebalancer.model import Cells, CellValues, GoalCells, Model, ModelBuilder, assemble, evaluate_cells
from rebalancer.model.model import holds
from tests.examples import examples
from tests.property.problems import models
from tests.property.test_every_kind_of_cell import formulas


def check(model: Model, data: st.DataObject) -> None:
    """Compare a random slice of a model with the evaluator, at every placement of up to 60 of the freed objects."""
    objects, containers = len(model.problem.objects), len(model.problem.containers)
    places = st.integers(-1, containers - 1)
    assignment = np.array(data.draw(st.lists(places, min_size=objects, max_size=objects)), np.int32)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, objects - 1), places), min_size=1, max_size=6))
    obj, container = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    choice = Choice.of(assignment, obj, container)
    slicer = Slicer(model)
    values = CellValues(model.problem, assignment)
    for cells in slicer.needed:
        evaluate_cells(values, cells)
    sliced = slicer.slice(values, choice)
    bounds = list(zip(choice.literals.start[:-1].tolist(), choice.literals.start[1:].tolist(), strict=True))
    for _ in range(20):
        picked = [data.draw(st.integers(first, last - 1)) for first, last in bounds]
        local = choice.literals.container[picked].astype(np.int32)
        whole = choice.whole(assignment, local)
        mine, real = CellValues(sliced.model.problem, local), CellValues(model.problem, whole)
        for cells in slicer.needed:
            expected = evaluate_cells(real, cells).integers.dense().ravel()
            got = evaluate_cells(values, cells).integers.dense().ravel()
            part = sliced.parts.get(cells.index)
            if part is not None:
                inside = evaluate_cells(mine, part.cells).integers.dense().ravel()
                assert part.cells.low <= inside.min()
                assert inside.max() <= part.cells.high
                got[part.keys] = inside
            assert got.tolist() == expected.tolist(), cells
        for position, known in zip(sliced.model.tuple_positions, model.tuple_positions, strict=True):
            integers = [
                int(evaluate_cells(at, of.objective).integers.dense()[0, 0])
                for at, of in ((mine, position), (real, known))
            ]
            assert integers[0] == integers[1]
        if all(holds(values, hard) for hard in model.hard):
            assert all(holds(mine, hard) for hard in sliced.model.hard) == all(holds(real, hard) for hard in model.hard)


@examples(80)
@given(formulas(), st.sampled_from([1, -1]), st.data())
def test_every_kind_of_cell_slices(case: tuple[ModelBuilder, Cells], sign: int, data: st.DataObject) -> None:
    builder, cells = case
    goal = GoalCells("goal", "any", Fraction(sign), 0, builder.total(cells))
    check(replace(assemble(builder, [goal], [])), data)


@examples(60)
@given(models(), st.data())
def test_every_spec_slices(model: Model, data: st.DataObject) -> None:
    check(model, data)
