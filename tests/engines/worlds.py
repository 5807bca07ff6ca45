"""Models of some size, for engines."""

from __future__ import annotations

import random

from rebalancer import (
    AssignmentAffinitiesSpec,
    AvoidAssignmentsSpec,
    BalanceSpec,
    CapacitySpec,
    MinimizeMovementSpec,
    PlacedSpec,
    Rebalancer,
)
from rebalancer.model import Model


def leaning(rng: random.Random, tasks: int, names: list[str]) -> Rebalancer:
    """Tasks t0, t1, … on these hosts, most of them on the first."""
    contents: dict[str, list[str]] = {name: [] for name in names}
    for number in range(tasks):
        contents[names[min(rng.randrange(len(names)), rng.randrange(len(names)))]].append(f"t{number}")
    solver = Rebalancer("task", "host")
    solver.set_assignment(contents)
    return solver


def rounded(tasks: int = 5, hosts: int = 3, seed: int = 0) -> Model:
    """Balance of two resources and movement, on hosts whose capacities have no common unit."""
    rng = random.Random(seed)
    names = [f"h{number}" for number in range(hosts)]
    solver = leaning(rng, tasks, names)
    for resource in ("cpu", "mem"):
        solver.add_object_dimension(resource, {f"t{number}": rng.randrange(1, 3000) for number in range(tasks)})
        primes = [44_587, 99_991, 33_461, 22_283, 49_999, 74_933]
        solver.add_container_dimension(resource, {name: rng.choice(primes) for name in names})
        solver.add_constraint(CapacitySpec(scope="host", dimension=resource))
        solver.add_goal(BalanceSpec(scope="host", dimension=resource))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), weight=10)
    return solver.model


def crowded(tasks: int = 300, hosts: int = 12, seed: int = 0) -> Model:
    """Tasks of many sizes on few hosts, most of them on the first: balance first, then few moves."""
    rng = random.Random(seed)
    names = [f"h{number}" for number in range(hosts)]
    solver = leaning(rng, tasks, names)
    solver.add_object_dimension("cpu", {f"t{number}": rng.randrange(1, 97) for number in range(tasks)})
    solver.add_container_dimension("cpu", {name: 50 * tasks // hosts + rng.randrange(400) for name in names})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), tuple_pos=1)
    return solver.model


def attracted(tasks: int = 40, hosts: int = 6, seed: int = 0) -> Model:
    """Tasks that would rather be elsewhere: an objective that falls far below zero."""
    rng = random.Random(seed)
    names = [f"h{number}" for number in range(hosts)]
    solver = Rebalancer("task", "host")
    solver.set_assignment({name: [f"t{n}" for n in range(tasks) if n % hosts == at] for at, name in enumerate(names)})
    solver.add_constraint(
        CapacitySpec(
            scope="host", dimension="task_count", limit={"type": "ABSOLUTE", "global_limit": tasks // hosts + 1}
        )
    )
    affinities = [
        {"object_name": f"t{n}", "scope_item_name": name, "affinity": rng.randrange(1, 9)}
        for n in range(tasks)
        for name in names
    ]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities))
    return solver.model


def stuck() -> Model:
    """A task that is too large for every host, which pruning sees."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["small", "large"], "h1": []})
    solver.add_object_dimension("cpu", {"small": 1, "large": 99})
    solver.add_container_dimension("cpu", {"h0": 5, "h1": 9})
    solver.add_constraint(PlacedSpec(), name="all")
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), name="fits", policy="HARD")
    return solver.model


def impossible() -> Model:
    """A task that is too large for the host that it may be on."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["small", "large"], "h1": []})
    solver.add_object_dimension("cpu", {"small": 1, "large": 9})
    solver.add_container_dimension("cpu", {"h0": 5, "h1": 9})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), name="fits", policy="HARD")
    apart = AvoidAssignmentsSpec(scope="host", assignments=[{"object": "large", "scope_items": ["h1"]}])
    solver.add_constraint(apart, name="apart")
    return solver.model
