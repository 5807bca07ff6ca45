"""Which cells cannot be negative, by what they are made of."""

from __future__ import annotations

from rebalancer.model.cells import Cells, Extremum, Function, Gather, Map, Product, Ratio, Reduce, Tally
from rebalancer.model.param import Param
from rebalancer.model.units import extremes

_NEVER = (Function.HINGE, Function.STEP, Function.SQUARE, Function.MOD)


def is_never_negative(cells: Cells, known: dict[int, bool] | None = None) -> bool:
    """Whether the true values of cells are 0 or more at every assignment, however their integers are rounded.

    Parameters
    ----------
    known : dict, optional
        What is known already, by index of cells.
    """
    known = {} if known is None else known
    if cells.index not in known:
        known[cells.index] = _from_inputs(cells, known)
    return known[cells.index]


def _from_inputs(cells: Cells, known: dict[int, bool]) -> bool:
    if isinstance(cells, Tally):
        return cells.low >= 0 and not cells.error
    if isinstance(cells, Map):
        if cells.function in _NEVER:
            return True
        terms = (*cells.terms, *cells.beside)
        return all(map(_is_positive, (cells.exact_const, *(term.exact for term in terms)))) and all(
            is_never_negative(term.cells, known) for term in terms
        )
    if isinstance(cells, Reduce) and not _is_positive(cells.exact_coef):
        return False
    assert isinstance(cells, Extremum | Gather | Product | Ratio | Reduce)
    return all(is_never_negative(each, known) for each in cells.inputs)


def _is_positive(number: Param) -> bool:
    least, most = extremes(number.grid)
    return (least >= 0 and number.unit > 0) or (most <= 0 and number.unit < 0) or not (least or most)


__all__ = ["is_never_negative"]
