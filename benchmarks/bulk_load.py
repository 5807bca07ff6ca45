"""How long a large scenario takes from Parquet to a problem, and how much memory.

    python benchmarks/bulk_load.py [--objects 1000000] [--containers 10000] [--csv]

Makes the tables in a temporary folder, loads them in a process of its own (so that peak memory is that of loading) and
writes the result to `benchmarks/results/bulk_load.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import peak_memory

RESULT = Path(__file__).parent / "results" / "bulk_load.md"

SCENARIO = """\
object: task
container: host
tables:
  task: {{file: tasks.{ending}, key: task, container: host, dimensions: [cpu, memory], partitions: [job]}}
  host: {{file: hosts.{ending}, key: host, scopes: [rack, zone], dimensions: [cpu, memory]}}
constraints:
  - capacity: {{scope: host, dimension: cpu}}
  - capacity: {{scope: host, dimension: memory}}
  - group_count: {{scope: rack, partition: job, limit: 200}}
goals:
  - minimize_movement: {{scope: host, dimension: memory}}
"""


def generate(folder: Path, objects: int, containers: int, ending: str) -> None:
    """Write the scenario and its two tables."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    tasks = pd.DataFrame(
        {
            "task": [f"task-{number:07d}" for number in range(objects)],
            "host": [f"host-{number:05d}" for number in random.integers(0, containers, objects).tolist()],
            "job": [f"job-{number}" for number in random.integers(0, max(1, objects // 20), objects).tolist()],
            "cpu": random.integers(1, 800, objects) / 100,
            "memory": random.integers(1, 64_000, objects),
        }
    )
    hosts = pd.DataFrame(
        {
            "host": [f"host-{number:05d}" for number in range(containers)],
            "rack": [f"rack-{number // 40}" for number in range(containers)],
            "zone": [f"zone-{number % 3}" for number in range(containers)],
            "cpu": np.full(containers, 1_000.0),
            "memory": np.full(containers, 8_000_000),
        }
    )
    for name, table in (("tasks", tasks), ("hosts", hosts)):
        if ending == "csv":
            table.to_csv(folder / f"{name}.csv", index=False)
        else:
            table.to_parquet(folder / f"{name}.parquet", index=False)
    (folder / "scenario.yaml").write_text(SCENARIO.format(ending=ending))


def measure(path: Path) -> dict[str, float]:
    """Load a scenario and return seconds and peak memory in MB; to be called in a fresh process."""
    import numpy
    import pydantic
    import yaml

    from rebalancer.scenario.reader import load

    del numpy, pydantic, yaml  # imported for what they weigh
    before = peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    scenario = load(path)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_memory()
    return {
        "objects": len(scenario.problem.objects),
        "containers": len(scenario.problem.containers),
        "seconds": seconds,
        "cpu": used,
        "before": before,
        "peak": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--containers", type=int, default=10_000)
    parser.add_argument("--csv", action="store_true", help="measure CSV as well")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure)))
        return
    rows = []
    for ending in ("parquet", "csv") if arguments.csv else ("parquet",):
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), arguments.objects, arguments.containers, ending)
            command = [sys.executable, __file__, "--measure", f"{folder}/scenario.yaml"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        rate, peak = found["objects"] / found["seconds"], found["peak"] - found["before"]
        sizes = f"{found['objects']:,} | {found['containers']:,}"
        rows.append(f"| {ending} | {sizes} | {found['seconds']:.1f} | {found['cpu']:.1f} | {rate:,.0f} | {peak:,.0f} |")
    text = (
        "# Loading tables\n\n"
        f"`python benchmarks/bulk_load.py`, Python {platform.python_version()}, {os.cpu_count()} cores; "
        "five columns of tasks, five of hosts, three constraints, one goal.\n\n"
        "| format | objects | containers | seconds | CPU seconds | objects per second | peak MB over the imports |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
