"""One table, drawn for a terminal or printed plainly."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Table:
    """Rows of text under a title.

    Parameters
    ----------
    title : str
    columns : sequence of str
        Headers; one that starts with ``>`` is a column of numbers, aligned to the right.
    rows : sequence of sequences of str
    styles : sequence of str
        A rich style for each row, empty for none; terminal only.
    note : str
        What stands below it, such as how many rows were left out.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    styles: Sequence[str] = field(default=())
    note: str = ""


#: Names narrower than this are no longer read as names.
_NARROWEST = 8


def draw(table: Table, console: Console) -> None:
    """Draw a table on a terminal: light lines, long names folded, nothing cut off; plainly where it is too narrow."""
    from rich import box
    from rich.table import Table as Drawing
    from rich.text import Text

    if not table.columns:
        console.print(Text(table.title, style="bold"))
        return
    if _least_width(table) > console.width:
        console.print(Text(plain(table).rstrip("\n")), soft_wrap=True)
        return
    drawing = Drawing(
        title=table.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        header_style="dim",
        pad_edge=False,
    )
    tight = _natural_width(table) > console.width
    for column in table.columns:
        numeric = column.startswith(">")
        header = column.lstrip(">")
        if tight and numeric:  # numbers are short: their headers give way first, then names
            header = header.replace(" ", "\n")
        drawing.add_column(Text(header), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    styles = [*table.styles, *[""] * (len(table.rows) - len(table.styles))]
    for row, style in zip(table.rows, styles, strict=True):
        drawing.add_row(*(Text(cell) for cell in row), style=style or None)
    console.print(drawing)
    if table.note:
        console.print(Text(table.note, style="dim"))


def plain(table: Table) -> str:
    """Return a table as aligned text: a title line, a header line, one line per row; two spaces between columns."""
    if not table.columns:
        return table.title + "\n"
    headers = [column.lstrip(">") for column in table.columns]
    columns = [
        _aligned(column, table.columns[at].startswith(">"))
        for at, column in enumerate(zip(headers, *table.rows, strict=True))
    ]
    lines = [table.title, *("  ".join(row).rstrip() for row in zip(*columns, strict=True))]
    if table.note:
        lines.append(table.note)
    return "\n".join(lines) + "\n"


def _least_width(table: Table) -> int:
    """Return the width below which a drawing would cut something off: numbers whole, names folded."""
    total = 3 * (len(table.columns) - 1)
    for position, column in enumerate(table.columns):
        numeric = column.startswith(">")
        headers = column.lstrip(">").split(" ") if numeric else [column]
        widest = max(_width(text) for text in (*headers, *(row[position] for row in table.rows)))
        total += widest if numeric else min(widest, _NARROWEST)
    return total


def _natural_width(table: Table) -> int:
    """Return the width at which nothing wraps."""
    columns = zip(*([column.lstrip(">") for column in table.columns], *table.rows), strict=True)
    return 3 * (len(table.columns) - 1) + sum(max(map(_width, column)) for column in columns)


def _one_line(text: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _aligned(cells: Sequence[str], right: bool) -> list[str]:
    """Return the cells of a column on one line each, filled up with spaces to the widest."""
    whole = "".join(cells)
    if whole.isascii() and whole.isprintable():  # as a million names mostly are
        size = max(map(len, cells))
        return [cell.rjust(size) if right else cell.ljust(size) for cell in cells]
    lines = [_one_line(cell) for cell in cells]
    size = max(map(_width, lines))
    spaces = [" " * (size - _width(line)) for line in lines]
    return [space + line if right else line + space for line, space in zip(lines, spaces, strict=True)]
