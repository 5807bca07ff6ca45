"""The summary of a plan for a change ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from rebalancer.plan.plan import Plan
from rebalancer.plan.steps import Peak

#: Waves, blocked moves, and places above a limit that are listed at most.
_WAVES = 50
_LISTED = 50
#: What Markdown takes for more than a character: markup, HTML, links; an underscore only at the edge of a word.
_MEANS_SOMETHING = re.compile(r"[\\|`*~<\[]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")


def to_markdown(
    plan: Plan, limit: int = 200, inputs: Mapping[str, str] | None = None, created: datetime | None = None
) -> str:
    """Return a summary for a change ticket; of long plans, the first steps and waves.

    Parameters
    ----------
    limit : int
        Steps that are listed.
    inputs : mapping of file to SHA-256, optional
        What the plan was made from.
    created : datetime, optional
        As for `to_json`.
    """
    parts = [
        ["# Move plan", "", _headline(plan)],
        _facts(plan, created),
        _instructions(plan),
        _blocked(plan),
        _excess(plan),
        _beyond_caps(plan),
        _waves(plan),
        _steps(plan, limit),
        _inputs(inputs or {}),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _headline(plan: Plan) -> str:
    if not len(plan.steps) and not plan.blocked:
        return "Nothing moves."
    blocked = len(plan.blocked)
    moves = len(set(plan.steps.who.tolist()) | {plan.model.problem.objects.index[one.object] for one in plan.blocked})
    if not blocked:
        return f"**{plan.status}**: everything that has to move gets to its place, in {_count(plan.waves, 'wave')}."
    first = f"**{plan.status}**: {blocked} of {_count(moves, 'move')} cannot be carried out; see [Blocked](#blocked)."
    return f"{first} The others take {_count(plan.waves, 'wave')}." if len(plan.steps) else first


def _facts(plan: Plan, created: datetime | None) -> list[str]:
    expires = plan.expires_after(created)
    how = "as few as there can be" if plan.exact else f"at least {plan.lower_bound}"
    room = f", {len(plan.staged)} of them only to make room" if plan.staged else ""
    rows = [("Created", (created or plan.created).isoformat(timespec="seconds"))]
    if expires is not None:
        rows.append(("Expires", f"{expires.isoformat(timespec='seconds')}: no step is to be started later"))
    rows += [
        ("Steps", f"{len(plan.steps)}, of {_count(len(set(plan.steps.who.tolist())), 'object')}{room}"),
        ("Waves", f"{plan.waves} ({how})"),
        ("Blocked", str(len(plan.blocked))),
        ("Above a limit on the way", f"{_count(len(plan.excess), 'place')} (allowed)" if plan.excess else "nothing"),
        ("Moved in all", _amounts(_total(plan))),
        ("In flight at most", _amounts(_most(plan))),
        ("Way back", _way_back(plan)),
    ]  # fmt: skip
    if broken := plan.broken:
        more = f" and {len(broken) - _LISTED} more" if len(broken) > _LISTED else ""
        rows.append(("Still broken at the end", f"{', '.join(broken[:_LISTED])}{more}"))
    if plan.peaks:
        before = plan.model.objective(plan.start).tolist()
        for position, (was, is_then) in enumerate(zip(before, plan.peaks[-1].objective, strict=True)):
            rows.append((f"Objective at position {position}", f"{was:.6g} → {is_then:.6g}"))
    return _table(("", ""), rows)


def _measured(plan: Plan, peak: Peak) -> dict[str, float]:
    """Return what is in flight by dimension; the number of objects is that of the steps."""
    count = f"{plan.model.problem.object_name}_count"
    return {name: amount for name, amount in peak.amounts.items() if name != count}


def _total(plan: Plan) -> dict[str, float]:
    out: dict[str, float] = {}
    for peak in plan.peaks:
        for name, amount in (("steps", float(peak.steps)), *_measured(plan, peak).items()):
            out[name] = out.get(name, 0.0) + amount
    return out


def _most(plan: Plan) -> dict[str, float]:
    out: dict[str, float] = {}
    for peak in plan.peaks:
        for name, amount in (("steps", float(peak.steps)), *_measured(plan, peak).items()):
            out[name] = max(out.get(name, 0.0), amount)
    return out


def _amounts(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {amount:.6g}" for name, amount in amounts.items()) or "nothing"


def _instructions(plan: Plan) -> list[str]:
    if not len(plan.steps):
        return []
    return [
        "## Carrying it out",
        "",
        "1. Check that the plan still holds: `rebalance verify`, with `--state` where there is a newer state.",
        "2. Go wave by wave. All steps of a wave may run together, in any order; the next wave starts when they are"
        " done."
        " Or start each step as soon as those under `after` are done.",
        "3. It is safe to stop between two waves. What is broken is repaired first, and the most useful moves come"
        " early.",
        "4. To go back after wave *n*: the steps of `rollback` in `plan.json` whose `undoes` is a step of the waves up"
        " to *n*, in their order, wave by wave.",
    ]


def _blocked(plan: Plan) -> list[str]:
    if not plan.blocked:
        return []
    rows = [
        (one.object, one.source or "—", one.destination or "—", "; ".join(one.reasons))
        for one in plan.blocked[:_LISTED]
    ]
    head = f"{plan.about_blocked[0].upper()}{plan.about_blocked[1:]}."
    more = _more(len(plan.blocked), _LISTED, "`blocked` in `plan.json`")
    return ["## Blocked", "", head, "", *_table(("object", "from", "to", "what stands against it"), rows), *more]


def _excess(plan: Plan) -> list[str]:
    if not plan.excess:
        return []
    rows = []
    for one in plan.excess[:_LISTED]:
        where = " ".join(part for part in (one.item, one.group) if part) or "—"
        rows.append((one.constraint, where, f"{one.first_wave}–{one.last_wave}", f"{one.amount:.6g}", one.in_flight))
    more = _more(len(plan.excess), _LISTED, "`excess` in `plan.json`")
    head = "Broken at the start or at the end anyway, and never worse than that; or not demanded to hold on the way:"
    columns = ("constraint", "where", "waves", "above by at most", "has to hold")
    return ["## Above a limit on the way", "", head, "", *_table(columns, rows), *more]


def _way_back(plan: Plan) -> str:
    beyond = len({wave for wave, _ in plan.beyond_caps})
    but = f"; {beyond} of them beyond a cap, see [Way back](#way-back)" if beyond else ""
    return f"{_count(len(plan.rollback), 'step')} in {_count(plan.rollback.waves, 'wave')}, verified{but}"


def _beyond_caps(plan: Plan) -> list[str]:
    if not plan.beyond_caps:
        return []
    more = _more(len(plan.beyond_caps), _LISTED, "`rollback.beyond_caps` in `plan.json`")
    head = "These waves of the way back exceed a cap: no less of what they undo was found to go back together."
    return ["## Way back", "", head, "", *_table(("wave", "cap"), plan.beyond_caps[:_LISTED]), *more]


def _waves(plan: Plan) -> list[str]:
    if not plan.peaks:
        return []
    dimensions = list(_measured(plan, plan.peaks[0]))
    rows = [
        (peak.wave, peak.steps, *(f"{peak.amounts[name]:.6g}" for name in dimensions),
         ", ".join(f"{value:.6g}" for value in peak.objective))
        for peak in plan.peaks[:_WAVES]
    ]  # fmt: skip
    columns = ("wave", "steps", *(f"{name} in flight" for name in dimensions), "objective afterwards")
    return ["## Waves", "", *_table(columns, rows), *_more(len(plan.peaks), _WAVES, "`peaks` in `plan.json`")]


def _steps(plan: Plan, limit: int) -> list[str]:
    if not len(plan.steps):
        return []
    rows = []
    for row, _ in zip(plan.rows(), range(limit), strict=False):
        after = " ".join(row["after"])
        if "after_wave" in row:
            after = f"{after} wave {row['after_wave']}".strip()
        ends = row["source"] or "—", row["destination"] or "—"
        rows.append((row["wave"], row["id"], row["object"], *ends, after, row["reason"]))
    columns = ("wave", "step", "object", "from", "to", "after", "why")
    return ["## Steps", "", *_table(columns, rows), *_more(len(plan.steps), limit, "`plan.csv`")]


def _inputs(inputs: Mapping[str, str]) -> list[str]:
    return ["## Made from", "", *_table(("input", "SHA-256"), inputs.items())] if inputs else []


def _more(count: int, shown: int, where: str) -> list[str]:
    return ["", f"… and {count - shown} more: see {where}."] if count > shown else []


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return list(_lines([columns, ["---"] * len(columns), *rows]))


def _lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(value: object) -> str:
    """Return a value that is shown as it is and cannot break out of its cell, whatever a name holds."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", " ".join(str(value).splitlines()))
