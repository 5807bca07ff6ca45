"""Evaluations and solutions as a headline and tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rebalancer.engines.closed import closed_as_reported
from rebalancer.report.numbers import UNKNOWN, count, listed, number, percent, seconds
from rebalancer.report.table import Table, draw, plain
from rebalancer.solution import (
    broken_components,
    constraints,
    goals,
    moved,
    number_of_moves,
    objective,
    records,
    reported_constraints,
)

if TYPE_CHECKING:
    from rich.console import Console

    from rebalancer.solution import Evaluation, Solution

#: Rows that a terminal shows of a long table; a pipe gets all.
SHOWN = 20

#: What is said where nothing moves, by whether it is proven that nothing has to.
_NOTHING = ("nothing moves: the search ended before it found anything better", "nothing has to move")

_COLOURS = {"OPTIMAL": "green", "FEASIBLE": "yellow", "INFEASIBLE": "red", "UNKNOWN": "red"}


@dataclass(frozen=True)
class Style:
    """How much to show, and for whom.

    Parameters
    ----------
    limit : int or None
        Rows of a long table; None: all.
    thousands : bool
        Group the digits of numbers.
    """

    limit: int | None
    thousands: bool

    def number(self, value: float | None) -> str:
        """Return a number as this style writes it."""
        return number(value, self.thousands)


TERMINAL = Style(SHOWN, True)
PIPE = Style(None, False)


def show_solution(solution: Solution, console: Console, written: str | None = None) -> None:
    """Print a solution: what came out, what it is worth, what broke, what moves."""
    style = TERMINAL if console.is_terminal else PIPE
    headline(solution, console)
    found = solution.found
    blocks = [objective_table(solution, style, proof=found, compared=found)]
    if solution._model.goals:
        blocks.append(goals_table(solution, style, found))
    if reported_constraints(solution._model):
        blocks.append(constraints_table(solution, style, found))
    if found:
        blocks.append(moves_table(solution, style))
    _show(blocks, console)
    if written is not None:
        _line(f"\n{written}", console, "dim")


def show_evaluation(evaluation: Evaluation, console: Console, compared: bool) -> None:
    """Print an evaluation: the initial assignment alone, or another next to it (``compared``)."""
    style = TERMINAL if console.is_terminal else PIPE
    broken = evaluation.broken
    if broken:
        _line(f"broken: {listed(broken)}", console, "yellow")
    else:
        _line("nothing is broken", console, "green")
    if compared and evaluation.worsened:
        _line(f"not allowed, because it gets worse: {listed(evaluation.worsened)}", console, "red")
    blocks = [objective_table(evaluation, style, proof=False, compared=compared)]
    if evaluation._model.goals:
        blocks.append(goals_table(evaluation, style, compared))
    if reported_constraints(evaluation._model):
        blocks.append(constraints_table(evaluation, style, compared))
    _show(blocks, console)


def _show(blocks: list[Table], console: Console) -> None:
    for table in blocks:
        if console.is_terminal:
            console.print()
            draw(table, console)
        else:
            console.file.write("\n" + plain(table))


def _line(text: str, console: Console, style: str) -> None:
    from rich.text import Text

    if console.is_terminal:
        console.print(Text(text, style=style))
    else:
        console.file.write(text + "\n")


def headline(solution: Solution, console: Console) -> None:
    """Print the one line that says how it went."""
    from rich.text import Text

    status = solution.status.value
    parts = [_meaning(solution)]
    if solution.found:
        parts.append(count(number_of_moves(solution), "move"))
    parts += [seconds(solution.seconds), solution.engine]
    text = " · ".join(parts)
    if console.is_terminal:
        console.print(Text.assemble((status, f"bold {_COLOURS[status]}"), "  ", text))
    else:
        console.file.write(f"{status}  {text}\n")
    if solution.broken and solution.found:
        _line(f"still broken: {listed(solution.broken)}", console, "yellow")


def _meaning(solution: Solution) -> str:
    status = solution.status.value
    if status == "OPTIMAL":
        return "proven: no assignment is better"
    if status in ("INFEASIBLE", "UNKNOWN"):
        return solution.reason or ""
    gaps: list[float] = solution._gaps.tolist()
    reported = enumerate(zip(solution._final.objective.tolist(), solution._bounds.tolist(), strict=True))
    # The first position that is not closed: nothing is known after it.
    still_open = (
        slot for slot, (value, bound) in reported if not closed_as_reported(solution._model, slot, value, bound)
    )
    position = next(still_open, len(gaps) - 1)
    where = "" if len(gaps) == 1 else f" at position {position}"
    if math.isnan(gaps[position]):
        return f"no bound is known{where}"
    # A gap is relative above 1 and absolute below it: 0.0014 of 0.0025 is not "within 0.14 %".
    small = abs(float(solution._final.objective[position])) < 1
    return f"within {number(gaps[position]) if small else percent(gaps[position])} of the best{where}"


def objective_table(evaluation: Evaluation, style: Style, proof: bool = True, compared: bool = True) -> Table:
    """Return the table of tuple positions."""
    columns = ["position", ">initial", *([">final"] if compared else []), *([">bound", ">gap"] if proof else [])]
    rows = [
        [
            str(row["tuple_pos"]),
            style.number(row["initial"]),
            *([style.number(row["final"])] if compared else []),
            *([style.number(row["bound"]), percent(row["gap"])] if proof else []),
        ]
        for row in records(objective(evaluation))
    ]
    return Table("objective", columns, rows)


def goals_table(evaluation: Evaluation, style: Style, compared: bool = True) -> Table:
    """Return the table of goals."""
    columns = ["goal", "spec", ">weight", ">position", ">initial", *([">final"] if compared else [])]
    rows = [
        [
            row["name"],
            row["spec"],
            style.number(row["weight"]),
            str(row["tuple_pos"]),
            style.number(row["initial"]),
            *([style.number(row["final"])] if compared else []),
        ]
        for row in records(goals(evaluation))
    ]
    kept, note = _cut(rows, style, "goal")
    return Table("goals", columns, kept, note=note)


def constraints_table(evaluation: Evaluation, style: Style, compared: bool = True) -> Table:
    """Return the table of constraints. A terminal that cannot show all shows the broken ones first."""
    entries = records(constraints(evaluation))
    parts = records(broken_components(evaluation))
    pairs = list(zip(entries, parts, strict=True))
    if style.limit is not None and len(pairs) > style.limit:
        pairs.sort(key=lambda pair: (pair[1]["final"] == 0, pair[1]["initial"] == 0))
    columns = [
        "constraint",
        "spec",
        "policy",
        ">initial violation",
        *([">final violation"] if compared else []),
        "broken",
    ]
    rows = []
    styles = []
    for entry, part in pairs:
        rows.append(
            [
                entry["name"],
                entry["spec"],
                entry["policy"],
                style.number(entry["initial_violation"]),
                *([style.number(entry["final_violation"])] if compared else []),
                _broken(int(part["initial"]), int(part["final"]), compared),
            ]
        )
        styles.append("yellow" if part["final"] else "green" if part["initial"] else "")
    kept, note = _cut(rows, style, "constraint")
    return Table("constraints", columns, kept, styles[: len(kept)], note)


def _broken(before: int, after: int, compared: bool) -> str:
    if not compared:
        return str(after) if after else "no"
    return "no" if not before and not after else f"{before} → {after}"


def moves_table(solution: Solution, style: Style) -> Table:
    """Return the table of moves."""
    moves = moved(solution)
    total = number_of_moves(solution)
    shown = [[name or UNKNOWN for name in column[: style.limit].tolist()] for column in moves.values()]
    rows = list(zip(*shown, strict=True))
    left = total - len(rows)
    return Table(
        "moves" if total else _NOTHING[solution.status.value == "OPTIMAL"],
        list(moves) if total else [],
        rows,
        note=f"… and {left:,d} more" if left else "",
    )


def _cut(rows: list[list[str]], style: Style, noun: str) -> tuple[list[list[str]], str]:
    if style.limit is None or len(rows) <= style.limit:
        return rows, ""
    return rows[: style.limit], f"… and {count(len(rows) - style.limit, f'more {noun}')}"
