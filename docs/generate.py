"""Writes what is generated from the code: `make generate`, or `python docs/generate.py`.

- the table of parameters in every page of ``docs/reference/specs``,
- the table of specs in ``docs/index.md``,
- ``docs/scenario.schema.json``, ``docs/job.schema.json``, ``docs/plan.schema.json``,
- the table of fields in ``docs/reference/nightly-jobs.md``,
- the imports for type checkers in ``rebalancer/__init__.py``.

`tests/test_layout.py` fails where one of them is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from rebalancer.jobs import schema as jobs  # noqa: E402
from rebalancer.plan import schema as plans  # noqa: E402
from rebalancer.scenario import schema as scenarios  # noqa: E402
from rebalancer.specs import pages, registry  # noqa: E402

PAGES = ROOT / "docs" / "reference" / "specs"
INDEX = ROOT / "docs" / "index.md"
SCHEMAS = {
    ROOT / "docs" / "scenario.schema.json": scenarios.json_schema,
    ROOT / "docs" / "job.schema.json": jobs.json_schema,
    ROOT / "docs" / "plan.schema.json": plans.json_schema,
}
JOBS = ROOT / "docs" / "reference" / "nightly-jobs.md"
PACKAGE = ROOT / "rebalancer" / "__init__.py"

_INDEX_TABLE = re.compile(r"\| spec \| goal \| constraint \| in one line \|\n\|---\|---\|---\|---\|\n(\|.*\n)*")
_JOB_TABLE = re.compile(re.escape(jobs.HEAD) + r"(\|.*\n)*")
_TYPE_CHECKING = re.compile(r"(?<=^if TYPE_CHECKING:\n)(    .*\n|\))+", re.MULTILINE)
_IMPORT = re.compile(r"    from (\S+) import (?:\(\n\s+)?(\w+) as \w+(?:,\n    \))?\n")


def outputs() -> dict[Path, str]:
    """Return every file with something generated, and what it should hold."""
    out = {path: json.dumps(schema(), ensure_ascii=False, indent=2) + "\n" for path, schema in SCHEMAS.items()}
    for key in registry.BUILT_IN:
        page = PAGES / f"{key}.md"
        if page.is_file():
            out[page] = pages.refreshed(page.read_text(encoding="utf-8"), registry.get(key))
    out[JOBS] = _JOB_TABLE.sub(lambda _: jobs.reference_table(), JOBS.read_text(encoding="utf-8"))
    out[INDEX] = _INDEX_TABLE.sub(lambda _: index_table(), INDEX.read_text(encoding="utf-8"))
    out[PACKAGE] = _TYPE_CHECKING.sub(lambda found: imports(found[0]), PACKAGE.read_text(encoding="utf-8"))
    return out


def index_table() -> str:
    """Return the table of all specs."""
    rows = ["| spec | goal | constraint | in one line |\n|---|---|---|---|\n"]
    for key in registry.BUILT_IN:
        spec = registry.get(key)
        goal, constraint = ("yes" if fits else "" for fits in (spec.is_goal(), spec.is_constraint()))
        line = f"| [{key}](reference/specs/{key}.md) | {goal} | {constraint} | {pages.purpose(spec)} |\n"
        rows.append(re.sub(r"\|  \|", "| |", line))
    return "".join(rows)


def imports(block: str) -> str:
    """Return a block of imports with those of all specs, and of no others."""
    found = {(module, name) for module, name in _IMPORT.findall(block) if not name.endswith("Spec")}
    found |= {(module, name) for module, _, name in (target.partition(":") for target in registry.BUILT_IN.values())}
    lines = []
    for module, name in sorted(found):
        line = f"    from {module} import {name} as {name}\n"
        wrapped = f"    from {module} import (\n        {name} as {name},\n    )\n"
        lines.append(line if len(line) <= 121 else wrapped)
    return "".join(lines)


def main() -> None:
    """Write what has changed, and say what."""
    for path, text in outputs().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
