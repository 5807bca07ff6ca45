"""What random specs are put together from: values, fields, and the names of a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st


def pick(*values: Any) -> st.SearchStrategy[Any]:
    """One of the values."""
    return st.sampled_from(values)


def fields(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Fields drawn independently; those that draw None are left out."""
    return st.fixed_dictionaries(strategies).map(_given)


def _given(drawn: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in drawn.items() if value is not None}


def some(entry: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """One entry or more."""
    return st.lists(entry, min_size=1, max_size=most)


def mapping(key: st.SearchStrategy[str], value: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """One entry or more, by name."""
    return st.dictionaries(key, value, min_size=1, max_size=most)


SMALL = pick(0, 1, 2, 0.5)
AFFINITY = pick(1, -2, 0.5)
FLAG = st.booleans()
CPU_OR_MEM = pick("cpu", "mem")
DIMENSIONS = pick("cpu", "mem", "")
ANY_DIMENSION = pick("cpu", "mem", "task_count", "vec", "net")
HOST, RACK, SCOPES = pick("host"), pick("rack"), pick("host", "rack")
JOB, JOB_OR_SQUAD = pick("job"), pick("job", "squad")
RACK_FILTERS = pick(None, {"items_whitelist": ["r0"]})
LIMITS = SMALL | fields(type=pick("ABSOLUTE", "RELATIVE"), global_limit=SMALL)
#: Fields of a spec by name.
Fields: TypeAlias = st.SearchStrategy[dict[str, Any]]


@dataclass(frozen=True)
class Names:
    """What draws the names of one size of world."""

    tasks: st.SearchStrategy[str]
    hosts: st.SearchStrategy[str]
    some_tasks: st.SearchStrategy[list[str]]
    some_hosts: st.SearchStrategy[list[str]]
    pairs: Fields
    hosts_in_order: st.SearchStrategy[list[str]]
    filters: st.SearchStrategy[dict[str, Any] | None]
