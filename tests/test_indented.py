"""Indented JSON is what the standard library makes of the same content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.indented import indented

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
ROWS = st.dictionaries(st.text(), PLAIN, max_size=3)
ANYTHING = st.recursive(
    PLAIN | ROWS | st.lists(ROWS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), ANYTHING, max_size=4))
def test_it_is_what_the_standard_library_writes(content: dict[str, Any]) -> None:
    assert "".join(indented(content)) == json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


@pytest.mark.parametrize("content", [{"a": float("nan")}, {"a": {"b": float("inf")}}, {"a": [{"b": float("nan")}]}])
def test_what_is_no_number_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        list(indented(content))
