"""How long reading, checking and first evaluating a large scenario with ten specs takes.

python benchmarks/large_check.py [--objects 100000] [--containers 5000] [--write]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import facts

RESULT = Path(__file__).parent / "results" / "large_check.md"
SCENARIO = """\
object: task
container: host
tables:
  host: {file: hosts.csv, key: host, scopes: [rack], dimensions: [cpu, memory]}
  task: {file: tasks.csv, key: task, container: host, dimensions: [cpu, memory], partitions: [job]}
constraints:
  - capacity: {scope: host, dimension: cpu, definition: DURING_AND_AFTER}
  - capacity: {scope: host, dimension: memory}
  - group_count: {scope: host, partition: job, limit: 1}
  - group_count: {scope: rack, partition: job, limit: 2}
  - colocate_groups: {scope: rack, partition: job, bound: MIN, limits: 2}
  - group_move_limit: {partition: job, limit: 2}
  - to_free: {containers: [h0, h1, h2]}
goals:
  - balance: {scope: host, dimension: cpu}
  - balance: {scope: host, dimension: memory, formula: SQUARES}
  - minimize_movement: {do_not_normalize: true}
    tuple_pos: 1
"""


def write(folder: Path, objects: int, containers: int) -> None:
    """Write the scenario and its tables: jobs of five, racks of twenty, a random placement."""
    rng = np.random.default_rng(1)
    cpu, memory = (np.maximum(1, rng.lognormal(6, 1, objects)).astype(np.int64) for _ in range(2))
    place = rng.integers(0, containers, objects)
    with (folder / "tasks.csv").open("w", encoding="utf-8") as file:
        file.write("task,host,cpu,memory,job\n")
        file.writelines(
            f"t{task},h{host},{a},{b},j{task // 5}\n"
            for task, (host, a, b) in enumerate(zip(place.tolist(), cpu.tolist(), memory.tolist(), strict=True))
        )
    roomy = [int(1.4 * values.sum() / containers) for values in (cpu, memory)]
    with (folder / "hosts.csv").open("w", encoding="utf-8") as file:
        file.write("host,rack,cpu,memory\n")
        file.writelines(f"h{host},r{host // 20},{roomy[0]},{roomy[1]}\n" for host in range(containers))
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--containers", type=int, default=5_000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    from rebalancer import Rebalancer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, arguments.objects, arguments.containers)
        began = time.perf_counter()
        solver = Rebalancer.from_yaml(folder / "scenario.yaml")
        checked = time.perf_counter() - began
        solver.evaluate()
        evaluated = time.perf_counter() - began - checked
        began = time.perf_counter()
        solver.evaluate()
        again = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = [
        "| objects | containers | read and check | compile and evaluate | evaluate again | peak memory |",
        "|---|---|---|---|---|---|",
        f"| {arguments.objects:,} | {arguments.containers:,} | {checked:.1f} s | {evaluated:.1f} s | {again:.1f} s |"
        f" {memory:.0f} MB |",
    ]
    print("\n".join(lines))
    if arguments.write:
        title = "# Checking and evaluating a large scenario"
        text = f"{title}\n\n`python benchmarks/large_check.py --write`, {facts()}; ten specs.\n\n"
        RESULT.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
