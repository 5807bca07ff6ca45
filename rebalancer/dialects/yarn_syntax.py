"""Placement constraints of Hadoop YARN: the shell language, the document's notation and the API's form.

The shell language::

    spec    := clause (':' clause)*                       a ':' in brackets does not count
    clause  := source [',' expr] | expr                   an expression alone: a node attribute, and the only clause
    source  := TAG '(' COUNT ')' | TAG '=' COUNT
    expr    := IN|NOTIN ',' scope ',' tag (',' tag)*
             | CARDINALITY ',' scope ',' tag (',' tag)* ',' MIN ',' MAX
             | AND|OR '(' expr (':' expr)* ')'
             | NAME '=' value (',' value)* | NAME '!=' value (',' value)*
    tag     := NAME | self/NAME | not-self/NAME | all/NAME | app-id/ID/NAME | app-tag/TAG/NAME
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from rebalancer.problem import FaultList, Path, nearest, to_fraction

_Read = TypeVar("_Read")

NAMESPACES = ("self", "not-self", "all", "app-id", "app-tag")
KEYWORDS = ("IN", "NOTIN", "CARDINALITY", "AND", "OR")
SCOPES = ("node", "rack")
#: What can only be the beginning of an expression.
_EXPRESSION = re.compile(r"\s*,\s*(?:(?:IN|NOTIN|CARDINALITY)\s*,|(?:AND|OR)\s*\(|[\w./-]+\s*!?=)", re.IGNORECASE)
_SOURCE = re.compile(r"\s*([\w./-]+)\s*(?:\(\s*(\d+)\s*\)|=\s*(\d+))\s*")


@dataclass(frozen=True)
class Tag:
    """An allocation tag of some applications.

    Parameters
    ----------
    space : str
        One of `NAMESPACES`.
    owner : str
        The application or its tag, of app-id and app-tag.
    name : str
    """

    name: str
    space: str = "self"
    owner: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.space, self.owner, self.name)))


@dataclass(frozen=True)
class Tags:
    """How many allocations with some tags are in the scope item.

    Parameters
    ----------
    scope : str
        ``node``, ``rack``, or an attribute of nodes.
    targets : tuple of tuple of Tag
        Each has to hold; in one target several tags are counted one by one. Without any: those who ask are counted.
    least : int
    most : int or None
    inclusive : bool or None
        Whether an allocation counts itself; None: as the statement says.
    """

    scope: str
    targets: tuple[tuple[Tag, ...], ...]
    least: int
    most: int | None
    inclusive: bool | None = None


@dataclass(frozen=True)
class Attribute:
    """What an attribute of the node is, or is not; without values: anything."""

    name: str
    values: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True)
class Several:
    """AND, OR, or alternatives in order of preference with their costs."""

    operator: str
    parts: tuple[Node, ...]
    costs: tuple[Fraction, ...] = ()


Node: TypeAlias = Tags | Attribute | Several


@dataclass(frozen=True)
class Clause:
    """A request of the shell language: so many allocations of a tag, and where they may be."""

    tag: str | None
    count: int
    constraint: Node | None


class _Wrong(ValueError):
    """A mistake in a text: what is wrong, the piece, and the piece that was probably meant; and further ones."""

    def __init__(self, message: str, piece: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.piece = piece
        self.suggestion = suggestion
        self.more: list[_Wrong] = []

    def report(self, text: str, path: Path, faults: FaultList) -> None:
        """Report everything that is wrong with a text, by its line where it has several."""
        for one in (self, *self.more):
            at = text.find(one.piece.strip())
            line = (text.count("\n", 0, at),) if at >= 0 and "\n" in text else ()
            faults.report("yarn-syntax", str(one), (*path, *line), one.piece, one.suggestion)


def _each(read: Callable[[str], _Read], pieces: Iterable[str]) -> tuple[_Read, ...]:
    """Read all pieces; what is wrong with any of them is raised as one."""
    out: list[_Read] = []
    wrong: list[_Wrong] = []
    for piece in pieces:
        try:
            out.append(read(piece))
        except _Wrong as one:
            wrong += (one, *one.more)
    if wrong:
        wrong[0].more = wrong[1:]
        raise wrong[0]
    return tuple(out)


# -- the shell language -----------------------------------------------------------------------------------------------


def parse_spec(text: str, path: Path, faults: FaultList) -> list[Clause]:
    """Return the clauses of a text in the shell language; what is wrong goes to ``faults``."""
    try:
        pieces = _split(text, ":")
        return list(_each(lambda piece: _clause(piece, len(pieces) == 1), pieces))
    except _Wrong as wrong:
        wrong.report(text, path, faults)
        return []


def _clause(text: str, alone: bool) -> Clause:
    """Return one clause. ``TAG=COUNT`` of the first releases is a condition on an attribute where it stands alone."""
    source = _SOURCE.match(text)
    rest = text[source.end() :] if source else ""
    if source and (source[2] or not alone or _EXPRESSION.match(rest)) and (not rest or rest[0] == ","):
        if rest and not rest[1:].strip():
            raise _Wrong(f"a constraint is missing after '{text.strip()}'", text)
        return Clause(source[1], int(source[2] or source[3]), _expression(rest[1:]) if rest else None)
    if not alone:
        raise _Wrong(f"expected 'tag(count)' or 'tag(count),constraint', got '{text.strip()}'", text)
    expression = _expression(text)
    if not _only_attributes(expression):
        raise _Wrong(f"'{text.strip()}' says not whose constraint it is: write 'tag(count),{text.strip()}'", text)
    return Clause(None, 0, expression)


def _only_attributes(node: Node) -> bool:
    return isinstance(node, Attribute) or (isinstance(node, Several) and all(map(_only_attributes, node.parts)))


def parse_expression(text: str, path: Path, faults: FaultList) -> Node | None:
    """Return one expression of the shell language; what is wrong goes to ``faults``."""
    try:
        return _expression(text)
    except _Wrong as wrong:
        wrong.report(text, path, faults)
        return None


def _expression(text: str) -> Node:
    text = text.strip()
    whole = re.fullmatch(r"(\w+)\s*\((.*)\)", text, re.DOTALL)
    if whole and whole[1].upper() in ("AND", "OR"):
        return Several(whole[1].upper(), _each(_expression, _split(whole[2], ":")))
    words = [word.strip() for word in _split(text, ",")]
    keyword = words[0].upper()
    if keyword in ("IN", "NOTIN", "CARDINALITY"):
        return _tags(keyword, words[1:], text)
    attribute = re.fullmatch(r"([\w./-]+)\s*(!?=)\s*(.+)", words[0])
    if attribute:
        values = tuple(value for value in (attribute[3].strip(), *words[1:]) if value)
        return Attribute(attribute[1], values, attribute[2] == "!=")
    close = nearest(re.split(r"\W", keyword)[0], KEYWORDS)
    hint = f"; did you mean '{close}'?" if close else f"; there is {', '.join(KEYWORDS)}, and name=value"
    raise _Wrong(f"unknown constraint '{words[0]}'{hint}", words[0], close)


def _tags(keyword: str, words: list[str], text: str) -> Tags:
    if not words or words[0].lower() not in SCOPES:
        seen = words[0] if words else ""
        close = nearest(seen, SCOPES)
        hint = f"; did you mean '{close.upper()}'?" if close else "; there is NODE, RACK"
        raise _Wrong(f"unknown scope '{seen}' of {keyword}{hint}", seen, close and close.upper())
    least, most = (1, None) if keyword == "IN" else (0, 0)
    names = words[1:]
    if keyword == "CARDINALITY":
        if len(names) < 3 or not all(word.isdigit() for word in names[-2:]):
            raise _Wrong(f"expected 'CARDINALITY,scope,tag,…,min,max', got '{text}'", text)
        least, most, names = int(names[-2]), int(names[-1]), names[:-2]
        if most < least:
            raise _Wrong(f"the largest number {most} of '{text}' is below the least one, {least}", text)
    if not names:
        raise _Wrong(f"'{text}' names no allocation tag", text)
    return Tags(words[0].lower(), tuple((tag,) for tag in _each(_tag, names)), least, most)


def _tag(text: str) -> Tag:
    """Return a tag with its namespace."""
    parts = text.split("/")
    if len(parts) == 1 and parts[0]:
        return Tag(parts[0])
    space, rest = parts[0].lower(), parts[1:]
    if space not in NAMESPACES:
        close = nearest(space, NAMESPACES)
        hint = f"; did you mean '{close}'?" if close else f"; there is {', '.join(NAMESPACES)}"
        raise _Wrong(f"unknown namespace '{parts[0]}' of tag '{text}'{hint}", text, close)
    owned = space in ("app-id", "app-tag")
    if len(rest) != 1 + owned or not all(rest):
        form = f"{space}/{'ID' if space == 'app-id' else 'TAG'}/tag" if owned else f"{space}/tag"
        raise _Wrong(f"expected '{form}', got '{text}'", text)
    return Tag(rest[-1], space, rest[0] if owned else "")


def _split(text: str, separator: str) -> list[str]:
    """Split a text at a separator that is in no brackets."""
    depth, pieces, begin = 0, [], 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            raise _Wrong(f"a ')' too many in '{text.strip()}'", text)
        if char == separator and depth == 0:
            pieces.append(text[begin:position])
            begin = position + 1
    if depth:
        raise _Wrong(f"a ')' is missing in '{text.strip()}'", text)
    return [*pieces, text[begin:]]


# -- mappings: the API's form and the notation of the document --------------------------------------------------------

#: Keys as they are compared -> what they are.
_KEYS = {
    "scope": "scope",
    "target": "target",
    "targets": "targets",
    "min": "min",
    "mincardinality": "min",
    "max": "max",
    "maxcardinality": "max",
    "nodeattribute": "attribute",
    "op": "op",
    "values": "values",
    "and": "AND",
    "or": "OR",
    "delayedor": "TIERS",
    "constraint": "constraint",
    "delay": "delay",
    "cost": "cost",
}
#: What may stand beside the field that says which form a constraint has; without such a field it is a count.
_BESIDE = {
    "AND": set(),
    "OR": set(),
    "TIERS": set(),
    "constraint": set(),
    "attribute": {"op", "values", "scope"},  # whose scope is always the node
    "target": {"scope", "min", "max"},
    "": {"targets", "scope", "min", "max"},
}
_TARGET = re.compile(
    r"\s*(allocation-tag|node-attribute\s*:\s*[\w./-]+)\s+(IN|NOT_?IN)\s+[\"“]?([^\"”]*)[\"”]?\s*", re.IGNORECASE
)


def read_constraint(value: Any, path: Path, faults: FaultList, alternative: bool = False) -> Node | None:
    """Return a constraint given as text or mapping; what is wrong goes to ``faults``.

    Parameters
    ----------
    alternative : bool
        Whether it is one of DELAYED_OR, and so may have a cost and a delay.
    """
    if isinstance(value, str):
        return parse_expression(value, path, faults)
    if isinstance(value, list | tuple):  # the document's constraintList: all of them
        return _several("AND", value, path, faults)
    if not isinstance(value, Mapping):
        faults.report("yarn-syntax", "expected a constraint as text or mapping", path, value)
        return None
    found: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    strangers = 0
    for key, own in value.items():
        plain = re.sub(r"[-_ ]", "", str(key)).lower()
        meant = _KEYS.get(plain)
        if meant is None:
            strangers += 1
            close = nearest(plain, _KEYS)
            hint = f"; did you mean '{close}'?" if close else ""
            faults.report("yarn-syntax", f"unknown field '{key}' of a constraint{hint}", (*path, key), key, close)
            meant = _KEYS.get(close or "")  # read on, for what else is wrong
        if meant is not None and meant not in found:
            found[meant] = own
            spelled[meant] = str(key)
    if strangers and not found:
        return None
    before = len(faults)
    form = next((name for name in _BESIDE if name in found), "")
    fitting = {form, *_BESIDE[form], *(("cost", "delay") if alternative else ())}
    for name, own in spelled.items():
        if name in fitting:
            continue
        reason = f"does not go with '{spelled[form]}'" if form else "needs a node attribute that it is about"
        if name in ("cost", "delay"):
            reason = "belongs to an alternative of DELAYED_OR"
        faults.report("yarn-syntax", f"'{own}' {reason}", (*path, own), own)
    strangers += len(faults) > before
    node = _mapping(form, found, spelled, path, faults)
    return None if strangers else node


def _mapping(
    form: str, found: Mapping[str, Any], spelled: Mapping[str, str], path: Path, faults: FaultList
) -> Node | None:
    """Return a constraint given by its fields: what each is, and how it was spelled."""
    if form in ("AND", "OR", "TIERS"):
        return _several(form, found[form], (*path, spelled[form]), faults)
    if form == "constraint":
        return read_constraint(found[form], (*path, spelled[form]), faults)
    return _condition(found, spelled, path, faults) if form == "attribute" else _count(found, spelled, path, faults)


def _several(operator: str, parts: Any, path: Path, faults: FaultList) -> Node | None:
    if not isinstance(parts, list | tuple) or not parts:
        faults.report("yarn-syntax", "expected a list of constraints", path, parts)
        return None
    before = len(faults)
    tiers = operator == "TIERS"
    read = [read_constraint(part, (*path, position), faults, tiers) for position, part in enumerate(parts)]
    costs = []
    for position, part in enumerate(parts):
        stated = part.get("cost") if isinstance(part, Mapping) else None
        try:
            costs.append(Fraction(position) if stated is None else to_fraction(stated))
        except ValueError as error:
            faults.report("yarn-syntax", f"cost: {error}", (*path, position, "cost"), stated)
    if len(faults) > before:
        return None
    return Several(operator, tuple(part for part in read if part is not None), tuple(costs))


def _condition(found: Mapping[str, Any], spelled: Mapping[str, str], path: Path, faults: FaultList) -> Node | None:
    """Return a condition on a node attribute."""
    before = len(faults)
    operator = str(found.get("op", "EQ")).upper()
    if operator not in ("EQ", "NE", "IN", "NOT_IN"):
        close = nearest(operator, ("EQ", "NE"))
        faults.report("yarn-syntax", f"expected EQ or NE, got '{operator}'", (*path, spelled["op"]), operator, close)
    names = _texts(found["attribute"], (*path, spelled["attribute"]), faults)
    values = _texts(found.get("values", ()), (*path, spelled.get("values", "values")), faults)
    if len(names) != 1 and len(faults) == before:
        faults.report("yarn-syntax", "expected one attribute", (*path, spelled["attribute"]), ", ".join(names))
    if len(faults) > before:
        return None
    return _attribute(names[0], values, operator in ("NE", "NOT_IN"), path, faults)


def _texts(value: Any, path: Path, faults: FaultList) -> tuple[str, ...]:
    """Return a text, or those of a list; whole numbers are texts as well."""
    listed = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(one, bool) or not isinstance(one, str | int) for one in listed):
        faults.report("yarn-syntax", f"expected a text or a list of texts, got '{value}'", path, value)
        return ()
    return tuple(map(str, listed))


def _count(found: Mapping[str, Any], spelled: Mapping[str, str], path: Path, faults: FaultList) -> Node | None:
    """Return a target constraint, or a cardinality."""
    before = len(faults)
    scope = str(found.get("scope", "node"))
    scope = "node" if scope.lower() == "host" else scope.lower() if scope.lower() in SCOPES else scope
    bounds: dict[str, int | None] = {"min": None, "max": None}
    for bound in bounds:
        if found.get(bound) is not None:
            try:
                number = to_fraction(found[bound])
            except ValueError:
                number = Fraction(-1)
            if number < 0 or number.denominator != 1:
                message = f"expected a whole number, got '{found[bound]}'"
                faults.report("yarn-syntax", message, (*path, spelled[bound]), found[bound])
            bounds[bound] = int(number)
    least, most = bounds["min"], bounds["max"]
    if len(faults) == before and least is not None and most is not None and most < least:
        message = f"the largest number, {most}, is below the least one, {least}"
        faults.report("yarn-syntax", message, (*path, spelled["max"]), found["max"])
    if len(faults) == before and least == 0 and most is None:
        message = f"'{spelled['min']}: 0' without a largest number asks for nothing"
        faults.report("yarn-syntax", message, (*path, spelled["min"]), 0)
    if "target" in found:
        below = (*path, spelled["target"])
        stated, single = found["target"], not isinstance(found["target"], list | tuple)
        places = [below] if single else [(*below, number) for number in range(len(stated))]
        read = [
            _target(str(one), scope, least, most, place, faults)
            for one, place in zip([stated] if single else stated, places, strict=True)
        ]
        parts = tuple(one for one in read if one is not None)
        if not read:
            faults.report("yarn-syntax", "expected targets", below, stated)
        if (least, most) != (None, None) and read and all(isinstance(one, Attribute) for one in read):
            message = "a number goes with allocation tags; say in another constraint which nodes are meant"
            faults.report("yarn-syntax", message, below, stated)
        if len(faults) > before:
            return None
        return parts[0] if single else Several("AND", parts)
    document = any("cardinality" in name.lower() for name in (spelled.get("min", ""), spelled.get("max", "")))
    if least is None and most is None:
        faults.report("yarn-syntax", "a constraint needs a target, or the least or largest number", path)
    targets: list[tuple[Tag, ...]] = []
    stated = found.get("targets", ())
    for position, names in enumerate(stated if isinstance(stated, list | tuple) else (stated,)):
        below = (*path, spelled["targets"], position)
        targets.append(_named(_texts(names, below, faults), "", below, faults))
    return None if len(faults) > before else Tags(scope, tuple(targets), least or 0, most, True if document else None)


def _named(names: Sequence[str], text: str, path: Path, faults: FaultList) -> tuple[Tag, ...]:
    """Return the tags of a target, of which there has to be one at least."""
    if not names:
        faults.report("yarn-syntax", f"'{text}' names no allocation tag", path, text)
    try:
        return _each(_tag, names)
    except _Wrong as wrong:
        wrong.report(text, path, faults)
        return ()


def _attribute(name: str, values: Sequence[str], negated: bool, path: Path, faults: FaultList) -> Attribute:
    """Return a condition on an attribute: ANY is any value, and no value the default partition."""
    if not values and name == "node-partition":
        values = ("",)
    elif not values:
        faults.report("yarn-syntax", f"a condition on '{name}' needs a value; ANY is any", path, name)
    return Attribute(name, () if tuple(values) == ("ANY",) else tuple(values), negated)


def _target(text: str, scope: str, least: int | None, most: int | None, path: Path, faults: FaultList) -> Node | None:
    """Return a target in the notation of the document: ``allocation-tag IN "hbase-m"``."""
    read = _TARGET.fullmatch(text)
    if read is None:
        message = f"expected 'allocation-tag IN tag' or 'node-attribute:name IN value', got '{text}'"
        faults.report("yarn-syntax", message, path, text)
        return None
    names = [word.strip() for word in read[3].split(",") if word.strip()]
    negated = read[2].upper() != "IN"
    if read[1].lower().startswith("node-attribute"):
        return _attribute(read[1].partition(":")[2].strip(), names, negated, path, faults)
    tags = _named(names, text, path, faults)
    if (least, most) == (None, None):
        return Tags(scope, (tags,), 0, 0) if negated else Tags(scope, (tags,), 1, None)
    if negated:
        faults.report("yarn-syntax", "a number counts who has a tag: it goes with IN, not with NOT_IN", path, text)
    return Tags(scope, (tags,), least or 0, most, True)
