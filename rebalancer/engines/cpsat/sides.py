"""From which side each cell is needed: what minimising and hard cells take, handed down through the formulas."""

from __future__ import annotations

from rebalancer.model import Cells, Function, Grid, Map, Model, Product, Ratio, Reduce

#: A cell asked for from below may not be smaller than it is; from above, not larger.
BELOW, ABOVE = 1, 2


def sides_of(model: Model) -> dict[int, int]:
    """Return, for every cell that something needs, from which side: BELOW, ABOVE or both."""
    sides: dict[int, int] = {}

    def want(cells: Cells, side: int) -> None:
        sides[cells.index] = sides.get(cells.index, 0) | side

    for hard in model.hard:
        want(hard.cells, BELOW)
    for position in model.tuple_positions:
        want(position.objective, BELOW)
    for cells in reversed(model.graph):
        side = sides.get(cells.index, 0)
        if not side:
            continue
        if isinstance(cells, Map):
            x_side = side
            if cells.function is Function.MOD:
                x_side = BELOW | ABOVE
            if cells.function is Function.SQUARE:
                x_side = side if cells.x_low >= 0 else _flip(side) if cells.x_high <= 0 else BELOW | ABOVE
            for term in cells.terms:
                want(term.cells, _signed(term.coef, x_side))
        elif isinstance(cells, Reduce):
            want(cells.source, _signed(cells.coef, side))
        elif isinstance(cells, Product | Ratio):
            for source in cells.inputs:
                want(source, BELOW | ABOVE)
        else:
            for source in cells.inputs:
                want(source, side)
    return sides


def _flip(side: int) -> int:
    return (ABOVE if side & BELOW else 0) | (BELOW if side & ABOVE else 0)


def _signed(coef: Grid, side: int) -> int:
    parts = [part for part in (coef.table, coef.values) if part.size]
    out = 0
    if any((part > 0).any() for part in parts):
        out |= side
    if any((part < 0).any() for part in parts):
        out |= _flip(side)
    return out


def consumers_of(model: Model, sides: dict[int, int]) -> dict[int, int]:
    """Return how many needed cells or hard demands read each cell."""
    counts = dict.fromkeys(sides, 0)
    for cells in model.graph:
        if cells.index in sides:
            for source in cells.inputs:
                counts[source.index] = counts.get(source.index, 0) + 1
    for hard in model.hard:
        counts[hard.cells.index] += 1
    return counts
