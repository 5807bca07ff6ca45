"""Sets of objects by name and by group."""

import pytest

from rebalancer import MoveGroupSpec, Rebalancer
from rebalancer.specs.selection import Selection


def solver() -> Rebalancer:
    made = Rebalancer("task", "host")
    made.set_assignment({"h1": ["a", "b"], "h2": ["c"], "h3": ["d"]})
    made.add_partition("job", {"x": ["a", "c"]})
    return made


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({"objects": ["d", "b"]}, [1, 3]),
        ({"partition_name": "job", "groups": ["x"]}, [0, 2]),
        ({"partition_name": "job", "excluding_groups": ["x"]}, [1, 3]),
        ({"objects": ["b"], "partition_name": "job", "groups": ["x"], "excluding": ["c"]}, [0, 1]),
        ({"objects": ["b", "bb"], "excluding": ["dd"]}, [1]),
        ({"objects": ["bb"]}, []),
        ({"partition_name": "job", "groups": ["y"]}, []),
        ({"partition_name": "jobs", "groups": ["x"]}, []),
    ],
)
def test_members(fields: dict[str, object], expected: list[int]) -> None:
    """Names that do not exist select nothing."""
    selection = Selection.model_validate(fields)
    assert selection.members(solver().problem).tolist() == expected


def test_a_single_group_over_several_items_is_listed_cell_by_cell() -> None:
    """A group torn apart: each host that holds some of it is broken by 1, and no other."""
    made = solver()
    made.add_constraint(MoveGroupSpec(partition_name="job"), name="together")
    table = made.evaluate().cells("together")
    assert table["group"].tolist() == ["x", "x", "x"]
    assert table["item"].tolist() == ["h1", "h2", "h3"]
    assert table["violation"].tolist() == [1.0, 1.0, 0.0]
