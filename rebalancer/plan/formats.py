"""Plans as other programs read them: JSON, CSV, one command line per step; and all files of a plan."""

from __future__ import annotations

import hashlib
import shlex
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from rebalancer.exports import write_json
from rebalancer.plan.markdown import to_markdown
from rebalancer.plan.plan import Plan
from rebalancer.problem import Fault, InputError, nearest
from rebalancer.scenario.plan_section import CAPS

#: What a template may name.
FIELDS = ("id", "object", "source", "destination", "wave")
VERSION = 1


def digests(files: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files}


def to_json(plan: Plan, inputs: Mapping[str, str] | None = None, created: datetime | None = None) -> dict[str, Any]:
    """Return ``plan.json`` as plain values.

    Parameters
    ----------
    inputs : mapping of file to SHA-256, optional
        What the plan was made from, the scenario file first.
    created : datetime, optional
        With its time zone; left out: when the plan was made.
    """
    moment, expires = created or plan.created, plan.expires_after(created)
    ids = [f"s{number + 1}" for number in range(len(plan.steps))]
    problem = plan.model.problem
    return {
        "version": VERSION,
        "status": plan.status,
        "created": moment.isoformat(timespec="seconds"),
        "expires": None if expires is None else expires.isoformat(timespec="seconds"),
        "inputs": dict(inputs or {}),
        "waves": {"count": plan.waves, "lower_bound": plan.lower_bound, "exact": plan.exact},
        "totals": {
            "steps": len(plan.steps),
            "objects": len(set(plan.steps.who.tolist())),
            "staged": len(plan.staged),
            "blocked": len(plan.blocked),
            "blocked_at_least": plan.least_blocked,
        },
        "caps": plan.options.model_dump(mode="json", exclude_defaults=True, include=set(CAPS)),
        "steps": list(plan.rows()),
        "staging": [
            {
                "object": problem.objects[int(plan.steps.who[first])],
                "container": problem.containers[int(plan.steps.destination[first])],
                "step": ids[first],
                "until": ids[second],
            }
            for first, second in plan.staged
        ],
        "blocked": [
            {
                "object": one.object,
                "source": one.source,
                "destination": one.destination,
                "reasons": list(one.reasons),
            }
            for one in plan.blocked
        ],
        "excess": [vars(one) for one in plan.excess],
        "peaks": [{**vars(one), "objective": list(one.objective)} for one in plan.peaks],
        "rollback": {
            "waves": plan.rollback.waves,
            "steps": list(plan.rollback_rows()),
            "beyond_caps": [{"wave": wave, "reason": reason} for wave, reason in plan.beyond_caps],
        },
    }


def write_csv(plan: Plan, stream: Any) -> None:
    """Write a row per step: id, object, source, destination, wave, after (ids with blanks between), reason, after_wave.

    Where ``after_wave`` is not empty, all steps up to that wave have to be done as well.
    """
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "object", "source", "destination", "wave", "after", "reason", "after_wave"])
    for row in plan.rows():
        ends = row["source"] or "", row["destination"] or ""
        waits = " ".join(row["after"]), row["reason"], row.get("after_wave", "")
        writer.writerow([row["id"], row["object"], *ends, row["wave"], *waits])


def commands(plan: Plan, template: str) -> Iterator[str]:
    """Yield one command line per step; nothing is carried out.

    Parameters
    ----------
    template : str
        Is split into arguments once, as a shell would; then each placeholder of `FIELDS` in braces is filled in, and
        never makes more than one argument, whatever the name holds.

    Raises
    ------
    InputError
        The template cannot be split, or names something else.
    """
    arguments = check_template(template)
    for row in plan.rows():
        values = {name: "" if row[name] is None else str(row[name]) for name in FIELDS}
        yield shlex.join(argument.format_map(values) for argument in arguments)


def check_template(template: str) -> list[str]:
    """Return the arguments of a template, their placeholders not filled in.

    Raises
    ------
    InputError
        The template cannot be split, or names what there is not.
    """
    if not isinstance(template, str):
        raise InputError([Fault("wrong-type", f"template: expected a text, got {template!r}", ("template",), template)])
    try:
        arguments = shlex.split(template)
        named = [name for argument in arguments for _, name, *_ in string.Formatter().parse(argument)]
        odd = [rest for argument in arguments for _, name, *rest in string.Formatter().parse(argument) if name]
    except ValueError as error:
        raise InputError([Fault("bad-template", f"the template cannot be read: {error}", (), template)]) from None
    faults = []
    for name in named:
        if name is not None and name not in FIELDS:
            close = nearest(name, FIELDS)
            hint = f"did you mean '{{{close}}}'?" if close else f"there is {', '.join(f'{{{one}}}' for one in FIELDS)}"
            faults.append(Fault("unknown-placeholder", f"unknown placeholder '{{{name}}}'; {hint}", (), name, close))
    if any(spec or conversion for spec, conversion in odd):
        faults.append(Fault("bad-template", "placeholders stand alone, such as {object}", (), template))
    if not arguments:
        faults.append(Fault("bad-template", "the template is empty", (), template))
    if faults:
        raise InputError(faults)
    return arguments


def plan_files(
    plan: Plan,
    inputs: Mapping[str, str] | None = None,
    template: str | None = None,
    created: datetime | None = None,
) -> dict[str, Callable[[TextIO], None]]:
    """Return the files of a plan, ``plan.json`` last: name -> function that writes the text.

    Parameters
    ----------
    inputs, created
        As for `to_json`.
    template : str, optional
        Of a command line per step; see `commands`.

    Raises
    ------
    InputError
        The template is wrong.
    """
    files: dict[str, Callable[[TextIO], None]] = {
        "plan.csv": lambda stream: write_csv(plan, stream),
        "plan.md": lambda stream: _write(stream, [to_markdown(plan, inputs=inputs, created=created)]),
    }
    if template is not None:
        lines = [f"{line}\n" for line in commands(plan, template)]
        files["plan.sh"] = lambda stream: _write(stream, lines)
    files["plan.json"] = lambda stream: write_json(stream, to_json(plan, inputs, created))
    return files


def _write(stream: TextIO, lines: Iterable[str]) -> None:
    stream.writelines(lines)


__all__ = ["FIELDS", "check_template", "commands", "digests", "plan_files", "to_json", "to_markdown", "write_csv"]
