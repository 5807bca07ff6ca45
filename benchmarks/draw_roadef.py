"""Draws an instance like the large ones of the ROADEF/EURO challenge 2012, which the repository does not have.

    python benchmarks/draw_roadef.py SOURCE OUT NAME --processes 40000 --machines 4000 [--resources 6]
        [--services 15000] [--dependencies 35000] [--locations 50] [--neighborhoods 5] [--balances 0]
        [--fill 0.84,0.86] [--seed 0]

SOURCE is the model file of a published instance, OUT the folder to write `model_NAME.txt` and `assignment_NAME.txt`
to; `roadef.py OUT` then runs it. What all published instances share is taken over:

- A process needs what one of theirs does of their first resources, picked at random: sizes have heavy tails, and some
  resources go together. Those with three resources have the first three of those with six: take b_01 for twelve, b_05
  for six and three.
- Most services have one process; the others have two to ten, or some more, at first each in a location of its own, and
  need some of these. They depend on others of their kind, a tenth of which all that others depend on are.
- Machines are as large as what random processes need there, where these fill each resource to the same share on all of
  them, one between those of `--fill`. Safe is 80 to 95 % of that, and nothing on every 25th machine. (What is used of
  published ones varies between machines, and goes together between resources, as these shares and moving 8 % imply.)
- Eight per cent of all processes have then moved at random to where they fit.

So some assignment fills machines evenly, and it is not the one that is written. Needs numpy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

MOVED, SAFE, UNSAFE_EACH = 0.08, (0.80, 0.95), 25
#: Of services with several processes, the largest has so many, or twice the mean; one of so many is needed by others.
LARGEST, NEEDED_EACH = 10, 10


def draw(options: argparse.Namespace) -> tuple[str, str]:
    """Return the texts of a model and of its assignment."""
    random = np.random.default_rng(options.seed)
    count, machines, resources = options.processes, options.machines, options.resources
    sizes, transient = _sizes(options.source.read_text(), count, resources, random)
    service = _services(options.services, count, random)
    location = np.arange(machines) % options.locations
    home = _apart(service, location, random)
    use = np.zeros((machines, resources), np.int64)
    np.add.at(use, home, sizes)
    low, high = options.fill
    capacity = np.maximum(1, (use / random.uniform(low, high, resources)).astype(np.int64))
    capacity = np.maximum(capacity, (0.1 * capacity.mean(0)).astype(np.int64))
    safety = (capacity * random.uniform(*SAFE, use.shape)).astype(np.int64)
    safety[::UNSAFE_EACH] = 0
    neighborhood = random.permutation(np.arange(machines) % options.neighborhoods)
    initial = _stirred(home, sizes, service, location, use, capacity, random)
    spread, needed = _rules(service, neighborhood[initial], options, random)

    cost = random.integers(0, 3, size=(options.locations, options.locations))
    lines = [str(resources), *(f"{int(t)} 10" for t in transient), str(machines)]
    for machine in range(machines):
        to = cost[location[machine]][location].copy()
        to[machine] = 0
        row = (neighborhood[machine], location[machine], *capacity[machine], *safety[machine], *to)
        lines.append(" ".join(map(str, row)))
    lines.append(str(options.services))
    lines += [" ".join(map(str, (spread[s], len(needed[s]), *needed[s]))) for s in range(options.services)]
    lines.append(str(count))
    lines += [f"{service[p]} {' '.join(map(str, sizes[p]))} 1" for p in range(count)]
    pairs = [(r, r + 1) for r in range(options.balances)]
    lines += [str(len(pairs)), *(f"{first} {second} 2\n10" for first, second in pairs), "1 10 100"]
    return "\n".join(lines) + "\n", " ".join(map(str, initial)) + "\n"


def _sizes(model: str, count: int, resources: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return what processes need of each resource, as published ones do, and which resources are transient."""
    numbers = np.array(model.split(), np.int64)
    known = int(numbers[0])
    transient = numbers[1 : 1 + 2 * known : 2]
    at = 1 + 2 * known
    machines = int(numbers[at])
    at += 1 + machines * (2 + 2 * known + machines)
    services = int(numbers[at])
    at += 1
    for _ in range(services):
        at += 2 + int(numbers[at + 1])
    processes = int(numbers[at])
    rows = numbers[at + 1 : at + 1 + processes * (known + 2)].reshape(processes, known + 2)[:, 1:-1]
    return rows[random.integers(processes, size=count), :resources], transient[:resources]


def _services(services: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Return the service of each process: most have one alone, the others two to a largest number, each as often."""
    largest = max(LARGEST, 2 * count // services)
    number = min(services, -(-2 * (count - services) // largest))
    size = np.ones(services, np.int64)
    size[:number] = random.integers(2, largest + 1, size=number)
    while short := count - int(size.sum()):
        able = np.flatnonzero(size[:number] < largest if short > 0 else size[:number] > 2)
        size[random.permutation(able)[: abs(short)]] += np.sign(short)
    return random.permutation(np.repeat(random.permutation(services), size))


def _apart(service: np.ndarray, location: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return machines of processes, no two of one service in the same location.

    Raises
    ------
    SystemExit
        There are too few locations.
    """
    machines = len(location)
    home = random.integers(machines, size=len(service))
    for _ in range(1_000):
        _, first = np.unique(service * machines + location[home], return_index=True)
        twice = np.ones(len(home), bool)
        twice[first] = False
        if not twice.any():
            return home
        home[twice] = random.integers(machines, size=int(twice.sum()))
    raise SystemExit(f"too few --locations for services of up to {np.bincount(service).max()} processes")


def _stirred(
    home: np.ndarray,
    sizes: np.ndarray,
    service: np.ndarray,
    location: np.ndarray,
    use: np.ndarray,
    capacity: np.ndarray,
    random: np.random.Generator,
) -> np.ndarray:
    """Return where processes are once some have moved to machines with room, in locations without their service."""
    place, used = home.copy(), use.copy()
    taken = set(zip(service.tolist(), location[place].tolist(), strict=True))
    for process in random.permutation(len(home))[: int(MOVED * len(home))]:
        for machine in random.integers(len(use), size=20).tolist():
            there, here = (service[process], location[machine]), (service[process], location[place[process]])
            if there not in taken and (used[machine] + sizes[process] <= capacity[machine]).all():
                used[place[process]] -= sizes[process]
                used[machine] += sizes[process]
                taken.discard(here)
                taken.add(there)
                place[process] = machine
                break
    return place


def _rules(
    service: np.ndarray, neighborhood: np.ndarray, options: argparse.Namespace, random: np.random.Generator
) -> tuple[np.ndarray, list[list[int]]]:
    """Return how many locations each service needs, and what services it needs nearby; all of that holds at first."""
    size = np.bincount(service, minlength=options.services)
    several = np.flatnonzero(size > 1)
    spread = np.where(size > 1, random.integers(0, size), 0)
    nearby = np.zeros((options.services, options.neighborhoods), bool)
    nearby[service, neighborhood] = True
    needed: list[list[int]] = [[] for _ in range(options.services)]
    left = options.dependencies
    for _ in range(100 if len(several) else 0):
        if not left:
            break
        first = random.choice(several, 2 * options.dependencies)
        second = random.choice(several[::NEEDED_EACH], 2 * options.dependencies)
        holds = (first != second) & ~(nearby[first] & ~nearby[second]).any(1)
        for one, other in zip(first[holds].tolist(), second[holds].tolist(), strict=True):
            if left and other not in needed[one]:
                needed[one].append(other)
                left -= 1
    if left:
        print(f"only {options.dependencies - left} of {options.dependencies} dependencies hold at first")
    return spread, needed


def main() -> None:
    """Read the command line, draw, write both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("name")
    for name, default in (
        ("processes", 40_000),
        ("machines", 4_000),
        ("resources", 6),
        ("services", 15_000),
        ("dependencies", 35_000),
        ("locations", 50),
        ("neighborhoods", 5),
        ("balances", 0),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--fill", type=lambda text: tuple(map(float, text.split(","))), default=(0.84, 0.86))
    options = parser.parse_args()
    if options.services > options.processes:
        parser.error(f"{options.services} services need as many processes, there are {options.processes}")
    model, assignment = draw(options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"model_{options.name}.txt").write_text(model)
    (options.out / f"assignment_{options.name}.txt").write_text(assignment)


if __name__ == "__main__":
    main()
