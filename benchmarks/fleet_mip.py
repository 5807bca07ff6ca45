"""The synthetic fleet as a plain MIP, for HiGHS through MathOpt.

Written from the definition of the problem, not from our model.
One binary per object and host. What the initial assignment breaks may stay broken, but may not get worse, and costs
100 per unit of violation (for a capacity: of the mean capacity) and 10,000 per broken host or rack; all else is hard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
from fleet import SCALING, Goals, Instance
from numpy.typing import NDArray

INVALID_COST, INVALID_STATE = 100.0, 10_000.0


@dataclass
class Mip:
    """Columns and rows of a MIP, in bulk."""

    lower: list[NDArray[np.float64]] = field(default_factory=list)
    upper: list[NDArray[np.float64]] = field(default_factory=list)
    cost: list[NDArray[np.float64]] = field(default_factory=list)
    whole: list[NDArray[np.bool_]] = field(default_factory=list)
    limits: list[NDArray[np.float64]] = field(default_factory=list)
    exact: list[NDArray[np.bool_]] = field(default_factory=list)
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = field(default_factory=list)
    columns: int = 0
    rows: int = 0

    def add_columns(self, cost: NDArray[np.float64], upper: float, whole: bool) -> NDArray[np.int64]:
        """Add variables from 0 to `upper`; return their numbers."""
        count = len(cost)
        self.lower.append(np.zeros(count))
        self.upper.append(np.full(count, upper))
        self.cost.append(cost)
        self.whole.append(np.full(count, whole))
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add_rows(self, limits: NDArray[np.float64], exact: bool = False) -> NDArray[np.int64]:
        """Add constraints ``Σ ≤ limit``, or ``=`` where exact; return their numbers."""
        count = len(limits)
        self.limits.append(np.asarray(limits, float))
        self.exact.append(np.full(count, exact))
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def add_entries(self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Add coefficients; arguments are broadcast."""
        row, column, value = np.broadcast_arrays(rows, columns, values)
        self.entries.append((row.ravel(), column.ravel(), value.ravel().astype(float)))

    def solve(self, seconds: float) -> tuple[float | None, float | None, bool]:
        """Solve with HiGHS, on the threads it takes by itself; return objective, bound (None: none), and if proven."""
        from ortools.math_opt import model_pb2
        from ortools.math_opt.python import mathopt

        proto = model_pb2.ModelProto()
        variables, constraints, matrix = proto.variables, proto.linear_constraints, proto.linear_constraint_matrix
        variables.ids.extend(range(self.columns))
        variables.lower_bounds.extend(np.concatenate(self.lower).tolist())
        variables.upper_bounds.extend(np.concatenate(self.upper).tolist())
        variables.integers.extend(np.concatenate(self.whole).tolist())
        cost, limits = np.concatenate(self.cost), np.concatenate(self.limits)
        paid = np.flatnonzero(cost)
        proto.objective.linear_coefficients.ids.extend(paid.tolist())
        proto.objective.linear_coefficients.values.extend(cost[paid].tolist())
        constraints.ids.extend(range(self.rows))
        constraints.lower_bounds.extend(np.where(np.concatenate(self.exact), limits, -np.inf).tolist())
        constraints.upper_bounds.extend(limits.tolist())
        row, column, value = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        order = np.lexsort((column, row))
        matrix.row_ids.extend(row[order].tolist())
        matrix.column_ids.extend(column[order].tolist())
        matrix.coefficients.extend(value[order].tolist())
        parameters = mathopt.SolveParameters(time_limit=timedelta(seconds=seconds), relative_gap_tolerance=0.0)
        model = mathopt.Model.from_model_proto(proto)
        result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters)
        known = result.termination.objective_bounds
        proven = result.termination.reason == mathopt.TerminationReason.OPTIMAL
        found, bound = (value if np.isfinite(value) else None for value in (known.primal_bound, known.dual_bound))
        return found, bound, proven


def formulate(instance: Instance, goals: Goals) -> Mip:
    """Return the MIP of an instance."""
    objects, hosts = len(instance["cpu"]), len(instance["cap_cpu"])
    mip, host, start = Mip(), np.arange(hosts), instance["init"]
    arriving = np.ones((objects, hosts)) if goals.counted else instance["cpu"][:, None] / instance["cap_cpu"]
    arriving[np.arange(objects), start] = 0
    price = goals.weight * SCALING / hosts
    x = mip.add_columns((price * arriving).ravel(), 1, True).reshape(objects, hosts)
    mip.add_entries(mip.add_rows(np.ones(objects), exact=True)[:, None], x, np.ones(1))

    for name in ("cpu", "mem"):
        size, capacity = instance[name], instance["cap_" + name]
        before = np.bincount(start, size, hosts)
        use = size[:, None] / capacity
        if name in goals.balanced:
            above = mip.add_columns(np.full(hosts, 1 / hosts), np.inf, False)
            rows = mip.add_rows(np.full(hosts, (before / capacity).mean()))
            mip.add_entries(rows, x, use)
            mip.add_entries(rows, above, np.full(hosts, -1.0))
        mip.add_entries(mip.add_rows(np.maximum(1, before / capacity)), x, use)
        broken = np.flatnonzero(before > capacity)
        share = capacity[broken] / capacity.mean()
        violation, rows = _fix(mip, np.ones(len(broken)), (before / capacity)[broken] - 1, share)
        mip.add_entries(rows, x[:, broken], use[:, broken])
        mip.add_entries(rows, violation, np.full(len(broken), -1.0))

    for place, limit in ((host, 1), (instance["rack"], 2)):
        _crowds(mip, x, instance["job"], place, limit, start)
    return mip


def _fix(
    mip: Mip, limits: NDArray[np.float64], most: NDArray[np.float64], factor: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a violation per broken component and rows ``… ≤ limit``, from which it is to be taken.

    A violation is at most `most`, and costs for `factor` units.
    """
    violation = mip.add_columns(INVALID_COST * factor, np.inf, False)
    state = mip.add_columns(np.full(len(most), INVALID_STATE), 1, True)
    switch = mip.add_rows(np.zeros(len(most)))
    mip.add_entries(switch, violation, np.ones(1))
    mip.add_entries(switch, state, -most)
    return violation, mip.add_rows(limits)


def _crowds(
    mip: Mip,
    x: NDArray[np.int64],
    job: NDArray[np.int64],
    place: NDArray[np.int64],
    limit: int,
    start: NDArray[np.int64],
) -> None:
    """Add that no more than `limit` objects of a job are in one place: a host or a rack."""
    places, jobs = int(place.max()) + 1, int(job.max()) + 1
    before = np.zeros((jobs, places), np.int64)
    np.add.at(before, (job, place[start]), 1)
    rows = mip.add_rows(np.maximum(limit, before).ravel()).reshape(jobs, places)
    mip.add_entries(rows[job[:, None], place], x, np.ones(1))
    excess = np.maximum(0, before - limit)
    broken = np.flatnonzero(excess.any(axis=0))
    violation, sums = _fix(mip, np.zeros(len(broken)), excess.sum(axis=0)[broken].astype(float), np.ones(len(broken)))
    mip.add_entries(sums, violation, np.full(len(broken), -1.0))
    component = np.zeros(places, np.int64)
    component[broken] = sums
    which, where = np.nonzero(excess)  # of the other cells of a component none may be exceeded
    over = mip.add_columns(np.zeros(len(which)), np.inf, False)
    mip.add_entries(component[where], over, np.ones(1))
    cells = mip.add_rows(np.full(len(which), float(limit)))
    mip.add_entries(cells, over, np.full(len(which), -1.0))
    for cell, group, item in zip(cells, which, where, strict=True):
        members = x[np.ix_(np.flatnonzero(job == group), np.flatnonzero(place == item))]
        mip.add_entries(np.array([cell]), members.ravel(), np.ones(1))
