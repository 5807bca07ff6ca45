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
    """An instance of R resources, M machines and P processes."""

    transient: NDArray[np.bool_]  # (R,)
    load_weight: Ints  # (R,)
    capacity: Ints  # (M, R)
    safety: Ints  # (M, R)
    service: Ints  # (P,)
    requirement: Ints  # (P, R)
    move_cost: Ints  # (P,)
    process_move_weight: int
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
    capacity, safety = [], []
    for _ in range(machines):
        numbers(2)  # neighborhood, location
        capacity.append(numbers(resources))
        safety.append(numbers(resources))
        numbers(machines)
    for _ in range(number()):
        number()  # spread minimum
        numbers(number())
    by_process = np.array([numbers(2 + resources) for _ in range(number())])
    for _ in range(number()):
        numbers(4)
    process_move_weight, _, _ = numbers(3)
    assert next(tokens, None) is None
    initial = np.array([int(token) for token in assignment.read_text().split()])
    assert len(initial) == len(by_process)
    return Instance(
        transient=by_resource[:, 0].astype(bool),
        load_weight=by_resource[:, 1],
        capacity=np.array(capacity),
        safety=np.array(safety),
        service=by_process[:, 0],
        requirement=by_process[:, 1:-1],
        move_cost=by_process[:, -1],
        process_move_weight=process_move_weight,
        initial=initial,
    )


def usage(instance: Instance, place: Ints, who: NDArray[np.bool_] | None = None) -> Ints:
    """Return what the processes use of each machine, shape (M, R)."""
    used = np.zeros_like(instance.capacity)
    for process in range(len(place)) if who is None else np.flatnonzero(who).tolist():
        used[place[process]] += instance.requirement[process]
    return used


def excess(instance: Instance, place: Ints) -> Ints:
    """Return how much is used above capacity, shape (M, R); of transient resources, by those that left too."""
    used = usage(instance, place)
    left = usage(instance, instance.initial, place != instance.initial)
    return np.maximum(0, used + left * instance.transient - instance.capacity)


def conflicts(instance: Instance, place: Ints) -> int:
    """Return how many processes share a machine with an earlier one of their service."""
    return len(place) - len(set(zip(instance.service.tolist(), place.tolist(), strict=True)))


def load_cost(instance: Instance, place: Ints) -> Ints:
    """Return the unweighted load cost of each resource, shape (R,)."""
    return np.maximum(0, usage(instance, place) - instance.safety).sum(axis=0)


def process_move_cost(instance: Instance, place: Ints) -> int:
    """Return the unweighted process move cost."""
    return int(instance.move_cost[place != instance.initial].sum())
