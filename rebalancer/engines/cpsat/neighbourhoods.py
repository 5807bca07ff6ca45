"""Frees the objects of a few containers, solves that part exactly, keeps what is better.

A good answer long before the whole model has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import solve
from rebalancer.engines.heat import container_heat
from rebalancer.model import CellValues, Model

#: Seconds for one part at first, and at most, once rounds bring nothing; parts solved in time grow, others shrink.
_SECONDS, _MOST_SECONDS = 0.3, 2.0
#: Placements that one part starts with, and the bounds of its size.
_SIZE, _SMALLEST, _LARGEST = 300, 60, 20_000
#: What a round costs besides CP-SAT's work where the clock does not count: for itself, and for each candidate.
_ROUND, _ENTRY = 0.05, 1e-5


def improve(
    model: Model,
    request: Request,
    best: NDArray[np.int32],
    integers: tuple[int, ...],
    position: int,
    budget: Budget,
    offer: Callable[[NDArray[np.int32]], bool],
    literals: Literals | None,
    patience: int,
) -> None:
    """Improve one tuple position by solving parts of the problem, until nothing is gained or the budget is used up.

    Parameters
    ----------
    best, integers
        The answer to start from, and its score.
    offer : callable
        Takes every better answer; returns whether it is good enough to stop.
    literals : Literals or None
        Candidates to choose from; None: any container.
    patience : int
        Rounds without a better answer after which the rest of the budget is left to others.
    """
    rng = np.random.default_rng(request.seed + position)
    size, idle = _SIZE, 0
    heat = container_heat(model, position, CellValues(model.problem, best))
    while idle < patience and not budget.over:
        part = _part(model, best, heat, size, rng, literals)
        encoding = encode(model, part, CellValues(model.problem, best))
        for earlier in range(position):
            rows = encoding.objectives[earlier]
            encoding.bulk.linear_of(rows.var, rows.coef, -INFINITE, integers[earlier] - int(rows.const.dense()[0, 0]))
        rows = encoding.objectives[position]
        budget.spend(_ROUND + _ENTRY * part.count)
        if not len(rows.key):
            idle += 1
            continue
        encoding.bulk.minimize(rows.var, rows.coef)
        encoding.hint_from(CellValues(model.problem, best))
        turn = budget.part(min(_SECONDS * (1 + idle / 8), _MOST_SECONDS))
        outcome = solve(
            encoding.bulk,
            # One worker alone gets much further than several that wait for each other to stay in step.
            replace(
                request,
                gap=0.0,
                seed=int(rng.integers(2**31)),
                workers=1 if request.deterministic else request.workers,
            ),
            turn,
            cp_model_probing_level=0,
            symmetry_level=0,
        )
        size = min(_LARGEST, int(size * 1.3)) if outcome.status == "OPTIMAL" else max(_SMALLEST, int(size * 0.7))
        idle += 1
        if outcome.values is not None:
            found = part.assignment(outcome.values[: part.count] > 0)
            score = model.evaluate(found)
            if score.feasible and score.integers < integers:
                best, integers, idle = found, score.integers, 0
                if offer(best):
                    return
                heat = container_heat(model, position, CellValues(model.problem, best))


def _part(
    model: Model,
    best: NDArray[np.int32],
    heat: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
    literals: Literals | None,
) -> Literals:
    """Return candidates in which the objects of some containers may go to any of these, and all others stay.

    Half of the containers are drawn by heat, the others evenly, until about ``size`` placements are free. Unplaced
    objects are always free.
    """
    containers = len(model.problem.containers)
    load = np.bincount(best[best >= 0], minlength=containers)
    loose = int((best < 0).sum())
    even = np.ones(containers) / containers
    hot = heat / heat.sum() if heat.sum() > 0 else even
    order_hot = (
        rng.permutation(containers)
        if hot is even
        else np.argsort(rng.exponential(size=containers) / np.maximum(hot, 1e-12))
    )
    order_any = rng.permutation(containers)
    chosen: list[int] = []
    objects = loose
    for pair in zip(order_hot.tolist(), order_any.tolist(), strict=True):
        for container in pair:
            if container not in chosen and (len(chosen) < 2 or (objects + load[container]) * (len(chosen) + 1) <= size):
                chosen.append(container)
                objects += int(load[container])
        if len(chosen) >= 2 and objects * (len(chosen) + 1) > size:
            break
    free = np.zeros(containers + 1, bool)
    free[chosen] = True
    movable = free[best] | (best < 0)
    if literals is not None:
        stays = literals.container == best[literals.object]
        return literals.without(
            ~(stays | (movable[literals.object] & (free[literals.container] | (literals.container < 0))))
        )
    some = np.flatnonzero(movable)
    goes = np.array(sorted(chosen), np.int64)
    pairs = np.concatenate(
        [
            np.stack([np.arange(len(best)), best.astype(np.int64)]),
            np.stack([np.repeat(some, len(goes)), np.tile(goes, len(some))]),
        ],
        axis=1,
    )
    column = np.where(pairs[1] < 0, containers, pairs[1])
    key = np.unique(pairs[0] * (containers + 1) + column)
    obj, container = key // (containers + 1), key % (containers + 1)
    start = np.concatenate([[0], np.cumsum(np.bincount(obj, minlength=len(best)))]).astype(np.int64)
    return Literals(obj, np.where(container == containers, -1, container), start)
