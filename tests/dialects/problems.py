"""Small problems for the tests of languages."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.base import Dialect


def solver_of(
    statement: Dialect | list[Dialect],
    containers: dict[str, dict[str, Any]],
    objects: dict[str, str | None],
    facts: dict[str, dict[str, Any]] | None = None,
) -> Rebalancer:
    """Return a solver: containers with their attributes, objects with their place, facts about objects by attribute."""
    solver = Rebalancer("task", "host")
    homes: dict[str, list[str]] = {name: [] for name in containers}
    for name, place in objects.items():
        if place is not None:
            homes[place].append(name)
    solver.set_assignment(homes, [name for name, place in objects.items() if place is None])
    for attribute in dict.fromkeys(name for own in containers.values() for name in own):
        values = {host: own[attribute] for host, own in containers.items() if attribute in own}
        solver.add_container_attribute(attribute, values)
    for attribute, own in (facts or {}).items():
        solver.add_object_attribute(attribute, own)
    for one in statement if isinstance(statement, list) else [statement]:
        solver.add_rules(one)
    return solver


def holds(solver: Rebalancer, where: dict[str, str | None]) -> bool:
    """Return whether an assignment breaks no constraint, but that something is unplaced."""
    rows = solver.evaluate(where).constraints
    return not (rows[rows["name"] != "placed"]["final_violation"] > 0).any()


def where(solver: Rebalancer) -> dict[str, str | None]:
    """Return the optimum: object -> container."""
    solution = solver.solve(engine="cpsat", time_limit=20)
    assert solution.status.value == "OPTIMAL"
    return {name: place if isinstance(place, str) else None for name, place in solution.assignment.items()}


def goes(solver: Rebalancer, obj: str) -> list[str]:
    """Return the containers to which an object may go now."""
    return [name for name in solver.problem.containers if solver.check_placement(obj, name).allowed]
