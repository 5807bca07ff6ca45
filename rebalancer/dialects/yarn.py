"""Hadoop YARN: placement constraints over allocation tags and node attributes.

Follows YARN-6592 (the design document and Hadoop 3.3). Objects are allocations with the attributes ``tags``, ``app``
and ``app_tags``; containers are nodes, with ``rack`` and any other attribute. A constraint is asked of the allocations
that carry all source tags; the constraints of all levels hold together, so a narrower one can only be stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Dialect, Preference, Rule, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.permitted import permitted_rule
from rebalancer.dialects.yarn_syntax import Attribute, Node, Several, Tag, Tags, parse_spec, read_constraint
from rebalancer.problem import FaultList, Path, Problem
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from rebalancer.specs.expression import Count, Expression, Within
from rebalancer.specs.fallback_tiers import FallbackTiersSpec, Tier
from rebalancer.specs.fields import Name, Part, also_called
from rebalancer.specs.object_expression import ObjectExpressionSpec

_ANY = "ANY"


def _tags_of(value: Any) -> Any:
    """Read a single source tag as a list of one; ANY as none."""
    listed = [value] if isinstance(value, str) else value
    return [] if isinstance(listed, list) and listed == [_ANY] else listed


class MapEntry(Part):
    """An entry of a constraint map: who asks, and for what."""

    source_tags: Annotated[tuple[Name, ...], BeforeValidator(_tags_of, json_schema_input_type=str | list[str])] = Field(
        (), description="Tags that the asking allocations carry, all of them (their application counts); ANY: everyone."
    )
    app: Name | None = Field(None, description="Only allocations of this application ask.")
    constraint: Any = Field(
        description="In the shell language, or as a mapping.",
        validation_alias=also_called("constraint", "constraint_list"),
    )


class Yarn(Dialect):
    """Placement constraints of YARN.

    Notes
    -----
    In a finished assignment every asking allocation sees, in its own node or rack, so many others with the tags of the
    target. An allocation that asks for its own tag does not count itself, unless ``count`` says so. DELAYED_OR gives
    every allocation the first alternative that can be had; the delays are for schedulers that wait, and only the order
    (or a ``cost`` beside each) counts here.
    """

    key: ClassVar[str] = "yarn"
    sources: ClassVar[str] = "Hadoop 3.3 and the design document of YARN-6592"
    ruling: ClassVar[tuple[str, ...]] = ("map", "spec")

    map: tuple[MapEntry, ...] = Field((), description="Constraints of the requests, applications and the cluster.")
    spec: Name | None = Field(
        None, description="Requests in the shell language: zk(3),NOTIN,NODE,zk:spark(7),IN,RACK,zk."
    )
    count: Literal["others", "inclusive"] | None = Field(
        None,
        description=(
            "Whether an allocation counts itself in a cardinality of its own tag; left out: it does where the "
            "document's 'max-cardinality' is written, and does not otherwise."
        ),
    )
    several_tags: Literal["each", "any"] = Field(
        "each", description="Several tags in one target: each counted on its own, or as early 3.1 did, any of them."
    )
    attribute_values: Literal["any", "first"] = Field(
        "any", description="Several values of an attribute: any of them, or as the evaluator does, the first by name."
    )
    missing_attribute: Literal["accepted", "refused"] = Field(
        "accepted", description="What != makes of a node without the attribute; 2018 refused it."
    )

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return a rule per constraint and application."""
        asked: list[tuple[tuple[str, ...], str | None, Node, Path]] = []
        for position, entry in enumerate(self.map):
            path = ("map", position, "constraint")
            node = read_constraint(entry.constraint, path, faults)
            if node is not None:
                asked.append((entry.source_tags, entry.app, node, path))
        if self.spec is not None:
            for clause in parse_spec(self.spec, ("spec",), faults):
                if clause.constraint is not None:
                    tags = () if clause.tag is None else (clause.tag,)
                    asked.append((tags, None, clause.constraint, ("spec",)))
        if faults:
            return []
        reader = _Reader(self, facts)
        return [rule for one in asked for rule in reader.rules(*one)]


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what placement constraints mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Yarn`: ``spec="zk(3),NOTIN,NODE,zk"``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Yarn, problem, statement)


@dataclass(frozen=True, eq=False)
class _Meaning:
    """What a constraint means: as an expression, and as a test of one container.

    Parameters
    ----------
    expression : Expression
    test : callable
        State without the object, object, container -> whether it holds there.
    simple : (scope, targets, least, most, inclusive) or None
        Where it is nothing but a count.
    """

    expression: Expression
    test: Callable[[State, int, int], bool]
    simple: tuple[str, IntArray, int, int | None, bool] | None = None


class _Reader:
    """Turns constraints into rules."""

    def __init__(self, statement: Yarn, facts: Facts) -> None:
        self.statement = statement
        self.facts = facts
        self.tags = facts.texts("tags")
        self.apps = [own[0] if own else "" for own in facts.texts("app")]
        self.app_tags = facts.texts("app_tags")
        #: What asking and counted allocations are known by: tags, applications, and tags of these.
        self.known = {
            "tag": sorted({tag for own in self.tags for tag in own}),
            "application": sorted(set(self.apps) - {""}),
            "application tag": sorted({tag for own in self.app_tags for tag in own}),
        }
        #: Where the constraint stands that is read now.
        self.path: Path = ()

    def rules(self, source: tuple[str, ...], app: str | None, node: Node, path: Path) -> Iterator[Rule]:
        """Yield the rules of one constraint: one per asking application, as 'self' is another for each."""
        self.path = path
        for name in source:  # an application is as good as a tag here
            self._note("tag", name, self.known["application"])
        if app is not None:
            self._note("application", app)
        asking: dict[str, list[int]] = {}
        for position, own in enumerate(self.tags):
            known = {*own, self.apps[position]}
            if known.issuperset(source) and (app is None or app == self.apps[position]):
                asking.setdefault(self.apps[position] if _is_relative(node) else "", []).append(position)
        title = ",".join(source) or "every allocation"
        for owner, members in asking.items():
            text = f"{title} of {owner}" if len(asking) > 1 else title
            yield from self._conjuncts(text, node, owner, np.array(members, np.int64), path)

    def _conjuncts(self, title: str, node: Node, app: str, members: IntArray, path: Path) -> Iterator[Rule]:
        """Yield a rule for each part of an AND, so that each is reported on its own."""
        if isinstance(node, Several) and node.operator == "AND":
            for part in node.parts:
                yield from self._conjuncts(title, part, app, members, path)
        elif isinstance(node, Several) and node.operator == "TIERS":
            yield self._tiers(title, node, app, members, path)
        elif isinstance(node, Attribute):
            allowed = self._attribute(node)
            text = f"{title}: {shown(node)}"
            yield permitted_rule(self.facts, text, path, members, allowed, "its attribute is another")
        else:
            yield self._rule(title, node, app, members, path)

    def _rule(self, title: str, node: Node, app: str, members: IntArray, path: Path) -> Rule:
        meaning = self._meaning(node, app, members)
        who = self.facts.selection
        if meaning.simple is None:
            demand: Any = ObjectExpressionSpec(objects=who(members), holds=meaning.expression)
        else:
            scope, targets, least, most, inclusive = meaning.simple
            demand = ConditionalPresenceSpec(
                scope=scope,
                source=who(members),
                target=who(targets),
                min=least,
                max=most,
                count_self=inclusive,
                missing="refuse" if least else "unconstrained",
            )
        asking = frozenset(members.tolist())

        def check(state: State, obj: int, container: int) -> str | None:
            if obj not in asking or meaning.test(state, obj, container):
                return None
            return f"{shown(node)} does not hold there"

        return Rule(f"{title}: {shown(node)}", path, (demand,), check=check)

    def _tiers(self, title: str, node: Several, app: str, members: IntArray, path: Path) -> Rule:
        """DELAYED_OR: the first alternative that holds; each has its cost."""
        meanings = [self._meaning(part, app, members) for part in node.parts]
        tiers = tuple(
            Tier(holds=meaning.expression, cost=cost) for meaning, cost in zip(meanings, node.costs, strict=True)
        )
        spec = FallbackTiersSpec(objects=self.facts.selection(members), tiers=tiers)
        asking = frozenset(members.tolist())

        def tier(state: State, obj: int, container: int) -> float | None:
            if obj not in asking:
                return None
            return next((rank for rank, own in enumerate(meanings, 1) if own.test(state, obj, container)), None)

        def check(state: State, obj: int, container: int) -> str | None:
            fits = obj not in asking or tier(state, obj, container) is not None
            return None if fits else "none of the alternatives holds there"

        text = f"{title}: DELAYED_OR of {len(tiers)}"  # written out it would fill tables
        return Rule(text, path, (spec,), (Preference(spec),), check=check, score=tier)

    # -- what a constraint means --------------------------------------------------------------------------------------

    def _meaning(self, node: Node, app: str, members: IntArray) -> _Meaning:
        if isinstance(node, Attribute):
            allowed = self._attribute(node)
            problem = self.facts.problem
            items = tuple(problem.containers[where] for where in np.flatnonzero(allowed).tolist())
            within = Expression(within=Within(scope=problem.container_name, items=items))
            return _Meaning(within, lambda state, obj, container: bool(allowed[container]))
        if isinstance(node, Several):
            parts = [self._meaning(part, app, members) for part in node.parts]
            return _all(parts) if node.operator == "AND" else _any(parts)
        inclusive = node.inclusive is True if self.statement.count is None else self.statement.count == "inclusive"
        if not node.targets:
            return self._count(node.scope, members, node.least, node.most, inclusive)
        return _all([self._target(node, tags, app, inclusive) for tags in node.targets])

    def _target(self, node: Tags, tags: tuple[Tag, ...], app: str, inclusive: bool) -> _Meaning:
        """Return what one target means: its tags are counted one by one."""
        counted = [self._allocations(tag, app) for tag in tags]
        for tag, own in zip(tags, counted, strict=True):
            if node.least and tag.space == "self" and not len(own) and tag.name in self.known["tag"]:
                what = self.facts.problem.object_name
                hint = f"all/{tag.name}"
                message = f"no {what} of '{app}' has the tag '{tag.name}'; {hint} is that of any application"
                self.facts.warn("unknown-tag", message, self.path, tag.name, hint)
        if self.statement.several_tags == "each" or len(tags) < 2:
            return _all([self._count(node.scope, own, node.least, node.most, inclusive) for own in counted])
        bounds = []
        if node.least:
            bounds.append(_any([self._count(node.scope, own, node.least, None, inclusive) for own in counted]))
        if node.most is not None:
            bounds.append(_any([self._count(node.scope, own, 0, node.most, inclusive) for own in counted]))
        return _all(bounds)

    def _note(self, what: str, name: str, also: Iterable[str] = ()) -> None:
        """Warn where no allocation has such a tag or application."""
        known = [*self.known[what], *also]
        self.facts.note_absent(self.facts.problem.object_name, what, name, known, self.path)

    def _allocations(self, tag: Tag, app: str) -> IntArray:
        """Return the allocations that a tag means, seen from an application."""
        if tag.name in self.known["application"] and tag.name not in self.known["tag"]:
            what, hint = self.facts.problem.object_name, f"app-id/{tag.name}/TAG"
            message = f"no {what} has the tag '{tag.name}'; of the application '{tag.name}' it is {hint}"
            self.facts.warn("unknown-tag", message, self.path, tag.name, hint)
        else:
            self._note("tag", tag.name)
        if tag.owner:
            self._note("application" if tag.space == "app-id" else "application tag", tag.owner)

        def fits(position: int) -> bool:
            owner = self.apps[position]
            return {
                "all": True,
                "self": owner == app,
                "not-self": owner != app,
                "app-id": owner == tag.owner,
                "app-tag": tag.owner in self.app_tags[position],
            }[tag.space]

        return np.array(
            [position for position, own in enumerate(self.tags) if tag.name in own and fits(position)], np.int64
        )

    def _count(self, scope: str, counted: IntArray, least: int, most: int | None, inclusive: bool) -> _Meaning:
        """Return that so many of some allocations are in the own item of a scope."""
        name, item_of = self._scope(scope)
        missing: Literal["refuse", "unconstrained"] = "refuse" if least else "unconstrained"
        selection = self.facts.selection(counted)
        among = frozenset(counted.tolist())
        expression = Expression(
            count=Count(scope=name, of=selection, min=least, max=most, count_self=inclusive, missing=missing)
        )

        def test(state: State, obj: int, container: int) -> bool:
            item = item_of[container]
            if item < 0:
                return not least
            there = int((item_of[state.where[state.running(counted)]] == item).sum()) + (inclusive and obj in among)
            return least <= there and (most is None or there <= most)

        return _Meaning(expression, test, (name, counted, least, most, inclusive))

    def _scope(self, scope: str) -> tuple[str, NDArray[np.int32]]:
        problem = self.facts.problem
        if scope == "node":
            return problem.container_name, problem.scopes[problem.container_name].item_of
        self.facts.note_unknown(scope, self.path)
        values = [None if value is None else str(value) for value in self.facts.containers(scope)]
        name = self.facts.scope(scope, values)
        return name, self.facts.problem.scopes[name].item_of

    def _attribute(self, node: Attribute) -> NDArray[np.bool_]:
        """Return the nodes of which a condition on an attribute holds."""
        names = list(self.facts.problem.containers)
        if node.name.lower() in ("host", "node") and not self.facts.knows(node.name):
            own: list[Any] = names
        else:
            if node.values != ("",):
                self.facts.note_unknown(node.name, self.path)
            own = self.facts.containers(node.name)
            if node.name == "node-partition":  # a node without one is in the default partition
                own = ["" if value is None else value for value in own]
        wanted = sorted(node.values)[:1] if self.statement.attribute_values == "first" else node.values
        if not node.values:
            return np.full(len(names), not node.negated)
        if node.negated:
            lenient = self.statement.missing_attribute == "accepted"
            return np.array([lenient if value is None else str(value) not in wanted for value in own], bool)
        return np.array([value is not None and str(value) in wanted for value in own], bool)


def _all(parts: list[_Meaning]) -> _Meaning:
    if len(parts) == 1:
        return parts[0]
    expression = Expression(all_of=tuple(part.expression for part in parts))
    return _Meaning(expression, lambda state, obj, container: all(part.test(state, obj, container) for part in parts))


def _any(parts: list[_Meaning]) -> _Meaning:
    if len(parts) == 1:
        return parts[0]
    expression = Expression(any_of=tuple(part.expression for part in parts))
    return _Meaning(expression, lambda state, obj, container: any(part.test(state, obj, container) for part in parts))


def _is_relative(node: Node) -> bool:
    """Return whether a constraint means something else for every application."""
    if isinstance(node, Several):
        return any(map(_is_relative, node.parts))
    if isinstance(node, Attribute):
        return False
    return not node.targets or any(tag.space in ("self", "not-self") for tags in node.targets for tag in tags)


def shown(node: Node) -> str:
    """Return a constraint as one line."""
    if isinstance(node, Attribute):
        return f"{node.name}{'!=' if node.negated else '='}{','.join(node.values) or 'ANY'}"
    if isinstance(node, Several):
        name = "DELAYED_OR" if node.operator == "TIERS" else node.operator
        return f"{name}({' : '.join(map(shown, node.parts))})"
    tags = ",".join(str(tag).removeprefix("self/") for target in node.targets for tag in target) or "who asks"
    if (node.least, node.most) == (1, None):
        return f"IN,{node.scope.upper()},{tags}"
    if (node.least, node.most) == (0, 0):
        return f"NOTIN,{node.scope.upper()},{tags}"
    return f"CARDINALITY,{node.scope.upper()},{tags},{node.least},{'∞' if node.most is None else node.most}"


__all__ = ["MapEntry", "Yarn", "parse", "shown"]
