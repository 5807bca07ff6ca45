"""Keys that stand twice in a mapping of JSON: Python's reader takes the last one and says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def noting(repeated: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an ``object_pairs_hook`` that adds every key which stands in a mapping again to a list."""

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            once: set[str] = set()
            for key, _ in pairs:
                if key in once:
                    repeated.append(key)
                once.add(key)
        return found

    return mapping


def repeated_text(key: str) -> str:
    """Return what a message says of such a key."""
    return f"the key '{key}' stands twice in the same mapping"
