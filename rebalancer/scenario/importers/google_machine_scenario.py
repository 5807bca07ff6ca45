"""The scenario folder of a Google machine reassignment instance: which rule and cost becomes which spec."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.importers.distance_classes import DistanceClasses, distance_classes


@dataclass(frozen=True, eq=False)
class Instance:
    """What a scenario is made of; R resources, M machines, S services, P processes.

    Parameters
    ----------
    transient : bool array, shape (R,)
        Whether a process that leaves still uses the resource where it was until all moves are done.
    load_weight : int64 array, shape (R,)
    neighborhood, location : int64 array, shape (M,)
    capacity, safety : int64 array, shape (M, R)
    machine_move_cost : int64 array, shape (M, M)
        By source and destination.
    spread : int64 array, shape (S,)
        In how many locations a service has to be.
    dependencies : tuple of (service, service)
        The first one needs the second.
    service : int64 array, shape (P,)
    requirement : int64 array, shape (P, R)
    move_cost : int64 array, shape (P,)
    balance : int64 array, shape (B, 4)
        Resource, other resource, target, weight.
    move_weights : (int, int, int)
        Of process, service and machine move cost.
    machine : int64 array, shape (P,)
        Where each process is now.
    """

    transient: NDArray[np.bool_]
    load_weight: IntArray
    neighborhood: IntArray
    location: IntArray
    capacity: IntArray
    safety: IntArray
    machine_move_cost: IntArray
    spread: IntArray
    dependencies: tuple[tuple[int, int], ...]
    service: IntArray
    requirement: IntArray
    move_cost: IntArray
    balance: IntArray
    move_weights: tuple[int, int, int]
    machine: IntArray

    @cached_property
    def sizes(self) -> IntArray:
        """How many processes each service has."""
        return np.bincount(self.service, minlength=len(self.spread)).astype(np.int64)

    @cached_property
    def distances(self) -> DistanceClasses | None:
        """Classes of machines by machine move cost; None where all moves are free."""
        if not self.move_weights[2] or not self.machine_move_cost[~np.eye(len(self.location), dtype=bool)].any():
            return None
        return distance_classes(self.machine_move_cost)


def scenario_files(instance: Instance, source: str, schema: str | None) -> dict[str, Iterable[str]]:
    """Return the files of the folder: name to the pieces of the text.

    Parameters
    ----------
    source : str
        What the instance was read from, for the first line.
    schema : str, optional
        Where editors find the JSON schema of scenario files, as seen from the folder; None: the file does not say.
    """
    return {
        "scenario.yaml": _scenario(instance, source, schema),
        "machines.csv": _machines(instance),
        "processes.csv": _processes(instance),
    }


_HEADER = """\
# Google machine reassignment, from {source}.
#
# All of it, exactly: the objective is the challenge's total cost. Constraints:
#   - capacity of every resource; processes that leave still count where the resource is transient (DURING_AND_AFTER)
#   - conflict: two processes of one service never share a machine
#   - spread: a service is in at least so many locations
#   - dependency: where a service is, the neighborhood has the services that it needs
# Costs:
#   - load: what a machine uses above its safety capacity, times the weight of the resource
#   - balance: what is left free of one resource without enough of another beside it
#   - moves: of processes, of the service that moves most, and by source and destination machine
#
# `replicas` is the partition `service` without the services of a single process, which cannot conflict. `load_r0`
# weighs the same as `r0` but has no capacity on machines: a capacity goal is divided by the mean capacity of its
# dimension, and the load cost is not. `distance` groups machines that are equally far from all others.
"""


def _scenario(instance: Instance, source: str, schema: str | None) -> Iterator[str]:
    if schema:
        yield f"# yaml-language-server: $schema={schema}\n"
    yield _HEADER.format(source=source)
    yield from _tables(instance)
    yield "\npolicy: HARD\nconstraints:\n"
    yield from _constraints(instance)
    goals = list(_goals(instance))
    if goals:
        yield "\ngoals:\n"
        yield from goals


def _tables(instance: Instance) -> Iterator[str]:
    resources = range(len(instance.transient))
    amounts = [f"r{r}: r{r}" for r in resources]
    doubled = [f"load_r{r}: r{r}" for r in resources if instance.load_weight[r]]
    scopes = ["location", "neighborhood", *(["distance"] if _has_distance_scope(instance) else [])]
    yield "\nobject: process\ncontainer: machine\n\ntables:\n"
    yield f"  machine:\n    file: machines.csv\n    key: machine\n    scopes: [{', '.join(scopes)}]\n"
    yield _flow("    dimensions: ", amounts)
    yield "  process:\n    file: processes.csv\n    key: process\n    container: machine\n"
    yield _flow("    dimensions: ", [*amounts, *doubled, "move_cost: move_cost"])
    yield f"    partitions: [service{', replicas' if (instance.sizes > 1).any() else ''}]\n"
    empty = sorted(_named(instance) & set(np.flatnonzero(instance.sizes == 0).tolist()))
    if empty:  # the table cannot say that a service without processes exists
        yield "\npartitions:\n"
        yield _flow("  service: ", [f"s{s}: []" for s in empty])


def _named(instance: Instance) -> set[int]:
    """Return the services that constraints name."""
    return {*np.flatnonzero(instance.spread > 0).tolist(), *(s for pair in instance.dependencies for s in pair)}


def _constraints(instance: Instance) -> Iterator[str]:
    for r, transient in enumerate(instance.transient.tolist()):
        definition = "DURING_AND_AFTER" if transient else "AFTER"
        yield f"  - capacity: {{scope: machine, dimension: r{r}, definition: {definition}}}\n    name: capacity-r{r}\n"
    if (instance.sizes > 1).any():
        yield "  - group_count: {scope: machine, partition: replicas, bound: MAX, limit: 1}\n    name: conflict\n"
    # a service that has a process is in one location anyway
    spread = np.flatnonzero((instance.spread > 1) | ((instance.spread == 1) & (instance.sizes == 0))).tolist()
    if spread:
        partition = "replicas" if (instance.sizes[spread] > 1).all() else "service"
        yield f"  - colocate_groups:\n      scope: location\n      partition: {partition}\n      bound: MIN\n"
        yield "      limits:\n        is_default_limit_unbounded: true\n"
        yield _flow("        group_limits: ", [f"s{s}: {instance.spread[s]}" for s in spread])
        yield "    name: spread\n"
    if instance.dependencies:
        needs: dict[int, list[int]] = {}
        for one, other in instance.dependencies:
            needs.setdefault(one, []).append(other)
        yield "  - group_dependency:\n      scope: neighborhood\n      partition: service\n"
        yield _flow(
            "      dependencies: ", [f"s{one}: [{', '.join(f's{s}' for s in others)}]" for one, others in needs.items()]
        )
        yield "    name: dependency\n"


def _goals(instance: Instance) -> Iterator[str]:
    for r, weight in enumerate(instance.load_weight.tolist()):
        if weight:
            yield f"  - capacity:\n      scope: machine\n      dimension: load_r{r}\n      limit:\n"
            yield "        type: ABSOLUTE\n"
            yield _flow(
                "        scope_item_limits: ", [f"m{m}: {most}" for m, most in enumerate(instance.safety[:, r])]
            )
            yield f"    name: load-r{r}\n    weight: {weight}\n"
    for b, (one, other, target, weight) in enumerate(instance.balance.tolist()):
        if weight:
            fields = f"scope: machine, dimension: r{one}, other_dimension: r{other}, target: {target}"
            name = f"balance-r{one}-r{other}" + (f"-{b}" if len(instance.balance) > 1 else "")
            yield f"  - leftover_ratio: {{{fields}}}\n    name: {name}\n    weight: {weight}\n"
    process, service, machine = instance.move_weights
    if process:
        yield "  - minimize_movement: {scope: machine, dimension: move_cost, do_not_normalize: true}\n"
        yield f"    name: process-move\n    weight: {process}\n"
    if service:
        yield f"  - largest_group_movement: {{partition: service}}\n    name: service-move\n    weight: {service}\n"
    if instance.distances is not None:
        yield from _machine_move(instance, instance.distances, machine)


def _machine_move(instance: Instance, distances: DistanceClasses, weight: int) -> Iterator[str]:
    name = "d" if _has_distance_scope(instance) else "m"
    own = np.eye(len(distances.cost), dtype=bool)
    values, count = np.unique(distances.cost[~own], return_counts=True)
    default = int(values[count.argmax()]) if len(values) else 0
    rows = []
    for source, row in enumerate(distances.cost.tolist()):
        entries = [
            f"{name}{destination}: {cost}"
            for destination, cost in enumerate(row)
            if cost != (0 if destination == source else default)
        ]
        if entries:
            rows.append(f"{name}{source}: {{{', '.join(entries)}}}")
    yield "  - transition_cost:\n"
    if name == "d":
        yield "      scope: distance\n"
    if default:
        yield f"      default: {default}\n"
    yield _flow("      costs: ", rows)
    yield f"    name: machine-move\n    weight: {weight}\n"


def _has_distance_scope(instance: Instance) -> bool:
    """Return whether some machines are equally far from all others, so that there are fewer classes than machines."""
    return instance.distances is not None and len(instance.distances.cost) < len(instance.location)


def _flow(start: str, entries: list[str]) -> str:
    """Return a mapping in braces, wrapped: a few lines for hundreds of machines instead of a line each."""
    indent = " " * (len(start) - len(start.lstrip()) + 2)
    return (
        textwrap.fill(
            f"{start}{{{', '.join(entries)}}}",
            width=118,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )


def _machines(instance: Instance) -> Iterator[str]:
    resources = instance.capacity.shape[1]
    classes = instance.distances.of.tolist() if instance.distances is not None else []
    shown = _has_distance_scope(instance)
    columns = ["machine", "location", "neighborhood", *(["distance"] if shown else [])]
    yield ",".join([*columns, *(f"r{r}" for r in range(resources))]) + "\n"
    places = zip(instance.location.tolist(), instance.neighborhood.tolist(), instance.capacity.tolist(), strict=True)
    for m, (location, neighborhood, capacity) in enumerate(places):
        names = [f"m{m}", f"l{location}", f"n{neighborhood}", *([f"d{classes[m]}"] if shown else [])]
        yield ",".join([*names, *map(str, capacity)]) + "\n"


def _processes(instance: Instance) -> Iterator[str]:
    replicated = instance.sizes[instance.service] > 1
    shared = bool(replicated.any())
    resources = instance.requirement.shape[1]
    columns = ["process", "machine", "service", *(["replicas"] if shared else [])]
    yield ",".join([*columns, *(f"r{r}" for r in range(resources)), "move_cost"]) + "\n"
    rows = zip(
        instance.machine.tolist(),
        instance.service.tolist(),
        replicated.tolist(),
        instance.requirement.tolist(),
        instance.move_cost.tolist(),
        strict=True,
    )
    for p, (machine, service, has_replicas, requirement, cost) in enumerate(rows):
        names = [f"p{p}", f"m{machine}", f"s{service}", *([f"s{service}" if has_replicas else ""] if shared else [])]
        yield ",".join([*names, *map(str, requirement), str(cost)]) + "\n"
