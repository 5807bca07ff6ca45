"""Dynamic dimensions as users state them, turned into fixed point: what an object uses depends on where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rebalancer.problem.amounts import exact_number
from rebalancer.problem.errors import FaultList, Path
from rebalancer.problem.numbers import LARGEST_SUM, Overflow, fix
from rebalancer.problem.structure import DynamicValues, Names, ObjectDimension, Scope


@dataclass(frozen=True, eq=False)
class DynamicStatement:
    """A dynamic dimension: scope item -> object -> value, and the value of all other pairs."""

    name: str
    scope: str
    values: Mapping[str, Mapping[str, Any]]
    default: Any
    path: Path


def fixed_dynamic(
    stated: DynamicStatement,
    objects: Names,
    object_name: str,
    scopes: Mapping[str, Scope],
    resolution: Fraction | None,
    faults: FaultList,
) -> ObjectDimension | None:
    """Return the dimension, or None where there were faults.

    Parameters
    ----------
    stated : DynamicStatement
    objects : Names
    object_name : str
        What messages call one of them.
    scopes : mapping of name to Scope
    resolution : Fraction or None
        The step to round to; None: exact.
    faults : FaultList
    """
    label, path = f"dimension '{stated.name}'", stated.path
    if stated.scope not in scopes:
        faults.unknown("scope", stated.scope, scopes, (*path, "scope"))
        return None
    before = len(faults)
    items = scopes[stated.scope].items
    default = exact_number(stated.default, label, (*path, "default"), True, faults) or Fraction(0)
    keys: list[int] = []
    exact, paths = [default], [(*path, "default")]
    for item, values in stated.values.items():
        if item not in items:
            faults.unknown(stated.scope, item, items, (*path, "values", item))
            continue
        for name, value in values.items():
            where = (*path, "values", item, name)
            index = objects.index.get(name)
            if index is None:
                faults.unknown(object_name, name, objects, where)
                continue
            number = exact_number(value, f"{label} of {object_name} '{name}' in '{item}'", where, True, faults)
            keys.append(items.index[item] * len(objects) + index)
            exact.append(number if number is not None else Fraction(0))
            paths.append(where)
    if len(faults) > before:
        return None
    try:
        fixed = fix(exact, resolution)
        largest = max(map(abs, fixed.integers.tolist()))
        if largest * max(1, len(objects)) >= LARGEST_SUM:
            raise Overflow(f"the largest value is {largest / fixed.scale:g}")
    except Overflow as error:
        worst = max(range(len(exact)), key=lambda at: abs(exact[at]))
        faults.report("overflow", f"{label} does not fit: {error}", paths[worst])
        return None
    order = np.argsort(np.array(keys, np.int64), kind="stable")
    key = np.array(keys, np.int64)[order]
    dynamic = DynamicValues(stated.scope, key, fixed.integers[1:][order], int(fixed.integers[0]))
    return ObjectDimension(stated.name, np.zeros((len(objects), 1), np.int64), fixed.scale, dynamic, fixed.rounded)
