"""An independent judge of Google machine reassignment instances: the challenge's rules in plain loops and numpy.

It shares no code with the importer, so that a misreading of the format cannot agree with itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    """An instance of R resources, M machines, S services and P processes."""

    transient: NDArray[np.bool_]  # (R,)
    load_weight: Ints  # (R,)
    neighborhood: Ints  # (M,)
    location: Ints  # (M,)
    capacity: Ints  # (M, R)
    safety: Ints  # (M, R)
    machine_move_cost: Ints  # (M, M)
    spread: list[int]  # (S,)
    dependencies: list[tuple[int, int]]
    service: Ints  # (P,)
    requirement: Ints  # (P, R)
    move_cost: Ints  # (P,)
    balance: list[list[int]]  # resource, resource, target, weight
    process_move_weight: int
    service_move_weight: int
    machine_move_weight: int
    initial: Ints  # (P,)


def load(model: Path, assignment: Path) -> Instance:
    """Read an instance with a plain token stream."""
    tokens = iter(model.read_text().split())

    def number() -> int:
        return int(next(tokens))

    def numbers(count: int) -> list[int]:
        return [number() for _ in range(count)]

    resources = number()
    by_resource = np.array([numbers(2) for _ in range(resources)])
    machines = number()
    places, capacity, safety, machine_move_cost = [], [], [], []
    for _ in range(machines):
        places.append(numbers(2))
        capacity.append(numbers(resources))
        safety.append(numbers(resources))
        machine_move_cost.append(numbers(machines))
    spread, dependencies = [], []
    for service in range(number()):
        spread.append(number())
        dependencies += [(service, other) for other in numbers(number())]
    by_process = np.array([numbers(2 + resources) for _ in range(number())])
    balance = [numbers(4) for _ in range(number())]
    process_move_weight, service_move_weight, machine_move_weight = numbers(3)
    assert next(tokens, None) is None
    initial = np.array([int(token) for token in assignment.read_text().split()])
    assert len(initial) == len(by_process)
    return Instance(
        transient=by_resource[:, 0].astype(bool),
        load_weight=by_resource[:, 1],
        neighborhood=np.array(places)[:, 0],
        location=np.array(places)[:, 1],
        capacity=np.array(capacity),
        safety=np.array(safety),
        machine_move_cost=np.array(machine_move_cost),
        spread=spread,
        dependencies=dependencies,
        service=by_process[:, 0],
        requirement=by_process[:, 1:-1],
        move_cost=by_process[:, -1],
        balance=balance,
        process_move_weight=process_move_weight,
        service_move_weight=service_move_weight,
        machine_move_weight=machine_move_weight,
        initial=initial,
    )


def usage(instance: Instance, place: Ints, who: NDArray[np.bool_] | None = None) -> Ints:
    """Return what the processes use of each machine, shape (M, R)."""
    used = np.zeros_like(instance.capacity)
    for process in range(len(place)) if who is None else np.flatnonzero(who).tolist():
        used[place[process]] += instance.requirement[process]
    return used


# -- rules ------------------------------------------------------------------------------------------------------------


def excess(instance: Instance, place: Ints) -> Ints:
    """Return how much is used above capacity, shape (M, R); of transient resources, by those that left too."""
    used = usage(instance, place)
    left = usage(instance, instance.initial, place != instance.initial)
    return np.maximum(0, used + left * instance.transient - instance.capacity)


def conflicts(instance: Instance, place: Ints) -> int:
    """Return how many processes share a machine with an earlier one of their service."""
    return len(place) - len(set(zip(instance.service.tolist(), place.tolist(), strict=True)))


def missing_locations(instance: Instance, place: Ints) -> int:
    """Return how many locations all services together are short of."""
    located: list[set[int]] = [set() for _ in instance.spread]
    for service, machine in zip(instance.service.tolist(), place.tolist(), strict=True):
        located[service].add(int(instance.location[machine]))
    return sum(max(0, least - len(found)) for least, found in zip(instance.spread, located, strict=True))


def missing_services(instance: Instance, place: Ints) -> int:
    """Return in how many neighborhoods, over all dependencies, a service is without the one it needs."""
    there: list[set[int]] = [set() for _ in instance.spread]
    for service, machine in zip(instance.service.tolist(), place.tolist(), strict=True):
        there[service].add(int(instance.neighborhood[machine]))
    return sum(len(there[one] - there[other]) for one, other in set(instance.dependencies))


# -- costs, each without its weight -----------------------------------------------------------------------------------


def load_cost(instance: Instance, place: Ints) -> Ints:
    """Return the load cost of each resource, shape (R,)."""
    return np.maximum(0, usage(instance, place) - instance.safety).sum(axis=0)


def balance_cost(instance: Instance, place: Ints) -> list[int]:
    """Return the balance cost of each triple."""
    free = (instance.capacity - usage(instance, place)).tolist()
    return [sum(max(0, target * row[one] - row[other]) for row in free) for one, other, target, _ in instance.balance]


def process_move_cost(instance: Instance, place: Ints) -> int:
    """Return the process move cost."""
    return int(instance.move_cost[place != instance.initial].sum())


def service_move_cost(instance: Instance, place: Ints) -> int:
    """Return the service move cost."""
    moved = [0] * len(instance.spread)
    for process in np.flatnonzero(place != instance.initial).tolist():
        moved[instance.service[process]] += 1
    return max(moved)


def machine_move_cost(instance: Instance, place: Ints) -> int:
    """Return the machine move cost."""
    moved = np.flatnonzero(place != instance.initial).tolist()
    return sum(int(instance.machine_move_cost[instance.initial[process], place[process]]) for process in moved)


def total_cost(instance: Instance, place: Ints) -> int:
    """Return the cost that the challenge counts."""
    return (
        int(load_cost(instance, place) @ instance.load_weight)
        + sum(cost * row[3] for cost, row in zip(balance_cost(instance, place), instance.balance, strict=True))
        + process_move_cost(instance, place) * instance.process_move_weight
        + service_move_cost(instance, place) * instance.service_move_weight
        + machine_move_cost(instance, place) * instance.machine_move_weight
    )
