"""Writes the columns, pieces and specials of a model as flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.walk import inside_bound, known_bounds
from rebalancer.engines.local_search.flat.alike import partners_of
from rebalancer.engines.local_search.flat.atoms import (
    Column,
    Piece,
    Special,
    Way,
    is_growing,
    is_rising,
    never_negative,
    ranks_of,
)
from rebalancer.engines.local_search.flat.forms import FAR, Forms, TooLargeForMoves
from rebalancer.engines.local_search.flat.lanes import assign_lanes, bends_after, plain_lanes
from rebalancer.engines.local_search.flat.members import Members
from rebalancer.engines.local_search.flat.memberships import lay_out
from rebalancer.engines.local_search.flat.pulls import Pulls, Unusual, has_pulls, unusual
from rebalancer.engines.local_search.flat.records import Pool, Records, packed
from rebalancer.engines.local_search.flat.sums import adds_alike, asked_of, bends, ends
from rebalancer.engines.local_search.kernels import layout as at
from rebalancer.engines.local_search.kernels.jit import ready
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.ranks import WIDTH
from rebalancer.model import CellValues, Extremum, Function, Gathering, Grid, Map, Model, Product, Ratio, Reduce
from rebalancer.model.grid import apply, most_often, stack
from rebalancer.model.order import reduced, targets
from rebalancer.problem.numbers import IntArray

#: Records of at most the first number of words are written down cell by cell; so are those of at most the second where
#: exceptional ones, which are looked through one by one, are more than so many in some group.
FEW_WORDS, DENSE_WORDS, _MOST_EXCEPTIONS = 100_000, 4_000_000, 8

#: Groups of more objects are not moved as a whole; of groups of one kind, no more than so many.
LARGEST_TEAM, MOST_TEAMS = 64, 50_000

_FUNCTIONS = {
    Function.IDENTITY: at.F_IDENTITY,
    Function.HINGE: at.F_HINGE,
    Function.STEP: at.F_STEP,
    Function.SQUARE: at.F_SQUARE,
    Function.CEIL: at.F_CEIL,
    Function.RAISE: at.F_CEIL,
    Function.MOD: at.F_MOD,
    Function.ROUND: at.F_ROUND,
}
_RANK_MAPS = at.X_GROUP_MAP, at.X_ITEM_MAP, at.X_GROUP_COUNT, at.X_ITEM_COUNT
_KINDS = {Gathering.MAX: at.K_MAX, Gathering.MIN: at.K_MIN, Gathering.NTH_LARGEST: at.K_NTH}


class Flattener:
    """Makes the flat arrays of a model once; `at` fills in an assignment.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    teams : (int64 array, int32 array)
        The groups that tallies count, as starts and members: those of some objects, but not of very many.
    extremes : bool
        Whether some special takes the largest or smallest of cells that are written down.
    pulls, meets : bool
        Whether some tally may draw objects to some containers, and to where others of their group are.

    Raises
    ------
    TooLargeForMoves
        Some cells would need a table over too many groups and items.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.forms = Forms(model)
        self.containers = len(model.problem.containers)
        initial = model.problem.initial
        self._home = np.where(initial < 0, self.containers, initial).astype(np.int32)
        self._maps, self._words = Pool(np.int32), Pool(np.int64)
        self._pulls = Pulls(self._maps, self._home)
        self._spread, self._spots = Pool(np.int64), Pool(np.int64)
        self._values = self._hashes = 0
        self._widest = 1  # cells that a piece adds into that does not spread
        self._pieces: list[list[int]] = []
        self._read = {column for special in self.forms.specials for column in special.inputs}
        self._stages: list[list[int]] = []
        columns = np.array([self._column(column) for column in self.forms.columns], np.int64)
        self._columns = columns.reshape(-1, at.C_WIDTH)
        self._tree_length = 0
        specials = np.array([self._special(special) for special in self.forms.specials], np.int64)
        self._specials = specials.reshape(-1, at.X_WIDTH)
        self._uses = self._list_uses()
        self._lanes, self._plain = assign_lanes(self.forms, self._columns)
        self._hash_rows = self._size_hash_rows()
        self._memberships = lay_out(self.forms, self._columns, self._lanes)
        self._alike = partners_of(self._memberships.lane_weights[:-1, 0])
        self._list_heads()
        self.teams = self._list_teams()
        self.pulls, self._wishes = bool(has_pulls(self._columns).any()), self._pulls.wishes
        self.extremes = bool(self._columns[:, at.C_EXTREME].any())
        self.meets = bool(self._columns[:, at.C_MEETS].any())
        self.fixed = self._fixed()
        del self._maps, self._words, self._spread, self._spots, self._pulls  # all of it is in `fixed`, once

    # -- columns ----------------------------------------------------------------------------------------------------

    def _column(self, column: Column) -> list[int]:
        row = [0] * at.C_WIDTH
        size = column.size
        row[at.C_GROUPS], row[at.C_ITEMS], row[at.C_SIZE] = column.groups, column.items, size
        row[at.C_VALUES], row[at.C_HASH] = -1, -1
        members = column.members
        if column.sparse:
            row[at.C_HASH] = self._hashes
            self._hashes += column.groups
        else:
            row[at.C_VALUES] = self._values
            self._values += size
        row[at.C_ITEM_OF] = row[at.C_CONDITION] = row[at.C_MAKER] = -1
        if members is not None:
            assert column.item_of is not None
            row[at.C_ITEM_OF] = self._maps.add(column.item_of)
            inside = column.item_of[:-1]
            row[at.C_FLAT] = int(not len(inside) or bool((inside == inside[0]).all()))
            row[at.C_CONDITION] = row[at.C_ITEM_OF] if members.condition is None else self._maps.add(members.condition)
        records = Records(column)
        for word, bounds, pick in ((at.C_LOW, column.low, np.maximum), (at.C_HIGH, column.high, np.minimum)):
            row[word] = -1
            if bounds:
                whole = bounds[0]
                for bound in bounds[1:]:
                    whole = apply(pick, column.groups, column.items, whole, bound)
                row[word] = records.word(whole.map(lambda v: np.clip(v, -FAR, FAR)), always=True)[0]
        row[at.C_RISING], row[at.C_BARE] = int(is_rising(column)), int(column.bare)
        row[at.C_ENDS] = int(column not in self._read and ends(column))
        row[at.C_PIECE] = len(self._pieces) * at.P_WIDTH
        for piece in column.pieces:
            self._pieces.append(self._piece(column, piece, records))
        row[at.C_PIECE_END] = len(self._pieces) * at.P_WIDTH
        special = self._records(row, records)
        self._pulls.note(row, column, special)
        at_home = members is not None and row[at.C_WITHIN] < 0 and not members.default.any()
        row[at.C_GROWS] = 2 if at_home else int(is_growing(column))
        return row

    def _records(self, row: list[int], records: Records) -> Unusual:
        """Lay out a column's records: by group or shared, by class of items, and exceptional ones; return `unusual`."""
        column, grids = records.column, records.grids
        row[at.C_WORDS], row[at.C_CLASS], row[at.C_EXCEPT] = len(grids), -1, -1
        if not grids or not row[at.C_SIZE]:
            return None, None
        table, classes, keys, values = stack(column.groups, column.items, grids)
        special: Unusual = (None, None)
        if column.members is not None:
            special = unusual(column.groups, table, np.arange(column.items) if classes is None else classes, keys)
        words = row[at.C_SIZE] * len(grids)
        by_cell = table.shape[:2] == (column.groups, column.items) and classes is None
        if words > FEW_WORDS and by_cell and not len(keys):
            table, keys, values = _with_exceptions(table, words > DENSE_WORDS)
        elif len(keys) and (words <= FEW_WORDS or (words <= DENSE_WORDS and _crowded(keys, column.items))):
            wide = table if classes is None else table[:, classes]
            table = np.array(np.broadcast_to(wide, (column.groups, column.items, len(grids))))
            table[keys // column.items, keys % column.items] = values
            classes, keys = None, keys[:0]
        row[at.C_RECORDS] = self._words.add(np.ascontiguousarray(table))
        row[at.C_ROW_STEP] = 0 if table.shape[0] == 1 else table.shape[1] * len(grids)
        if table.shape[1] > 1:
            row[at.C_CLASS] = -2 if classes is None else self._maps.add((classes * len(grids)).astype(np.int32))
        if len(keys):
            group = keys // column.items
            first = self._words.add(np.ascontiguousarray(values))
            if first + values.size >= 2**31:
                raise TooLargeForMoves(f"{len(keys)} exceptional limits")
            order = np.searchsorted(group, np.arange(column.groups + 1))
            item = self._maps.add((keys % column.items).astype(np.int32))
            pointers = np.concatenate([[item, first], order]).astype(np.int32)
            row[at.C_EXCEPT] = self._maps.add(pointers)
        return special

    def _piece(self, column: Column, piece: Piece, records: Records) -> list[int]:
        atom, target = piece.atom, piece.target
        row = [0] * at.P_WIDTH
        row[at.P_TARGET], row[at.P_SOURCE] = target.index * at.C_WIDTH, column.index * at.C_WIDTH
        row[at.P_SINGLE] = int(target.groups * target.items == 1)
        row[at.P_STAGE] = len(self._stages) * at.S_WIDTH
        for stage in atom.stages:
            line = [_FUNCTIONS[stage.function]]
            for grid in (stage.alpha, stage.const, stage.divisor):
                line += records.word(grid)
            word, divisor = line[-2:]
            line.append(divisor.bit_length() - 1 if word < 0 and divisor.bit_count() == 1 else -1)
            self._stages.append(line)
        row[at.P_STAGE_END] = len(self._stages) * at.S_WIDTH
        way = atom.way
        row[at.P_SUM] = int(adds_alike(atom))
        row[at.P_BENT] = int(way.same and bends(target) and target not in self._read)
        row[at.P_FALLS] = int(not never_negative(atom.coef))
        row[at.P_ONCE] = int(row[at.P_BENT] and bends_after(piece))
        row[at.P_COEF_WORD] = row[at.P_INDEX_WORD] = row[at.P_SPREAD_COEF] = -1
        if way.spread:
            row[at.P_SPREAD] = way.all_groups + 2 * way.all_items
            wide = apply(lambda v: v, target.groups, target.items, atom.coef)
            row[at.P_SPREAD_COEF] = self._spread.add(np.ascontiguousarray(wide.dense()))
        else:
            row[at.P_COEF_WORD], row[at.P_COEF] = records.word(atom.coef)
        if way.keys is not None:
            assert way.index is not None
            row[at.P_FAN] = int(way.fans)
            keys, index = self._fans(way.keys, way.index) if way.fans else (way.keys, way.index)
            grid = Grid(column.groups, column.items, np.array([[-1]]), None, keys, index)
            row[at.P_INDEX_WORD] = records.word(grid, always=True)[0]
        row[at.P_GROUP], row[at.P_GROUP_MAP] = self._map(way, way.group)
        row[at.P_ITEM], row[at.P_ITEM_MAP] = self._map(way, way.item)
        return row

    def _fans(self, keys: IntArray, index: IntArray) -> tuple[IntArray, IntArray]:
        """Return each key once, and where in ``maps`` the number of its cells stands, which follow."""
        unique, first, count = np.unique(keys, return_index=True, return_counts=True)
        self._widest = max(self._widest, int(count.max()))
        fans = np.insert(index, first, count)
        return unique, self._maps.add(fans.astype(np.int32)) + first + np.arange(len(first))

    def _map(self, way: Way, mapping: Any) -> tuple[int, int]:
        if way.keys is not None or mapping is None:
            return 0, 0
        return (1, 0) if isinstance(mapping, str) else (2, self._maps.add(mapping))

    # -- specials ---------------------------------------------------------------------------------------------------

    def _special(self, special: Special) -> list[int]:
        cells, row = special.cells, [0] * at.X_WIDTH
        row[at.X_OUTPUT] = special.output.index * at.C_WIDTH
        inputs = np.array([column.index * at.C_WIDTH for column in special.inputs], np.int32)
        row[at.X_INPUTS] = self._maps.add(inputs)
        row[at.X_INPUTS_END] = row[at.X_INPUTS] + len(inputs)
        if isinstance(cells, Extremum):
            row[at.X_KIND] = at.K_LARGEST_OF if cells.largest_of else at.K_SMALLEST_OF
        elif isinstance(cells, Product):
            row[at.X_KIND], row[at.X_NUMBER] = at.K_PRODUCT, cells.divisor
        elif isinstance(cells, Ratio):
            row[at.X_KIND], row[at.X_NUMBER] = at.K_RATIO, cells.factor
        else:
            assert isinstance(cells, Reduce)
            row[at.X_KIND] = _KINDS.get(cells.how, at.K_REST)
            row[at.X_NUMBER] = cells.rank
            if self._columns[special.inputs[0].index, at.C_VALUES] >= 0:
                self._lay_out(cells, row)
            else:
                self._rank(cells, row, special)
        return row

    def _lay_out(self, cells: Reduce, row: list[int]) -> None:
        """Give each input cell its place among the numbers of its output."""
        target = targets(cells)
        outputs = cells.groups * cells.items
        size = np.bincount(target[target >= 0], minlength=outputs)
        # a tournament's leaves are its second half
        length = 2 * np.maximum(1, size) if row[at.X_KIND] in (at.K_MAX, at.K_MIN) else size
        start = self._tree_length + np.concatenate([[0], np.cumsum(length)])
        self._tree_length = int(start[-1])
        order = np.argsort(target, kind="stable")
        within = np.empty(len(target), np.int64)
        within[order] = np.arange(len(target)) - np.searchsorted(target[order], target[order])
        place = np.where(target >= 0, target * 2**32 + within, -1)
        row[at.X_PLACE] = self._spots.add(place)
        row[at.X_TREES] = self._spots.add(start.astype(np.int64))

    def _rank(self, cells: Reduce, row: list[int], special: Special) -> None:
        """Make room for the cells that are not 0, and for what there is to know of each output."""
        busy, shape = special.inputs[0].busy, (cells.groups, cells.items)
        assert busy is not None
        maps = reduced(cells)
        counts = [np.bincount(part[part >= 0], minlength=length) for part, length in zip(maps, shape, strict=True)]
        row[at.X_PLACE], row[at.X_TREES] = -1, self._tree_length
        for number, part in zip(_RANK_MAPS, (*maps, *counts), strict=True):
            row[number] = self._maps.add(part.astype(np.int32))
        row[at.X_HEADS] = special.heads.index * at.C_WIDTH if special.kept_in_heads else -1
        self._tree_length += 1 + WIDTH * sum(ranks_of(special))

    def _list_uses(self) -> IntArray:
        """Note with each column the specials that read it."""
        users: dict[int, list[int]] = {}
        asked = asked_of(self.forms.columns, self._read)
        for number, special in enumerate(self.forms.specials):
            for column in dict.fromkeys(column.index for column in special.inputs):
                users.setdefault(column, []).append(number)
                extreme = self._specials[number, at.X_KIND] in (at.K_MAX, at.K_MIN, at.K_NTH)
                self._columns[column, at.C_EXTREME] |= int(extreme and asked[column])
            self._columns[special.output.index, at.C_MAKER] = number * at.X_WIDTH
        uses: list[int] = []
        for index in range(len(self._columns)):
            self._columns[index, at.C_USE] = len(uses)
            uses += [number * at.X_WIDTH for number in users.get(index, [])]
            self._columns[index, at.C_USE_END] = len(uses)
        return np.array(uses, np.int64)

    # -- objects ----------------------------------------------------------------------------------------------------

    def _size_hash_rows(self) -> IntArray:
        """Return where the hash row of each group begins: twice as long as its entries, at most one per item."""
        sizes = []
        for column, row in zip(self.forms.columns, self._columns, strict=True):
            if row[at.C_HASH] >= 0:
                assert column.busy is not None
                length = 2 ** np.ceil(np.log2(np.maximum(2, 2 * column.busy))).astype(np.int64)
                sizes.append(np.minimum(length, column.items))
        return np.concatenate([[0], np.cumsum(np.concatenate(sizes))]) if sizes else np.zeros(1, np.int64)

    def _list_heads(self) -> None:
        """Find the single cells that objectives add up: the goals, and what is lost where one is rounded."""
        head, weight = [], []
        known = known_bounds(self.model)
        #: By tuple position: the columns of one cell that it adds up, what a unit of each is worth, and the least value
        #: of each as far as is known.
        self.goals: list[tuple[IntArray, NDArray[np.float64], NDArray[np.float64]]] = []
        for position, objective in enumerate(self.forms.objectives):
            worth = {objective.index: 1.0}
            for column in reversed(self.forms.columns[: objective.index]):
                if column.groups * column.items > 1 or column.members is not None:
                    continue
                for offset, piece in enumerate(column.pieces):
                    atom = piece.atom
                    rounds = all(s.function in (Function.ROUND, Function.RAISE) for s in atom.stages)
                    if piece.target.index not in worth or not rounds or atom.way.spread or atom.way.fans:
                        continue
                    factor = worth[piece.target.index] * float(atom.coef.dense()[0, 0])
                    if atom.stages:
                        head.append((int(self._columns[column.index, at.C_PIECE]) + offset * at.P_WIDTH, position))
                        weight.append(factor)
                    for stage in atom.stages:
                        factor *= float(stage.alpha.dense()[0, 0]) / float(stage.divisor.dense()[0, 0])
                    worth[column.index] = worth.get(column.index, 0.0) + factor
            inner = {piece.target.index for c in worth for piece in self.forms.columns[c].pieces}
            goals = sorted(worth.keys() - inner)
            least = [_least(self.forms.columns[c], known) for c in goals]
            places = np.array(goals, np.int64) * at.C_WIDTH
            self.goals.append((places, np.array([worth[c] for c in goals]), np.array(least, np.float64)))
        self._head = np.array(head, np.int64).reshape(-1, 2)
        self._head_weight = np.array(weight, np.float64)

    def _list_teams(self) -> tuple[IntArray, NDArray[np.int32]]:
        """Return `teams`, each set of objects once."""
        sets: dict[bytes, NDArray[np.int32]] = {}
        seen: list[Members] = []
        for column in self.forms.columns:
            members = column.members
            if members is None or (column.groups == 1 and len(members.member) > LARGEST_TEAM):
                continue
            if any(map(members.groups_as, seen)):
                continue
            seen.append(members)
            order = np.argsort(members.group, kind="stable")
            cuts = np.searchsorted(members.group[order], np.arange(column.groups + 1))
            size = np.diff(cuts)
            fitting = np.flatnonzero((size >= 2) & (size <= LARGEST_TEAM))
            for group in fitting[:MOST_TEAMS].tolist():
                team = np.sort(members.member[order[cuts[group] : cuts[group + 1]]]).astype(np.int32)
                sets.setdefault(team.tobytes(), team)
        return packed(list(sets.values()))

    # -- all together -----------------------------------------------------------------------------------------------

    def _fixed(self) -> dict[str, NDArray[Any]]:
        problem = self.model.problem
        columns = self._columns
        singles = np.flatnonzero((columns[:, at.C_SIZE] == 1) & (columns[:, at.C_ITEM_OF] < 0))
        home = self._home
        native = np.argsort(home, kind="stable").astype(np.int32)
        return {
            "sizes": np.array(
                [
                    len(problem.objects),
                    self.containers,
                    len(columns),
                    len(self._pieces),
                    len(self._specials),
                    len(singles),
                    len(self._head),
                    len(self.forms.objectives),
                    self._values,
                    self._lanes,
                    self._alike.shape[1],
                    self._plain,
                ],
                np.int64,
            ),
            "columns": columns.ravel(),
            "pieces": np.array(self._pieces, np.int64).ravel(),
            "stages": np.array(self._stages, np.int64).ravel(),
            "specials": self._specials.ravel(),
            "uses": self._uses,
            "maps": self._maps.array(),
            "words": self._words.array(),
            "spread": self._spread.array(),
            "spots": self._spots.array(),
            "singles": singles * at.C_WIDTH,
            "objectives": np.array([column.index * at.C_WIDTH for column in self.forms.objectives], np.int64),
            "head": self._head.ravel(),
            "head_weight": self._head_weight,
            "hash_rows": self._hash_rows.astype(np.int64),
            "plain": plain_lanes(columns, self._pieces, self._plain).ravel(),
            "alike": self._alike.ravel(),
            "home": home,
            "native": native,
            "first_native": np.searchsorted(home[native], np.arange(self.containers + 2)).astype(np.int64),
            **self._memberships.arrays(),
        }

    def at(self, assignment: NDArray[np.int32]) -> Flat:
        """Return the arrays of one searcher, standing at an assignment."""
        from rebalancer.engines.local_search.flat.fill import entries_at, fill_numbers, tally_at
        from rebalancer.engines.local_search.kernels.settle import fill_hashes, link, settle

        ready()
        problem, columns = self.model.problem, self._columns
        place = np.where(assignment < 0, self.containers, assignment).astype(np.int32)
        values = np.zeros(self._values, np.int64)
        known = CellValues(problem, assignment)
        objects = len(place)
        fan_out = (
            self._widest * len(self._pieces)
            + sum(int(columns[p[at.P_TARGET] // at.C_WIDTH, at.C_SIZE]) for p in self._pieces if p[at.P_SPREAD])
            + sum(
                int(columns[s[at.X_OUTPUT] // at.C_WIDTH, at.C_SIZE])
                for s in self._specials
                if s[at.X_KIND] == at.K_PRODUCT
            )
        )
        words = self.fixed["words"].copy()  # bounds are among them, which each searcher may relax for itself
        flat = Flat(
            **(self.fixed | {"words": words}),
            values=values,
            hash_key=np.full(int(self._hash_rows[-1]), -1, np.int32),
            hash_value=np.zeros(int(self._hash_rows[-1]), np.int64),
            place=place,
            spare=np.full(objects, at.UNKNOWN),
            pending=np.zeros(columns.size, np.int64),
            stack=np.zeros(4 * (fan_out + len(self._specials) + 64), np.int64),
            counts=np.zeros(at.N_WIDTH, np.int64),
            broken=np.zeros(columns.size, np.int64),
            paid=np.zeros(columns.size, np.int64),
            numbers=np.zeros(self._tree_length, np.int64),
            gradient=np.zeros(self._values, np.float64),
            piece_gradient=np.zeros(len(self._pieces) * at.P_WIDTH, np.float64),
            lean=np.zeros(columns.size),
            penalty=np.full(columns.size, np.inf),
            first=np.full(self.containers + 1, -1, np.int32),
            after=np.full(objects, -1, np.int32),
            before=np.full(objects, -1, np.int32),
            load=np.zeros(self.containers + 1, np.int32),
            lanes=np.zeros((self.containers + 1) * at.L_WIDTH * self._lanes),
            used=np.zeros(at.L_WIDTH, np.int64),
            exact=np.zeros((self.containers + 1) * self._plain * at.E_WIDTH, np.int64),
            wish=np.full(self._wishes, -1, np.int32),
            scarce=np.zeros(self._lanes, np.int64),
        )
        sparse: dict[int, tuple[IntArray, IntArray, IntArray]] = {}
        for column, row in zip(self.forms.columns, columns, strict=True):
            if row[at.C_VALUES] < 0:
                sparse[column.index] = (
                    entries_at(column, place) if column.members else self.forms.entries(column, known)
                )
                fill_hashes(flat, column.index * at.C_WIDTH, *sparse[column.index])
                continue
            here = tally_at(column, place) if column.members else self.forms.values(column, known).dense().ravel()
            values[row[at.C_VALUES] : row[at.C_VALUES] + row[at.C_SIZE]] = here
        fill_numbers(flat, self.forms.specials, self._specials, columns, sparse)
        link(flat)
        settle(flat)
        return flat


def _with_exceptions(table: NDArray[np.int64], large: bool) -> tuple[NDArray[np.int64], IntArray, NDArray[np.int64]]:
    """Return records that are written down cell by cell as the usual one and exceptions to it, if these are few.

    Unless there are very many records (``large``), few in each group.
    """
    usual = np.median(table[:, 0], axis=0).astype(np.int64)
    group, item = np.nonzero((table != usual).any(axis=-1))
    keys = group * table.shape[1] + item
    if 8 * len(keys) > table.shape[0] * table.shape[1] or not (large or not _crowded(keys, table.shape[1])):
        return table, keys[:0], table[0, :0]
    return usual[None, None], keys, table[group, item]


def _crowded(keys: IntArray, items: int) -> bool:
    """Whether there are more exceptions in some group than one would look through."""
    return most_often(keys // items) > _MOST_EXCEPTIONS


def _least(column: Column, known: dict[int, int]) -> int:
    """Return a lower bound of a column of one cell, given those of single cells."""
    assert column.start is not None
    if column.inside:
        assert isinstance(column.start, Map)
        return inside_bound(column.start, known)
    return known[column.start.index]
