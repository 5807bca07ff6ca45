"""What the YAML parser complains about, in plain words."""

from __future__ import annotations

import re
from typing import Any

import yaml

from rebalancer.problem import Fault

_KEY = re.compile(r"\s*(?:-\s+)*[\w.\"'/-]+\s*:(?:\s|$)")


def syntax_fault(error: yaml.YAMLError, lines: list[str], file: str) -> Fault:
    """Return the fault for an error of the parser.

    Parameters
    ----------
    error : yaml.YAMLError
    lines : list of str
        The text of the file.
    file : str
        Its name in messages.
    """
    problem = str(getattr(error, "problem", None) or error)
    context = str(getattr(error, "context", None) or "")
    at = _position(getattr(error, "problem_mark", None))
    began = _position(getattr(error, "context_mark", None))
    line, column, message = _explain(problem, context, at or began or (1, 1), began, lines)
    return Fault("yaml-syntax", message, file=file, line=line, column=column)


def _position(mark: Any) -> tuple[int, int] | None:
    return None if mark is None else (mark.line + 1, mark.column + 1)


def _explain(
    problem: str, context: str, at: tuple[int, int], began: tuple[int, int] | None, lines: list[str]
) -> tuple[int, int, str]:
    """Return line, column and message."""
    text = lines[at[0] - 1] if at[0] <= len(lines) else ""
    char = text[at[1] - 1 : at[1]]
    if char == "\t" or "tab character" in problem or re.match(r" *\t", text):
        return at[0], text.find("\t") + 1 or at[1], "a tab stands where the line is indented; indent with spaces"
    if "cannot start any token" in problem:
        return *at, f"a value cannot start with '{char}'; put it in quotes"
    if text.startswith("%"):
        return at[0], 1, "a line cannot start with '%'; put the text in quotes"
    if "mapping values are not allowed" in problem:
        return _stray_colon(at, lines)
    if "could not find expected ':'" in problem:
        place = began or at
        key = lines[place[0] - 1].strip() if place[0] <= len(lines) else ""
        return *place, f"expected 'key: value', got '{_short(key)}'; the ':' (and a space after it) is missing"
    if "',' or ']'" in problem or "',' or '}'" in problem:
        closing = "]" if "']'" in problem else "}"
        opening = "[" if closing == "]" else "{"
        place = began or at
        if place[0] == at[0]:
            return *at, f"expected ',' or '{closing}' here: the '{opening}' in column {place[1]} is not closed"
        return *place, f"the '{opening}' is not closed: expected ',' or '{closing}' before line {at[0]}, column {at[1]}"
    if "unexpected end of stream" in problem or "document separator" in problem:
        return *(began or at), "the text in quotes is not closed: its second quote is missing"
    if "unknown escape" in problem:
        return *at, "unknown escape after '\\' in double quotes; use single quotes for a text with backslashes"
    if "duplicate anchor" in context or "duplicate anchor" in problem:
        return *at, f"this anchor is already defined in line {began[0] if began else '?'}; choose another name"
    if "expected '-' indicator" in problem or ("expected <block end>" in problem and "block collection" in context):
        list_column = began[1] if began else 1
        if at[1] > list_column:
            return *at, "this line is indented neither like the list entry above nor like its keys"
        return *at, f"this is no list entry: the list begun in line {began[0] if began else '?'} needs '- ' here"
    if "expected key" in problem or "expected <block end>" in problem:
        return _broken_mapping(at, began, lines, char)
    if "sequence entries are not allowed" in problem:
        return *at, "a list entry ('- ') cannot stand here; start it on its own line"
    if "expected node content" in problem or "expected the node content" in problem:
        return *at, f"a value is missing before '{char}'" if char else "a value is missing at the end"
    return *at, f"this is not YAML: {problem}"


def _stray_colon(at: tuple[int, int], lines: list[str]) -> tuple[int, int, str]:
    """Explain a ``:`` that would start a mapping where none can be."""
    text = lines[at[0] - 1] if at[0] <= len(lines) else ""
    before = text[: at[1] - 1]
    if _KEY.match(before + " ") and ":" in before:
        return *at, "a second ':' in one line; put the value in quotes, or the inner mapping in braces"
    above = next((number for number in range(at[0] - 2, -1, -1) if lines[number].strip()), None)
    start = len(text) - len(text.lstrip()) + 1
    if above is not None and not re.search(r":(\s|$)", lines[above]):
        column = len(lines[above]) - len(lines[above].lstrip()) + 1
        return (
            above + 1,
            column,
            f"expected 'key: value', got '{_short(lines[above].strip())}'; the ':' (and a space after it) is missing",
        )
    return at[0], start, "this line is indented deeper than the one above, which has its value already"


def _broken_mapping(
    at: tuple[int, int], began: tuple[int, int] | None, lines: list[str], char: str
) -> tuple[int, int, str]:
    text = lines[at[0] - 1] if at[0] <= len(lines) else ""
    before = text[: at[1] - 1]
    if before.strip(" -") and char:
        if char in "]}":
            return *at, f"'{char}' closes nothing"
        return *at, "there is text after the end of the value; put the whole value in one pair of quotes"
    if char in ("]", "}"):
        return *at, f"'{char}' closes nothing"
    if text.lstrip().startswith("- "):
        return *at, "this list entry is indented unlike the lines above it"
    if began and at[1] > began[1]:
        return (
            *at,
            f"the indentation fits no line above: this mapping has its keys in column {began[1]} (line {began[0]})",
        )
    return *at, "the indentation fits no line above"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
