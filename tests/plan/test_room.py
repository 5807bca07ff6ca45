"""What flies together is the same whether the loop that finds it is compiled in between or not."""

import pytest

from rebalancer import CapacitySpec, Rebalancer, plan_moves
from rebalancer.plan import room


def waves() -> list[int]:
    """Return the wave of each step where two hosts of 5 change places by way of a third, which has room for one."""
    solver = Rebalancer("task", "host")
    there = {"h0": [f"a{number}" for number in range(5)], "h1": [f"b{number}" for number in range(5)], "h2": []}
    solver.set_assignment(there)
    solver.add_container_dimension("task_count", {"h0": 5, "h1": 5, "h2": 1})
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count"))
    swapped = solver.evaluate({"h0": there["h1"], "h1": there["h0"], "h2": []})
    wave: list[int] = plan_moves(swapped).steps.wave.tolist()
    return wave


@pytest.mark.parametrize("patience", [0, 7])
def test_compiling_changes_nothing(monkeypatch: pytest.MonkeyPatch, patience: int) -> None:
    room._compiled.cache_clear()
    expected = waves()
    assert len(expected) > 10  # somebody waits on h2
    compiled = []
    monkeypatch.setattr(room, "_COMPILE_AFTER", patience)
    monkeypatch.setattr("numba.njit", lambda **_: lambda loop: compiled.append(loop) or loop)
    assert waves() == expected
    assert len(compiled) == 1
    room._compiled.cache_clear()


def test_a_room_does_not_count_what_others_have_done() -> None:
    room._compiled.cache_clear()
    assert waves() == waves()
    assert not room._compiled.cache_info().currsize
