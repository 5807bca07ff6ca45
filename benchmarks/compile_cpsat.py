"""How long a model of a million candidate placements takes to become a CP-SAT model.

    python benchmarks/compile_cpsat.py [--objects 10000] [--containers 100]

Two capacities as constraints and two as goals. The target is 5 seconds of CPU from the specs to CP-SAT's model, hints
included. Writes the result to `benchmarks/results/compile_cpsat.md`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import facts

RESULT = Path(__file__).parent / "results" / "compile_cpsat.md"
TARGET = 5.0


class Phases:
    """CPU seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.seconds[name] = time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--containers", type=int, default=100)
    arguments = parser.parse_args()

    import numpy as np
    import pandas as pd
    from ortools.sat.python import cp_model

    from rebalancer import CapacitySpec, Rebalancer
    from rebalancer.engines.cpsat.candidates import every_pair, pruned
    from rebalancer.engines.cpsat.encode import encode
    from rebalancer.model import CellValues

    del cp_model  # imported for the time that it takes
    random = np.random.default_rng(0)
    objects = pd.Index([f"t{number}" for number in range(arguments.objects)])
    hosts = [f"h{number}" for number in range(arguments.containers)]
    solver = Rebalancer("task", "host")
    solver.set_assignment(pd.Series(random.choice(hosts, len(objects)), index=objects, dtype=object), containers=hosts)
    for dimension in ("cpu", "memory"):
        solver.add_object_dimension(dimension, pd.Series(random.integers(1, 100, len(objects)), index=objects))
        room = 60 * len(objects) // len(hosts)
        solver.add_container_dimension(dimension, pd.Series(np.full(len(hosts), room), index=hosts))
        solver.add_constraint(CapacitySpec(scope="host", dimension=dimension))
        solver.add_goal(CapacitySpec(scope="host", dimension=dimension, limit=0.8))

    phases = Phases()
    with phases.phase("specs to model"):
        model = solver.model
    with phases.phase("candidates"):
        literals = pruned(model, every_pair(model))
    with phases.phase("CP-SAT model"):
        start = CellValues(model.problem, model.problem.initial)
        encoding = encode(model, literals, start)
    with phases.phase("hints"):
        encoding.hint_from(start)
    total = sum(phases.seconds.values())
    proto = encoding.bulk.proto
    sizes = f"{literals.count:,} candidate placements, {len(proto.variables):,} variables"
    rows = "\n".join(f"| {name} | {seconds:.2f} |" for name, seconds in phases.seconds.items())
    text = (
        "# Compiling to CP-SAT\n\n"
        f"`python benchmarks/compile_cpsat.py`, {facts()}.\n\n"
        f"{arguments.objects:,} objects × {arguments.containers} containers, two capacities as constraints and two as"
        f" goals: {sizes}, {len(proto.constraints):,} constraints.\n\n"
        "| phase | CPU seconds |\n|---|---|\n"
        f"{rows}\n| all | {total:.2f} (target: below {TARGET:g}) |\n"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
