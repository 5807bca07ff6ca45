"""How many numbers a model holds: what memory it takes, counted instead of measured."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rebalancer.model import CellValues, Model, evaluate_cells


def numbers(model: Model) -> int:
    """How many numbers the cells of a model hold, and their values at the start."""
    values = CellValues(model.problem, model.problem.initial)
    for cells in model.graph:
        evaluate_cells(values, cells)
    return sum(_numbers(cells, set()) for cells in (*model.graph, *values.known.values()))


def _numbers(held: Any, seen: set[int]) -> int:
    if id(held) in seen:
        return 0
    seen.add(id(held))
    if isinstance(held, np.ndarray):
        return held.size
    if isinstance(held, tuple):
        return sum(_numbers(part, seen) for part in held)
    if not is_dataclass(held):
        return 0
    inner = [getattr(held, field.name) for field in fields(held) if field.name not in ("source", "sources", "cells")]
    return sum(_numbers(part, seen) for part in inner)
