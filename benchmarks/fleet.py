"""The synthetic fleet: its instances as scenarios, and a scorer that is neither ours nor the peer's. Needs numpy.

The generator comes from outside: a folder with `generate.py` (instances, and `evaluate`, which judges an assignment).

The number that is compared is the **objective** of the model that both solve: the mean over hosts of the utilization
above the initial average, of cpu and of mem, plus 10 · 0.001 times the mean over hosts of the cpu that arrives by
moves, over the host's capacity. The first two terms are the **balance**. Both compare only where nothing is broken.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: What the magic scaling of minimize_movement multiplies by.
SCALING = 0.001

#: The price of movement in the generator's fleets: `Goals.weight`, scaled.
MOVEMENT = 10 * SCALING

#: The same model as the peer's driver states, but for its goals.
SCENARIO = """\
object: obj
container: host
tables:
  obj: {file: objects.parquet, key: obj, container: host, dimensions: [cpu, mem], partitions: [job]}
  host: {file: hosts.parquet, key: host, scopes: [rack], dimensions: [cpu, mem]}
constraints:
  - capacity: {scope: host, dimension: cpu}
  - capacity: {scope: host, dimension: mem}
  - group_count: {scope: host, partition: job, limit: 1}
  - group_count: {scope: rack, partition: job, limit: 2}
goals:
"""

Instance: TypeAlias = dict[str, NDArray[np.int64]]
Evaluate: TypeAlias = Callable[[Instance, NDArray[np.int64]], dict[str, Any]]


@dataclass(frozen=True)
class Goals:
    """What a fleet is to reach beside its limits; by default that of the peer's driver.

    Parameters
    ----------
    balanced : tuple of str
        Resources in balance.
    counted : bool
        Whether every move costs the same; else the cpu that arrives, over the host's capacity.
    weight : int
        That of movement; balance has 1.
    """

    balanced: tuple[str, ...] = ("cpu", "mem")
    counted: bool = False
    weight: int = 10

    def yaml(self) -> str:
        """Return the entries of a scenario's ``goals``."""
        balance = "".join(f"  - balance: {{scope: host, dimension: {name}}}\n" for name in self.balanced)
        what = "scope: host" if self.counted else "scope: host, dimension: cpu"
        return f"{balance}  - minimize_movement: {{{what}}}\n    weight: {self.weight}\n"


def generate(folder: Path, objects: int, containers: int, seed: int, out: Path) -> None:
    """Have the generator in `folder` write an instance."""
    command = [
        sys.executable,
        str(folder / "generate.py"),
        str(objects),
        str(containers),
        str(out),
        "--seed",
        str(seed),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def plain(objects: int, containers: int, seed: int) -> Instance:
    """Draw an instance of the simplest kind: equal hosts, sizes of 1 to 100, jobs of five, 70 % full.

    Hosts draw objects with probabilities of 0.3 to 1.7 times the mean.
    """
    draw = np.random.default_rng([seed, objects, containers])
    sizes = {name: draw.integers(1, 101, objects) for name in ("cpu", "mem")}
    heat = draw.uniform(0.3, 1.7, containers)
    return {
        **sizes,
        **{
            f"cap_{name}": np.full(containers, -(-size.sum() // (0.7 * containers)), np.int64)
            for name, size in sizes.items()
        },
        "rack": np.arange(containers) % max(4, containers // 20),
        "job": np.arange(objects) // 5,
        "init": draw.choice(containers, objects, p=heat / heat.sum()),
    }


def write_scenario(instance: Instance, folder: Path, goals: Goals | None = None) -> Path:
    """Write an instance as a scenario and two Parquet tables; return the scenario's path."""
    import pandas as pd

    hosts = names("h", len(instance["cap_cpu"]))
    objects = pd.DataFrame({"obj": names("o", len(instance["cpu"])), "host": hosts[instance["init"]]})
    objects["job"] = names("j", int(instance["job"].max()) + 1)[instance["job"]]
    for name in ("cpu", "mem"):
        objects[name] = instance[name]
    racks = names("r", int(instance["rack"].max()) + 1)
    table = pd.DataFrame({"host": hosts, "rack": racks[instance["rack"]]})
    for name in ("cpu", "mem"):
        table[name] = instance["cap_" + name]
    folder.mkdir(parents=True, exist_ok=True)
    objects.to_parquet(folder / "objects.parquet", index=False)
    table.to_parquet(folder / "hosts.parquet", index=False)
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO + (goals or Goals()).yaml(), encoding="utf-8")
    return path


def names(letter: str, count: int) -> NDArray[np.object_]:
    """Return the names of the objects, hosts, racks or jobs, as the peer's driver calls them."""
    return np.array([f"{letter}{number}" for number in range(count)], object)


def judge(evaluate: Evaluate, instance: Instance, assignment: NDArray[np.int64]) -> dict[str, Any]:
    """Score an assignment: what the generator's `evaluate` says, and `balance`, `movement`, `objective`, `broken`.

    `broken` counts overfull (host, resource) pairs and objects of a job too many on a host or rack.
    """
    score = dict(evaluate(instance, assignment))
    moved = assignment != instance["init"]
    arrived = instance["cpu"][moved] / instance["cap_cpu"][assignment[moved]]
    score["balance"] = score["balance_cpu"] + score["balance_mem"]
    score["movement"] = float(arrived.sum()) / len(instance["cap_cpu"])
    score["objective"] = score["balance"] + MOVEMENT * score["movement"]
    score["broken"] = sum(
        score[part] for part in ("over_cpu", "over_mem", "job_per_host_excess", "job_per_rack_excess")
    )
    return score


def bounds(instance: Instance) -> tuple[float, float]:
    """Return lower bounds of balance and of the objective over all assignments without an overfull host.

    Balance: what is above the average in all is put on the largest hosts, which have the lowest utilization for it,
    up to their capacity. Objective: of the cpu above the average of a host, what does not stay there has to go to some
    host, at the price of the largest; so a unit that stays costs at least ``1 - MOVEMENT`` more than one that goes.
    """
    below = {name: _averaging(instance, name) for name in ("cpu", "mem")}
    capacity = instance["cap_cpu"]
    used = np.bincount(instance["init"], instance["cpu"], len(capacity))
    above = np.maximum(0, used - (used / capacity).mean() * capacity)
    going = MOVEMENT * float(above.sum()) / float(capacity.max()) / len(capacity)
    return sum(below.values()), max(sum(below.values()), (1 - MOVEMENT) * below["cpu"] + below["mem"] + going)


def _averaging(instance: Instance, name: str) -> float:
    capacity = np.sort(instance["cap_" + name])[::-1].astype(float)
    before = np.bincount(instance["init"], instance[name], len(capacity)) / instance["cap_" + name]
    average = before.mean()
    above = float(instance[name].sum()) - average * capacity.sum()
    room = np.cumsum((1 - average) * capacity)
    filled = np.diff(np.minimum(room, max(0.0, above)), prepend=0.0)
    return float((filled / capacity).sum() / len(capacity))
