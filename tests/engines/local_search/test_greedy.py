"""Greedy search: which way is next."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from rebalancer.engines.budget import Budget
from rebalancer.engines.local_search.greedy import _ways, gain
from rebalancer.engines.local_search.kernels.descent import descend


class Stub:
    """A searcher whose ways each take a second, and gain what is left of them by half each time."""

    def __init__(self, budget: Budget, left: dict[str, float]) -> None:
        self.left, self.budget, self.calls = left, budget, list[str]()
        self.flat = SimpleNamespace(scarce=np.ones(1, bool), place=np.zeros(1))
        self.flattener = SimpleNamespace(pulls=False, meets=False)
        self.sharing = SimpleNamespace(taken=0.0, expect=lambda _gain: None)
        self.merit, self.least = 1_000.0, 1e-9

    def gain(self, way: str) -> None:
        self.calls.append(way)
        self.budget.spend(1.0)
        half = self.left.get(way, 0.0) / 2
        self.left[way] = half
        self.merit -= half

    def sweep(self, kernel: object, _budget: Budget, width: int) -> None:
        self.gain("descend" if kernel is descend else "exchange")

    def even_out(self, _budget: Budget) -> None:
        self.gain("even out")

    def recall(self, _budget: Budget, share: float) -> None:
        self.gain(f"recall {share:g}")

    def home(self, _budget: Budget) -> None:
        pass

    def hand_over(self, patient: bool) -> None:
        pass

    def enough(self, _position: int) -> bool:
        return False


def test_what_gains_fastest_is_next_until_nothing_does() -> None:
    budget = Budget(1_000.0, deterministic=True)
    stub = Stub(budget, {"exchange": 8.0, "even out": 400.0, "recall 0.3": 20.0})
    gain(stub, 0, budget, 60.0, 0.001, *_ways(stub))  # type: ignore[arg-type]
    assert stub.calls[:4] == ["descend", "exchange", "even out", "recall 0.3"], "each is tried first"
    assert stub.calls[4:8] == ["even out"] * 4, "200, 100, 50 and 25 are more than 10"
    assert set(stub.calls[-5:]) == {"descend", "exchange", "even out", "recall 0.3", "recall 1"}, "all were in vain"


def test_what_others_have_found_is_no_gain_of_ones_own() -> None:
    budget = Budget(1_000.0, deterministic=True)
    stub = Stub(budget, {})

    def take(_patience: bool = True, patient: bool = True) -> None:
        stub.merit -= 100.0
        stub.sharing.taken += 100.0

    stub.hand_over = take  # type: ignore[method-assign,assignment]
    gain(stub, 0, budget, 60.0, 0.001, *_ways(stub))  # type: ignore[arg-type]
    assert len(stub.calls) == 5
