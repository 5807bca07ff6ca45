"""YAML 1.2 scalars as typed, with places; nothing is guessed and nothing is executed."""

from __future__ import annotations

import pytest
import yaml

from rebalancer.problem import PlainText, to_fraction
from rebalancer.scenario import yaml_reader
from rebalancer.scenario.yaml_reader import read_yaml


@pytest.fixture(params=["CBaseLoader", "BaseLoader"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything with libyaml and with the parser in pure Python."""
    if not hasattr(yaml, request.param):
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml_reader, "_LOADER", getattr(yaml, request.param))


def read(text: str) -> object:
    document = read_yaml(text.encode(), "f.yaml")
    assert not document.faults, "\n".join(map(str, document.faults))
    return document.root


@pytest.mark.parametrize(
    "text", ["no", "on", "yes", "22:22", "1e3", "012", "0x1f", "2024-01-01", "1_000", "true", ".5", "=", "<<x"]
)
def test_a_plain_scalar_stays_what_was_typed(text: str) -> None:
    root = read(f"{text}: [{text}]\n")
    assert root == {text: [text]}
    assert isinstance(root, dict)
    assert type(root[text][0]) is PlainText


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nothing_is_nothing(text: str) -> None:
    assert read(f"a: {text}\n") == {"a": None}


def test_quotes_make_text() -> None:
    root = read("a: '5'\nb: \"~\"\nc: |\n  long\nd: !!str 7\n")
    assert root == {"a": "5", "b": "~", "c": "long\n", "d": "7"}
    assert isinstance(root, dict)
    assert all(type(value) is str for value in root.values())


def test_numbers_are_exact_where_numbers_are_wanted() -> None:
    root = read("[1e3, 012, 0.1, +5, -2.50]\n")
    assert isinstance(root, list)
    assert [str(to_fraction(value)) for value in root] == ["1000", "12", "1/10", "5", "-5/2"]


def test_places() -> None:
    document = read_yaml(b"a:\n  b: {c: [1, 2]}\n  d:\n    - x\n    -\n      e: f\n", "f.yaml")
    assert document.place(("a",)) == (1, 1)
    assert document.place(("a", "b")) == (2, 3)
    assert document.place(("a", "b", "c", 1)) == (2, 14)
    assert document.place(("a", "d", 0)) == (4, 7)
    assert document.place(("a", "d", 1, "e")) == (6, 10)
    assert document.place(("a", "d", 1, "e"), "e") == (6, 7)
    assert document.place(("a", "b", "nothing", "below")) == (2, 3)


def test_anchors_share_and_merges_fill() -> None:
    text = "base: &base {a: 1, b: 2}\nsame: *base\nmore: {<<: *base, b: 3}\nboth: {<<: [{c: 4}, *base]}\n'<<': 5\n"
    assert read(text) == {
        "base": {"a": "1", "b": "2"},
        "same": {"a": "1", "b": "2"},
        "more": {"a": "1", "b": "3"},
        "both": {"c": "4", "a": "1", "b": "2"},
        "<<": "5",
    }


def test_merged_keys_stand_where_they_were_typed() -> None:
    document = read_yaml(b"base: &base {a: 1}\nmore:\n  <<: *base\n", "f.yaml")
    assert document.place(("more", "a")) == (1, 17)


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    document = read_yaml("\n".join(lines).encode(), "f.yaml")
    assert [fault.code for fault in document.faults] == ["too-many-aliases"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_no_nesting_exhausts_the_stack(opening: str) -> None:
    document = read_yaml(opening.encode() * 20_000, "f.yaml")
    assert document.faults[0].code in ("too-deep", "yaml-syntax")


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    assert read_yaml(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", "f.yaml").root == {"a": "1", "b": "2"}


@pytest.mark.parametrize("text", ["a: \x07b\n", "a: b\x00\n", "a: \ufffe\n"])
def test_control_characters_are_faults(text: str) -> None:
    document = read_yaml(text.encode(), "f.yaml")
    assert [(fault.code, fault.line) for fault in document.faults] == [("yaml-syntax", 1)]


SYNTAX = {
    "a: b: c\n": (1, "second ':'"),
    "a:\n  b: 1\n c: 2\n": (3, "indentation"),
    "a: [1, 2\nb: 3\n": (1, "not closed"),
    "a: {x: 1\nb: 3\n": (1, "not closed"),
    "a: 'abc\nb: 3\n": (1, "not closed"),
    "a: @x\n": (1, "put it in quotes"),
    "a: %x\n": (1, "quotes"),
    "key\nb: 1\n": (1, "missing"),
    "a: 1\nkey\nb: 1\n": (2, "missing"),
    'a: "\\d"\n': (1, "backslashes"),
    "a: [1,,2]\n": (1, "value is missing"),
    "- a\nb: 1\n": (2, "needs '- '"),
    "a: 1\n- b\n": (2, "list entry"),
    "a: [1]]\n": (1, "closes nothing"),
    'a: "x" y\n': (1, "quotes"),
    "a: - b\n": (1, "own line"),
    "a:\n\tb: 1\n": (2, "tab"),
    "a:\n  - b: 1\n\t  c: 1\n": (3, "tab"),
    "a:\n  x: 1\n   y: 2\n": (3, "indented deeper"),
    "a: *x\n": (1, "anchor"),
    "a: x\n  y\n": (1, "several lines"),
    "%a: 1\n": (1, "%"),
}


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_errors_in_plain_words(text: str) -> None:
    line, words = SYNTAX[text]
    faults = read_yaml(text.encode(), "f.yaml").faults
    assert len(faults) == 1, "\n".join(map(str, faults))
    assert faults[0].line == line
    assert words in faults[0].message
