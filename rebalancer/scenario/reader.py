"""Reads a scenario: its files, its problem, its goals and constraints; with every fault of all of them at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rebalancer.dialects.entries import Expansion, NamedRule, Rules, expand
from rebalancer.problem import Fault, InputError, Problem
from rebalancer.scenario.assemble import Assembly
from rebalancer.scenario.collector import without_collector
from rebalancer.scenario.databases import Databases
from rebalancer.scenario.entries import ReadEntry, read_entries
from rebalancer.scenario.files import Files, read_files
from rebalancer.scenario.gaps import Gaps
from rebalancer.scenario.override import Override
from rebalancer.scenario.places import Places
from rebalancer.scenario.plan_section import PlanOptions, plan_faults
from rebalancer.scenario.sections import SolveOptions
from rebalancer.scenario.sources import ReadTable
from rebalancer.scenario.warnings import warnings_of
from rebalancer.specs.entries import Constraint, Goal, check_entries

_Options = TypeVar("_Options", SolveOptions, PlanOptions)

#: The same unknown name more often than this is reported once.
_MOST_ALIKE = 3


@dataclass(frozen=True)
class Scenario:
    """A scenario that has no fault.

    Parameters
    ----------
    problem : Problem
    goals : list of Goal
    constraints : list of Constraint
        Those of included files first; their paths say where they stand.
    solve : SolveOptions
    plan : PlanOptions
        The sections ``plan`` of all files together.
    files : list of str
        Every file that was read, the scenario file first.
    warnings : list of Fault
        What is legal but surprising, with its place.
    rules : list of NamedRule
        What is stated in the languages of other schedulers.
    from_rules : frozenset of str
        Names of the goals and constraints that these rules became.
    tables : tuple of ReadTable
        Every table that was read, from files and from databases.
    """

    problem: Problem
    goals: list[Goal]
    constraints: list[Constraint]
    solve: SolveOptions
    plan: PlanOptions
    files: list[str]
    warnings: list[Fault]
    places: Places = field(repr=False, compare=False)
    rules: list[NamedRule] = field(default_factory=list, repr=False)
    from_rules: frozenset[str] = field(default=frozenset(), repr=False)
    tables: tuple[ReadTable, ...] = field(default=(), repr=False)

    @property
    def queries(self) -> dict[str, str]:
        """The digests of what was read from databases, by names without secrets."""
        return {table.name: table.digest for table in self.tables if table.digest is not None}

    def locate(self, fault: Fault) -> Fault:
        """Return a fault whose path starts with that of a goal or constraint with file, line and column."""
        return self.places.locate(fault)


def load(
    path: str | os.PathLike[str], override: Override | None = None, databases: Databases | None = None
) -> Scenario:
    """Read a scenario file with all that it includes and its tables.

    Parameters
    ----------
    path : path
        The YAML file.
    override : Override, optional
        What a job says over it.
    databases : Databases, optional
        Where tables are queries: stay open, so that whoever asks more of them sees the same moment.

    Raises
    ------
    InputError
        With every fault of every file, each with file, line, column and, where there is one, what was probably meant;
        sorted by place.
    """
    with without_collector(), ExitStack() as stack:
        opened = stack.enter_context(Databases()) if databases is None else databases
        return _load(os.fspath(path), override, opened)


def _load(path: str, override: Override | None, databases: Databases) -> Scenario:
    files = read_files(path, override)
    assembly = Assembly(files, override, databases)
    problem = assembly.build()
    faults = [*files.faults, *map(files.places.locate, assembly.faults)]
    read = _entries(files, faults)
    expansion = _expanded(problem, read)
    found_in_entries = [*expansion.faults, *_entry_faults(expansion, read)]
    faults += map(files.places.locate, found_in_entries)
    plan = _plan(files, problem, faults)
    if override is not None and override.plan is not None:
        plan = _over(plan, override.plan)
        place = (*assembly.sources.prefix, *override.plan_path)
        faults += [files.places.locate(fault.below(place)) for fault in plan_faults(override.plan, problem)]
    found = _tidied(faults, assembly.gaps)
    if found:
        raise InputError(found)
    problem, goals, constraints = expansion.problem, expansion.goals, expansion.constraints
    warnings = [*warnings_of(problem, goals, constraints, assembly.stated), *expansion.warnings]
    located = _sorted({_key(fault): fault for fault in map(files.places.locate, warnings)}.values())
    return Scenario(
        problem,
        goals,
        constraints,
        files.scenario.solve if override is None else _over(files.scenario.solve, override.solve),
        plan,
        files.paths,
        located,
        files.places,
        expansion.rules,
        expansion.made,
        tuple(assembly.sources.read),
    )


def _entries(files: Files, faults: list[Fault]) -> list[ReadEntry]:
    read: list[ReadEntry] = []
    found: list[Fault] = []
    for file in (*files.included, files.main):
        for section, raw in (("constraints", file.content.constraints), ("goals", file.content.goals)):
            read += read_entries(section, raw, file.document, file.prefix, files.scenario.policy, found)
    faults += map(files.places.locate, found)
    return read


def _expanded(problem: Problem, read: list[ReadEntry]) -> Expansion:
    """Return the sound entries, with the rules of other schedulers as what they mean."""
    return expand(problem, [entry.entry for entry in read if entry.sound])


def _entry_faults(expansion: Expansion, read: list[ReadEntry]) -> list[Fault]:
    """Return what is wrong with the entries on the problem."""
    problem = expansion.problem
    faults: list[Fault] = list(check_entries(problem, expansion.goals, expansion.constraints))
    for one in (entry for entry in read if not entry.sound):
        repaired = one.entry
        try:
            if isinstance(repaired, Goal):
                found = check_entries(problem, [repaired], [])
            elif isinstance(repaired, Rules):
                found = expand(problem, [repaired]).faults
            else:
                found = check_entries(problem, [], [repaired])
        except Exception:
            continue
        faults += filter(one.is_stated, found)
    return faults


def _plan(files: Files, problem: Problem, faults: list[Fault]) -> PlanOptions:
    """Return what the plan sections of all files say together; a field stated twice is a fault."""
    stated: dict[str, Any] = {}
    for file in (*files.included, files.main):
        options = file.content.plan
        path = (*file.prefix, "plan")
        for key in sorted(options.model_fields_set):
            if key in stated:
                message = f"'{key}' of the plan is stated twice, here and in an included file"
                faults.append(files.places.locate(Fault("duplicate-name", message, (*path, key), key)))
            stated.setdefault(key, getattr(options, key))
        faults += [files.places.locate(fault.below(path)) for fault in plan_faults(options, problem)]
    return PlanOptions.model_construct(_fields_set=set(stated), **stated)


def _over(below: _Options, above: _Options) -> _Options:
    """Return options with those that others state over them."""
    return below.model_copy(update={name: getattr(above, name) for name in above.model_fields_set})


def _tidied(faults: Iterable[Fault], gaps: Gaps) -> list[Fault]:
    """Return the faults sorted by place, without followers and repetitions."""
    own = _without_followers([fault for fault in faults if not gaps.hides(fault)])
    unique = _sorted({_key(fault): fault for fault in own}.values())
    alike: dict[tuple[str, Any], list[Fault]] = {}
    for fault in unique:
        if fault.code == "unknown-name":
            alike.setdefault((fault.kind or "", str(fault.value)), []).append(fault)
    out = []
    for fault in unique:
        same = alike.get((fault.kind or "", str(fault.value)), []) if fault.code == "unknown-name" else []
        if len(same) > _MOST_ALIKE:
            if fault is not same[0]:
                continue
            fault = replace(fault, message=f"{fault.message} (and {len(same) - 1} more times)")
        out.append(fault)
    return out


def _without_followers(faults: list[Fault]) -> list[Fault]:
    """Return the faults without what only follows from another in the same row, or at the same place of the text."""
    twice = {(fault.file, fault.line) for fault in faults if fault.code in ("duplicate-name", "duplicate-object")}
    followers = ("duplicate-member", "duplicate-value")
    odd = {(fault.file, fault.line, fault.column) for fault in faults if fault.code == "yaml-syntax"}
    return [
        fault
        for fault in faults
        if (fault.code not in followers or (fault.file, fault.line) not in twice)
        and (fault.code == "yaml-syntax" or (fault.file, fault.line, fault.column) not in odd)
    ]


def _key(fault: Fault) -> tuple[Any, ...]:
    return fault.file, fault.line, fault.column, fault.code, fault.message


def _sorted(faults: Iterable[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda fault: (fault.file or "", fault.line or 0, fault.column or 0))
