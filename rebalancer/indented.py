"""JSON, indented as people read it, as fast as if it were not: results list a million objects.

Python's encoder is compiled, but not where it indents. Nearly all of a long file is flat: lists of rows and mappings of
names. Their indentation is put into the separators, which the compiled encoder takes as they come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

#: Spaces of one level.
_STEP = 2
_SCALARS = {str, int, float, bool, type(None)}


def indented(content: dict[str, Any]) -> Iterator[str]:
    """Yield the text of ``json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)`` in pieces.

    Parameters
    ----------
    content : dict
        With text as keys, on every level.

    Raises
    ------
    ValueError
        A number is NaN or infinite.
    """
    if not content:
        yield "{}"
        return
    yield "{"
    before = ""
    for key, value in content.items():
        yield f"{before}\n{' ' * _STEP}{json.dumps(key, ensure_ascii=False)}: "
        yield from _value(value)
        before = ","
    yield "\n}"


def _value(value: Any) -> Iterator[str]:
    """Yield a value of the first level."""
    if isinstance(value, dict) and value and _plain(value.values()):
        yield _row(value, 1)
    elif isinstance(value, list) and _rows(value):
        outer, inner = "\n" + " " * 2 * _STEP, "\n" + " " * 3 * _STEP
        rows = _encoder(2).encode(value)[2:-2]
        # Texts hold no line breaks (they are escaped), so this is between two rows wherever it is found.
        rows = rows.replace(f"}},{inner}{{", f"{outer}}},{outer}{{{inner}")
        yield f"[{outer}{{{inner}{rows}{outer}}}\n{' ' * _STEP}]"
    else:
        text = json.dumps(value, ensure_ascii=False, indent=_STEP, allow_nan=False)
        yield text.replace("\n", "\n" + " " * _STEP)


def _row(row: dict[str, Any], level: int) -> str:
    """Return a mapping of plain values that begins on a level."""
    inner, outer = "\n" + " " * (level + 1) * _STEP, "\n" + " " * level * _STEP
    return f"{{{inner}{_encoder(level).encode(row)[1:-1]}{outer}}}"


def _encoder(level: int) -> json.JSONEncoder:
    """Return an encoder of flat mappings that begin on a level."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",\n" + " " * (level + 1) * _STEP, ": "))


def _rows(value: list[Any]) -> bool:
    """Whether a list is one of flat mappings that hold something."""
    if not value or set(map(type, value)) != {dict} or not all(value):
        return False
    return _plain(chain.from_iterable(row.values() for row in value))


def _plain(values: Iterable[Any]) -> bool:
    """Whether no value is a mapping or a list itself."""
    return set(map(type, values)) <= _SCALARS


__all__ = ["indented"]
