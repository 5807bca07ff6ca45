"""The model as layers of sums and functions: what local search keeps up to date when an object moves.

A *column* is an array of running sums: a tally of objects, or any linear form of other cells. A *piece* is a function
of one column's cell that adds into a cell of a later column. Everything linear (maps, sums, gathered rows, weights)
disappears into the coefficients of pieces; what is left are the functions that bend, and a few *specials* (extremes,
order statistics, products, quotients) that read several cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import (
    Cells,
    CellValues,
    Family,
    Function,
    Gather,
    Gathering,
    Grid,
    Map,
    Model,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.model.evaluate import linear_form
from rebalancer.model.grid import apply
from rebalancer.problem.numbers import IntArray

#: A bound that nothing reaches.
FAR = 2**62
#: Columns that are not tallies may not have more cells than this: they are written down.
MOST_CELLS = 60_000_000


class TooLargeForMoves(MemoryError):
    """Some cells would need a table over too many groups and items."""


@dataclass(eq=False)
class Members:
    """What objects weigh in a tally: ``default`` anywhere, but ``weight`` where ``condition`` is ``item``.

    Parameters
    ----------
    group, member : int64 arrays
    default : int64 array
    row, item, weight : int64 arrays
        Exceptions, sorted by row: membership, item by ``condition``, weight there.
    condition : int32 array (containers + 1) or None
    """

    group: NDArray[np.int64]
    member: NDArray[np.int64]
    default: IntArray
    row: IntArray
    item: IntArray
    weight: IntArray
    condition: NDArray[np.int32] | None


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
    read: bool = False  # by a special
    index: int = -1


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
        Instead: the cells ``keys`` (sorted) contribute to ``index`` of one row.
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
        return self.keys is None and not self.spread and _is(self.group) and _is(self.item)

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
    """Cells that read several others: an extreme, an order statistic, a product, a quotient."""

    cells: Cells
    inputs: tuple[Column, ...]
    output: Column


@dataclass(eq=False)
class Forms:
    """All columns, pieces and specials of a model, in topological order.

    Parameters
    ----------
    model : Model
    """

    model: Model
    columns: list[Column] = field(default_factory=list)
    specials: list[Special] = field(default_factory=list)
    objectives: list[Column] = field(default_factory=list)
    _known: dict[int, Form] = field(default_factory=dict)
    _written: dict[tuple[int, bool], Column] = field(default_factory=dict)
    _mixed: dict[tuple[int, int, int, int], Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for hard in self.model.hard:
            self._bound(hard.cells, hard.bound)
        for position in self.model.tuple_positions:
            self.objectives.append(self._write(position.objective, self.form(position.objective)))
        self._prune()

    def _prune(self) -> None:
        """Drop what nothing reads, and number the rest."""
        needed = {id(column) for column in self.objectives}
        writers = {id(special.output): special for special in self.specials}
        for column in reversed(self.columns):
            column.pieces = [piece for piece in column.pieces if id(piece.target) in needed]
            if column.pieces or column.low or column.high:
                needed.add(id(column))
            if id(column) in needed and id(column) in writers:
                needed.update(id(source) for source in writers[id(column)].inputs)
        self.columns = [column for column in self.columns if id(column) in needed]
        self.specials = [special for special in self.specials if id(special.output) in needed]
        for special in self.specials:
            for column in special.inputs:
                column.read = True
                if column.groups * column.items > MOST_CELLS:
                    raise TooLargeForMoves(f"{column.groups} groups × {column.items} items")
        for index, column in enumerate(self.columns):
            column.index = index

    def values(self, column: Column, at: CellValues) -> Grid:
        """Return the integers of a column that is no tally, at an assignment."""
        assert column.start is not None
        if column.inside:
            assert isinstance(column.start, Map)
            return linear_form(at, column.start)
        return evaluate_cells(at, column.start).integers

    # -- cells as forms ---------------------------------------------------------------------------------------------

    def form(self, cells: Cells) -> Form:
        """Return cells as a sum of atoms."""
        stack = [cells]
        while stack:
            top = stack[-1]
            missing = [source for source in top.inputs if source.index not in self._known]
            if top.index in self._known:
                stack.pop()
            elif missing:
                stack.extend(missing)
            else:
                self._known[top.index] = self._form(top)
                stack.pop()
        return self._known[cells.index]

    def _form(self, cells: Cells) -> Form:
        if isinstance(cells, Tally):
            return _plain(self._tally(cells))
        if isinstance(cells, Map):
            return self._map(cells)
        if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
            return self._sum(cells)
        if isinstance(cells, Gather):
            return self._gather(cells)
        inputs = tuple(self._write(source, self._known[source.index]) for source in cells.inputs)
        output = self._column(Column(cells.groups, cells.items, start=cells))
        self.specials.append(Special(cells, inputs, output))
        return _plain(output)

    def _tally(self, tally: Tally) -> Column:
        return self._column(Column(tally.groups, tally.items, members_of(tally, self.model), tally.item_of))

    def _column(self, column: Column) -> Column:
        if column.members is None and column.groups * column.items > MOST_CELLS:
            raise TooLargeForMoves(f"{column.groups} groups × {column.items} items")
        self.columns.append(column)
        return column

    def _map(self, cells: Map) -> Form:
        linear = self._linear(cells)
        if cells.function is Function.IDENTITY:
            return linear
        atom = _single(linear)
        if atom is None:
            column = self._write(cells, linear, inside=True)
            return Form((Atom(column, (_stage(cells, _ONE, _ZERO, cells.divisor),), _ONE, Way()),), _ZERO)
        const = linear.const
        assert const is not None
        moved = [_backwards(atom, grid) for grid in (const, cells.divisor)]
        stage = _stage(cells, atom.coef, *moved)
        return Form((Atom(atom.column, _shortened((*atom.stages, stage)), _ONE, atom.way),), _ZERO)

    def _linear(self, cells: Map) -> Form:
        """Return the linear form inside a map."""
        shape = cells.groups, cells.items
        atoms: list[Atom] = []
        const: Grid | None = apply(lambda c: c, *shape, cells.const)
        for term in cells.terms:
            inner = term.cells
            known = self._known[inner.index]
            wide = (inner.groups, inner.items) != shape
            scaled = [_scaled(atom, term.coef, shape, wide, inner) for atom in known.atoms]
            if any(atom is None for atom in scaled) or (wide and known.const is None):
                column = self._write(inner, known)
                known = _plain(column)
                scaled = [_scaled(atom, term.coef, shape, wide, inner) for atom in known.atoms]
            atoms += [atom for atom in scaled if atom is not None]
            if const is not None and known.const is not None:
                const = apply(lambda a, b, c: a + b * c, *shape, const, term.coef, known.const)
            else:
                const = None
        return Form(tuple(self._merged(atoms)), const)

    def _sum(self, cells: Reduce) -> Form:
        source = cells.source
        known = self._known[source.index]
        group, item = (
            _normal(mapping, inputs, outputs)
            for mapping, inputs, outputs in (
                (cells.group_map, source.groups, cells.groups),
                (cells.item_map, source.items, cells.items),
            )
        )
        shape = source.groups, source.items
        scaled = [_scaled(atom, cells.coef, shape, False, source) for atom in known.atoms]
        sent = [None if atom is None else _sent(atom, group, item, cells.items) for atom in scaled]
        if any(atom is None for atom in sent):
            known = _plain(self._write(source, known))
            again = _scaled(known.atoms[0], cells.coef, shape, False, source)
            assert again is not None
            sent = [_sent(again, group, item, cells.items)]
        const = None
        if _is(group) and _is(item) and known.const is not None:
            const = apply(np.multiply, *shape, known.const, cells.coef)
        return Form(tuple(atom for atom in sent if atom is not None), const)

    def _gather(self, cells: Gather) -> Form:
        source = cells.source
        known = self._known[source.index]
        if known.const is None or any(not atom.way.same for atom in known.atoms):
            known = _plain(self._write(source, known))
        key = cells.group * source.items + cells.item
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        first = np.concatenate([[True], sorted_key[1:] != sorted_key[:-1]]) if len(key) else np.empty(0, bool)
        often = np.arange(len(key)) - np.maximum.accumulate(np.where(first, np.arange(len(key)), 0))
        atoms = []
        for times in range(int(often.max(initial=0)) + 1):  # a cell that is gathered twice is two atoms
            kept = often == times
            way = Way(keys=sorted_key[kept], index=order[kept].astype(np.int64))
            atoms += [Atom(atom.column, atom.stages, atom.coef, way) for atom in known.atoms]
        assert known.const is not None
        wide = apply(lambda c: c, source.groups, source.items, known.const)
        return Form(tuple(atoms), wide.take(cells.group, cells.item))

    # -- columns ----------------------------------------------------------------------------------------------------

    def _write(self, cells: Cells, form: Form, inside: bool = False) -> Column:
        """Return a column that holds cells (or, if ``inside``, the linear form in a map)."""
        key = cells.index, inside
        if key not in self._written:
            whole = isinstance(cells, Tally) or not isinstance(cells, Map | Reduce | Gather)
            if whole or (isinstance(cells, Reduce) and cells.how is not Gathering.SUM):
                self._written[key] = form.atoms[0].column
            else:
                column = self._column(Column(cells.groups, cells.items, start=cells, inside=inside))
                for atom in form.atoms:
                    atom.column.pieces.append(Piece(atom, column))
                self._written[key] = column
        return self._written[key]

    def _bound(self, cells: Cells, bound: Grid) -> None:
        """Demand that cells stay at or below a bound."""
        known = self.form(cells)
        atom = _single(known)
        if atom is None or atom.stages or not _one_sign(atom.coef):
            column = self._write(cells, known)
            column.high.append(_shaped(bound, column))
            return
        assert known.const is not None
        column = atom.column
        shape = column.groups, column.items
        room = apply(lambda b, c: b - c, cells.groups, cells.items, _shaped(bound, cells), _shaped(known.const, cells))
        room = _backwards(atom, room)
        rising = _positive(atom.coef)
        limit = apply(_floored if rising else _ceiled, *shape, room, atom.coef)
        if atom.way.keys is not None:
            keys = atom.way.keys
            nowhere = FAR if rising else -FAR
            limit = Grid(*shape, np.array([[nowhere]]), None, keys, limit.at(keys // shape[1], keys % shape[1]))
        (column.high if rising else column.low).append(limit)

    def _merged(self, atoms: list[Atom]) -> list[Atom]:
        """Return the atoms with tallies of one layout as one tally, which weighs what they weigh together."""
        out: list[Atom] = []
        for atom in atoms:
            index = next((i for i, known in enumerate(out) if _mergeable(known, atom)), None)
            if index is None:
                out.append(atom)
            else:
                out[index] = self._merge(out[index], atom)
        return out

    def _merge(self, left: Atom, right: Atom) -> Atom:
        column = left.column
        if column is right.column:
            total = _constant(left.coef) + _constant(right.coef)  # type: ignore[operator]
            return Atom(column, (), Grid.constant(1, 1, total), Way())
        assert column.members is not None
        assert right.column.members is not None
        a, b = _constant(left.coef) or 0, _constant(right.coef) or 0
        key = id(column), a, id(right.column), b
        if key not in self._mixed:
            members = _together(column.members, a, right.column.members, b)
            self._mixed[key] = self._column(Column(column.groups, column.items, members, column.item_of))
        return Atom(self._mixed[key], (), _ONE, Way())


_ONE, _ZERO = Grid.constant(1, 1, 1), Grid.constant(1, 1, 0)


def _is(mapping: Any) -> bool:
    return isinstance(mapping, str)


def _plain(column: Column) -> Form:
    return Form((Atom(column, (), _ONE, Way()),), _ZERO)


def _constant(grid: Grid) -> int | None:
    """Return the one value of a grid, None if it has several."""
    return int(grid.table[0, 0]) if grid.table.size == 1 and not len(grid.keys) else None


def _single(form: Form) -> Atom | None:
    """Return the atom whose cells are the form's cells one by one, if there is one."""
    if len(form.atoms) != 1 or form.const is None:
        return None
    atom = form.atoms[0]
    return atom if atom.way.same or atom.way.keys is not None else None


def _shaped(grid: Grid, like: Cells | Column) -> Grid:
    return apply(lambda v: v, like.groups, like.items, grid)


def _stage(cells: Map, alpha: Grid, const: Grid, divisor: Grid) -> Stage:
    return Stage(cells.function, alpha, const, divisor)


def _shortened(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Leave out a hinge that the next stage makes superfluous."""
    *rest, last = stages
    if (
        rest
        and rest[-1].function is Function.HINGE
        and last.function in (Function.STEP, Function.HINGE)
        and (_constant(last.alpha) or 0) > 0
        and _constant(last.const) == 0
    ):
        inner = rest.pop()
        times = 1 if last.function is Function.STEP else _constant(last.alpha) or 1
        if times == 1:
            return (*rest, Stage(last.function, inner.alpha, inner.const, last.divisor))
    return stages


def _backwards(atom: Atom, grid: Grid) -> Grid:
    """Return a grid over what an atom contributes to as one over the atom's column."""
    if atom.way.same or _constant(grid) is not None:
        return grid
    keys, index = atom.way.keys, atom.way.index
    assert keys is not None
    assert index is not None
    column = atom.column
    wide = grid if grid.items > 1 or not len(index) else apply(lambda v: v, 1, int(index.max()) + 1, grid)
    values = wide.at(np.zeros(len(index), np.int64), index)
    fill = np.array([[values[0] if len(values) else 0]], np.int64)  # where nothing is gathered; any value will do
    return Grid(column.groups, column.items, fill, None, keys, values)


def _scaled(atom: Atom, coef: Grid, shape: tuple[int, int], wide: bool, inner: Cells) -> Atom | None:
    """Return an atom times a coefficient per output cell, repeated to a shape; None where it has to be written down."""
    way = atom.way
    factor = _constant(coef)
    if wide:
        if way.spread or not way.same:
            return None
        way = Way(
            None if shape[0] != inner.groups else "same",
            None if shape[1] != inner.items else "same",
            all_groups=shape[0] != inner.groups,
            all_items=shape[1] != inner.items,
        )
        own = _constant(atom.coef)
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
        product = apply(np.multiply, column.groups, column.items, atom.coef, _backwards(atom, coef))
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
    return np.arange(length) if _is(mapping) else np.maximum(mapping, 0)


def _normal(mapping: NDArray[np.int64] | None, inputs: int, outputs: int) -> Any:
    """Return a map of a sum as `Way` has it."""
    if mapping is None:
        return "same" if inputs == 1 else None
    if inputs == outputs and (mapping == np.arange(outputs)).all():
        return "same"
    return np.asarray(mapping, np.int64)


def _sent(atom: Atom, group: Any, item: Any, items: int) -> Atom | None:
    """Return an atom whose output cells are sent on to others."""
    way = atom.way
    if way.spread:
        return None
    if way.keys is not None:
        assert way.index is not None
        if not _is(group) and group is not None and (np.asarray(group) != 0).any():
            return None
        index = way.index if _is(item) else np.zeros_like(way.index) if item is None else item[way.index]
        kept = index >= 0
        return Atom(atom.column, atom.stages, atom.coef, Way(keys=way.keys[kept], index=index[kept]))
    return Atom(atom.column, atom.stages, atom.coef, Way(_after(way.group, group), _after(way.item, item)))


def _after(first: Any, then: Any) -> Any:
    """Return one map after another."""
    if _is(then):
        return first
    if _is(first) or then is None:
        return then if _is(first) or first is None else np.where(first >= 0, 0, -1)
    if first is None:
        return np.asarray(then[:1]) if then[0] != 0 else None
    return np.where(first >= 0, then[np.maximum(first, 0)], -1)


def _one_sign(grid: Grid) -> bool:
    parts = [grid.table.ravel(), grid.values.ravel()]
    values = np.concatenate(parts)
    return bool((values > 0).all() or (values < 0).all())


def _positive(grid: Grid) -> bool:
    return bool(grid.table.size and grid.table.ravel()[0] > 0)


def _floored(room: IntArray, coef: IntArray) -> IntArray:
    return np.asarray(np.floor_divide(room, np.where(coef == 0, 1, coef)))


def _ceiled(room: IntArray, coef: IntArray) -> IntArray:
    return np.asarray(-np.floor_divide(room, -np.where(coef == 0, 1, coef)))


# -- tallies --------------------------------------------------------------------------------------------------------


def members_of(tally: Tally, model: Model) -> Members:
    """Return what the members of a tally weigh, by where they are."""
    none = np.empty(0, np.int64)
    if tally.dynamic is not None:
        assert tally.dynamic_item is not None
        objects = len(model.problem.objects)
        owner, item = tally.dynamic.key % max(1, objects), tally.dynamic.key // max(1, objects)
        by_object = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner[by_object], np.arange(objects + 1))
        count = np.diff(start)[tally.member]
        row = np.repeat(np.arange(len(tally.member)), count)
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        entry = by_object[np.repeat(start[tally.member], count) + within]
        default = np.full(len(tally.member), tally.dynamic.default, np.int64)
        if tally.family is Family.AFTER:
            return Members(
                tally.group, tally.member, default, row, item[entry], tally.dynamic.value[entry], tally.dynamic_item
            )
        return _stayed_dynamic(tally, model)
    if tally.family is Family.AFTER:
        return Members(tally.group, tally.member, tally.weight, none, none, none, None)
    home = tally.home[tally.member].astype(np.int64)
    row = np.flatnonzero(home >= 0)
    zero = np.zeros(len(tally.member), np.int64)
    return Members(tally.group, tally.member, zero, row, home[row], tally.weight[row], tally.item_of)


def _stayed_dynamic(tally: Tally, model: Model) -> Members:
    """Weights by place that count only at home: looked up container by container, since two groupings decide."""
    containers = len(model.problem.containers)
    home = tally.home[tally.member]
    inside = [np.flatnonzero(tally.item_of[:containers] == item) for item in np.unique(home[home >= 0]).tolist()]
    by_item = dict(zip(np.unique(home[home >= 0]).tolist(), inside, strict=True))
    lost = int(tally.item_of[-1])
    row, place = [], []
    for index, item in enumerate(home.tolist()):
        if item >= 0:
            here = by_item[item] if item != lost else np.append(by_item[item], containers)
            row.append(np.full(len(here), index))
            place.append(here)
    rows = np.concatenate(row) if row else np.empty(0, np.int64)
    places = np.concatenate(place).astype(np.int64) if place else np.empty(0, np.int64)
    weight = tally.weight_at(rows, np.where(places == containers, -1, places), len(model.problem.objects))
    each = np.arange(containers + 1, dtype=np.int32)
    return Members(tally.group, tally.member, np.zeros(len(home), np.int64), rows, places, weight, each)


def _mergeable(left: Atom, right: Atom) -> bool:
    if any(atom.stages or not atom.way.same or _constant(atom.coef) is None for atom in (left, right)):
        return False
    one, two = left.column, right.column
    if one is two:
        return True
    if one.members is None or two.members is None or (one.groups, one.items) != (two.groups, two.items):
        return False
    assert one.item_of is not None
    assert two.item_of is not None
    conditions = [c for c in (one.members.condition, two.members.condition) if c is not None]
    return np.array_equal(one.item_of, two.item_of) and (
        len(conditions) < 2 or np.array_equal(conditions[0], conditions[1])
    )


def _together(left: Members, a: int, right: Members, b: int) -> Members:
    """Return memberships that weigh ``a · left + b · right``."""
    most = 1 + max(int(m.member.max(initial=0)) for m in (left, right))
    keys = [m.group * most + m.member for m in (left, right)]
    unique, slot = np.unique(np.concatenate(keys), return_inverse=True)
    slots = slot[: len(keys[0])], slot[len(keys[0]) :]
    default = np.zeros(len(unique), np.int64)
    parts: list[tuple[IntArray, IntArray]] = []
    for members, factor, at in ((left, a, slots[0]), (right, b, slots[1])):
        np.add.at(default, at, members.default * factor)
        # an exception as what it adds to the default
        parts.append((at[members.row], members.item))
    span = 1 + max((int(item.max(initial=0)) for _, item in parts), default=0)
    entry = np.unique(np.concatenate([row * span + item for row, item in parts]))
    weight = default[entry // span].copy()
    for (row, item), members, factor in zip(parts, (left, right), (a, b), strict=True):
        extra = (members.weight - members.default[members.row]) * factor
        np.add.at(weight, np.searchsorted(entry, row * span + item), extra)
    condition: NDArray[np.int32] | None = left.condition if left.condition is not None else right.condition
    return Members(unique // most, unique % most, default, entry // span, entry % span, weight, condition)
