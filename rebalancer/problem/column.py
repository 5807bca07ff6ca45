"""Values of many names at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, eq=False)
class Column:
    """Values of many names at once, as a table has them: ``values[i]`` belongs to ``names[i]``.

    Parameters
    ----------
    names : list of str
    values : array or list
        Numbers (int or float array), or names (list with None for "none"); one per name.
    """

    names: list[str]
    values: Any


#: Name -> value, one by one or as a column.
Amounts: TypeAlias = Mapping[str, Any] | Column
