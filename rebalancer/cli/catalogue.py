"""Tables and pages of the verbs that explain what there is: drawn on a terminal, plain in a pipe."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rebalancer.report.table import Table


def put_table(table: Table) -> None:
    """Print a table."""
    from rich.console import Console

    from rebalancer.report.table import draw, plain

    console = Console(file=sys.stdout)
    if console.is_terminal:
        draw(table, console)
    else:
        click.echo(plain(table), nl=False)


def put_page(text: str) -> None:
    """Print a reference page."""
    from rich.console import Console

    from rebalancer.report.page import show

    text = re.sub(r"\[([^]]+)\]\([^)]+\.md[^)]*\)", r"\1", text)  # no terminal follows links between our pages
    console = Console(file=sys.stdout)
    if console.is_terminal:
        show(text, console)
    else:
        click.echo(text, nl=False)
