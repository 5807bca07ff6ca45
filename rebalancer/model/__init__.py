"""The compiled model: cells, their exact evaluation, the policy. It knows no spec and no engine."""

from rebalancer.model.builder import METRICS, ModelBuilder
from rebalancer.model.cells import (
    Cells,
    Extremum,
    Family,
    Function,
    Gather,
    Gathering,
    Map,
    Product,
    Ratio,
    Reduce,
    Tally,
    Term,
)
from rebalancer.model.evaluate import CellValues, evaluate_cells, floats_of
from rebalancer.model.grid import Grid, GridTooLarge
from rebalancer.model.model import ConstraintCells, GoalCells, Model, Position, Score, assemble
from rebalancer.model.param import Param
from rebalancer.model.policy import Component, HardCells
from rebalancer.model.units import Amount

__all__ = [
    "METRICS",
    "Amount",
    "CellValues",
    "Cells",
    "Component",
    "ConstraintCells",
    "Extremum",
    "Family",
    "Function",
    "Gather",
    "Gathering",
    "GoalCells",
    "Grid",
    "GridTooLarge",
    "HardCells",
    "Map",
    "Model",
    "ModelBuilder",
    "Param",
    "Position",
    "Product",
    "Ratio",
    "Reduce",
    "Score",
    "Tally",
    "Term",
    "assemble",
    "evaluate_cells",
    "floats_of",
]
