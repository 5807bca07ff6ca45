"""CoreOS Fleet: the scheduling options of units, ``MachineID``, ``MachineMetadata``, ``MachineOf``, ``Conflicts``, ….

Follows fleet 1.0. A unit is the object of its name; the copies of a global unit are ``name#0``, ``name#1``, … (or the
objects whose attribute ``unit`` it is). Metadata are the attributes of the machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Dialect, Rule, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.permitted import permitted, permitted_rule
from rebalancer.dialects.together import apart
from rebalancer.problem import UNPLACED, FaultList, Path, Problem, unknown_name
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from rebalancer.specs.coverage import CoverageSpec
from rebalancer.specs.expression import Expression, Now
from rebalancer.specs.fields import Filter, Name
from rebalancer.specs.object_expression import ObjectExpressionSpec

OPTIONS = ("MachineID", "MachineMetadata", "MachineOf", "Conflicts", "Global", "Replaces")
#: Spellings of old unit files.
_OLD = {
    "X-ConditionMachineID": "MachineID",
    "X-ConditionMachineOf": "MachineOf",
    "X-ConditionMachineMetadata": "MachineMetadata",
    "X-Conflicts": "Conflicts",
}
_TRUE = ("true", "yes", "1", "on", "t")
#: An option -> those that may not stand beside it.
_CLASHES = {
    "MachineID": ("MachineOf", "Conflicts", "Global", "Replaces"),
    "Global": ("MachineID", "MachineOf", "Replaces"),
    "Replaces": ("Conflicts",),
}
_WORD = re.compile(r'"([^"]*)"|(\S+)')


def _lines(value: Any) -> Any:
    """Read the text of a section as its lines."""
    return value.splitlines() if isinstance(value, str) else value


class Fleet(Dialect):
    """The options of some units of Fleet.

    Notes
    -----
    Who follows, with MachineOf, shares the machine of every unit that it names; two units may follow each other.
    Conflicts holds for both, whoever states it. A unit that Replaces another goes where that one is at the start, and
    the other leaves that machine: for another one, or altogether.
    """

    key: ClassVar[str] = "fleet"
    sources: ClassVar[str] = "fleet 1.0 (unit file options, and the source)"

    units: Mapping[
        Name, Annotated[tuple[Name, ...], BeforeValidator(_lines, json_schema_input_type=str | list[str])]
    ] = Field(description="Unit: its option lines, such as 'Conflicts=db.*.service'.")
    replaced: Literal["elsewhere", "unplaced"] = Field(
        "elsewhere", description="Where a replaced unit goes: to another machine (fleet), or nowhere (Poseidon)."
    )

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return the rules, unit by unit."""
        parsed = {name: parse_options(name, lines, ("units", name), faults) for name, lines in self.units.items()}
        fleet = _Fleet(self, facts, parsed)
        for name in self.units:
            if name not in fleet.members:
                faults.append(unknown_name("unit", name, list(fleet.members), ("units", name)))
        if faults:
            return []
        return [rule for name, options in parsed.items() for rule in fleet.rules(name, options)]


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what the options of some units mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Fleet`: ``units={"pong.service": ["MachineOf=ping.service"]}``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Fleet, problem, statement)


# -- syntax -----------------------------------------------------------------------------------------------------------


@dataclass
class Options:
    """The options of a unit: everything that its lines say together.

    Parameters
    ----------
    values : dict of str to list of (str, Path)
        Option -> its words, and where each stands.
    """

    values: dict[str, list[tuple[str, Path]]] = field(default_factory=dict)

    def words(self, option: str) -> list[str]:
        """Return the words of an option."""
        return [word for word, _ in self.values.get(option, ())]

    @property
    def is_global(self) -> bool:
        """Whether the unit runs everywhere; the last line counts."""
        return (self.words("Global") or ["false"])[-1].lower() in _TRUE


def parse_options(unit: str, lines: Iterable[str], path: Path, faults: FaultList) -> Options:
    """Return the options of a unit; what is wrong with them goes to ``faults``."""
    options = Options()
    for position, line in enumerate(lines):
        place = (*path, position)
        text = line.strip()
        if not text or text[0] in "#;[":  # comments, and the name of the section
            continue
        key, equals, value = text.partition("=")
        option = _OLD.get(key.strip(), key.strip())
        if not equals:
            faults.report("fleet-syntax", f"expected 'Option=value', got '{text}'", place, line)
        elif option not in OPTIONS:
            faults.append(unknown_name("option", key.strip(), OPTIONS, place))
        else:
            words = [quoted or plain for quoted, plain in _WORD.findall(_specified(value, unit))]
            options.values.setdefault(option, []).extend((word, place) for word in words)
    for option, others in _CLASHES.items():
        present = option in options.values and (option != "Global" or options.is_global)
        for other in others if present else ():
            if other in options.values and (other != "Global" or options.is_global):
                place = options.values[other][0][1] if options.values[other] else path
                faults.report("fleet-syntax", f"{other} may not stand beside {option}", place, other)
    for followed, place in options.values.get("MachineOf", ()):
        if any(globs(pattern, followed) for pattern in options.words("Conflicts")):
            faults.report("fleet-syntax", f"'{followed}' is followed and conflicts as well", place, followed)
    return options


def _specified(text: str, unit: str) -> str:
    """Return a value with the specifiers of systemd replaced."""
    name = unit.rpartition(".")[0] or unit
    prefix, _, instance = name.partition("@")
    known = {"n": unit, "N": name, "p": prefix, "i": instance, "%": "%"}
    return re.sub(r"%([nNpi%])", lambda found: known[found[1]], text)


def globs(pattern: str, name: str) -> bool:
    """Return whether a shell pattern matches a whole name; ``*`` and ``?`` do not cross a slash."""
    out, position = [], 0
    while position < len(pattern):
        char = pattern[position]
        closing = pattern.find("]", position + 2) if char == "[" else -1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif closing > 0:
            inside = pattern[position + 1 : closing].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[{inside}]")
            position = closing
        elif char == "\\" and position + 1 < len(pattern):
            position += 1
            out.append(re.escape(pattern[position]))
        else:
            out.append(re.escape(char))
        position += 1
    try:
        return re.fullmatch("".join(out), name, re.DOTALL) is not None
    except re.error:
        return False


# -- meaning ----------------------------------------------------------------------------------------------------------


class _Fleet:
    """Turns the options of units into rules."""

    def __init__(self, statement: Fleet, facts: Facts, options: Mapping[str, Options]) -> None:
        self.statement = statement
        self.facts = facts
        self.options = options
        self.host = facts.problem.container_name
        stated = facts.texts("unit")
        #: Unit of every object, and the objects of every unit.
        self.unit_of = [
            own[0] if own else name.partition("#")[0] for own, name in zip(stated, facts.problem.objects, strict=True)
        ]
        self.members: dict[str, IntArray] = {
            unit: np.array(where, np.int64) for unit, where in _positions(self.unit_of).items()
        }

    def rules(self, unit: str, options: Options) -> list[Rule]:
        """Return the rules of one unit."""
        readers = {
            "MachineID": self._machine,
            "MachineMetadata": self._metadata,
            "MachineOf": self._follow,
            "Conflicts": self._conflict,
            "Global": self._everywhere,
            "Replaces": self._replace,
        }
        return [
            rule
            for option in options.values
            if option != "Global" or options.is_global
            for rule in readers[option](unit, options)
        ]

    def _machine(self, unit: str, options: Options) -> list[Rule]:
        """MachineID: that machine; the first one counts."""
        machine, path = options.values["MachineID"][0]
        self.facts.note_absent("machine", "id", machine, self.facts.problem.containers, path)
        allowed = np.array([name == machine for name in self.facts.problem.containers], bool)
        why = f"it is not machine '{machine}'"
        return [permitted_rule(self.facts, f"{unit} MachineID={machine}", path, self.members[unit], allowed, why)]

    def _metadata(self, unit: str, options: Options) -> list[Rule]:
        """MachineMetadata: for every key that is mentioned one of its values."""
        path = options.values["MachineMetadata"][0][1]
        wanted = self._pairs(options)
        allowed = self._meeting(wanted)
        text = " ".join(f"{key}={'|'.join(sorted(values))}" for key, values in wanted.items())
        if not wanted:
            return []
        why = f"its metadata are not {text}"
        return [permitted_rule(self.facts, f"{unit} MachineMetadata {text}", path, self.members[unit], allowed, why)]

    def _pairs(self, options: Options) -> dict[str, set[str]]:
        wanted: dict[str, set[str]] = {}
        for word, path in options.values.get("MachineMetadata", ()):
            parts = word.split("=")
            if len(parts) == 2 and all(parts):
                self.facts.note_unknown(parts[0], path)
                wanted.setdefault(parts[0], set()).add(parts[1])
            else:
                self.facts.warn("dropped-metadata", f"'{word}' is no key=value: fleet leaves it out", path, word)
        return wanted

    def _meeting(self, wanted: Mapping[str, set[str]]) -> Any:
        allowed = np.ones(len(self.facts.problem.containers), bool)
        for key, values in wanted.items():
            allowed &= np.array([own is not None and str(own) in values for own in self.facts.containers(key)], bool)
        return allowed

    def _follow(self, unit: str, options: Options) -> list[Rule]:
        """MachineOf: every named unit is on the same machine."""
        rules = []
        for target, path in options.values["MachineOf"]:
            self.facts.note_absent("unit", "name", target, self.members, path)
            members, others = self.members[unit], self.members.get(target, np.empty(0, np.int64))
            spec = ConditionalPresenceSpec(
                scope=self.host, source=self.facts.selection(members), target=self.facts.selection(others), min=1
            )

            def check(
                state: State, obj: int, container: int, members: IntArray = members, others: IntArray = others,
                target: str = target,
            ) -> str | None:  # fmt: skip
                if obj not in members or (state.where[others] == container).any():
                    return None
                return f"'{target}' is not there"

            rules.append(Rule(f"{unit} MachineOf={target}", path, (spec,), check=check))
        return rules

    def _conflict(self, unit: str, options: Options) -> list[Rule]:
        """Conflicts: no unit there whose name matches; and the other way round."""
        rules = []
        for pattern, path in options.values["Conflicts"]:
            members, others = self.members[unit], self._matching(pattern, unit)

            def check(
                state: State, obj: int, container: int, members: IntArray = members, others: IntArray = others,
                pattern: str = pattern,
            ) -> str | None:  # fmt: skip
                for some, rest in ((members, others), (others, members)):
                    there = rest[state.where[rest] == container] if obj in some else rest[:0]
                    if len(there):
                        return f"'{self.facts.problem.objects[int(there[0])]}' is there"
                return None

            demands = apart(self.facts, self.host, members, others)
            rules.append(Rule(f"{unit} Conflicts={pattern}", path, demands, check=check))
        return rules

    def _matching(self, pattern: str, unit: str) -> IntArray:
        """Return the objects of the other units whose name matches a pattern."""
        found = [members for name, members in self.members.items() if name != unit and globs(pattern, name)]
        return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)

    def _everywhere(self, unit: str, options: Options) -> list[Rule]:
        """Global: one copy on each machine with the metadata, but where a conflicting unit is."""
        members, path = self.members[unit], options.values["Global"][-1][1]
        eligible = self._meeting(self._pairs(options))
        blocking = [self._matching(pattern, unit) for pattern in options.words("Conflicts")]
        for name, other in self.options.items():  # conflicts hold for both, whoever states them
            if name != unit and any(globs(pattern, unit) for pattern in other.words("Conflicts")):
                blocking.append(self.members[name])
        machines = tuple(self.facts.problem.containers[where] for where in np.flatnonzero(eligible).tolist())
        cover = CoverageSpec(
            scope=self.host,
            objects=self.facts.selection(members),
            unless=self.facts.selection(np.unique(np.concatenate(blocking))) if blocking else None,
            filter=Filter(items_whitelist=machines),
        )

        def check(state: State, obj: int, container: int) -> str | None:
            taken = obj in members and (state.where[members] == container).any()
            return "a copy is there already" if taken else None

        return [Rule(f"{unit} Global", path, (cover, *apart(self.facts, self.host, members, members)), check=check)]

    def _replace(self, unit: str, options: Options) -> list[Rule]:
        """Read Replaces: to the machine where the named unit is at the start, which leaves it."""
        rules = []
        for pattern, path in options.values["Replaces"]:
            old = self._replaced(unit, pattern)
            members = self.members[unit]
            running = old[self.facts.problem.initial[old] != UNPLACED]
            demands = self._taking_over(members, running)

            def displaces(
                state: State, obj: int, container: int, members: IntArray = members, old: IntArray = old
            ) -> str | None:
                for some, others in ((members, old), (old, members)):
                    if obj in some and (state.where[others] == container).any():
                        return f"'{unit}' takes over, and whom it replaces is placed anew"
                return None

            out = running.tolist() if self.statement.replaced == "unplaced" else []
            leaving = tuple(self.facts.problem.objects[position] for position in out)
            rules.append(Rule(f"{unit} Replaces={pattern}", path, demands, displaces=displaces, leaving=leaving))
        return rules

    def _replaced(self, unit: str, pattern: str) -> IntArray:
        """Return the objects that a unit replaces; two units that replace each other do not."""
        old = self._matching(pattern, unit)
        mutual = [
            name
            for name, options in self.options.items()
            if name != unit and any(globs(other, unit) for other in options.words("Replaces"))
        ]
        return np.array([position for position in old.tolist() if self.unit_of[position] not in mutual], np.int64)

    def _taking_over(self, members: IntArray, running: IntArray) -> tuple[Spec, ...]:
        if not len(running):
            return ()
        problem, who = self.facts.problem, self.facts.selection
        there = [Expression(now=Now(scope=self.host, object=problem.objects[old])) for old in running.tolist()]
        specs: list[Spec] = [ObjectExpressionSpec(objects=who(members), holds=Expression(any_of=tuple(there)))]
        if self.statement.replaced == "unplaced":
            return (*specs, *permitted(self.facts, running, np.zeros(len(problem.containers), bool)))
        for old, place in zip(running.tolist(), there, strict=True):
            left = Expression(none_of=(place,))
            specs.append(ObjectExpressionSpec(objects=who(np.array([old])), holds=left))
        return tuple(specs)


def _positions(names: Iterable[str]) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        out.setdefault(name, []).append(position)
    return out


__all__ = ["OPTIONS", "Fleet", "Options", "globs", "parse", "parse_options"]
