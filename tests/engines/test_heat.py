"""Heat tells where an objective hurts."""

import numpy as np

from rebalancer import BalanceSpec, CapacitySpec, Rebalancer
from rebalancer.engines.heat import container_heat
from rebalancer.model import CellValues, Model
from rebalancer.specs.base import Spec


def heat_of(spec: Spec) -> np.ndarray:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"cool": ["t0"], "hot": ["t1", "t2", "t3", "t4"], "warm": ["t5", "t6", "t7"]})
    solver.add_container_dimension("cpu", {"cool": 2, "hot": 2, "warm": 2})
    solver.add_object_dimension("cpu", {}, default=1)
    solver.add_goal(spec)
    model: Model = solver.model
    return container_heat(model, 0, CellValues(model.problem, model.problem.initial))


def test_the_fullest_host_is_the_hottest() -> None:
    for spec in (CapacitySpec(scope="host", dimension="cpu"), BalanceSpec(scope="host", dimension="cpu")):
        cool, hot, warm = heat_of(spec)
        assert hot > warm >= cool >= 0
