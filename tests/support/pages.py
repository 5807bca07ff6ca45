"""Follows a page of the documentation as its reader would: makes the files that it shows, types its commands.

A file is a fenced block after a line that ends with its name: ``Make a file `job.yaml`:``. A command stands on a line
of its own, indented by four spaces; a block of ``text`` right after it is what it prints. Anything else is for reading
only.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.commands import run

_NAMED = re.compile(r"`([\w./-]+)`:$")
_FENCE = re.compile(r"^```(\w*)$")
#: What differs from run to run: moments, durations, in how many steps the same is reached, how wide a column is.
_VARIES = [
    (re.compile(r"^\S+ \S+,\d+ (?=[A-Z]+ rebalancer)"), ""),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?"), "MOMENT"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "MOMENT"),
    (re.compile(r"\d+ steps? in \d+ waves?"), "STEPS"),
    (re.compile(r"^( *\d+  MOMENT  \w+) +\d+ +\d+(.*→ [\d.]+) +[\d.]+"), r"\1\2"),  # a row of the history
    (re.compile(r"[ -]{2,}"), " "),
]


@dataclass(frozen=True)
class ShownFile:
    """A file that the page has its reader make."""

    name: str
    text: str


@dataclass(frozen=True)
class ShownCommand:
    """A command that the page has its reader type, and what it shows of the output: None where it shows nothing."""

    line: str
    output: str | None


def steps(page: Path) -> Iterator[ShownFile | ShownCommand]:
    """Yield what a page has its reader do, in order."""
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    name: str | None = None
    command: str | None = None
    for line in lines:
        fence = _FENCE.match(line)
        if fence is not None:
            block = "".join(f"{inner}\n" for inner in iter(lambda: next(lines), "```"))
            if name is not None:
                yield ShownFile(name, block)
            elif command is not None:
                yield ShownCommand(command, block if fence[1] == "text" else None)
                command = None
        elif line:
            if command is not None:
                yield ShownCommand(command, None)
            command = line[4:] if line.startswith("    ") else None
            named = _NAMED.search(line)
            name = None if named is None or command is not None else named[1]
    if command is not None:
        yield ShownCommand(command, None)


def follow(page: Path, shown_as: str) -> Iterator[tuple[ShownCommand, str]]:
    """Do what a page says in the current folder, and yield each command with what it printed.

    Parameters
    ----------
    page : Path
    shown_as : str
        How the page calls the current folder.
    """
    for step in steps(page):
        if isinstance(step, ShownFile):
            Path(step.name).parent.mkdir(parents=True, exist_ok=True)
            Path(step.name).write_text(step.text, encoding="utf-8")
        else:
            yield step, typed(step.line).replace(os.getcwd(), shown_as)


def typed(line: str) -> str:
    """Return what a command prints, on stdout and stderr; no shell is asked."""
    words = shlex.split(line, comments=True)
    if words[0] == "rebalance":
        return run(*words[1:]).output
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout


def alike(text: str) -> list[str]:
    """Return the lines of an output without what differs from run to run, and without the log of what went well."""
    lines = text.rstrip().split("\n")
    for pattern, placeholder in _VARIES:
        lines = [pattern.sub(placeholder, line) for line in lines]
    return [line.rstrip() for line in lines if not line.startswith("INFO ")]
