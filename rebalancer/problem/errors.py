"""Faults: what is wrong with an input, where, and what was probably meant.

A fault knows the *path* to the offending value (keys and list positions from the root of what the caller handed in).
Whoever read the input from a file turns that path into a file, line and column.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Path = tuple[str | int, ...]

#: Above this many known names a close match is looked for only among names of similar length and equal first letter.
_MANY = 5_000
#: Names at least this similar (difflib's ratio) may be meant.
_CLOSE = 0.6
#: Characters that are taken for each other.
_LOOK_ALIKES = str.maketrans("ol", "01", "_- ")
#: Mistakes of one sort in one list or column that are reported one by one; the rest is counted.
MOST_REPORTED = 20
#: Mistakes of one sort in one section of a file that people are told; the rest is counted.
MOST_TOLD = 100


@dataclass(frozen=True)
class Fault:
    """One mistake in the input.

    Parameters
    ----------
    code : str
        Stable kebab-case identifier of the kind of mistake, such as ``unknown-name``.
    message : str
        One sentence with the value seen.
    path : tuple of str or int
        Keys and positions that lead to the value.
    value : object
        The value seen.
    suggestion : str or None
        The nearest valid value, if there is one.
    file, line, column
        Where the value stands, counted from 1, once known.
    kind : str or None
        For an unknown name: the kind of thing that it should have named.
    """

    code: str
    message: str
    path: Path = ()
    value: Any = None
    suggestion: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    kind: str | None = None

    def at(self, file: str | None, line: int | None, column: int | None) -> Fault:
        """Return the same fault with its place filled in."""
        return replace(self, file=file, line=line, column=column)

    def below(self, prefix: Path) -> Fault:
        """Return the same fault with ``prefix`` put in front of its path."""
        return replace(self, path=prefix + self.path)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        if not place and self.path:
            place = ".".join(str(step) for step in self.path) + ": "
        return f"{place}error[{self.code}]: {self.message}"


class InputError(ValueError):
    """Bad input. Holds every fault found, not only the first; as text, all that people can read.

    Attributes
    ----------
    faults : tuple of Fault
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in condensed(self.faults)))


class FaultList(list[Fault]):
    """Collects faults, so that all of an input are reported at once."""

    def report(
        self, code: str, message: str, path: Path = (), value: Any = None, suggestion: str | None = None
    ) -> None:
        """Add a fault."""
        self.append(Fault(code, message, path, value, suggestion))

    def unknown(
        self, what: str, value: str, known: Callable[[], Collection[str]] | Collection[str], path: Path
    ) -> None:
        """Report a name that does not exist, with the nearest one that does."""
        self.append(unknown_name(what, value, known() if callable(known) else known, path))

    def unknown_rows(
        self,
        what: str,
        names: Sequence[Any],
        known: Collection[str],
        rows: Iterable[Any],
        path_of: Callable[[int], Path],
    ) -> None:
        """Report the names of some rows that do not exist."""
        listed = [int(row) for row in rows]
        for row in listed[:MOST_REPORTED]:
            self.unknown(what, names[row], known, path_of(row))
        self.rest(len(listed), path_of(listed[MOST_REPORTED]) if len(listed) > MOST_REPORTED else ())

    def rest(self, count: int, path: Path) -> None:
        """Say how many more mistakes there are than are reported one by one."""
        if count > MOST_REPORTED:
            self.report("more-faults", f"{count - MOST_REPORTED:,} more mistakes like the one before", path)

    def raise_if_any(self) -> None:
        """Raise an InputError with all faults, unless there are none."""
        if self:
            raise InputError(self)


def condensed(faults: Iterable[Fault]) -> list[Fault]:
    """Return faults for people to read: past `MOST_TOLD` of one sort comes only how many more there are.

    Of one sort are those with the same code in the same section of a file: thousands of weights that are no numbers
    must not hide the one constraint that has a name wrong.
    """
    sorts: dict[Any, list[int]] = {}
    every = list(faults)
    for number, fault in enumerate(every):
        sorts.setdefault((fault.file, fault.code, fault.kind, fault.path[:1]), []).append(number)
    told: dict[int, Fault] = {}
    for numbers in sorts.values():
        told |= {number: every[number] for number in numbers[:MOST_TOLD]}
        if len(numbers) > MOST_TOLD:
            first = every[numbers[MOST_TOLD]]
            message = f"{len(numbers) - MOST_TOLD:,} more like these: {first.code}"
            told[numbers[MOST_TOLD]] = replace(first, code="more-faults", message=message, value=None, suggestion=None)
    return [told[number] for number in sorted(told)]


def nearest(value: str, known: Collection[str]) -> str | None:
    """Return the known name most like ``value``, or None where nothing is close."""
    candidates: Collection[str] = known
    if len(known) > _MANY:
        candidates = [name for name in known if name[:1] == value[:1] and abs(len(name) - len(value)) <= 2][:_MANY]
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(value.casefold())
    alike = value.casefold().translate(_LOOK_ALIKES)
    best, found = _CLOSE, None
    for name in candidates:
        folded = name.casefold()
        matcher.set_seq1(folded)
        if matcher.real_quick_ratio() < best or matcher.quick_ratio() < best:
            continue
        score = 1.0 if folded.translate(_LOOK_ALIKES) == alike else matcher.ratio()
        if score > best or (found is None and score == best):
            best, found = score, name
    return found


def unknown_name(what: str, value: str, known: Collection[str], path: Path = ()) -> Fault:
    """Return the fault for a name that does not exist."""
    close = nearest(str(value), known)
    if close is not None:
        hint = f"; did you mean '{close}'?"
    elif 0 < len(known) <= 8:
        hint = f"; there is {', '.join(repr(name) for name in known)}"
    elif not known:
        hint = f"; no {what} is defined"
    else:
        hint = ""
    return Fault("unknown-name", f"unknown {what} '{value}'{hint}", path, value, close, kind=what)
