"""The reference pages of languages, which installed distributions carry inside this package."""

from __future__ import annotations

import inspect
from pathlib import Path

from rebalancer.dialects.base import Dialect

#: Where the pages are: in an installed distribution, and in a checkout.
_FOLDERS = (Path(__file__).parent / "reference", Path(__file__).parents[2] / "docs" / "reference" / "dialects")


def purpose(language: type[Dialect]) -> str:
    """Return in one sentence what a language states: the first line of its docstring."""
    return inspect.cleandoc(language.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def page(key: str) -> str:
    """Return the reference page of a language in Markdown.

    Raises
    ------
    FileNotFoundError
        There is no page: no such language, or an incomplete installation.
    """
    for folder in _FOLDERS:
        file = folder / f"{key}.md"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(f"there is no reference page of '{key}'")
