"""What cells of hard constraints and caps are called in messages."""

from __future__ import annotations

from rebalancer.model import Cells, Model
from rebalancer.plan.caps import CapCells
from rebalancer.plan.linear import LinearCells


def place_of(model: Model, constraint: int, cells: Cells, cell: int) -> tuple[str | None, str | None]:
    """Return scope item and group of a hard cell given by ``group * items + item``; None where it has no such thing."""
    stated = model.constraints[constraint].components
    part = next((part for part in stated if part.cells is cells or part.no_worse is cells), None)
    if part is None or (cells.groups, cells.items) != (part.cells.groups, part.cells.items):
        return None, None
    group, item = divmod(cell, cells.items)
    item_index = item if part.item_index is None else int(part.item_index[item])
    group_index = group
    if part.group_index is not None:
        group_index = int(part.group_index[group if len(part.group_index) == cells.groups else item])
    items = model.problem.scopes[part.scope].items if part.scope else None
    groups = model.problem.partitions[part.partition].groups if part.partition else part.group_names
    return (items[item_index] if items else None, groups[group_index] if groups else None)


def title(model: Model, constraint: int, cells: Cells, cell: int) -> str:
    """Return a hard cell as messages name it, such as ``memory-fits on host3 (web)``."""
    item, group = place_of(model, constraint, cells, cell)
    return model.constraints[constraint].name + (f" on {item}" if item else "") + (f" ({group})" if group else "")


def shortage(model: Model, kind: LinearCells | CapCells, cell: int, need: int, slack: int) -> str:
    """Return why a leg does not fit: what it needs and what there is."""
    if isinstance(kind, CapCells):
        unit, name = kind.unit, kind.name + (f" of {kind.names[cell]}" if kind.names is not None else "")
    else:
        unit, name = kind.cells.unit, title(model, kind.constraint, kind.cells, cell)
        if getattr(kind.cells, "x_unit", None) is not None:
            unit = kind.cells.x_unit  # type: ignore[attr-defined]
    return f"{name}: needs {float(need * unit):.12g}, {float(slack * unit):.12g} free"
