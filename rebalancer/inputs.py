"""What callers hand to the Python API (mappings, pandas tables) as names, columns and indices.

Tables go through whole: nothing here loops over their rows in Python unless a fault has to be located.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem import UNPLACED, Column, Fault, FaultList, InputError, Path, Problem, unknown_name
from rebalancer.problem.errors import MOST_REPORTED
from rebalancer.problem.numbers import widened

#: container -> objects, object -> container, or a pandas Series or DataFrame object -> container.
AssignmentLike: TypeAlias = "Mapping[str, Iterable[str]] | Mapping[str, str | None] | Any"
#: name -> value, or a pandas Series (index: names) or DataFrame.
ValuesLike: TypeAlias = "Mapping[str, Any] | Any"
#: group -> members, or a pandas Series or DataFrame member -> group.
GroupsLike: TypeAlias = "Mapping[str, Iterable[str]] | Any"

#: Names listed in one message.
_LISTED = 10
#: What numpy has for Python's own numbers, truth values and texts.
_PLAIN = (np.number, np.bool_, np.str_)


def is_table(value: Any) -> bool:
    """Return whether ``value`` is a pandas Series or DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series | pandas.DataFrame)


@dataclass(frozen=True, eq=False)
class Placements:
    """An assignment, object by object.

    Parameters
    ----------
    objects : list of str
        May hold repetitions; they are found when the assignment is put to use.
    containers : list of (str or None)
        The container of each; None: unplaced.
    listed : list of str
        The containers in definition order, those without objects too.
    path_of : callable
        Row -> where that row stands in the input.
    contents : dict of str to list of str, or None
        The same by container, if it was given so. Such an assignment cannot list an object without container.
    """

    objects: list[str]
    containers: list[str | None]
    listed: list[str]
    path_of: Callable[[int], Path]
    contents: dict[str, list[str]] | None = None


def read_placements(assignment: AssignmentLike, object_name: str, container_name: str) -> Placements:
    """Return an assignment given as mapping or table.

    Parameters
    ----------
    assignment : mapping, Series or DataFrame
        ``{container: [objects]}``, ``{object: container or None}``, a Series object -> container, or a DataFrame with
        columns named like the object and the container (or the objects as its index). NA: unplaced.

    Raises
    ------
    InputError
        It is none of these, or a name is no text.
    """
    if is_table(assignment):
        keys, values = _split(assignment, object_name, container_name, ("assignment",))
        objects = names_of(keys, object_name, ("assignment",))
        containers, listed = _optional_names(values, container_name, ("assignment",))
        placements = Placements(objects, containers, listed, lambda row: ("assignment", row))
        _check_not_empty(objects, containers, object_name, container_name, placements.path_of)
        return placements
    if not isinstance(assignment, Mapping):
        raise _no_table(assignment, ("assignment",))
    by_object = [value is None or isinstance(value, str) or _is_missing(value) for value in assignment.values()]
    if by_object and all(by_object):
        return _by_object(assignment, object_name, container_name)
    if any(by_object):
        name = list(assignment)[by_object.index(True)]
        forms = f"{container_name} -> list, or {object_name} -> {container_name}"
        message = f"'{name}' has one name where others have lists; give {forms}"
        raise InputError([Fault("wrong-type", message, ("assignment", name), assignment[name])])
    return _by_container(cast("Mapping[str, Iterable[str]]", assignment), object_name, container_name)


def _by_object(assignment: Mapping[str, Any], object_name: str, container_name: str) -> Placements:
    objects = _texts(list(assignment), object_name, ("assignment",))
    containers = [str.__str__(value) if isinstance(value, str) else None for value in assignment.values()]
    listed = list(dict.fromkeys(value for value in containers if value is not None))
    placements = Placements(objects, containers, listed, lambda row: ("assignment", objects[row]))
    _check_not_empty(objects, containers, object_name, container_name, placements.path_of)
    return placements


def _by_container(assignment: Mapping[str, Iterable[str]], object_name: str, container_name: str) -> Placements:
    faults = FaultList()
    listed = _texts(list(assignment), container_name, ("assignment",))
    contents: dict[str, list[str]] = {}
    for container, members in zip(listed, assignment.values(), strict=True):
        if _is_list(members):
            contents[container] = list(members)
        else:
            faults.append(_no_list(container, members, ("assignment", container)))
    faults.raise_if_any()
    objects = [name for members in contents.values() for name in members]
    containers: list[str | None] = [container for container, members in contents.items() for _ in members]
    starts = np.cumsum([0, *(len(members) for members in contents.values())])

    def path_of(row: int) -> Path:
        block = int(np.searchsorted(starts, row, side="right")) - 1
        return ("assignment", listed[block], row - int(starts[block]))

    texts = _texts(objects, object_name, ("assignment",), path_of)
    if texts is not objects:
        contents = {name: texts[start:end] for name, start, end in zip(listed, starts, starts[1:], strict=False)}
    return Placements(texts, containers, listed, path_of, contents)


def indices(placements: Placements, problem: Problem) -> NDArray[np.int32]:
    """Return an assignment as container indices, one per object of the problem.

    Returns
    -------
    int32 array of length objects
        -1: unplaced.

    Raises
    ------
    InputError
        Unknown or repeated names; objects that are not there. Only an object that starts unplaced may be left out, and
        only where the assignment is given by container: then it stays unplaced.
    """
    faults = FaultList()
    obj = problem.objects.lookup(placements.objects)
    container = problem.containers.lookup(placements.containers)
    unplaced = np.fromiter(map(_is_none, placements.containers), np.bool_, len(placements.containers))
    unknown_objects, unknown_containers = np.flatnonzero(obj < 0), np.flatnonzero((container < 0) & ~unplaced)
    path_of = placements.path_of
    faults.unknown_rows(problem.object_name, placements.objects, problem.objects, unknown_objects, path_of)
    faults.unknown_rows(problem.container_name, placements.containers, problem.containers, unknown_containers, path_of)
    count = np.bincount(obj[obj >= 0], minlength=len(problem.objects))
    for again in np.flatnonzero(count > 1)[:MOST_REPORTED].tolist():
        row = int(np.flatnonzero(obj == again)[1])
        name = problem.objects[again]
        faults.report(
            "duplicate-object", f"{problem.object_name} '{name}' is listed {count[again]} times", path_of(row), name
        )
    missing = count == 0
    if placements.contents is not None:
        missing &= problem.initial != UNPLACED
        for row in [row for row, name in enumerate(placements.listed) if name not in problem.containers][
            :MOST_REPORTED
        ]:
            name = placements.listed[row]
            if name not in {placements.containers[at] for at in unknown_containers.tolist()}:
                faults.append(unknown_name(problem.container_name, name, problem.containers, ("assignment", name)))
    if missing.any():
        faults.append(_missing(problem, np.flatnonzero(missing)))
    faults.raise_if_any()
    out = np.full(len(problem.objects), UNPLACED, np.int32)
    out[obj] = np.where(unplaced, UNPLACED, container)
    return out


def _missing(problem: Problem, missing: NDArray[np.intp]) -> Fault:
    names = [problem.objects[index] for index in missing[:_LISTED].tolist()]
    rest = f" and {len(missing) - len(names)} more" if len(missing) > len(names) else ""
    listed = ", ".join(f"'{name}'" for name in names)
    message = f"the assignment lacks {listed}{rest}; every {problem.object_name} needs its {problem.container_name}"
    return Fault("missing-object", message, ("assignment",), names)


# -- values of names --------------------------------------------------------------------------------------------------


def read_values(values: ValuesLike, what: str, path: Path) -> Mapping[str, Any] | Column:
    """Return what each name has, for a dimension: a mapping as it is, a table as a column.

    A DataFrame has the names as its index or in a column named ``what``; one more column is a plain dimension, several
    make a vector. A Series of lists is a vector as well.
    """
    table: Any = values
    if not is_table(table):
        if not isinstance(values, Mapping):
            raise _no_table(values, path, f" by {what}")
        _texts(list(values), what, path)
        return values
    if getattr(table, "ndim", 1) == 2:
        keys = _keys(table, what, path)
        amounts = table.drop(columns=[what]) if what in table.columns else table
        names = names_of(keys, what, path)
        _check_unique(keys, names, what, path)
        if amounts.shape[1] == 0:
            raise InputError([Fault("wrong-type", f"the table has no column of values beside '{what}'", path)])
        if amounts.shape[1] == 1:
            return Column(names, _numbers(amounts.iloc[:, 0], path))
        parts = [_numbers(amounts.iloc[:, position], path).tolist() for position in range(amounts.shape[1])]
        return dict(zip(names, map(list, zip(*parts, strict=True)), strict=True))
    names = names_of(table.index, what, path)
    _check_unique(table.index, names, what, path)
    if table.dtype == object and table.map(lambda value: isinstance(value, list | tuple | np.ndarray)).any():
        return dict(zip(names, table.tolist(), strict=True))
    return Column(names, _numbers(table, path))


def read_items(values: Any, what: str, path: Path) -> dict[str, Mapping[str, Any]]:
    """Return what each name has in each item: item -> name -> value; of a DataFrame the columns are the items."""
    if not is_table(values) and not isinstance(values, Mapping):
        raise _no_table(values, path)
    return {item: as_mapping(read_values(own, what, (*path, item))) for item, own in values.items()}


def read_facts(values: ValuesLike, name: str, what: str, path: Path) -> dict[str, Any]:
    """Return facts by name, whatever they are, without those that are missing (None, NA, NaN).

    Parameters
    ----------
    values : mapping, Series or DataFrame
        A DataFrame has the names as its index or in a column named ``what``, and the facts in one named ``name``.
    """
    if is_table(values):
        keys, column = _split(values, what, name, path)
        names = names_of(keys, what, path)
        _check_unique(keys, names, what, path)
        stated = dict(zip(names, column.astype(object).tolist(), strict=True))
    elif isinstance(values, Mapping):
        _texts(list(values), what, path)
        stated = {key: value.item() if isinstance(value, _PLAIN) else value for key, value in values.items()}
    else:
        raise _no_table(values, path, f" by {what}")
    return {key: value for key, value in stated.items() if value is not None and not _is_missing(value)}


def read_names(names: Any, what: str, path: Path) -> list[str]:
    """Return names: a text is one, anything that has several is a list of them."""
    if not isinstance(names, str) and not _is_list(names):
        raise InputError(
            [Fault("wrong-type", f"expected a list of names of a {what}, got {_seen(names)}", path, names)]
        )
    return _texts([names] if isinstance(names, str) else list(names), what, path)


def check_name(name: Any, what: str, path: Path) -> str:
    """Return a name as a plain text; raise InputError unless it is a text, and not an empty one."""
    (text,) = _texts([name], what, path)
    if not text:
        raise InputError([Fault("empty-name", f"{what}: the name is empty", path, name)])
    return text


def _no_table(value: Any, path: Path, by: str = "") -> InputError:
    hint = "; .to_pandas() makes it one" if hasattr(value, "to_pandas") else ""
    seen = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}" if hint else type(value).__name__
    return InputError(
        [Fault("wrong-type", f"expected a mapping, Series or DataFrame{by}, got {seen}{hint}", path, value)]
    )


def as_mapping(values: Mapping[str, Any] | Column) -> Mapping[str, Any]:
    """Return what `read_values` returns as a mapping."""
    if isinstance(values, Column):
        return dict(zip(values.names, np.asarray(values.values).tolist(), strict=True))
    return values


def read_groups(groups: GroupsLike, name: str, what: str, path: Path) -> Mapping[str, Iterable[str]] | Column:
    """Return a grouping: a mapping group -> members as it is, a table member -> group as a column.

    Parameters
    ----------
    groups : mapping, Series or DataFrame
        A DataFrame has the members as its index or in a column named ``what``, and the groups in one named ``name``.
    """
    if is_table(groups):
        keys, values = _split(groups, what, name, path)
        column = Column(names_of(keys, what, path), _optional_names(values, name, path)[0])
        _check_not_empty(column.names, column.values, what, name, lambda row: (*path, row))
        return column
    if not isinstance(groups, Mapping):
        raise _no_table(groups, path)
    listed: dict[str, list[str]] = {}
    for group, members in zip(_texts(list(groups), name, path), groups.values(), strict=True):
        if not group:
            raise InputError([Fault("empty-name", f"one of the names in '{name}' is empty", path, group)])
        if isinstance(members, str) or not _is_list(members):
            raise InputError([_no_list(group, members, (*path, group))])
        listed[group] = _texts(list(members), what, (*path, group))
    return listed


def names_of(values: Any, what: str, path: Path) -> list[str]:
    """Return a pandas Index or Series of names as a list.

    Raises
    ------
    InputError
        Some name is missing or no text.
    """
    names, _ = _optional_names(values, what, path)
    if None in names:
        message = f"the {what} in row {names.index(None)} has no name"
        raise InputError([Fault("empty-name", message, (*path, names.index(None)))])
    return names  # type: ignore[return-value]


def _optional_names(values: Any, what: str, path: Path) -> tuple[list[str | None], list[str]]:
    """Return names with None for NA, and the distinct ones: all categories where there are, else as they appear."""
    import pandas as pd

    if isinstance(values, pd.MultiIndex):
        message = f"{what}: expected one name per row, got several ({', '.join(map(str, values.names))})"
        raise InputError([Fault("wrong-type", message, path)])
    categorical = isinstance(values.dtype, pd.CategoricalDtype)
    sample = values.dtype.categories if categorical else values
    kind = pd.api.types.infer_dtype(sample, skipna=True)
    if kind not in ("string", "empty"):
        present = pd.Series(sample).dropna().tolist()
        wrong = next((value for value in present if not isinstance(value, str)), None)
        if wrong is not None:
            seen = f"{wrong!r} ({type(wrong).__name__})"
            where = "index" if isinstance(values, pd.Index) else "column"
            message = f"{what}: expected a name as text, got {seen}; convert the {where} with .astype(str)"
            raise InputError([Fault("wrong-type", message, path, wrong)])
    missing = np.asarray(values.isna())
    out: list[str | None] = values.astype(object).tolist()
    if missing.any():
        for row in np.flatnonzero(missing).tolist():
            out[row] = None
    listed = sample.tolist() if categorical else [name for name in dict.fromkeys(out) if name is not None]
    return out, listed


def _split(table: Any, key: str, value: str, path: Path) -> tuple[Any, Any]:
    """Return the keys and the values of a Series or of a DataFrame of two columns (or one, and the keys as index)."""
    if getattr(table, "ndim", 1) == 1:
        return table.index, table
    if value in table.columns:
        return _keys(table, key, path), _column(table, value, path)
    rest = [column for column in table.columns if column != key]
    if len(rest) == 1 and key not in table.columns:
        return _keys(table, key, path), table[rest[0]]
    raise _missing_column(table, value, path)


def _keys(table: Any, name: str, path: Path) -> Any:
    """Return the names of a DataFrame's rows: the column that is called so, or the index."""
    import pandas as pd

    if name in table.columns:
        return _column(table, name, path)
    if isinstance(table.index, pd.RangeIndex):  # which nobody states: numbers of rows are no names
        raise _missing_column(table, name, path)
    return table.index


def _missing_column(table: Any, name: str, path: Path) -> InputError:
    found = ", ".join(f"'{column}'" for column in table.columns) or "none"
    return InputError([Fault("missing-column", f"the table has no column '{name}'; it has {found}", path, None)])


def _column(table: Any, name: str, path: Path) -> Any:
    found = table[name]
    if getattr(found, "ndim", 1) > 1:
        raise InputError([Fault("duplicate-column", f"the table has several columns '{name}'", path, name)])
    return found


def _numbers(values: Any, path: Path) -> Any:
    """Return a Series as an array of numbers; NA as NaN, so that it is reported and not filled.

    Raises
    ------
    InputError
        It holds something else, such as truth values or moments.
    """
    narrow = getattr(values.dtype, "numpy_dtype", None)  # of what may hold NA, and of Arrow's
    if narrow is None or narrow.kind not in "iuf":  # Arrow's decimals are objects
        array = values.to_numpy()
    elif not values.hasnans:
        array = values.to_numpy(dtype=narrow)
    else:
        array = values.to_numpy(dtype=narrow if narrow.kind == "f" else np.float64, na_value=float("nan"))
    if array.dtype.kind not in "iufO" or values.dtype.kind == "b":
        name = f"{values.name}: " if isinstance(values.name, str) else ""
        such = f", such as {values.iloc[0]}" if len(values) else ""
        message = f"{name}expected numbers, got {values.dtype}{such}"
        raise InputError([Fault("wrong-type", message, path)])
    return widened(array) if array.dtype.kind == "f" else array


def _texts(names: list[Any], what: str, path: Path, path_of: Callable[[int], Path] | None = None) -> list[str]:
    """Return names as plain texts, which those of numpy are not.

    Raises
    ------
    InputError
        Some are no texts.
    """
    kinds = set(map(type, names))
    if kinds <= {str}:
        return names
    if all(issubclass(kind, str) for kind in kinds):
        return list(map(str.__str__, names))
    faults = FaultList()
    for row, name in enumerate(names):
        if not isinstance(name, str):
            where = path_of(row) if path_of is not None else path
            faults.report(
                "wrong-type", f"{what}: expected a name as text, got {name!r} ({type(name).__name__})", where, name
            )
        if len(faults) >= MOST_REPORTED:
            break
    raise InputError(faults)


def _check_not_empty(
    names: list[str], values: list[str | None], what: str, value_name: str, path_of: Callable[[int], Path]
) -> None:
    """Raise InputError where the empty text stands for a name: it is none, and does not say that there is none."""
    if "" not in values:
        return
    faults = FaultList()
    rows = [row for row, value in enumerate(values) if value == ""]
    for row in rows[:MOST_REPORTED]:
        message = f"the {value_name} of {what} '{names[row]}' is an empty text; None or NA says that there is none"
        faults.report("empty-name", message, path_of(row), "")
    faults.rest(len(rows), path_of(rows[-1]))
    raise InputError(faults)


def _is_list(value: Any) -> bool:
    """Return whether a value has names one after the other; tables have columns, and an array may have no length."""
    return isinstance(value, Iterable) and not isinstance(value, bytes | Mapping) and getattr(value, "ndim", 1) == 1


def _no_list(name: str, value: Any, path: Path) -> Fault:
    return Fault("wrong-type", f"expected the content of '{name}' as a list, got {_seen(value)}", path, value)


def _seen(value: Any) -> str:
    return f"a {type(value).__name__}" if is_table(value) else repr(value)


def _check_unique(keys: Any, names: list[str], what: str, path: Path) -> None:
    repeated = np.flatnonzero(np.asarray(keys.duplicated()))
    if len(repeated):
        raise InputError(
            [
                Fault("duplicate-name", f"{what} '{names[row]}' is listed twice", (*path, row), names[row])
                for row in repeated[:MOST_REPORTED].tolist()
            ]
        )


def _is_missing(value: Any) -> bool:
    """Return whether a scalar is one of pandas' or numpy's ways to say "nothing"."""
    if isinstance(value, float):
        return value != value
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def _is_none(value: object) -> bool:
    return value is None
