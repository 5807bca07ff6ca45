"""Google machine reassignment (ROADEF/EURO challenge 2012): an instance becomes a scenario folder.

Processes are objects, machines are containers. The names say the index in the instance: ``p0``, ``m0``, ``s0``
(service), ``l0`` (location), ``n0`` (neighborhood), ``r0`` (resource).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.errors import Fault, InputError
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.importers.folder import write_folder
from rebalancer.scenario.importers.integers import IntegerFile


@dataclass(frozen=True, eq=False)
class Instance:
    """What a scenario is made of; R resources, M machines, P processes.

    Parameters
    ----------
    transient : bool array, shape (R,)
        Whether a process that leaves still uses the resource where it was until all moves are done.
    load_weight : int64 array, shape (R,)
    neighborhood, location : int64 array, shape (M,)
    capacity, safety : int64 array, shape (M, R)
    service : int64 array, shape (P,)
    requirement : int64 array, shape (P, R)
    move_cost : int64 array, shape (P,)
    process_move_weight : int
    machine : int64 array, shape (P,)
        Where each process is now.
    """

    transient: NDArray[np.bool_]
    load_weight: IntArray
    neighborhood: IntArray
    location: IntArray
    capacity: IntArray
    safety: IntArray
    service: IntArray
    requirement: IntArray
    move_cost: IntArray
    process_move_weight: int
    machine: IntArray


def convert(
    model_path: str | PathLike[str],
    assignment_path: str | PathLike[str],
    out_dir: str | PathLike[str],
    *,
    overwrite: bool = False,
    schema: str | None = None,
) -> None:
    """Turn an instance into a scenario folder: ``scenario.yaml``, ``machines.csv``, ``processes.csv``.

    Parameters
    ----------
    model_path, assignment_path : path
        The two files of the instance.
    out_dir : path
        Folder to write; it must be empty or missing.
    overwrite : bool
        Replace the three files in a folder that is not empty.
    schema : str, optional
        Where editors find the JSON schema of scenario files, as seen from the folder; None: the file does not say.

    Raises
    ------
    InputError
        The files are malformed (every fault has file, line and column), or the folder is not empty; nothing is written.
    """
    instance = read(Path(model_path), Path(assignment_path))
    source = f"{Path(model_path).name}, {Path(assignment_path).name}"
    files = {
        "scenario.yaml": _scenario(instance, source, schema),
        "machines.csv": _machines(instance),
        "processes.csv": _processes(instance),
    }
    write_folder(Path(out_dir), files, overwrite)


# -- reading ----------------------------------------------------------------------------------------------------------


def read(model_path: Path, assignment_path: Path) -> Instance:
    """Read the two files of an instance.

    The order in the model file is that of the challenge: resources, machines, services, processes, balance triples,
    each preceded by their number, and the weights of the three move costs.

    Raises
    ------
    InputError
        With every fault that can be told from the others.
    """
    faults: list[Fault] = []
    file = IntegerFile(model_path)

    resources = file.take_count("resources", 1)
    by_resource = _Rows(file, resources, 2, "the resources")
    transient, load_weight = by_resource.column(0), by_resource.column(1)
    faults += by_resource.outside(0, 0, 1, "resource {row}: transient must be 0 or 1, got {value}")
    faults += by_resource.outside(1, 0, None, "resource {row}: the load cost weight is negative: {value}")

    machines = file.take_count("machines", 1)
    by_machine = _Rows(file, machines, 2 + 2 * resources + machines, "the machines")
    faults += by_machine.outside(0, 0, None, "machine {row}: the neighborhood is negative: {value}")
    faults += by_machine.outside(1, 0, None, "machine {row}: the location is negative: {value}")
    for r in range(resources):
        faults += by_machine.outside(
            2 + r, 0, None, f"machine {{row}}: the capacity of resource {r} is negative: {{value}}"
        )
        faults += by_machine.outside(
            2 + resources + r, 0, None, f"machine {{row}}: the safety capacity of resource {r} is negative: {{value}}"
        )

    services = file.take_count("services", 1)
    for s in range(services):
        file.take(1, f"the spread minimum of service {s}")
        depends = _Rows(file, file.take_count(f"dependencies of service {s}"), 1, f"the dependencies of service {s}")
        faults += depends.outside(0, 0, services - 1, f"service {s} depends on service {{value}}, there are {services}")

    processes = file.take_count("processes", 1)
    by_process = _Rows(file, processes, 2 + resources, "the processes")
    faults += by_process.outside(
        0, 0, services - 1, f"process {{row}}: the service {{value}} does not exist, there are {services}"
    )
    for r in range(resources):
        faults += by_process.outside(
            1 + r, 0, None, f"process {{row}}: the requirement of resource {r} is negative: {{value}}"
        )
    faults += by_process.outside(1 + resources, 0, None, "process {row}: the move cost is negative: {value}")

    balance = _Rows(file, file.take_count("balance triples"), 4, "the balance triples")
    for column in (0, 1):
        faults += balance.outside(
            column,
            0,
            resources - 1,
            f"balance triple {{row}}: the resource {{value}} does not exist, there are {resources}",
        )
    weights = _Rows(file, 1, 3, "the weights of the move costs")
    for column, kind in enumerate(("process", "service", "machine")):
        faults += weights.outside(column, 0, None, f"the weight of the {kind} move cost is negative: {{value}}")
    file.finish()

    placed = IntegerFile(assignment_path)
    by_place = _Rows(placed, processes, 1, f"the assignment of {processes} processes")
    faults += by_place.outside(
        0, 0, machines - 1, f"process {{row}} is on machine {{value}}, which does not exist; there are {machines}"
    )
    placed.finish()
    if faults:
        raise InputError(faults)

    table = by_machine.table
    return Instance(
        transient=transient.astype(bool),
        load_weight=load_weight,
        neighborhood=by_machine.column(0),
        location=by_machine.column(1),
        capacity=table[:, 2 : 2 + resources],
        safety=table[:, 2 + resources : 2 + 2 * resources],
        service=by_process.column(0),
        requirement=by_process.table[:, 1 : 1 + resources],
        move_cost=by_process.column(1 + resources),
        process_move_weight=int(weights.table[0, 0]),
        machine=by_place.column(0),
    )


class _Rows:
    """A block of rows of equal width, taken from the file."""

    def __init__(self, file: IntegerFile, rows: int, width: int, what: str) -> None:
        self._file = file
        self._start = file.taken
        self.table = file.take(rows * width, what).reshape(rows, width)

    def column(self, column: int) -> IntArray:
        return self.table[:, column]

    def outside(self, column: int, least: int, most: int | None, message: str) -> list[Fault]:
        """Return a fault for each value of a column below ``least`` or above ``most``."""
        values = self.table[:, column]
        bad = values < least
        if most is not None:
            bad |= values > most
        rows = np.flatnonzero(bad).tolist()
        width = self.table.shape[1]
        found = ((self._start + row * width + column, message.format(row=row, value=values[row])) for row in rows)
        return self._file.faults("out-of-range", found) if rows else []


# -- writing ----------------------------------------------------------------------------------------------------------

_HEADER = """\
# Google machine reassignment, from {source}.
#
# Covered, exactly:
#   - capacity of every resource; processes that leave still count where the resource is transient (DURING_AND_AFTER)
#   - conflict: two processes of one service never share a machine
#   - load cost: what a machine uses above its safety capacity, times the weight of the resource
#   - process move cost
# Not covered yet: spread, dependency, balance cost, service move cost, machine move cost. The partition `service` and
# the scopes `location` and `neighborhood` are here for them.
#
# `replicas` is the partition `service` without the services of a single process, which cannot conflict. `load_r0`
# weighs the same as `r0` but has no capacity on machines: a capacity goal is divided by the mean capacity of its
# dimension, and the load cost is not.
"""


def _scenario(instance: Instance, source: str, schema: str | None) -> Iterator[str]:
    resources = range(len(instance.transient))
    loads = [r for r in resources if instance.load_weight[r]]
    shared = bool(_replicated(instance).any())
    if schema:
        yield f"# yaml-language-server: $schema={schema}\n"
    yield _HEADER.format(source=source)
    amounts = [f"r{r}" for r in resources]
    doubled = [f"load_r{r}: r{r}" for r in loads]
    yield "\nobject: process\ncontainer: machine\n\ntables:\n"
    yield "  machine:\n    file: machines.csv\n    key: machine\n    scopes: [location, neighborhood]\n"
    yield _flow("    dimensions: ", [f"{name}: {name}" for name in amounts])
    yield "  process:\n    file: processes.csv\n    key: process\n    container: machine\n"
    yield _flow("    dimensions: ", [*(f"{name}: {name}" for name in amounts), *doubled, "move_cost: move_cost"])
    yield f"    partitions: [service{', replicas' if shared else ''}]\n"

    yield "\npolicy: HARD\nconstraints:\n"
    for r in resources:
        definition = "DURING_AND_AFTER" if instance.transient[r] else "AFTER"
        yield f"  - capacity: {{scope: machine, dimension: r{r}, definition: {definition}}}\n    name: capacity-r{r}\n"
    if shared:
        yield "  - group_count: {scope: machine, partition: replicas, bound: MAX, limit: 1}\n    name: conflict\n"

    if loads or instance.process_move_weight:
        yield "\ngoals:\n"
    for r in loads:
        yield f"  - capacity:\n      scope: machine\n      dimension: load_r{r}\n      limit:\n        type: ABSOLUTE\n"
        yield _flow(
            "        scope_item_limits: ", [f"m{m}: {amount}" for m, amount in enumerate(instance.safety[:, r])]
        )
        yield f"    name: load-r{r}\n    weight: {instance.load_weight[r]}\n"
    if instance.process_move_weight:
        yield "  - minimize_movement: {scope: machine, dimension: move_cost, do_not_normalize: true}\n"
        yield f"    name: process-move\n    weight: {instance.process_move_weight}\n"


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
    yield ",".join(["machine", "location", "neighborhood", *(f"r{r}" for r in range(resources))]) + "\n"
    places = zip(instance.location.tolist(), instance.neighborhood.tolist(), instance.capacity.tolist(), strict=True)
    for m, (location, neighborhood, capacity) in enumerate(places):
        yield f"m{m},l{location},n{neighborhood},{','.join(map(str, capacity))}\n"


def _processes(instance: Instance) -> Iterator[str]:
    replicated = _replicated(instance)
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


def _replicated(instance: Instance) -> NDArray[np.bool_]:
    """Return, per process, whether its service has another one."""
    return np.bincount(instance.service)[instance.service] > 1
