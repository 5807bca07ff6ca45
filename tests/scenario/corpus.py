"""Reads the corpus of faulty scenarios.

One folder is one case. What must be reported stands in comments at the end of the faulty lines of its YAML files:

    scope: rak      # !! unknown-name@rak: did you mean 'rack'? -> rack

code, the text at whose start the column is (optional), a part of the message, and the suggestion (optional; the start
of it suffices). Several faults of a line follow each other, each with its `!!`. What a comment cannot say stands in
`faults.txt`, one `FILE:LINE:COLUMN code: part of the message -> suggestion` per line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "faults"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())

_MARK = re.compile(
    r"!! (?P<code>[\w-]+)(?:@(?P<token>\S+?))?: (?P<message>.*?)(?: -> (?P<suggestion>.*?))?\s*(?=!! |$)"
)
_LISTED = re.compile(
    r"(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+) (?P<code>[\w-]+): (?P<message>.*?)(?: -> (?P<suggestion>.*))?"
)


@dataclass(frozen=True)
class Expected:
    """One fault that must be reported."""

    file: str
    line: int
    column: int | None
    code: str
    message: str
    suggestion: str | None


def expected_faults(case: Path) -> list[Expected]:
    """Return what must be reported for a case."""
    found: list[Expected] = []
    for path in sorted(case.glob("*.yaml")):
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), start=1):
            content, _, marks = line.partition("# !! ")
            for match in _MARK.finditer("!! " + marks if marks else ""):
                token = match["token"]
                column = content.index(token) + 1 if token else None
                found.append(Expected(path.name, number, column, match["code"], match["message"], match["suggestion"]))
    listed = case / "faults.txt"
    for line in listed.read_text().splitlines() if listed.exists() else ():
        match = _LISTED.fullmatch(line)
        assert match, f"{listed}: {line}"
        place = int(match["line"]), int(match["column"])
        found.append(Expected(match["file"], *place, match["code"], match["message"], match["suggestion"]))
    return found
