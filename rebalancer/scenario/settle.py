"""Validates values against pydantic types, says every fault in plain words, and goes on with what remains.

A value with a fault is repaired rather than given up, so that one run finds the other faults as well: a misspelt field
is read as the one that was meant, a wrong value is taken out, and what is wrong only as a whole is read field by
field. Whoever asks learns that the value was repaired and must not use it beyond looking for further faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from rebalancer.problem import Fault, Path, PlainText, nearest
from rebalancer.scenario.model_walk import bare, field_named, model_at, note_spellings, snake_spellings, type_at
from rebalancer.scenario.wording import flag_for, own_error, shown
from rebalancer.specs.fields import ONE_BY_ONE, NotTogether, field_key

T = TypeVar("T")

#: Stands where a name is missing or wrong; faults about it are followers of one that was reported.
MISSING = "\0missing"
#: What is tried in the place of a value that is missing or wrong, so that the rest can be checked.
_FILLINGS: tuple[Any, ...] = (PlainText(MISSING), PlainText("1"), [], {})
_ROUNDS = 40


@dataclass
class Settled(Generic[T]):
    """A validated value.

    Parameters
    ----------
    value : T or None
        None where not even a repair gave a valid one.
    faults : list of Fault
        Paths start with the path that was handed in. Not empty: the value was repaired.
    renamed : dict
        Paths of the fields that misspelt keys were read as, to those keys.
    replaced : set of Path
        Where something else stands now: what is wrong with that follows from a fault that was reported.
    """

    value: T | None
    faults: list[Fault] = field(default_factory=list)
    renamed: dict[Path, str] = field(default_factory=dict)
    replaced: set[Path] = field(default_factory=set)


def settle(annotation: Any, data: Any, path: Path, label: str, hints: Mapping[str, str] | None = None) -> Settled[Any]:
    """Validate ``data``.

    Parameters
    ----------
    annotation : type
        A pydantic model or anything that a ``TypeAdapter`` takes.
    data : object
        As read from YAML. It is not changed.
    path : tuple of str or int
        Where it stands.
    label : str
        What messages call it.
    hints : mapping, optional
        What to add to the message about an unknown field of some name.
    """
    adapter = _adapter(annotation)
    settled: Settled[Any] = Settled(None)
    touched: dict[Path, int] = {}
    context = None
    for _ in range(_ROUNDS):
        try:
            settled.value = adapter.validate_python(data, context=context)
            note_spellings(bare(annotation), data, path, settled.renamed)
            return settled
        except ValidationError as error:
            errors = error.errors(include_url=False)
        kept = context is None and all(map(_is_whole, errors))
        data = _Repair(annotation, data, path, label, settled, touched, hints or {}).run(errors, context is None)
        if data is _HOPELESS:
            return settled
        context = ONE_BY_ONE if kept else None
    return settled


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


_HOPELESS = object()


class _Repair:
    """One round: reports the errors of a validation and edits the value so that they go away."""

    def __init__(
        self,
        annotation: Any,
        data: Any,
        path: Path,
        label: str,
        settled: Settled[Any],
        touched: dict[Path, int],
        hints: Mapping[str, str],
    ) -> None:
        self.annotation = annotation
        self.data = data
        self.path = path
        self.label = label
        self.faults = settled.faults
        self.renamed = settled.renamed
        self.replaced = settled.replaced
        self.touched = touched
        self.hints = hints

    def run(self, errors: list[Any], keep_whole: bool) -> Any:
        """Return the edited value. What is wrong only as a whole may stay (``keep_whole``): its fields are in order."""
        # Misspelt fields first: a field that is missing because its name is misspelt is then not reported as well.
        self.data = _copy(self.data)
        renamed: set[Path] = set()
        for error in errors:
            if error["type"] == "extra_forbidden":
                self._unknown_field(error["loc"], renamed)
        removals: list[Path] = []
        for error in errors:
            if error["type"] == "extra_forbidden":
                continue
            if error["type"] == "missing":
                model = model_at(self.annotation, error["loc"][:-1])
                name = field_named(model, str(error["loc"][-1])) or str(error["loc"][-1])
                if (*error["loc"][:-1], name) in renamed:
                    continue
                loc = (*self._real(error["loc"][:-1]), name)
                if not self._was_touched(loc):
                    where = self._name_of(loc[:-1])
                    self._report("missing-field", f"missing field '{name}' of {where}", loc[:-1], name)
                if not self._fill(loc, name):
                    return _HOPELESS
                continue
            is_key = error["loc"] and error["loc"][-1] == "[key]"
            loc = self._real(error["loc"][:-1] if is_key else error["loc"])
            if not self._was_touched(loc) and not (error["type"] == "value_error" and self._has_repairs(loc)):
                self._wrong_value(error, loc)
            if not (keep_whole and _is_whole(error)):
                removals.append(loc)
        for loc in sorted(set(removals), key=lambda where: [str(step).rjust(9) for step in where], reverse=True):
            if not self._take_out(loc):
                return _HOPELESS
        return self.data

    # -- saying it ----------------------------------------------------------------------------------------------------

    def _report(self, code: str, message: str, loc: Path, value: Any = None, suggestion: str | None = None) -> None:
        fault = Fault(code, message, (*self.path, *loc), value, suggestion)
        if fault not in self.faults:  # what stays is found in every round
            self.faults.append(fault)

    def _unknown_field(self, loc: Path, renamed: set[Path]) -> None:
        model, typed, parent = model_at(self.annotation, loc[:-1]), str(loc[-1]), _at(self.data, loc[:-1])
        fields = model.model_fields if model is not None else {}
        where = self._name_of(loc[:-1])
        meant = field_key(typed)
        if self._lacks_space(loc, model, typed, parent, renamed):
            return
        known = field_named(model, typed)
        others = [key for key in parent if key != typed and known is not None and field_named(model, key) == known]
        if others:
            self._report("duplicate-field", f"field '{known}' of {where} is given twice (as '{others[0]}')", loc, typed)
            del parent[typed]
            return
        close = nearest(meant, [spelling for name in fields for spelling in snake_spellings(model, name)])
        camel = "_" not in typed and typed != typed.lower()
        suggestion = close if close is None or not camel else _camel(close)
        hint = self.hints.get(meant) or (f"; did you mean '{suggestion}'?" if suggestion else _listed(fields))
        self._report("unknown-field", f"unknown field '{typed}' of {where}{hint}", loc, typed, suggestion)
        value = parent.pop(typed)
        if close is None:
            self._touch(loc)  # what misses now may be what it was meant for
        taken = {field_named(model, key) for key in parent}
        if close is not None:
            name = field_named(model, close) or close
            renamed.add((*loc[:-1], name))
            if name not in taken:
                parent[name] = value
                self.renamed[(*self.path, *loc[:-1], name)] = typed

    def _lacks_space(
        self, loc: Path, model: type[BaseModel] | None, typed: str, parent: dict[str, Any], renamed: set[Path]
    ) -> bool:
        """Report ``limit:2``, which YAML takes for a key without a value."""
        key, colon, rest = typed.partition(":")
        name = field_named(model, key.strip())
        if not colon or not rest or name is None or parent[typed] is not None:
            return False
        suggestion = f"{key.strip()}: {rest.strip()}"
        what = "an ordinary space" if rest[0].isspace() else "a space"
        message = f"{what} is missing after the ':' in '{typed}'; did you mean '{suggestion}'?"
        self._report("unknown-field", message, loc, typed, suggestion)
        del parent[typed]
        renamed.add((*loc[:-1], name))
        if name not in {field_named(model, key) for key in parent}:
            parent[name] = PlainText(rest.strip())
            self.renamed[(*self.path, *loc[:-1], name)] = typed
        return True

    def _wrong_value(self, error: Any, loc: Path) -> None:
        value, kind = error["input"], error["type"]
        name = self._field_name(loc)
        suggestion: str | None = None
        code = "wrong-type"
        if kind == "enum" or kind == "literal_error":
            choices = _choices(type_at(self.annotation, loc))
            if isinstance(value, str):
                code = "unknown-value"
                suggestion = nearest(value, choices)
                hint = f"; did you mean '{suggestion}'?" if suggestion else ""
                listed = ", ".join(choices) if not suggestion or len(choices) <= 4 else ""
                message = f"unknown value '{value}' for {name}{hint}" + (f" ({listed})" if listed else "")
            else:
                message = f"expected one of {', '.join(choices)} for {name}, got {shown(value)}"
        elif kind == "value_error":
            code, message, suggestion = own_error(error["ctx"]["error"], value, name)
        elif kind in ("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"):
            message = f"expected a list for {name}, got {shown(value)}"
            if isinstance(value, str):
                suggestion = f"[{value}]"
                message += f"; write [{value}]"
        elif kind in ("dict_type", "mapping_type", "model_type", "model_attributes_type"):
            message = f"expected a mapping for {name}, got {shown(value)}"
        elif kind.startswith("string"):
            message = f"expected a text for {name}, got {shown(value)}"
        elif kind.startswith("bool"):
            message, suggestion = f"expected true or false for {name}, got {shown(value)}", flag_for(value)
        elif kind.startswith(("int", "float", "decimal")):
            message = f"expected a number for {name}, got {shown(value)}"
        else:
            said = str(error["msg"])
            message = f"{name}: {said[:1].lower()}{said[1:]}, got {shown(value)}"
            code = "wrong-value"
        self._report(code, message, loc, value, suggestion)

    def _name_of(self, loc: Path) -> str:
        """Return what messages call the value at a place: ``capacity`` or ``capacity.limit``."""
        steps = [step if isinstance(step, str) else f"[{step}]" for step in loc]
        if not steps:
            return self.label
        owner = [] if self.label.startswith("the ") else [self.label]  # sections of a file need no owner
        return ".".join([*owner, *steps]).replace(".[", "[")

    def _field_name(self, loc: Path) -> str:
        """Return what messages call a field: its own name, or that of the list or mapping it is an entry of."""
        named, field_name = self.label, self.label
        for position, step in enumerate(loc):
            model = model_at(self.annotation, loc[:position])
            if model is not None and isinstance(step, str):
                named = field_name = field_named(model, step) or step
            elif isinstance(step, int):
                named = named if named.startswith("an entry") else f"an entry of {named}"
            else:
                named = f"'{step}' of {field_name}"
        return named

    # -- repairing ----------------------------------------------------------------------------------------------------

    def _real(self, loc: Path) -> Path:
        """Return the part of an error's location that exists in the value: ``limit: x`` has no ``global_limit``."""
        value: Any = self.data
        out: list[str | int] = []
        for position, step in enumerate(loc):
            if isinstance(value, Mapping) and isinstance(step, str):
                if step not in value and position < len(loc) - 1:
                    break
                out.append(step)
                value = value.get(step)
            elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
                out.append(step)
                value = value[step]
            elif isinstance(value, Mapping) and isinstance(step, int):
                continue  # one entry written without the list around it
            else:
                break
        return tuple(out)

    def _was_touched(self, loc: Path) -> bool:
        """Return whether the value, or one it is part of, was replaced: what is wrong with it now is our doing."""
        keys = tuple(field_key(step) if isinstance(step, str) else step for step in loc)
        return any(self.touched.get(keys[:length], 0) > 0 for length in range(1, len(keys) + 1))

    def _has_repairs(self, loc: Path) -> bool:
        """Return whether a field of the value was taken out or replaced: that it misses now is our doing."""
        keys = tuple(field_key(step) if isinstance(step, str) else step for step in loc)
        return any(key[:-1] == keys for key in self.touched)

    def _touch(self, loc: Path) -> int:
        keys = tuple(field_key(step) if isinstance(step, str) else step for step in loc)
        self.touched[keys] = self.touched.get(keys, 0) + 1
        self.replaced.add((*self.path, *keys))
        return self.touched[keys]

    def _fill(self, loc: Path, name: str) -> bool:
        place = (*loc[:-1], name)
        times = self._touch(place)
        parent = _at(self.data, loc[:-1])
        fillings = self._fillings(place, None)
        if times > len(fillings) or not isinstance(parent, dict):
            return False
        parent[name] = fillings[times - 1]
        return True

    def _fillings(self, loc: Path, value: Any) -> tuple[Any, ...]:
        """Return what is tried in the place of a value: of a few choices the one that was probably meant."""
        choices = _choices(type_at(self.annotation, loc))
        if not choices:
            return _FILLINGS
        meant = nearest(value, choices) if isinstance(value, str) else None
        return (PlainText(meant or choices[0]), *_FILLINGS)

    def _take_out(self, loc: Path) -> bool:
        """Take the value at a place out; when that did not help before, what it is part of."""
        while loc:
            try:
                parent, step = _at(self.data, loc[:-1]), loc[-1]
            except (KeyError, IndexError, TypeError):
                return True  # it went with what it is part of
            times = self._touch(loc)
            fillings = self._fillings(loc, parent.get(step) if isinstance(parent, dict) else None)
            if times > len(fillings):
                loc = loc[:-1]
                continue
            if isinstance(parent, dict) and step in parent:
                model = model_at(self.annotation, loc[:-1])
                if model is not None and _is_required(model, field_key(str(step))):
                    parent[step] = fillings[times - 1]
                else:
                    del parent[step]
            elif isinstance(parent, list) and isinstance(step, int) and step < len(parent):
                parent[step] = PlainText(f"{MISSING}{step}") if times == 1 else fillings[times - 1]
            return True
        return False


def _is_whole(error: Any) -> bool:
    """Return whether an error is that fields, each in order, do not go together."""
    return error["type"] == "value_error" and isinstance(error["ctx"]["error"], NotTogether)


def _is_required(model: type[BaseModel], name: str) -> bool:
    info = model.model_fields.get(field_named(model, name) or "")
    return info is not None and info.is_required()


def _choices(annotation: Any) -> list[str]:
    """Return what an enumeration or literal may be; nothing for other types."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    if get_origin(annotation) is not Literal:
        return []
    return [str(choice.value if isinstance(choice, Enum) else choice) for choice in get_args(annotation)]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _listed(fields: Any) -> str:
    names = [name for name in fields if name != "name"]
    return f"; there is {', '.join(repr(name) for name in names)}" if 0 < len(names) <= 12 else ""


def _copy(value: Any) -> Any:
    """Return a copy whose collections may be edited."""
    if isinstance(value, dict):
        return {key: _copy(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_copy(entry) for entry in value]
    return value


def _at(value: Any, loc: Path) -> Any:
    for step in loc:
        if not (isinstance(step, int) and isinstance(value, Mapping)):  # one entry written without the list around it
            value = value[step]
    return value
