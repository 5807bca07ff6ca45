"""Who stays for a while, and who must be free to go."""

import numpy as np
import pytest

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.jobs import cool_down
from rebalancer.jobs.cool_down import cooled_down, without_repairs


def solver(hosts: dict[str, list[str]], *, sizes: dict[str, int] | None = None) -> Rebalancer:
    """Return hosts of 20 (or as stated) with tasks of 10."""
    made = Rebalancer(object_name="task", container_name="host")
    made.set_assignment(hosts, unassigned=["nowhere"])
    made.add_object_dimension("memory", {}, default=10)
    made.add_container_dimension("memory", sizes or {}, default=20)
    made.add_constraint(CapacitySpec(scope="host", dimension="memory"))
    return made


def names(made: Rebalancer, objects: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[str]:
    return [made.problem.objects[int(one)] for one in objects]


def test_only_who_has_arrived_has_moved() -> None:
    made = solver({"h0": ["a", "b"], "h1": ["c"]})
    sent = {"a": "h0", "b": "h1", "c": "h1", "gone": "h0", "nowhere": "h1", "elsewhere": "h9"}
    assert names(made, cooled_down(made.problem, sent)) == ["a", "c"]


def lookup(made: Rebalancer, *tasks: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array([made.problem.objects.index[task] for task in tasks], np.int64)


def test_everybody_stays_where_nothing_is_broken() -> None:
    made = solver({"h0": ["a", "b"], "h1": ["c"]})
    objects = lookup(made, "a", "c")
    assert names(made, without_repairs(made.model, objects)) == ["a", "c"]


def test_who_stands_where_something_is_broken_is_free() -> None:
    hosts = {f"h{host}": [f"t{host}_{slot}" for slot in range(2)] for host in range(9)}
    made = solver(hosts, sizes={"h3": 10, "h7": 15})
    objects = lookup(made, *(task for tasks in hosts.values() for task in tasks[:1]))
    kept = names(made, without_repairs(made.model, objects))
    assert kept == [f"t{host}_0" for host in range(9) if host not in (3, 7)]


def test_soft_constraints_break_no_cool_down() -> None:
    made = Rebalancer(object_name="task", container_name="host")
    made.set_assignment({"h0": ["a", "b"]})
    made.add_constraint(CapacitySpec(scope="host", dimension="task_count"), policy="SOFT")
    objects = lookup(made, "a")
    assert names(made, without_repairs(made.model, objects)) == ["a"]


def test_where_there_are_too_many_to_try_the_rest_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {f"h{host}": [f"t{host}"] for host in range(8)}
    made = solver(hosts, sizes={"h0": 5})
    objects = lookup(made, *(f"t{host}" for host in range(8)))
    monkeypatch.setattr(cool_down, "_MOST_SCORED", 2)
    kept = names(made, without_repairs(made.model, objects))
    assert "t0" not in kept
    monkeypatch.setattr(cool_down, "_MOST_SCORED", 400)
    assert names(made, without_repairs(made.model, objects)) == [f"t{host}" for host in range(1, 8)]
