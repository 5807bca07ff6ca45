"""`rebalance specs`: the catalogue of specs, and the reference page of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebalancer.cli import faults
from rebalancer.cli.options import common
from rebalancer.problem.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    from rebalancer.specs.base import Spec


@click.command(name="specs")
@click.argument("name", metavar="[NAME]", required=False)
@common
def command(name: str | None, as_json: bool) -> int:
    """List all specs, or show the reference page of one.

    NAME may be written in any way that scenarios may: group_count, groupCount, GroupCountSpec. Specs of installed
    distributions are there too.
    """
    if name is None:
        _list(as_json)
    else:
        _show(_key(name), as_json)
    return 0


def _key(name: str) -> str:
    """Return the key that a name means.

    Raises
    ------
    InputError
        There is no such spec.
    """
    from rebalancer.dialects import registry as dialects
    from rebalancer.specs import registry

    key, known = registry.canonical_key(name), registry.keys()
    if key in known:
        return key
    missing = registry.unloadable().get(key)
    if missing is not None:
        raise InputError([Fault("unloadable-spec", f"there is no spec '{name}': {missing}", value=name)])
    if key in dialects.BUILT_IN:
        message = f"'{name}' is a language, not a spec: see `rebalance languages {key}`"
        raise InputError([Fault("unknown-spec", message, value=name)])
    close = nearest(key, known)
    hint = f"; did you mean '{close}'?" if close else "; `rebalance specs` lists them"
    raise InputError([Fault("unknown-spec", f"unknown spec '{name}'{hint}", value=name, suggestion=close)])


def _list(as_json: bool) -> None:
    from rebalancer.specs import registry

    specs = [registry.get(key) for key in registry.keys()]  # noqa: SIM118 - not a mapping
    if as_json:
        faults.print_json({"specs": [_record(spec) for spec in specs]})
        return
    from rebalancer.cli.catalogue import put_table
    from rebalancer.report.table import Table
    from rebalancer.specs.pages import kinds, purpose

    rows = [(spec.key, kinds(spec), purpose(spec)) for spec in specs]
    title = f"{len(rows)} specs; `rebalance specs NAME` explains one, `rebalance languages` lists other schedulers'"
    put_table(Table(title, ("spec", "use", "purpose"), rows))


def _record(spec: type[Spec]) -> dict[str, Any]:
    from rebalancer.specs.pages import purpose

    return {
        "key": spec.key,
        "class": f"{spec.__module__}:{spec.__qualname__}",
        "goal": spec.is_goal(),
        "constraint": spec.is_constraint(),
        "purpose": purpose(spec),
    }


def _show(key: str, as_json: bool) -> None:
    from rebalancer.specs import registry
    from rebalancer.specs.pages import page

    text = page(key)
    if as_json:
        from rebalancer.scenario.schema import spec_schema

        spec = registry.get(key)
        faults.print_json({**_record(spec), "schema": spec_schema(spec), "page": text})
        return
    from rebalancer.cli.catalogue import put_page

    put_page(text)
