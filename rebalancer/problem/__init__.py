"""What the world is: names and indices, dimensions, scopes, partitions, the assignment."""

from rebalancer.problem.builder import ProblemBuilder
from rebalancer.problem.column import Amounts, Column
from rebalancer.problem.errors import Fault, FaultList, InputError, Path, nearest, unknown_name
from rebalancer.problem.numbers import FixedPoint, PlainText, fix, to_fraction
from rebalancer.problem.problem import PLACED_SCOPE, Problem
from rebalancer.problem.structure import (
    UNPLACED,
    DynamicValues,
    Names,
    ObjectDimension,
    Partition,
    Scope,
    ScopeDimension,
)

__all__ = [
    "PLACED_SCOPE",
    "UNPLACED",
    "Amounts",
    "Column",
    "DynamicValues",
    "Fault",
    "FaultList",
    "FixedPoint",
    "InputError",
    "Names",
    "ObjectDimension",
    "Partition",
    "Path",
    "PlainText",
    "Problem",
    "ProblemBuilder",
    "Scope",
    "ScopeDimension",
    "fix",
    "nearest",
    "to_fraction",
    "unknown_name",
]
