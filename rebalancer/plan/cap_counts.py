"""Caps counted from the steps of a wave, for verification: nothing here reads what the planner reckoned."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.steps import Steps
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import Cap, PlanOptions
from rebalancer.specs.fields import exact


def caps_broken(model: Model, steps: Steps, rows: IntArray, options: PlanOptions) -> list[str]:
    """Return the caps that steps in flight together exceed, each as a message."""
    problem = model.problem
    who, source, destination = steps.who[rows], steps.source[rows], steps.destination[rows]
    out = []
    if options.max_in_flight is not None and len(rows) > options.max_in_flight:
        out.append(f"max_in_flight: {len(rows)} in flight, {options.max_in_flight} allowed")
    for name, cap, places in (
        ("max_in_per_container", options.max_in_per_container, destination),
        ("max_out_per_container", options.max_out_per_container, source),
    ):
        if cap is not None:
            out += _over(name, cap, problem.containers, np.bincount(places[places >= 0], minlength=1))
    for name, cap in options.max_per_scope_item.items():
        scope = problem.scopes[name]
        ends = np.sort(np.stack([scope.item_of[source], scope.item_of[destination]]), axis=0)
        touched = np.concatenate([ends[0], ends[1][ends[0] != ends[1]]])
        counted = np.bincount(touched[touched >= 0], minlength=1)
        out += _over(f"max_per_scope_item.{name}", cap, scope.items, counted)
    for name, cap in options.max_per_group.items():
        partition = problem.partitions[name]
        flying, _ = partition.by_object.of(who)
        out += _over(f"max_per_group.{name}", cap, partition.groups, np.bincount(partition.group[flying], minlength=1))
    for name, allowed in options.max_amount.items():
        dimension = problem.dimension(name)
        if dimension.dynamic is None:
            amount = int(dimension.values[who].sum(axis=0).max(initial=0))
        else:
            item_of = problem.scopes[dimension.dynamic.scope].item_of
            ends = np.stack([dimension.dynamic.at(item_of[place], who, len(problem.objects))
                             for place in (source, destination)])  # fmt: skip
            amount = int(ends.max(axis=0).sum())
        if Fraction(amount, dimension.scale) > exact(allowed):
            out.append(f"max_amount.{name}: {amount / dimension.scale:g} in flight, {float(allowed):g} allowed")
    return out


def _over(name: str, cap: Cap, names: Sequence[str], counted: NDArray[np.int64]) -> list[str]:
    out = []
    for index in np.flatnonzero(counted).tolist():
        allowed = cap.values.get(names[index], cap.default)
        if allowed is not None and counted[index] > allowed:
            out.append(f"{name} of {names[index]}: {counted[index]} in flight, {allowed} allowed")
    return out
