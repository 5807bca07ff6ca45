"""Entries of ``constraints`` and ``goals``: one spec each, and what stands beside it.

A constraint may be a statement in the language of another scheduler instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rebalancer.dialects import registry as dialects
from rebalancer.dialects.base import Dialect
from rebalancer.dialects.entries import Rules
from rebalancer.problem import Fault, Path, nearest
from rebalancer.scenario.document import Document
from rebalancer.scenario.sections import ConstraintOptions, GoalOptions, RulesOptions
from rebalancer.scenario.settle import settle
from rebalancer.scenario.wording import shown
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.entries import Constraint, Goal, Policy
from rebalancer.specs.fields import exact, field_key

_OPTIONS: dict[str, type[ConstraintOptions] | type[GoalOptions]] = {
    "constraints": ConstraintOptions,
    "goals": GoalOptions,
}
_OTHER = {"constraints": "goals", "goals": "constraints"}
_EXAMPLE = {"constraints": "capacity", "goals": "balance"}


@dataclass(frozen=True)
class ReadEntry:
    """One entry.

    Parameters
    ----------
    entry : Constraint, Goal or Rules
        Its path starts with the prefix of its file.
    sound : bool
        False: it was repaired, and only good for finding further faults.
    replaced : frozenset of Path
        Where something stands in it that was not stated.
    """

    entry: Constraint | Goal | Rules
    sound: bool
    replaced: frozenset[Path] = frozenset()

    def is_stated(self, fault: Fault) -> bool:
        """Return whether a fault is about what was stated, not about what stands in its place."""
        return not any(fault.path[:length] in self.replaced for length in range(len(fault.path) + 1))


def read_entries(
    section: str, raw: Sequence[Any], document: Document, prefix: Path, policy: Policy, faults: list[Fault]
) -> list[ReadEntry]:
    """Return the entries of a section.

    Parameters
    ----------
    section : str
        ``constraints`` or ``goals``.
    raw : sequence
        As read from YAML.
    document : Document
        Whose section it is; learns which keys were misspelt.
    prefix : tuple
        Of the paths into that document.
    policy : Policy
        For constraints that name none.
    faults : list of Fault
        Gets what is wrong.
    """
    read = []
    for position, content in enumerate(raw):
        reader = _Entry(section, content, document, prefix, (section, position))
        entry = reader.read(policy)
        if entry is not None:
            replaced = frozenset((*prefix, *path) for path in reader.replaced)
            read.append(ReadEntry(entry, not reader.faults and reader.sound, replaced))
        faults.extend(reader.faults)
    return read


class _Entry:
    """Reads one entry."""

    def __init__(self, section: str, content: Any, document: Document, prefix: Path, path: Path) -> None:
        self.section = section
        self.content = content
        self.document = document
        self.prefix = prefix
        self.path = path
        self.faults: list[Fault] = []
        self.sound = True
        self.replaced: set[Path] = set()

    def read(self, policy: Policy) -> Constraint | Goal | Rules | None:
        if not isinstance(self.content, Mapping):
            self._not_a_mapping()
            return None
        found = self._split(self.content)
        if found is None:
            return None
        typed, key, beside = found
        body = {} if self.content[typed] is None else self.content[typed]
        if self._is_not_indented(typed, key, beside):
            return None
        if key in dialects.BUILT_IN and self.section == "goals":
            message = f"{key} stands under 'constraints', also where it only prefers: what it prefers becomes goals"
            self._report("wrong-kind", message, typed, value=typed)
            return None
        options = self._options(beside, key)
        spec = self._spec(key, body)
        if spec is None or options is None:
            return None
        path = (*self.prefix, *self.path)
        if isinstance(spec, Dialect):
            return _rules(spec, options, policy, path)
        name = options.name
        if name is not None and spec.name is not None:
            self._report(
                "two-names",
                f"the name is given twice: '{spec.name}' inside {key}, '{name}' beside it",
                "name",
                value=name,
            )
            name = None
        if isinstance(options, GoalOptions):
            return Goal(spec, name, exact(options.weight), options.tuple_pos, path)
        chosen = options.policy or policy
        return Constraint(
            spec,
            name,
            chosen,
            exact(options.invalid_cost),
            exact(options.invalid_state),
            options.tuple_pos_if_broken,
            path,
            options.in_flight,
        )

    def _report(
        self, code: str, message: str, *below: str | int, value: Any = None, suggestion: str | None = None
    ) -> None:
        self.faults.append(Fault(code, message, (*self.prefix, *self.path, *below), value, suggestion))

    def _add(self, faults: list[Fault]) -> None:
        self.sound = self.sound and not faults
        self.faults.extend(fault.below(self.prefix) for fault in self.document.without_followers(faults))

    def _not_a_mapping(self) -> None:
        what = self.section[:-1]
        if isinstance(self.content, str) and registry.canonical_key(self.content) in _keys():
            example = f"{self.content}: {{…}}"
            self._report(
                "wrong-type",
                f"a {what} is a spec with its fields: expected '{example}', got '{self.content}'",
                value=self.content,
                suggestion=example,
            )
            return
        example = f"{_EXAMPLE[self.section]}: {{scope: …, dimension: …}}"
        self._report(
            "wrong-type", f"expected a {what} such as '{example}', got {shown(self.content)}", value=self.content
        )

    # -- which key is the spec ----------------------------------------------------------------------------------------

    def _split(self, content: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]] | None:
        """Return the key of the spec as typed and as meant, and what stands beside it."""
        known = _keys()
        options = _OPTIONS[self.section].model_fields
        specs = [
            typed for typed in content if registry.canonical_key(typed) in known and field_key(typed) not in options
        ]
        beside = {typed: value for typed, value in content.items() if typed not in specs}
        if len(specs) > 1:
            for typed in specs[1:]:
                message = (
                    f"an entry holds one spec, and '{specs[0]}' stands here already; start a new one: '- {typed}:'"
                )
                self._report("two-specs", message, typed, value=typed)
        if specs:
            key = registry.canonical_key(specs[0])
            if field_key(specs[0]) != key:
                self.document.renamed[(*self.path, key)] = specs[0]
            return specs[0], key, beside
        return self._misspelt(content, known, options)

    def _misspelt(
        self, content: Mapping[str, Any], known: list[str], options: Mapping[str, Any]
    ) -> tuple[str, str, dict[str, Any]] | None:
        strangers = [
            typed for typed in content if field_key(typed) not in options and field_key(typed) not in self._foreign()
        ]
        mappings = [typed for typed in strangers if isinstance(content[typed], Mapping)]
        if not strangers:
            what = self.section[:-1]
            self._report(
                "missing-spec", f"this {what} has no spec, only {', '.join(repr(key) for key in content) or 'nothing'}"
            )
            return None
        typed = (mappings or strangers)[0]
        meant = registry.canonical_key(typed)
        missing = registry.unloadable().get(meant)
        if missing is not None:
            self._report("unloadable-spec", f"there is no spec '{typed}': {missing}", typed, value=typed)
            return None
        close = nearest(meant, known)
        hint = f"; did you mean '{close}'?" if close else f"; there is {', '.join(known)}"
        self._report("unknown-spec", f"unknown spec '{typed}'{hint}", typed, value=typed, suggestion=close)
        if close is None:
            return None
        self.document.renamed[(*self.path, close)] = typed
        return typed, close, {key: value for key, value in content.items() if key != typed}

    def _foreign(self) -> Mapping[str, Any]:
        """Return the fields that stand beside specs of the other section."""
        return _OPTIONS[_OTHER[self.section]].model_fields

    def _is_not_indented(self, typed: str, key: str, beside: Mapping[str, Any]) -> bool:
        """Report a spec whose fields stand beside it, where they should be indented deeper."""
        if self.content[typed] is not None or not beside:
            return False
        fields = _kind(key).model_fields
        own = [name for name in beside if field_key(name) in fields and field_key(name) != "name"]
        if not own:
            return False
        message = f"'{own[0]}' is a field of {key} and must be indented deeper than '{typed}:'"
        self._report("not-indented", message, own[0], value=own[0])
        return True

    # -- the parts ----------------------------------------------------------------------------------------------------

    def _options(self, beside: Mapping[str, Any], key: str) -> ConstraintOptions | GoalOptions | None:
        kind = RulesOptions if key in dialects.BUILT_IN else _OPTIONS[self.section]
        hints = {
            name: f": it belongs to {_OTHER[self.section]}, not to {self.section}"
            for name in self._foreign()
            if name not in kind.model_fields
        }
        inside = _kind(key).model_fields
        hints |= {name: f": it is a field of {key}; indent it below '{key}:'" for name in inside if name not in hints}
        settled = settle(kind, dict(beside), self.path, f"this {self.section[:-1]}", hints)
        self.document.renamed.update(settled.renamed)
        self._add(settled.faults)
        options: ConstraintOptions | GoalOptions | None = settled.value
        return options

    def _spec(self, key: str, body: Any) -> Spec | Dialect | None:
        kind = _kind(key)
        path = (*self.path, key)
        if not isinstance(body, Mapping):
            example = next((name for name, info in kind.model_fields.items() if info.is_required()), "scope")
            message = f"expected the fields of {key}, such as '{key}: {{{example}: …}}', got {shown(body)}"
            self._report("wrong-type", message, key, value=body)
            return None
        settled = settle(kind, dict(body), path, key, dict(self._misplaced(kind)))
        self.document.renamed.update(settled.renamed)
        self._add(settled.faults)
        self.replaced = settled.replaced
        spec: Spec | Dialect | None = settled.value
        return spec

    def _misplaced(self, kind: type[Spec] | type[Dialect]) -> Iterator[tuple[str, str]]:
        """Yield hints about fields that belong beside the spec, not inside it."""
        for name in _OPTIONS[self.section].model_fields:
            if name not in kind.model_fields:
                yield name, f": it stands beside the spec; indent it like '{kind.key}:'"


def _keys() -> list[str]:
    """Return the keys of all specs and of all languages of other schedulers."""
    return [*registry.keys(), *dialects.BUILT_IN]


def _kind(key: str) -> type[Spec] | type[Dialect]:
    """Return the class of a key."""
    return dialects.get(key) if key in dialects.BUILT_IN else registry.get(key)


def _rules(statement: Dialect, options: ConstraintOptions | GoalOptions, policy: Policy, path: Path) -> Rules:
    assert isinstance(options, RulesOptions)
    return Rules(
        statement,
        options.name,
        options.policy or policy,
        exact(options.invalid_cost),
        exact(options.invalid_state),
        options.tuple_pos_if_broken,
        exact(options.weight),
        options.tuple_pos,
        path,
        options.in_flight,
    )
