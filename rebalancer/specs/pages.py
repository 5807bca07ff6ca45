"""The reference pages of specs: by hand around a generated table of parameters, or generated from the class as a whole.

The specs of the catalogue have a page each in ``docs/reference/specs``, which installed distributions carry inside this
package. A spec of one's own gets its page from its class.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from rebalancer.specs import parameters, registry
from rebalancer.specs.base import Spec

_TABLE = re.compile(re.escape(parameters.HEAD) + r"(\|.*\n)*")
#: Where the pages are: in an installed distribution, and in a checkout.
_FOLDERS = (Path(__file__).parent / "reference", Path(__file__).parents[2] / "docs" / "reference" / "specs")


def purpose(spec: type[Spec]) -> str:
    """Return in one sentence what a spec is for: the first line of its docstring."""
    return inspect.cleandoc(spec.__doc__ or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")


def kinds(spec: type[Spec]) -> str:
    """Return what a spec can be used as."""
    return ", ".join(kind for kind, fits in (("goal", spec.is_goal()), ("constraint", spec.is_constraint())) if fits)


def page(key: str) -> str:
    """Return the reference page of a spec in Markdown.

    Raises
    ------
    KeyError
        There is no such spec.
    """
    if key in registry.BUILT_IN:
        for folder in _FOLDERS:
            file = folder / f"{key}.md"
            if file.is_file():
                return file.read_text(encoding="utf-8")
    return generated(registry.get(key))


def generated(spec: type[Spec]) -> str:
    """Return a page made from nothing but the class: its docstring, and its parameters."""
    text = inspect.cleandoc(spec.__doc__ or "").replace("``", "`")
    summary, _, rest = text.partition("\n\n")
    notes = re.sub(r"^(.+)\n-{3,}$", r"## \1\n", rest, flags=re.MULTILINE)  # the sections of a docstring
    table = parameters.table(spec) or "None.\n"
    use = kinds(spec).replace(", ", " and ").capitalize()
    parts = [f"# {spec.key}", f"{summary} {use}.".strip(), f"## Parameters\n\n{table.rstrip()}", notes.strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def refreshed(text: str, spec: type[Spec]) -> str:
    """Return a page with its table of parameters as the class has it now; unchanged where it has no such table."""
    return _TABLE.sub(lambda _: parameters.table(spec), text, count=1)
