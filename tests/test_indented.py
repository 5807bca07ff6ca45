"""Indented JSON says what the standard library would say of the same content, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.indented import indented

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), ANYTHING, max_size=4))
def test_it_reads_as_it_was(content: dict[str, Any]) -> None:
    assert json.loads(indented(content)) == content


def test_it_is_laid_out_as_the_standard_library_does() -> None:
    content = {"a": [], "b": {}, "c": [1, 2.5, None, True], "d": [{"name": "é", "to": None}], "e": {"f": {"g": "\n"}}}
    assert indented(content) == json.dumps(content, ensure_ascii=False, indent=2)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_null(number: float) -> None:
    assert json.loads(indented({"a": [number]})) == {"a": [None]}


def test_a_name_that_is_no_text_is_kept() -> None:
    name = b"caf\xe9.yaml".decode(errors="surrogateescape")
    assert json.loads(indented({"file": name})) == {"file": name}
