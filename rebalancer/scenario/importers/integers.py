"""Text files of white-space separated integers, read fast, with the place of every integer at hand for errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from rebalancer.problem.errors import Fault, InputError
from rebalancer.problem.numbers import IntArray

#: What cannot be in such a file: other characters, a sign out of place, more digits than 64 bits hold.
_BAD = re.compile(r"[^\s0-9-]|(?<=\S)-|-(?![0-9])|[0-9]{19,}")
_TOKEN = re.compile(r"\S+")
#: Faults of one kind that are listed one by one; a file that is off by one integer would otherwise list them all.
MOST_LISTED = 20


class IntegerFile:
    """The integers of a file, taken in order.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    values : int64 array
        All integers of the file.
    taken : int
        How many have been taken.

    Raises
    ------
    InputError
        The file cannot be read, or holds something that is no 64-bit integer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_bytes().decode("utf-8", errors="replace")
        except OSError as error:
            fault = Fault("missing-file", f"cannot read '{path}': {error.strerror}", value=str(path))
            raise InputError([fault.at(str(path), 1, 1)]) from None
        if _BAD.search(self._text):
            raise InputError(self._not_integers())
        self.values: IntArray = (
            np.fromstring(self._text, np.int64, sep=" ") if self._text.strip() else np.zeros(0, np.int64)
        )
        self.taken = 0

    def take(self, count: int, what: str) -> IntArray:
        """Return the next ``count`` integers.

        Raises
        ------
        InputError
            There are fewer.
        """
        if self.taken + count > len(self.values):
            left = len(self.values) - self.taken
            message = f"the file ends early: {count} more integers are needed for {what}, there are {left}"
            raise InputError([self._at_end("ends-early", message)])
        out = self.values[self.taken : self.taken + count]
        self.taken += count
        return out

    def take_count(self, what: str, least: int = 0) -> int:
        """Return the next integer, which says how many of something follow.

        Raises
        ------
        InputError
            It is missing, or smaller than ``least``.
        """
        count = int(self.take(1, f"the number of {what}")[0])
        if count < least:
            message = f"the number of {what} must be {least} or more, got {count}"
            raise InputError([self.fault("out-of-range", message, self.taken - 1)])
        return count

    def finish(self) -> None:
        """Check that nothing is left.

        Raises
        ------
        InputError
            Something is.
        """
        left = len(self.values) - self.taken
        if left:
            message = f"{left} integers are left over at the end of the file"
            raise InputError([self.fault("left-over", message, self.taken)])

    def fault(self, code: str, message: str, position: int) -> Fault:
        """Return a fault about the integer at ``position``, counted from 0."""
        return self.faults(code, [(position, message)])[0]

    def faults(self, code: str, found: Iterable[tuple[int, str]]) -> list[Fault]:
        """Return one fault per (position, message); of many, only the first are listed and the rest is counted."""
        listed = sorted(found)
        more = len(listed) - MOST_LISTED
        if more > 0:
            listed = listed[:MOST_LISTED]
            listed[-1] = (listed[-1][0], f"{listed[-1][1]} (and {more} more like it)")
        places = self._places({position for position, _ in listed})
        return [
            Fault(code, message, value=int(self.values[position])).at(str(self.path), *places[position])
            for position, message in listed
        ]

    def _places(self, positions: Collection[int]) -> dict[int, tuple[int, int]]:
        """Return line and column, from 1, of the integers at these positions."""
        places: dict[int, tuple[int, int]] = {}
        last = max(positions)
        line, line_start, seen = 1, 0, 0
        for position, token in enumerate(_TOKEN.finditer(self._text)):
            if position in positions:
                line += self._text.count("\n", seen, token.start())
                line_start = self._text.rfind("\n", 0, token.start()) + 1
                seen = token.start()
                places[position] = line, token.start() - line_start + 1
            if position == last:
                break
        return places

    def _at_end(self, code: str, message: str) -> Fault:
        lines = self._text.rstrip().split("\n")
        return Fault(code, message).at(str(self.path), len(lines), len(lines[-1]) + 1)

    def _not_integers(self) -> list[Fault]:
        faults: list[Fault] = []
        for number, line in enumerate(self._text.split("\n"), start=1):
            if not _BAD.search(line):
                continue
            for token in _TOKEN.finditer(line):
                word = token.group()
                if _BAD.search(word):
                    code = "overflow" if word.lstrip("-").isdecimal() else "wrong-type"
                    shown = word if len(word) <= 40 else word[:37] + "…"
                    message = (
                        f"expected an integer{' of at most 18 digits' if code == 'overflow' else ''}, got '{shown}'"
                    )
                    faults.append(Fault(code, message, value=shown).at(str(self.path), number, token.start() + 1))
                    if len(faults) == MOST_LISTED:
                        return faults
        return faults
