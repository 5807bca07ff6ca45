"""Dimensions as users state them (by name, as columns, as vectors, in several places), turned into fixed point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.column import Amounts, Column
from rebalancer.problem.errors import MOST_REPORTED, FaultList, Path
from rebalancer.problem.numbers import LARGEST_SUM, FixedPoint, IntArray, Overflow, WrongValue, fix, to_fraction
from rebalancer.problem.structure import Names


@dataclass(frozen=True, eq=False)
class Statement:
    """Values of one dimension that stand in one place.

    Parameters
    ----------
    name : str
        The dimension.
    scope : str or None
        Whose items have the values; None: the objects.
    values : mapping or Column
    default : object
        The value of names that are not listed; None: not stated here.
    path : tuple of str or int
    more : bool
        Whether it adds to what is stated of the dimension elsewhere.
    """

    name: str
    scope: str | None
    values: Amounts
    default: Any
    path: Path
    more: bool = False


@dataclass(frozen=True, eq=False)
class _Part:
    """One statement as fixed point; ``integers`` has the shape (rows, components)."""

    index: IntArray
    integers: IntArray
    scale: int
    rounded: bool
    path_of: Callable[[int], Path]


def fixed_amounts(
    statements: Sequence[Statement], names: Names, what: str, resolution: Fraction | None, faults: FaultList
) -> tuple[FixedPoint, int] | None:
    """Return the values of all names, and how many names none was given for.

    Parameters
    ----------
    statements : sequence of Statement
        All of one dimension; not empty.
    names : Names
        Whose values are wanted, in order.
    what : str
        What messages call one of them.
    resolution : Fraction or None
        The step to round to; None: exact.
    faults : FaultList

    Returns
    -------
    (FixedPoint, int) or None
        Integers of shape (names, components). None where there were faults.
    """
    return _Reader(statements, names, what, resolution, faults).read()


def exact_number(value: Any, label: str, path: Path, negative: bool, faults: FaultList) -> Fraction | None:
    """Return a number exactly, or report why it is none.

    Parameters
    ----------
    negative : bool
        Whether it may be negative.
    """
    try:
        number = to_fraction(value)
    except WrongValue as error:
        faults.report(error.code, f"{label}: {error}", path, value)
        return None
    if number < 0 and not negative:
        faults.report("negative-capacity", f"{label} is {value}; a capacity cannot be negative", path, value)
        return None
    return number


class _Reader:
    """Reads all statements of one dimension."""

    def __init__(
        self, statements: Sequence[Statement], names: Names, what: str, resolution: Fraction | None, faults: FaultList
    ) -> None:
        self.statements = statements
        self.names = names
        self.what = what
        self.resolution = resolution
        self.faults = faults
        self.label = f"dimension '{statements[0].name}'"
        self.of_objects = statements[0].scope is None
        self._stated: list[tuple[IntArray, Callable[[int], Path]]] = []

    def read(self) -> tuple[FixedPoint, int] | None:
        before = len(self.faults)
        default = self._default()
        parts = [self._part(statement) for statement in self.statements]
        self._check_repeated()
        if len(self.faults) > before:
            return None
        read = [part for part in parts if part is not None]
        width = self._width(read)
        if len(self.faults) > before:
            return None
        fill = self._fix([default], [self.statements[0].path])
        if fill is None:
            return None
        return self._together(read, fill, width)

    def _default(self) -> Fraction:
        stated = [statement for statement in self.statements if statement.default is not None]
        for again in stated[1:]:
            if again.default != stated[0].default:
                message = f"{self.label} has two defaults, {stated[0].default} and {again.default}"
                self.faults.report("two-defaults", message, (*again.path, "default"), again.default)
        if not stated:
            return Fraction(0 if self.of_objects else 1)
        label = f"the default of {self.label}"
        path = (*stated[0].path, "default")
        number = exact_number(stated[0].default, label, path, self.of_objects, self.faults)
        if number is not None:
            self._fix([number], [path])
        return number or Fraction(0)

    def _part(self, statement: Statement) -> _Part | None:
        values, path = statement.values, statement.path
        if isinstance(values, Column):
            return self._column(values, lambda row: (*path, row))
        keys = list(values)
        return self._listed(keys, values.values(), lambda row: (*path, keys[row]))

    # -- columns ------------------------------------------------------------------------------------------------------

    def _column(self, column: Column, path_of: Callable[[int], Path]) -> _Part | None:
        values = np.asarray(column.values) if not isinstance(column.values, list) else _object_array(column.values)
        if values.dtype.kind == "O" or values.ndim > 1:
            return self._listed(column.names, values.tolist(), path_of)
        before = len(self.faults)
        index = self._index(column.names, path_of)
        if values.dtype.kind not in "iuf":
            self.faults.report("wrong-type", f"{self.label}: expected numbers", path_of(0)[:-1])
            return None
        if values.dtype.kind == "f":
            self._report_rows(
                ~np.isfinite(values),
                column.names,
                values,
                path_of,
                "not-finite",
                "{label} is {value}, expected a finite number",
            )
        if not self.of_objects and values.size:
            with np.errstate(invalid="ignore"):
                negative = values < 0
            self._report_rows(
                negative,
                column.names,
                values,
                path_of,
                "negative-capacity",
                "{label} is {value}; a capacity cannot be negative",
            )
        if len(self.faults) > before:
            return None
        try:
            fixed = fix(values, self.resolution)
        except Overflow as error:
            row = int(np.argmax(np.abs(values)))
            label = self._label_of(column.names[row])
            self.faults.report("overflow", f"{label} does not fit: {error}", path_of(row), values[row].item())
            return None
        return _Part(index, fixed.integers[:, None], fixed.scale, fixed.rounded, path_of)

    def _report_rows(
        self,
        wrong: NDArray[np.bool_],
        names: list[str],
        values: NDArray[Any],
        path_of: Callable[[int], Path],
        code: str,
        text: str,
    ) -> None:
        rows = np.flatnonzero(wrong).tolist()
        for row in rows[:MOST_REPORTED]:
            value = values[row].item()
            self.faults.report(code, text.format(label=self._label_of(names[row]), value=value), path_of(row), value)
        self.faults.rest(len(rows), path_of(rows[MOST_REPORTED]) if len(rows) > MOST_REPORTED else ())

    # -- value by value -----------------------------------------------------------------------------------------------

    def _listed(self, names: list[str], values: Iterable[Any], path_of: Callable[[int], Path]) -> _Part | None:
        before = len(self.faults)
        index = self._index(names, path_of)
        rows: list[list[Fraction]] = []
        paths: list[Path] = []
        width = 1
        for row, (name, value) in enumerate(zip(names, values, strict=True)):
            if index[row] < 0:
                continue
            is_list = isinstance(value, list | tuple | np.ndarray) and getattr(value, "ndim", 1) > 0
            entries: list[Any] = list(value) if is_list else [value]
            if is_list and not self.of_objects:
                self.faults.report(
                    "wrong-type", f"{self._label_of(name)} must be one number, not a list", path_of(row), value
                )
                continue
            if not entries or (rows and len(entries) != width):
                message = f"{self._label_of(name)} has {_components(len(entries))}, others have {width}"
                self.faults.report("vector-length", message, path_of(row), value)
                continue
            width = len(entries)
            exact = []
            for slot, entry in enumerate(entries):
                path = (*path_of(row), slot) if is_list else path_of(row)
                number = exact_number(entry, self._label_of(name), path, self.of_objects, self.faults)
                exact.append(number if number is not None else Fraction(0))
                paths.append(path)
            rows.append(exact)
        if len(self.faults) > before:
            return None
        fixed = self._fix([number for row_ in rows for number in row_], paths)
        if fixed is None:
            return None
        return _Part(index, fixed.integers.reshape(len(rows), width), fixed.scale, fixed.rounded, path_of)

    def _fix(self, exact: list[Fraction], paths: list[Path]) -> FixedPoint | None:
        try:
            return fix(exact, self.resolution)
        except Overflow as error:
            place = max(range(len(exact)), key=lambda at: abs(exact[at]))
            self.faults.report("overflow", f"{self.label} does not fit: {error}", paths[place], _typed(exact[place]))
            return None

    # -- all together -------------------------------------------------------------------------------------------------

    def _index(self, names: list[str], path_of: Callable[[int], Path]) -> IntArray:
        index = self.names.lookup(names)
        unknown = np.flatnonzero(index < 0)
        self.faults.unknown_rows(self.what, names, self.names, unknown, path_of)
        self._stated.append((index, path_of))
        return index

    def _check_repeated(self) -> None:
        """Report names that are given a value twice, in one place or in several."""
        seen = np.zeros(len(self.names), np.int64)
        for index, path_of in self._stated:
            count = seen + np.bincount(index[index >= 0], minlength=len(self.names))
            again = np.flatnonzero((index >= 0) & (count > 1)[index]) if (count > 1).any() else ()
            first: set[int] = set(np.flatnonzero(seen).tolist())
            reported = 0
            for row in again:
                name = int(index[row])
                if name in first and reported < MOST_REPORTED:
                    message = f"{self._label_of(self.names[name])} is given twice"
                    self.faults.report("duplicate-value", message, path_of(int(row)), self.names[name])
                    reported += 1
                first.add(name)
            seen = count

    def _width(self, parts: list[_Part]) -> int:
        widths = [part.integers.shape[1] for part in parts if len(part.index)]
        for part in parts:
            if len(part.index) and part.integers.shape[1] != widths[0]:
                name = self.names[int(part.index[0])]
                message = f"{self._label_of(name)} has {_components(part.integers.shape[1])}, others have {widths[0]}"
                self.faults.report("vector-length", message, part.path_of(0))
        return widths[0] if widths else 1

    def _together(self, parts: list[_Part], fill: FixedPoint, width: int) -> tuple[FixedPoint, int] | None:
        scale = math.lcm(fill.scale, *(part.scale for part in parts))
        total = abs(int(fill.integers[0])) * (scale // fill.scale) * len(self.names) * width
        total += sum(int(np.abs(part.integers).sum(dtype=np.float64)) * (scale // part.scale) for part in parts)
        if scale >= LARGEST_SUM or total >= LARGEST_SUM:
            exact = total / scale
            message = f"{self.label} does not fit: in steps of 1/{scale}, its sum {exact:g} needs more than 61 bits"
            self.faults.report("overflow", message, self.statements[0].path)
            return None
        out = np.full((len(self.names), width), int(fill.integers[0]) * (scale // fill.scale), np.int64)
        listed = 0
        for part in parts:
            out[part.index] = part.integers * (scale // part.scale)
            listed += len(part.index)
        rounded = fill.rounded or any(part.rounded for part in parts)
        return FixedPoint(out, scale, rounded), len(self.names) - listed

    def _label_of(self, name: str) -> str:
        return f"{self.label} of {self.what} '{name}'"


def _components(count: int) -> str:
    return "1 component" if count == 1 else f"{count} components"


def _object_array(values: list[Any]) -> NDArray[np.object_]:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _typed(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
