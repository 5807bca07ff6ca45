"""A page of Markdown on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


def show(text: str, console: Console) -> None:
    """Print Markdown with colours and drawn tables; long names in tables are folded, not cut off."""
    from rich.markdown import Markdown, TableElement
    from rich.table import Table

    class Folding(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for part in super().__rich_console__(console, options):
                if isinstance(part, Table):
                    for column in part.columns:
                        column.overflow = "fold"
                yield part

    class Page(Markdown):
        elements = Markdown.elements | {"table_open": Folding}

    console.print(Page(text, code_theme="ansi_dark"))
