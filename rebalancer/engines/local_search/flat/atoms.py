"""What forms are made of: columns, pieces, and the atoms that lead from one to the other.

Everything linear (maps, sums, gathered rows, weights) disappears into the coefficient and the way of an atom.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.members import Members
from rebalancer.model import Cells, Function, Grid, Map, Reduce
from rebalancer.model.grid import apply
from rebalancer.problem.numbers import IntArray


@dataclass(eq=False)
class Column:
    """Running sums over groups × items.

    Parameters
    ----------
    groups, items : int
    members : Members or None
        Of a tally.
    item_of : int32 array (containers + 1) or None
        Of a tally.
    start : Cells or None
        What the evaluator calls it: its value, or the linear form inside of it where ``inside``.
    busy : int64 array (groups) or None
        How many cells of each group are not 0 at any time, at most, if that is known.
    offset : Grid
        What to add to it for what the evaluator says.
    """

    groups: int
    items: int
    members: Members | None = None
    item_of: NDArray[np.int32] | None = None
    start: Cells | None = None
    inside: bool = False
    low: list[Grid] = field(default_factory=list)
    high: list[Grid] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    read: bool = False  # by a special that needs all cells written down
    index: int = -1
    busy: IntArray | None = None
    offset: Grid = field(default_factory=lambda: Grid.constant(1, 1, 0))

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.groups * self.items

    @property
    def large(self) -> bool:
        """Whether it may pay not to write down every cell."""
        return self.size > max(1, DENSE_CELLS)

    @property
    def sparse(self) -> bool:
        """Whether only the cells that are not 0 are kept: where there are many more, and nothing asks for all."""
        if self.busy is None or self.read or not self.large or self.size <= DENSE_SHARE * int(self.busy.sum()):
            return False
        return self.members is not None or not self.bare

    @property
    def bare(self) -> bool:
        """Whether cells that hold nothing may be beyond their bounds."""
        bounds = [(bound, 1) for bound in self.high] + [(bound, -1) for bound in self.low]
        return any((sign * part < 0).any() for bound, sign in bounds for part in (bound.table, bound.values))


@dataclass(frozen=True, eq=False)
class Stage:
    """``function(alpha · x + const)``, with the divisor that some functions have; over the cells of the column."""

    function: Function
    alpha: Grid
    const: Grid
    divisor: Grid


@dataclass(frozen=True, eq=False)
class Way:
    """To which cell of its output a cell of a column contributes.

    Parameters
    ----------
    group, item : None, "same" or int64 array
        None: to 0; "same": to its own; otherwise to that number, -1 for nowhere.
    keys, index : int64 arrays or None
        Instead: the cells ``keys`` (sorted) contribute to ``index`` of one row. A cell that is there several times
        contributes to all of these.
    all_groups, all_items : bool
        Contributes to every one.
    """

    group: Any = "same"
    item: Any = "same"
    keys: IntArray | None = None
    index: IntArray | None = None
    all_groups: bool = False
    all_items: bool = False

    @property
    def same(self) -> bool:
        """Whether each cell contributes to the cell in its own place."""
        return self.keys is None and not self.spread and same_place(self.group) and same_place(self.item)

    @property
    def fans(self) -> bool:
        """Whether some cell contributes to several of one row."""
        return self.keys is not None and bool((self.keys[1:] == self.keys[:-1]).any())

    @property
    def spread(self) -> bool:
        """Whether a cell contributes to many."""
        return self.all_groups or self.all_items


@dataclass(frozen=True, eq=False)
class Atom:
    """``coef · stages(column)``, one addend of a form."""

    column: Column
    stages: tuple[Stage, ...]
    coef: Grid
    way: Way


@dataclass(frozen=True, eq=False)
class Piece:
    """An atom that adds into a column."""

    atom: Atom
    target: Column


@dataclass(frozen=True, eq=False)
class Form:
    """A sum of atoms and a constant; None where the constant is not followed, because nothing needs it."""

    atoms: tuple[Atom, ...]
    const: Grid | None


@dataclass(frozen=True, eq=False)
class Special:
    """Cells that read several others: an extreme, an order statistic, a product, a quotient.

    ``heads`` is where it keeps what it knows of its outputs, if these are too many to be written down.
    """

    cells: Cells
    inputs: tuple[Column, ...]
    output: Column
    heads: Column

    @property
    def ranks(self) -> bool:
        """Whether it reads the largest or smallest few of its cells."""
        return isinstance(self.cells, Reduce) and self.cells.rank <= MOST_RANKS

    @property
    def kept_in_heads(self) -> bool:
        """Whether it keeps only what is not 0, and so many outputs that they are not written down either."""
        return self.ranks and self.inputs[0].sparse and self.output.sparse


#: Columns with more cells than this, and than so many for each that may be other than 0, are kept as hash rows.
DENSE_CELLS, DENSE_SHARE = 1_000_000, 4
#: Of very many cells of which most are 0, those that are not are gone through one by one down to this rank at most.
MOST_RANKS = 64
#: What changes the unit only, but for rounding.
COARSER = (Function.ROUND, Function.RAISE)
ONE, ZERO = Grid.constant(1, 1, 1), Grid.constant(1, 1, 0)


def ranks_of(special: Special) -> tuple[int, int]:
    """Return how many outputs of a special are kept one after the other, and how many nodes it may need besides."""
    busy = special.inputs[0].busy
    assert busy is not None
    values = int(busy.sum())
    return (0, 2 * values) if special.kept_in_heads else (special.output.size, values)


def same_place(mapping: Any) -> bool:
    """Whether a map of a `Way` leaves groups or items as they are."""
    return isinstance(mapping, str)


def plain_form(column: Column) -> Form:
    """Return a column's cells as a form."""
    return Form((Atom(column, (), ONE, Way()),), column.offset)


def constant_of(grid: Grid) -> int | None:
    """Return the one value of a grid, None if it has several."""
    return int(grid.table[0, 0]) if grid.table.size == 1 and not len(grid.keys) else None


def single_atom(form: Form) -> Atom | None:
    """Return the atom whose cells are the form's cells one by one, if there is one."""
    if len(form.atoms) != 1 or form.const is None:
        return None
    atom = form.atoms[0]
    return atom if atom.way.same or (atom.way.keys is not None and not atom.way.fans) else None


def shaped(grid: Grid, like: Cells | Column) -> Grid:
    """Return a grid repeated to a shape."""
    return apply(lambda v: v, like.groups, like.items, grid)


def stage_of(cells: Map, alpha: Grid, const: Grid, divisor: Grid) -> Stage:
    """Return what a map does to its linear form."""
    return Stage(cells.function, alpha, const, divisor)


def shortened(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Leave out a hinge that the next stage makes superfluous."""
    *rest, last = stages
    if (
        rest
        and rest[-1].function is Function.HINGE
        and last.function in (Function.STEP, Function.HINGE)
        and (constant_of(last.alpha) or 0) > 0
        and constant_of(last.const) == 0
    ):
        inner = rest.pop()
        times = 1 if last.function is Function.STEP else constant_of(last.alpha) or 1
        if times == 1:
            return (*rest, Stage(last.function, inner.alpha, inner.const, last.divisor))
    return stages


def backwards(atom: Atom, grid: Grid) -> Grid:
    """Return a grid over what an atom contributes to as one over the atom's column."""
    if atom.way.same or constant_of(grid) is not None:
        return grid
    keys, index = atom.way.keys, atom.way.index
    assert keys is not None
    assert index is not None
    column = atom.column
    wide = grid if grid.items > 1 or not len(index) else apply(lambda v: v, 1, int(index.max()) + 1, grid)
    values = wide.at(np.zeros(len(index), np.int64), index)
    fill = np.array([[values[0] if len(values) else 0]], np.int64)  # where nothing is gathered; any value will do
    return Grid(column.groups, column.items, fill, None, keys, values)


def scaled_atom(atom: Atom, coef: Grid, shape: tuple[int, int], wide: bool, inner: Cells) -> Atom | None:
    """Return an atom times a coefficient per output cell, repeated to a shape; None where it has to be written down."""
    way = atom.way
    factor = constant_of(coef)
    if wide:
        if way.spread or not way.same:
            return None
        way = Way(
            None if shape[0] != inner.groups else "same",
            None if shape[1] != inner.items else "same",
            all_groups=shape[0] != inner.groups,
            all_items=shape[1] != inner.items,
        )
        own = constant_of(atom.coef)
        if own is None:
            return None
        scaled = apply(lambda c: c * own, *shape, coef)
        return Atom(atom.column, atom.stages, scaled, way)  # over the cells that it contributes to
    if way.spread:
        product = apply(np.multiply, *shape, atom.coef, coef)
        return Atom(atom.column, atom.stages, product, way)
    column = atom.column
    if factor is not None:
        return Atom(column, atom.stages, atom.coef.map(lambda v: v * factor), way)
    if way.same:
        product = apply(np.multiply, column.groups, column.items, atom.coef, coef)
        return Atom(column, atom.stages, product, way)
    if way.keys is not None:
        if way.fans:
            return None
        product = apply(np.multiply, column.groups, column.items, atom.coef, backwards(atom, coef))
        return Atom(column, atom.stages, product, way)
    if len(coef.keys):
        return None
    rows, columns = coef.table.shape
    group = _indices(way.group, column.groups) if rows > 1 else np.zeros(1, np.int64)
    item = _indices(way.item, column.items)
    by_item = np.zeros(column.items, np.int64) if columns == 1 else item if coef.column is None else coef.column[item]
    seen = Grid(column.groups, column.items, coef.table[group], by_item)
    return Atom(column, atom.stages, apply(np.multiply, column.groups, column.items, atom.coef, seen), way)


def _indices(mapping: Any, length: int) -> IntArray:
    if mapping is None:
        return np.zeros(length, np.int64)
    return np.arange(length) if same_place(mapping) else np.maximum(mapping, 0)


def normal_map(mapping: NDArray[np.int64] | None, inputs: int, outputs: int) -> Any:
    """Return a map of a sum as `Way` has it."""
    if mapping is None:
        return "same" if inputs == 1 else None
    if inputs == outputs and (mapping == np.arange(outputs)).all():
        return "same"
    return np.asarray(mapping, np.int64)


def sent_on(atom: Atom, group: Any, item: Any, items: int) -> Atom | None:
    """Return an atom whose output cells are sent on to others."""
    way = atom.way
    if way.spread:
        return None
    if way.keys is not None:
        assert way.index is not None
        if not same_place(group) and group is not None and (np.asarray(group) != 0).any():
            return None
        index = way.index if same_place(item) else np.zeros_like(way.index) if item is None else item[way.index]
        kept = index >= 0
        return Atom(atom.column, atom.stages, atom.coef, Way(keys=way.keys[kept], index=index[kept]))
    return Atom(atom.column, atom.stages, atom.coef, Way(_after(way.group, group), _after(way.item, item)))


def _after(first: Any, then: Any) -> Any:
    """Return one map after another."""
    if same_place(then):
        return first
    if same_place(first) or then is None:
        return then if same_place(first) or first is None else np.where(first >= 0, 0, -1)
    if first is None:
        return np.asarray(then[:1]) if then[0] != 0 else None
    return np.where(first >= 0, then[np.maximum(first, 0)], -1)


def one_sign(grid: Grid) -> bool:
    """Whether all values are above 0, or all below."""
    parts = [grid.table.ravel(), grid.values.ravel()]
    values = np.concatenate(parts)
    return bool((values > 0).all() or (values < 0).all())


def positive(grid: Grid) -> bool:
    """Whether values of one sign are above 0."""
    return bool(grid.table.size and grid.table.ravel()[0] > 0)


def is_rising(column: Column) -> bool:
    """Whether more of a tally never makes one of its pieces smaller, and pieces are never negative."""
    return (
        bool(column.pieces)
        and is_growing(column)
        and all(
            piece.atom.stages
            and piece.atom.stages[0].function in (Function.HINGE, Function.STEP)
            and all(stage.function in COARSER for stage in piece.atom.stages[1:])
            for piece in column.pieces
        )
    )


def is_growing(column: Column) -> bool:
    """Whether more of a tally never makes one of its pieces smaller."""
    members = column.members
    if members is None or (members.default < 0).any() or (members.weight < 0).any():
        return False
    return all(
        all(one_sign(stage.alpha) and positive(stage.alpha) for stage in piece.atom.stages)
        and not any(stage.function in (Function.SQUARE, Function.MOD) for stage in piece.atom.stages)
        and never_negative(piece.atom.coef)
        for piece in column.pieces
    )


def never_negative(grid: Grid) -> bool:
    """Whether no value is below 0."""
    return bool((grid.table >= 0).all() and (grid.values >= 0).all())


def floored(room: IntArray, coef: IntArray) -> IntArray:
    """Return the largest x with coef · x ≤ room, for positive coefficients."""
    return np.asarray(np.floor_divide(room, np.where(coef == 0, 1, coef)))


def ceiled(room: IntArray, coef: IntArray) -> IntArray:
    """Return the smallest x with coef · x ≤ room, for negative coefficients."""
    return np.asarray(-np.floor_divide(room, -np.where(coef == 0, 1, coef)))


def layout_of(atom: Atom) -> Hashable:
    """Return what atoms have to share so that one tally can weigh what they weigh together; None where none can."""
    if atom.stages or not atom.way.same or constant_of(atom.coef) is None:
        return None
    column = atom.column
    if column.members is None:
        return id(column)
    assert column.item_of is not None
    return column.groups, column.items, column.item_of.tobytes()


def mergeable(left: Column, right: Column) -> bool:
    """Whether one tally can weigh what two of one layout weigh: it knows only one condition."""
    if left.members is None or right.members is None:
        return True
    one, two = left.members.condition, right.members.condition
    return one is None or two is None or np.array_equal(one, two)
