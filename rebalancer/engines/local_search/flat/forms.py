"""The model as layers of sums and functions: what local search keeps up to date when an object moves.

A *column* is an array of running sums: a tally of objects, or any linear form of other cells. A *piece* is a function
of one column's cell that adds into a cell of a later column. Everything linear (maps, sums, gathered rows, weights)
disappears into the coefficients of pieces; what is left are the functions that bend, and a few *specials* (extremes,
order statistics, products, quotients) that read several cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import (
    ONE,
    ZERO,
    Atom,
    Column,
    Form,
    Piece,
    Special,
    Way,
    backwards,
    ceiled,
    constant_of,
    floored,
    layout_of,
    mergeable,
    normal_map,
    one_sign,
    plain_form,
    positive,
    same_place,
    scaled_atom,
    sent_on,
    shaped,
    shortened,
    single_atom,
    stage_of,
)
from rebalancer.engines.local_search.flat.members import Members, members_of, together
from rebalancer.model import (
    Cells,
    CellValues,
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
from rebalancer.model.order import reduced
from rebalancer.problem.numbers import IntArray

#: A bound that nothing reaches.
FAR = 2**62
#: Columns that are not tallies may not have more cells than this: they are written down.
MOST_CELLS = 60_000_000


class TooLargeForMoves(MemoryError):
    """Some cells would need a table over too many groups and items."""


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
    _nothing: CellValues = field(init=False)
    _known: dict[int, Form] = field(default_factory=dict)
    _written: dict[tuple[int, bool], Column] = field(default_factory=dict)
    _mixed: dict[tuple[int, int, int, int], Column] = field(default_factory=dict)
    _tallies: dict[tuple[int, int, bytes, bytes], Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.model.problem
        self._nothing = CellValues(problem, np.full(len(problem.objects), -1, np.int32))
        for hard in self.model.hard:
            self._bound(hard.cells, hard.bound)
        for position in self.model.tuple_positions:
            self._goals(position.objective)
            self.objectives.append(self._write(position.objective, self.form(position.objective)))
        self._nothing.known.clear()
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
            if not special.ranks:
                for column in special.inputs:
                    column.read = True
        self.columns += [special.heads for special in self.specials if special.kept_in_heads]
        for index, column in enumerate(self.columns):
            column.index = index
            written = column.read or column.members is None
            if written and column.size > MOST_CELLS and not column.sparse:
                raise TooLargeForMoves(f"{column.groups} groups × {column.items} items")

    def values(self, column: Column, at: CellValues) -> Grid:
        """Return the integers of a column that is no tally, at an assignment."""
        assert column.start is not None
        if column.inside:
            assert isinstance(column.start, Map)
            found = linear_form(at, column.start)
        else:
            found = evaluate_cells(at, column.start).integers
        return apply(np.subtract, column.groups, column.items, found, column.offset)

    def entries(self, column: Column, at: CellValues) -> tuple[IntArray, IntArray, IntArray]:
        """Return the groups and items of the cells of a column that are not 0, and what they hold."""
        if column.start is None:  # is filled in with what it is for
            return (np.zeros(0, np.int64),) * 3
        values = self.values(column, at)
        group, item = values.where(lambda v: v != 0)
        return group, item, values.at(group, item)

    def _rare(self, column: Column, sources: Sequence[tuple[Column, IntArray | None]], plain: bool) -> None:
        """Note how many cells of a column are other than where nothing is placed, if it reads nothing but tallies.

        Parameters
        ----------
        sources : sequence of (Column, int64 array or None)
            What it reads, and to which of its groups each group counts; None: to its own.
        plain : bool
            Whether what it holds has to be what the evaluator says.
        """
        if not column.large or any(source.item_of is None or source.item_of[-1] >= 0 for source, _ in sources):
            return
        offset = self.values(column, self._nothing)
        if len(offset.keys) or (plain and offset.table.any()):
            return
        busy = np.zeros(column.groups, np.int64)
        for source, groups in sources:
            assert source.busy is not None
            if groups is None:
                busy += source.busy
            else:
                np.add.at(busy, groups[groups >= 0], source.busy[groups >= 0])
        column.busy = np.minimum(busy, column.items)
        alike = (offset.table == offset.table[0, 0]).all()
        column.offset = Grid.constant(1, 1, offset.table[0, 0]) if alike else offset

    def _goals(self, objective: Cells) -> None:
        """Give what an objective adds up columns of its own, so that each goal can weigh less for a while."""
        if isinstance(objective, Map) and len(objective.terms) > 1:
            for goal in reversed(objective.inputs):  # the order of `form`
                form, single = self.form(goal), goal.groups == goal.items == 1
                if single and any(a.column.members or a.column.groups * a.column.items > 1 for a in form.atoms):
                    self._known[goal.index] = plain_form(self._write(goal, form))

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
            return plain_form(self._tally(cells))
        if isinstance(cells, Map):
            return self._map(cells)
        if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
            return self._sum(cells)
        if isinstance(cells, Gather):
            return self._gather(cells)
        inputs = tuple(self._write(source, self._known[source.index], plain=True) for source in cells.inputs)
        output = Column(cells.groups, cells.items, start=cells)
        special = Special(cells, inputs, output, Column(cells.groups, cells.items))
        if isinstance(cells, Reduce) and special.ranks:
            self._rare(output, [(inputs[0], reduced(cells)[0])], plain=True)
            special.heads.busy = output.busy
        self.columns.append(output)
        self.specials.append(special)
        return plain_form(output)

    def _tally(self, tally: Tally) -> Column:
        return self._counted(tally.groups, tally.items, members_of(tally, self.model), tally.item_of)

    def _counted(self, groups: int, items: int, members: Members, item_of: NDArray[np.int32]) -> Column:
        """Return the column of a tally; those that count the same are one."""
        key = groups, items, members.digest(), item_of.tobytes()
        if key not in self._tallies:
            busy = np.minimum(np.bincount(members.group, minlength=groups), items)
            self._tallies[key] = Column(groups, items, members, item_of, busy=busy)
            self.columns.append(self._tallies[key])
        return self._tallies[key]

    def _map(self, cells: Map) -> Form:
        linear = self._linear(cells)
        if cells.function is Function.IDENTITY:
            return linear
        atom = single_atom(linear)
        if atom is None:
            column = self._write(cells, linear, inside=True)
            stage = stage_of(cells, ONE, column.offset, cells.divisor)
            return Form((Atom(column, (stage,), ONE, Way()),), ZERO)
        const = linear.const
        assert const is not None
        moved = [backwards(atom, grid) for grid in (const, cells.divisor)]
        stage = stage_of(cells, atom.coef, *moved)
        return Form((Atom(atom.column, shortened((*atom.stages, stage)), ONE, atom.way),), ZERO)

    def _linear(self, cells: Map) -> Form:
        """Return the linear form inside a map."""
        shape = cells.groups, cells.items
        atoms: list[Atom] = []
        const: Grid | None = apply(lambda c: c, *shape, cells.const)
        for term in cells.terms:
            inner = term.cells
            known = self._known[inner.index]
            wide = (inner.groups, inner.items) != shape
            scaled = [scaled_atom(atom, term.coef, shape, wide, inner) for atom in known.atoms]
            if any(atom is None for atom in scaled) or (wide and known.const is None):
                column = self._write(inner, known)
                known = plain_form(column)
                scaled = [scaled_atom(atom, term.coef, shape, wide, inner) for atom in known.atoms]
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
            normal_map(mapping, inputs, outputs)
            for mapping, inputs, outputs in (
                (cells.group_map, source.groups, cells.groups),
                (cells.item_map, source.items, cells.items),
            )
        )
        shape = source.groups, source.items
        scaled = [scaled_atom(atom, cells.coef, shape, False, source) for atom in known.atoms]
        sent = [None if atom is None else sent_on(atom, group, item, cells.items) for atom in scaled]
        if any(atom is None for atom in sent):
            known = plain_form(self._write(source, known))
            again = scaled_atom(known.atoms[0], cells.coef, shape, False, source)
            assert again is not None
            sent = [sent_on(again, group, item, cells.items)]
        const = None
        if same_place(group) and same_place(item) and known.const is not None:
            const = apply(np.multiply, *shape, known.const, cells.coef)
        return Form(tuple(atom for atom in sent if atom is not None), const)

    def _gather(self, cells: Gather) -> Form:
        source = cells.source
        known = self._known[source.index]
        if known.const is None or any(not atom.way.same for atom in known.atoms):
            known = plain_form(self._write(source, known))
        key = cells.group * source.items + cells.item
        order = np.argsort(key, kind="stable")
        way = Way(keys=key[order], index=order.astype(np.int64))
        atoms = [Atom(atom.column, atom.stages, atom.coef, way) for atom in known.atoms]
        assert known.const is not None
        wide = apply(lambda c: c, source.groups, source.items, known.const)
        return Form(tuple(atoms), wide.take(cells.group, cells.item))

    # -- columns ----------------------------------------------------------------------------------------------------

    def _write(self, cells: Cells, form: Form, inside: bool = False, plain: bool = False) -> Column:
        """Return a column that holds cells (or, if ``inside``, the linear form in a map).

        Where not ``plain``, it may hold what they are above what they are where nothing is placed.
        """
        known = self._written.get((cells.index, inside))
        if known is not None and not (plain and known.offset.table.any()):
            return known
        whole = isinstance(cells, Tally) or not isinstance(cells, Map | Reduce | Gather)
        if whole or (isinstance(cells, Reduce) and cells.how is not Gathering.SUM):
            column = form.atoms[0].column
        else:
            column = Column(cells.groups, cells.items, start=cells, inside=inside)
            if all(atom.way.same for atom in form.atoms):
                self._rare(column, [(atom.column, None) for atom in form.atoms], plain)
            self.columns.append(column)
            for atom in form.atoms:
                atom.column.pieces.append(Piece(atom, column))
        self._written[cells.index, inside] = column
        return column

    def _bound(self, cells: Cells, bound: Grid) -> None:
        """Demand that cells stay at or below a bound."""
        known = self.form(cells)
        atom = single_atom(known)
        if atom is None or atom.stages or not one_sign(atom.coef):
            column = self._write(cells, known)
            column.high.append(apply(np.subtract, column.groups, column.items, bound, column.offset))
            return
        assert known.const is not None
        column = atom.column
        shape = column.groups, column.items
        room = apply(lambda b, c: b - c, cells.groups, cells.items, shaped(bound, cells), shaped(known.const, cells))
        room = backwards(atom, room)
        rising = positive(atom.coef)
        limit = apply(floored if rising else ceiled, *shape, room, atom.coef)
        if atom.way.keys is not None:
            keys = atom.way.keys
            nowhere = FAR if rising else -FAR
            limit = Grid(*shape, np.array([[nowhere]]), None, keys, limit.at(keys // shape[1], keys % shape[1]))
        (column.high if rising else column.low).append(limit)

    def _merged(self, atoms: list[Atom]) -> list[Atom]:
        """Return the atoms with tallies of one layout as one tally, which weighs what they weigh together."""
        out: list[Atom] = []
        alike: dict[Hashable, list[int]] = {}  # of thousands of atoms, most have a layout of their own
        for atom in atoms:
            layout = layout_of(atom)
            known = [] if layout is None else alike.setdefault(layout, [])
            index = next((i for i in known if mergeable(out[i].column, atom.column)), None)
            if index is None:
                known.append(len(out))
                out.append(atom)
            else:
                out[index] = self._merge(out[index], atom)
        return out

    def _merge(self, left: Atom, right: Atom) -> Atom:
        column = left.column
        if column is right.column:
            total = constant_of(left.coef) + constant_of(right.coef)  # type: ignore[operator]
            return Atom(column, (), Grid.constant(1, 1, total), Way())
        assert column.members is not None
        assert right.column.members is not None
        a, b = constant_of(left.coef) or 0, constant_of(right.coef) or 0
        key = id(column), a, id(right.column), b
        if key not in self._mixed:
            members = together(column.members, a, right.column.members, b)
            assert column.item_of is not None
            self._mixed[key] = self._counted(column.groups, column.items, members, column.item_of)
        return Atom(self._mixed[key], (), ONE, Way())
