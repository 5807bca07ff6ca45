"""Engines that tests say the answers of."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from rebalancer import engines
from rebalancer.engines.base import Answer, Request, Status
from rebalancer.model import Model


class Scripted:
    """Answers what a function says."""

    name = "scripted"

    def __init__(self, answer: Callable[[Model, Request], Answer]) -> None:
        self.answer = answer

    def solve(self, model: Model, request: Request) -> Answer:
        return self.answer(model, request)


def use(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Model, Request], Answer]) -> None:
    """Make every engine answer what a function says."""
    monkeypatch.setattr(engines, "get", lambda name: Scripted(answer), raising=False)


def enumerated(model: Model, request: Request) -> Answer:
    """Return the best of all assignments, proven."""
    places = range(-1 if model.problem.has_unplaced else 0, len(model.problem.containers))
    best: tuple[tuple[int, ...], NDArray[np.int32]] | None = None
    for choice in product(places, repeat=len(model.problem.objects)):
        assignment = np.array(choice, np.int32)
        score = model.evaluate(assignment)
        if score.feasible and (best is None or score.integers < best[0]):
            best = score.integers, assignment
    if best is None:
        return Answer(Status.INFEASIBLE, None, (None,) * model.positions, None, "enumerated")
    return Answer(Status.OPTIMAL, best[1], best[0], None, "enumerated")
