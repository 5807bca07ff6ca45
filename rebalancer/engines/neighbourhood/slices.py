"""A model as a few freed objects see it: only the cells that they can change, everything else folded into constants.

The slice of a model is a model again, exact to the last integer, and as small as the part: what it costs depends on
the cells that the freed objects reach, not on how many objects or containers there are. Every cell of it is a row of
some cells of the original, and a placement of the freed objects gives each the integer that the original would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rebalancer.engines.cpsat.rows import RowAlgebra, Rows, coef_at
from rebalancer.engines.cpsat.sides import sides_of
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.draft import EXACT, UNUSED, Draft
from rebalancer.engines.neighbourhood.keys import as_row, bent, narrowed, shifted, sums, targets_of, widened
from rebalancer.engines.neighbourhood.lookup import Lookup, TooWide
from rebalancer.model import (
    Cells,
    CellValues,
    Extremum,
    Function,
    Gather,
    Gathering,
    Grid,
    HardCells,
    Map,
    Model,
    Position,
    Product,
    Ratio,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.problem import DynamicValues, Names, Problem
from rebalancer.problem.numbers import IntArray

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Sliced:
    """Some cells of the original as a row.

    Parameters
    ----------
    keys : int64 array
        Sorted ``group * items + item`` in the original.
    cells : Cells
        Shape (1, len(keys)).
    rows : Rows or None
        The same as linear forms over the candidate placements; None where they are not linear.
    """

    keys: IntArray
    cells: Cells
    rows: Rows | None


@dataclass(frozen=True, eq=False)
class Slice:
    """A sliced model and what its cells stand for.

    Parameters
    ----------
    model : Model
        Objects and containers are those of the choice.
    choice : Choice
    parts : dict of int to Sliced
        By index of the original cells; those that cannot change are not there.
    """

    model: Model
    choice: Choice
    parts: dict[int, Sliced]


class Slicer:
    """Makes slices of one model. What can be looked up ahead is.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        needed = sides_of(model)
        self.needed = [cells for cells in model.graph if needed.get(cells.index)]
        self.lookup = Lookup(model, self.needed)

    def slice(self, values: CellValues, choice: Choice) -> Slice:
        """Return the slice of a choice.

        Parameters
        ----------
        values : CellValues
            All needed cells at the assignment in which everything that is not freed stays.

        Raises
        ------
        TooWide
        """
        return _Slicing(self, values, choice).run()


class _Slicing(Draft):
    """One slice in the making: goes through the needed cells in topological order."""

    def __init__(self, slicer: Slicer, values: CellValues, choice: Choice) -> None:
        super().__init__()
        self.model = slicer.model
        self.needed = slicer.needed
        self.lookup = slicer.lookup
        self.values = values
        self.choice = choice
        self.problem = _problem(slicer.model.problem, choice, values)
        self.here = CellValues(self.problem, self.problem.initial)
        self.algebra = RowAlgebra(choice.literals)
        self.parts: dict[int, Sliced] = {}
        self.kinds: dict[type[Cells], Callable[..., Sliced | None]] = {
            Tally: self._tally,
            Map: self._map,
            Reduce: self._reduce,
            Gather: self._gather,
            Extremum: self._extremum,
            Product: self._pair,
            Ratio: self._pair,
        }

    def run(self) -> Slice:
        for cells in self.needed:
            part = self.kinds[type(cells)](cells)
            if part is not None:
                self.parts[cells.index] = part
        hard = []
        for demanded in self.model.hard:
            part = self.parts.get(demanded.cells.index)
            if part is not None:
                bound = coef_at(demanded.bound, part.keys, demanded.cells.groups, demanded.cells.items)
                hard.append(HardCells(part.cells, Grid(1, len(bound), bound[None, :]), demanded.constraint))
        positions = tuple(
            Position(self._one_cell(known.objective), (), (), 0.0) for known in self.model.tuple_positions
        )
        model = replace(
            self.model, problem=self.problem, graph=tuple(self.graph), hard=tuple(hard), tuple_positions=positions
        )
        return Slice(model, self.choice, self.parts)

    def _one_cell(self, objective: Cells) -> Cells:
        part = self.parts.get(objective.index)
        return self._constants(objective, np.zeros(1, np.int64)) if part is None else part.cells

    # -- cells of the slice -------------------------------------------------------------------------------------------

    def _constants(self, cells: Cells, keys: IntArray) -> Cells:
        """Return cells of the original as they are now."""
        return self._form(self._frame(cells, len(keys)), [], self._now(cells, keys))

    def _now(self, cells: Cells, keys: IntArray) -> IntArray:
        """Return the integers of some cells of the original as they are now."""
        integers = evaluate_cells(self.values, cells).integers
        return integers.at(keys // max(1, cells.items), keys % max(1, cells.items)).astype(np.int64)

    def _kept(self, part: Sliced, at: IntArray) -> Sliced | None:
        """Return some cells of a part; None for none."""
        if not len(at):
            return None
        rows = None if part.rows is None else self.algebra.gather(part.rows, np.zeros(len(at), np.int64), at)
        return Sliced(part.keys[at], self._picked(part.cells, at), rows)

    def _varying(self, keys: IntArray, cells: Cells, rows: Rows | None) -> Sliced | None:
        """Return a part without the cells that turn out to be constant."""
        part = Sliced(keys, cells, rows)
        if rows is None or len(rows.key) == len(keys):
            return part if len(keys) else None
        return self._kept(part, rows.key)

    def _aligned(self, cells: Cells, keys: IntArray, shape: tuple[int, int]) -> tuple[Cells | None, IntArray, IntArray]:
        """Return cells of the original at keys of a shape that they may have to be repeated to.

        Returns
        -------
        cells : Cells or None
            A row of the slice, one per key; None where none varies.
        varies : int64 array
            1 where the row counts, 0 where the cell is constant.
        const : int64 array
            The constants; 0 where the row counts.
        """
        own = narrowed(keys, shape, (cells.groups, cells.items))
        part = self.parts.get(cells.index)
        if part is None:
            return None, np.zeros(len(keys), np.int64), self._now(cells, own)
        slot = np.minimum(np.searchsorted(part.keys, own), len(part.keys) - 1)
        varies = part.keys[slot] == own
        if not varies.any():
            return None, np.zeros(len(keys), np.int64), self._now(cells, own)
        const = np.zeros(len(keys), np.int64)
        if not varies.all():
            const[~varies] = self._now(cells, own[~varies])
        return self._picked(part.cells, np.where(varies, slot, 0)), varies.astype(np.int64), const

    def _aligned_row(self, cells: Cells, keys: IntArray, shape: tuple[int, int]) -> Cells:
        """Return one row of the slice with cells of the original at keys, constant ones included."""
        row, varies, const = self._aligned(cells, keys, shape)
        if row is None:
            return self._form(self._frame(cells, len(keys)), [], const)
        return row if varies.all() else self._form(self._frame(cells, len(keys)), [(row, varies)], const)

    def _reached(self, cells: Cells) -> IntArray:
        """Return the keys of cells that read varying cells, key by key or repeated."""
        shape = (cells.groups, cells.items)
        found = []
        for source in cells.inputs:
            part = self.parts.get(source.index)
            if part is not None:
                found.append(widened(part.keys, (source.groups, source.items), shape))
        return np.unique(np.concatenate(found)) if found else _NONE

    # -- kinds --------------------------------------------------------------------------------------------------------

    def _tally(self, tally: Tally) -> Sliced | None:
        choice, objects = self.choice, self.choice.objects
        membership, member = self.lookup.memberships(tally, objects)
        if not len(membership):
            return None
        place = np.append(choice.containers, -1)
        item_at = tally.item_of[place].astype(np.int64)
        items = np.unique(item_at[item_at >= 0])
        groups, group = np.unique(tally.group[membership], return_inverse=True)
        if not len(items):
            return None

        def local(item: IntArray) -> IntArray:
            slot = np.minimum(np.searchsorted(items, item), len(items) - 1)
            return np.where((item >= 0) & (items[slot] == item), slot, -1)

        weight, dynamic, least, most = self._weights(tally, membership, member)
        freed = Tally(
            len(self.graph),
            len(groups),
            len(items),
            tally.unit,
            least,
            most,
            EXACT,
            group.astype(np.int64),
            member,
            weight,
            dynamic,
            None if dynamic is None else np.arange(len(place), dtype=np.int32),
            local(item_at).astype(np.int32),
            tally.family,
            local(tally.home[objects].astype(np.int64)).astype(np.int32),
        )
        rows = self.algebra.tally(freed)
        if not len(rows.key):
            return None
        self._add(freed)
        keys = groups[rows.group] * tally.items + items[rows.item]
        row = self._add(Gather(*self._frame(freed, len(keys)), freed, rows.group, rows.item))
        rest = self._now(tally, keys) - evaluate_cells(self.here, freed).integers.at(rows.group, rows.item)
        cells = self._form(self._frame(tally, len(keys)), [(row, np.ones(len(keys), np.int64))], rest)
        flat = self.algebra.gather(rows, rows.group, rows.item)
        return Sliced(keys, cells, shifted(flat, rest))

    def _weights(
        self, tally: Tally, membership: IntArray, member: IntArray
    ) -> tuple[IntArray, DynamicValues | None, int, int]:
        """Return the weights of memberships, by container where they depend on it, and bounds of their sum."""
        if tally.dynamic is None:
            weight = tally.weight[membership]
            return weight, None, int(np.minimum(weight, 0).sum()), int(np.maximum(weight, 0).sum())
        choice = self.choice
        place = np.append(choice.containers, -1)
        total = len(self.model.problem.objects)
        who, first = np.unique(member, return_index=True)
        table = tally.weight_at(np.tile(membership[first], len(place)), np.repeat(place, len(who)), total).reshape(
            len(place), len(who)
        )
        key = (np.arange(len(place))[:, None] * len(choice.objects) + who[None, :]).ravel()
        least, most = np.minimum(table.min(axis=0), 0), np.maximum(table.max(axis=0), 0)
        slot = np.searchsorted(who, member)
        dynamic = DynamicValues("", key, table.ravel(), 0)
        return np.zeros(len(member), np.int64), dynamic, int(least[slot].sum()), int(most[slot].sum())

    def _map(self, cells: Map) -> Sliced | None:
        shape = (cells.groups, cells.items)
        keys = self._reached(cells)
        if not len(keys):
            return None
        const = coef_at(cells.const, keys, *shape)
        terms: list[tuple[Cells, IntArray]] = []
        parts: list[tuple[Rows, Grid]] | None = []
        for term in cells.terms:
            coef = coef_at(term.coef, keys, *shape)
            row, varies, fixed = self._aligned(term.cells, keys, shape)
            const = const + coef * fixed
            if row is None or not (coef * varies).any():
                continue
            terms.append((row, coef * varies))
            rows = self.parts[term.cells.index].rows
            if rows is None:
                parts = None
            elif parts is not None:
                parts.append((self._repeated(term.cells, rows, keys, shape), as_row(coef * varies)))
        form = None if parts is None else self.algebra.combine(1, len(keys), parts, as_row(const))
        if form is not None:
            moves = bent(cells.function, form)
            if not moves.any():
                return None
            if not moves.all() or len(moves) < len(keys):
                at = form.key[moves]
                keys, const = keys[at], const[at]
                terms = [(self._picked(row, at), coef[at]) for row, coef in terms if coef[at].any()]
                form = self.algebra.gather(form, np.zeros(len(at), np.int64), at)
        divisor = None if cells.function in _UNDIVIDED else coef_at(cells.divisor, keys, *shape)
        out = self._form(self._frame(cells, len(keys)), terms, const, cells, divisor)
        return Sliced(keys, out, form if cells.function is Function.IDENTITY else None)

    def _repeated(self, source: Cells, rows: Rows, keys: IntArray, shape: tuple[int, int]) -> Rows:
        """Return the linear forms of a source at keys; at those where it is constant, anything: their factor is 0."""
        part = self.parts[source.index]
        own = narrowed(keys, shape, (source.groups, source.items))
        slot = np.minimum(np.searchsorted(part.keys, own), len(part.keys) - 1)
        return self.algebra.gather(rows, np.zeros(len(keys), np.int64), slot)

    def _reduce(self, cells: Reduce) -> Sliced | None:
        source = cells.source
        part = self.parts.get(source.index)
        if part is None:
            return None
        target = targets_of(cells, part.keys)
        at = np.flatnonzero(target >= 0)
        if cells.how is Gathering.SUM:
            at = at[coef_at(cells.coef, part.keys[at], source.groups, source.items) != 0]
        kept = self._kept(part, at)
        if kept is None:
            return None
        target = target[at]
        if cells.how is Gathering.SUM:
            return self._sum(cells, kept, target)
        return self._ranked(cells, kept, target)

    def _sum(self, cells: Reduce, part: Sliced, target: IntArray) -> Sliced | None:
        source = cells.source
        keys, slot = np.unique(target, return_inverse=True)
        coef = coef_at(cells.coef, part.keys, source.groups, source.items)
        each = coef * self._now(source, part.keys)
        rest = self._now(cells, keys)
        np.subtract.at(rest, slot, each)
        rows = None
        if part.rows is not None:
            const = sums(part.rows, coef, slot, len(keys))
            rows = self.algebra.regroup(part.rows, 1, len(keys), None, slot.astype(np.int64), as_row(coef), const)
            rows = shifted(rows, rest)
            if not len(rows.key):
                return None
        bound = int(np.abs(coef).max()) * source.largest * len(coef)
        frame = self._frame(cells, len(keys), -bound, bound)
        total = self._add(Reduce(*frame, part.cells, Gathering.SUM, None, slot.astype(np.int64), as_row(coef), UNUSED))
        out = self._form(self._frame(cells, len(keys)), [(total, np.ones(len(keys), np.int64))], rest)
        return self._varying(keys, out, rows)

    def _ranked(self, cells: Reduce, part: Sliced, target: IntArray) -> Sliced:
        """Extremes and order statistics, with what matters of the cells that stay as they are."""
        keys = np.unique(target)
        rests = self.lookup.others(cells, keys, part.keys, self.values)
        outputs: list[Cells] = []
        for key, rest in zip(keys.tolist(), rests, strict=True):
            at = np.flatnonzero(target == key)
            outputs.append(self._one_ranked(cells, self._picked(part.cells, at), rest))
        return Sliced(keys, self._side_by_side(cells, outputs), None)

    def _one_ranked(self, cells: Reduce, row: Cells, rest: IntArray) -> Cells:
        """Return one output of order: ``rest`` are the constants that it reads besides the row, descending."""
        rank, free, added = cells.rank, row.items, 0
        if cells.how is Gathering.MAX:
            rest = rest[:1]
        elif cells.how is Gathering.MIN:
            rest = rest[-1:]
        else:
            if cells.how is Gathering.NTH_LARGEST:
                rank = min(rank, free + len(rest) - 1)
            above = max(0, min(rank, len(rest)) - free)  # so many constants are above whatever the row does
            last = rank + 1 if cells.how is Gathering.NTH_LARGEST else rank
            added = int(rest[last:].sum()) if cells.how is Gathering.ALL_BUT_LARGEST else 0
            rest, rank = rest[above:last], rank - above
        if len(rest):
            take = np.concatenate([np.arange(free), np.zeros(len(rest), np.int64)])
            varies = (np.arange(len(take)) < free).astype(np.int64)
            const = np.concatenate([np.zeros(free, np.int64), rest])
            row = self._form(self._frame(cells.source, len(take)), [(self._picked(row, take), varies)], const)
        coef = Grid.constant(1, 1, 1)
        low, high = cells.low - max(0, added), cells.high - min(0, added)
        out = self._add(Reduce(*self._frame(cells, 1, low, high), row, cells.how, None, None, coef, UNUSED, rank))
        if not added:
            return out
        return self._form(self._frame(cells, 1), [(out, np.ones(1, np.int64))], np.array([added]))

    def _side_by_side(self, like: Cells, cells: list[Cells]) -> Cells:
        """Return single cells as one row."""
        if len(cells) == 1:
            return cells[0]
        size = len(cells)
        terms = [
            (self._picked(one, np.zeros(size, np.int64)), (np.arange(size) == at).astype(np.int64))
            for at, one in enumerate(cells)
        ]
        return self._form(self._frame(like, size), terms, np.zeros(size, np.int64))

    def _gather(self, cells: Gather) -> Sliced | None:
        part = self.parts.get(cells.source.index)
        if part is None:
            return None
        position, source = self.lookup.positions(cells, part.keys)
        if not len(position):
            return None
        order = np.argsort(position)
        position, source = position[order], source[order]
        rows = None
        if part.rows is not None:
            rows = self.algebra.gather(part.rows, np.zeros(len(source), np.int64), source)
        return Sliced(position, self._picked(part.cells, source), rows)

    def _extremum(self, cells: Extremum) -> Sliced | None:
        keys = self._reached(cells)
        if not len(keys):
            return None
        shape = (cells.groups, cells.items)
        sources = tuple(self._aligned_row(source, keys, shape) for source in cells.sources)
        return Sliced(keys, self._add(Extremum(*self._frame(cells, len(keys)), sources, cells.largest_of)), None)

    def _pair(self, cells: Product | Ratio) -> Sliced | None:
        keys = self._reached(cells)
        if not len(keys):
            return None
        shape = (cells.groups, cells.items)
        one, other = (self._aligned_row(source, keys, shape) for source in cells.inputs)
        frame = self._frame(cells, len(keys))
        out: Cells = (
            Product(*frame, one, other, cells.divisor)
            if isinstance(cells, Product)
            else Ratio(*frame, one, other, cells.factor)
        )
        return Sliced(keys, self._add(out), None)


#: Functions that have no divisor.
_UNDIVIDED = (Function.IDENTITY, Function.HINGE, Function.STEP)


def _problem(problem: Problem, choice: Choice, values: CellValues) -> Problem:
    """Return the freed objects and their containers, by number."""
    local = choice.local(values.assignment)
    return replace(
        problem,
        objects=Names(range(len(choice.objects))),  # type: ignore[arg-type]
        containers=Names(range(len(choice.containers))),  # type: ignore[arg-type]
        origin=local,
        initial=local,
    )


__all__ = ["Slice", "Sliced", "Slicer", "TooWide"]
