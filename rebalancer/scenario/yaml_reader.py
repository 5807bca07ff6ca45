"""YAML text to plain values, with the place of every part.

Parser events are turned into values by a loop without recursion, so that no nesting can exhaust the stack. Scalars stay
the text that was typed: an unquoted one becomes `PlainText`, and whoever wants a name, a number or a truth value
decides what it is; a quoted one is plain ``str``. Nothing is guessed from the look of a scalar, no tag makes an object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from rebalancer.problem import Fault, PlainText, nearest
from rebalancer.scenario.collector import without_collector
from rebalancer.scenario.document import Document, Mark, Marks
from rebalancer.scenario.yaml_syntax import syntax_fault

#: What an unquoted scalar has to be to mean "nothing" (YAML 1.2 core schema).
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
#: Deeper than any scenario; keeps whoever walks the values recursively from running out of stack.
DEEPEST = 100
#: How much larger than the file aliases may make it.
MOST_COPIED = 1_000_000

#: What YAML forbids, and what it takes for line ends where no editor does.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Characters that look like a space or like nothing.
_INVISIBLE = re.compile("[\xa0\u200b-\u200d\u202f\u2060\ufeff]")
_TEXT_TAGS = ("tag:yaml.org,2002:str", "!")
_COLLECTION_TAGS = {"tag:yaml.org,2002:map": yaml.MappingStartEvent, "tag:yaml.org,2002:seq": yaml.SequenceStartEvent}

_Loader: TypeAlias = "type[yaml.CBaseLoader | yaml.BaseLoader]"
_LOADER: _Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_yaml(data: bytes, file: str) -> Document:
    """Return the one document of a YAML file.

    Parameters
    ----------
    data : bytes
        The content of the file.
    file : str
        Its name in messages.

    Returns
    -------
    Document
        With whatever could be read, and every fault found: those of syntax end the reading, others do not.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Document(file, None, {}, [_not_utf8(data, error, file)])
    strange = _UNPRINTABLE.search(text)
    if strange:
        line, column = line_and_column(text, strange.start())
        message = f"the character U+{ord(strange[0]):04X} cannot stand in YAML; remove it"
        return Document(file, None, {}, [Fault("yaml-syntax", message, file=file, line=line, column=column)])
    reader = _Reader(file)
    lines = text.splitlines()
    try:
        with without_collector():
            reader.read(text)
    except yaml.YAMLError as error:
        # What looked odd before may only be the beginning of this.
        faults = [fault for fault in reader.faults if fault.code != "yaml-syntax"]
        return Document(file, None, reader.marks, [*faults, syntax_fault(error, lines, file)])
    except _TooMuch:
        return Document(file, None, reader.marks, reader.faults)
    return Document(file, reader.root, reader.marks, reader.faults, _columns(reader.blocks, lines))


def _columns(blocks: list[Mark], lines: list[str]) -> dict[Mark, int]:
    """Return the column in which the lines of each block begin."""
    first = ((mark, next(filter(str.strip, lines[mark[0] :]), "")) for mark in blocks)
    return {mark: len(line) - len(line.lstrip()) + 1 for mark, line in first}


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and column of a position in a text, counted from 1."""
    start = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, position) + 1, position - start + 1


def _not_utf8(data: bytes, error: UnicodeDecodeError, file: str) -> Fault:
    before = data[: error.start].decode("utf-8-sig", "replace")
    line, column = line_and_column(before, len(before))
    looks = "; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    message = f"the file is not UTF-8 (byte 0x{data[error.start]:02X}){looks}; save it as UTF-8"
    return Fault("not-utf8", message, file=file, line=line, column=column)


class _TooMuch(Exception):
    """The file asks for more than any scenario needs; the fault is in the list."""


@dataclass(eq=False, slots=True)
class _Frame:
    """A collection that is being filled."""

    value: Any
    marks: Any
    start: Mark
    anchor: str | None
    size: int = 1
    is_mapping: bool = False
    key: Any = None
    key_mark: Mark = (0, 0)
    has_key: bool = False
    skip: bool = False  # the pending key is a duplicate or no key at all: its value goes nowhere
    merged: list[tuple[Any, Mark]] | None = None


_MERGE: Any = object()


class _Reader:
    """Turns events into values."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Any = None
        self.marks: dict[int, Marks] = {}
        self.faults: list[Fault] = []
        self.blocks: list[Mark] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._open_anchors: set[str] = set()
        self._stack: list[_Frame] = []
        self._kept: list[Any] = []  # what is thrown away must live on: `marks` goes by identity
        self._copied = 0

    def read(self, text: str) -> None:
        loader = _LOADER(text)
        get_event = loader.get_event
        stack = self._stack
        documents = 0
        check_invisible = _INVISIBLE.search(text) is not None
        try:
            while True:
                event: Any = get_event()
                kind = event.__class__
                if kind is yaml.ScalarEvent:
                    if event.tag is None and event.anchor is None and stack:
                        # Nearly all events of a large file are these: what `_scalar` and `_put` do, without the calls.
                        start = event.start_mark
                        mark = (start.line + 1, start.column + 1)
                        frame = stack[-1]
                        text = event.value
                        if not event.implicit[0]:
                            value: Any = text
                            if event.style == "|":
                                self.blocks.append(mark)
                        elif text in NULLS:
                            value = None
                        else:
                            value = PlainText(text)
                            if event.end_mark.line != start.line:
                                self._several_lines(value, mark)
                            if check_invisible:
                                self._invisible(value, mark)
                        if frame.has_key and not frame.skip and frame.key is not _MERGE:
                            frame.has_key = False
                            frame.size += 1
                            frame.value[frame.key] = value
                            frame.marks[frame.key] = (frame.key_mark, mark)
                        elif not frame.is_mapping:
                            frame.size += 1
                            frame.value.append(value)
                            frame.marks.append(mark)
                        elif value == "<<" and value.__class__ is PlainText and not frame.has_key:
                            self._put(_MERGE, mark, 1)
                        else:
                            self._put(value, mark, 1)
                    else:
                        self._scalar(event)
                elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                    self._open(event, kind is yaml.MappingStartEvent)
                elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                    self._close()
                elif kind is yaml.AliasEvent:
                    self._alias(event)
                elif kind is yaml.DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        self._fault(
                            "yaml-syntax", "a second document starts here ('---'); a file holds one", _mark(event)
                        )
                        return
                elif kind is yaml.StreamEndEvent:
                    return
        finally:
            loader.dispose()

    def _fault(self, code: str, message: str, mark: Mark, value: Any = None, suggestion: str | None = None) -> None:
        path = tuple(_step(frame) for frame in self._stack)
        self.faults.append(Fault(code, message, path, value, suggestion, self.file, *mark))

    # -- events -------------------------------------------------------------------------------------------------------

    def _scalar(self, event: Any) -> None:
        mark = _mark(event)
        value: Any
        text = event.value
        if event.tag in _TEXT_TAGS:
            value = text
        elif event.implicit[0] or event.tag is not None:
            if event.tag is not None:
                self._tag(event, mark)
            value = None if text in NULLS else PlainText(text)
        else:
            value = text
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._put(value, mark, 1)

    def _open(self, event: Any, is_mapping: bool) -> None:
        mark = _mark(event)
        if len(self._stack) >= DEEPEST:
            self._fault("too-deep", f"values are nested more than {DEEPEST} deep here", mark)
            raise _TooMuch
        if event.tag is not None and _COLLECTION_TAGS.get(event.tag) is not event.__class__:
            self._tag(event, mark)
        value: Any = {} if is_mapping else []
        marks: Any = {} if is_mapping else []
        self.marks[id(value)] = Marks(mark, marks, event.flow_style)
        self._stack.append(_Frame(value, marks, mark, event.anchor, is_mapping=is_mapping))
        if event.anchor is not None:
            self._open_anchors.add(event.anchor)

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.merged:
            self._merge(frame)
        if frame.anchor is not None:
            self._open_anchors.discard(frame.anchor)
            self._anchors[frame.anchor] = (frame.value, frame.size)
        self._put(frame.value, frame.start, frame.size)

    def _alias(self, event: Any) -> None:
        mark = _mark(event)
        name = event.anchor
        if name in self._open_anchors:
            self._fault(
                "recursive-alias",
                f"'*{name}' stands inside the value that '&{name}' names, which would have no end",
                mark,
                f"*{name}",
            )
            self._put(None, mark, 1)
            return
        if name not in self._anchors:
            close = nearest(name, self._anchors)
            hint = f"; did you mean '*{close}'?" if close else "; a text that starts with '*' needs quotes"
            suggestion = f"*{close}" if close else f'"*{name}"'
            self._fault(
                "unknown-alias",
                f"'*{name}' refers to an anchor '&{name}' that does not stand above{hint}",
                mark,
                f"*{name}",
                suggestion,
            )
            self._put(None, mark, 1)
            return
        value, size = self._anchors[name]
        self._copied += size
        if self._copied > MOST_COPIED:
            self._fault(
                "too-many-aliases", f"aliases make this file more than {MOST_COPIED:,} values larger than it is", mark
            )
            raise _TooMuch
        self._put(value, mark, size)

    def _tag(self, event: Any, mark: Mark) -> None:
        shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        self._fault(
            "yaml-tag",
            f"the tag '{shown}' is not supported: a value is what it looks like; remove the tag",
            mark,
            shown,
        )

    def _several_lines(self, text: str, mark: Mark) -> None:
        shown = text if len(text) <= 60 else text[:57] + "…"
        message = (
            f"the text '{shown}' goes over several lines; a ':' or '- ' is missing in one of them, or quotes around it"
        )
        self._fault("yaml-syntax", message, mark, text)

    def _invisible(self, text: str, mark: Mark) -> None:
        found = _INVISIBLE.search(text)
        if found:
            shown = _INVISIBLE.sub(" ", text).strip()
            message = (
                f"an invisible character (U+{ord(found[0]):04X}) stands in '{shown}'; replace it with an ordinary space"
            )
            self._fault("yaml-syntax", message, mark, text, shown)

    # -- values -------------------------------------------------------------------------------------------------------

    def _put(self, value: Any, mark: Mark, size: int) -> None:
        """Give a finished value to the collection it belongs to."""
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        frame.size += size
        if not frame.is_mapping:
            frame.value.append(value)
            frame.marks.append(mark)
        elif not frame.has_key:
            self._put_key(frame, value, mark)
        else:
            frame.has_key = False
            if frame.key is _MERGE:
                frame.merged = [*(frame.merged or []), (value, mark)]
                self._kept.append(value)
            elif frame.skip:
                self._kept.append(value)
            else:
                frame.value[frame.key] = value
                frame.marks[frame.key] = (frame.key_mark, mark)

    def _put_key(self, frame: _Frame, key: Any, mark: Mark) -> None:
        frame.has_key, frame.key_mark, frame.skip, frame.key = True, mark, False, key
        if key is _MERGE:
            return
        if not isinstance(key, str):
            frame.skip = True
            self._kept.append(key)
            what = "null" if key is None else "a list" if isinstance(key, list) else "a mapping"
            hint = "; a name that reads 'null' needs quotes" if key is None else ""
            self._fault("wrong-type", f"a key must be text, got {what}{hint}", mark)
            return
        key = str(key)
        frame.key = key
        if key in frame.value:
            frame.skip = True
            first = frame.marks[key][0]
            self._fault(
                "duplicate-key",
                f"the key '{key}' stands here again; it first stands in line {first[0]}, column {first[1]}",
                mark,
                key,
            )

    def _merge(self, frame: _Frame) -> None:
        """Add what ``<<`` brings; keys of the mapping itself win, then the earlier of several."""
        for value, mark in frame.merged or []:
            for source in value if isinstance(value, list) else [value]:
                if not isinstance(source, dict):
                    if source is None and any((fault.line, fault.column) == mark for fault in self.faults):
                        continue  # an alias to nothing is reported already
                    self._fault("wrong-type", "'<<' needs a mapping, or a list of mappings, to merge", mark)
                    continue
                origin = self.marks[id(source)].entries
                for key, entry in source.items():
                    if key not in frame.value:
                        frame.value[key] = entry
                        frame.marks[key] = origin[key]


def _step(frame: _Frame) -> str | int:
    if not frame.is_mapping:
        return len(frame.value)
    return "<<" if frame.key is _MERGE else str(frame.key)


def _mark(event: Any) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1
