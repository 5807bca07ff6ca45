"""`rebalance languages`: the constraint languages of other schedulers, and the reference page of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebalancer.cli import faults
from rebalancer.cli.options import common
from rebalancer.problem.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    from rebalancer.dialects.base import Dialect


@click.command(name="languages")
@click.argument("name", metavar="[NAME]", required=False)
@common
def command(name: str | None, as_json: bool) -> int:
    """List the languages of other schedulers that scenarios may use, or show the reference page of one."""
    from rebalancer.dialects import registry

    if name is None:
        _list([registry.get(key) for key in sorted(registry.BUILT_IN)], as_json)
    else:
        _show(registry.get(_key(name)), as_json)
    return 0


def _key(name: str) -> str:
    """Return the key that a name means.

    Raises
    ------
    InputError
        There is no such language.
    """
    from rebalancer.dialects import registry

    key = name.lower()
    if key in registry.BUILT_IN:
        return key
    close = nearest(key, registry.BUILT_IN)
    hint = f"; did you mean '{close}'?" if close else f"; there is {', '.join(sorted(registry.BUILT_IN))}"
    raise InputError([Fault("unknown-language", f"unknown language '{name}'{hint}", value=name, suggestion=close)])


def _list(languages: list[type[Dialect]], as_json: bool) -> None:
    if as_json:
        faults.print_json({"languages": [_record(language) for language in languages]})
        return
    from rebalancer.cli.catalogue import put_table
    from rebalancer.dialects.pages import purpose
    from rebalancer.report.table import Table

    rows = [(language.key, purpose(language), language.sources) for language in languages]
    title = f"{len(rows)} languages; `rebalance languages NAME` explains one"
    put_table(Table(title, ("language", "states", "follows"), rows))


def _record(language: type[Dialect]) -> dict[str, Any]:
    from rebalancer.dialects.pages import purpose

    return {
        "key": language.key,
        "class": f"{language.__module__}:{language.__qualname__}",
        "purpose": purpose(language),
        "sources": language.sources,
    }


def _show(language: type[Dialect], as_json: bool) -> None:
    from rebalancer.cli.catalogue import put_page
    from rebalancer.dialects.pages import page

    text = page(language.key)
    if as_json:
        from rebalancer.scenario.schema import spec_schema

        faults.print_json({**_record(language), "schema": spec_schema(language), "page": text})
        return
    put_page(text)
