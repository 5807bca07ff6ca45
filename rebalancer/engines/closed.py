"""When a bound proves an answer, as far as can be told from what is reported."""

from __future__ import annotations

from rebalancer.model import Model

#: A relative gap up to this counts as closed, besides what the position is rounded by.
CLOSED = 1e-9


def closed_as_reported(model: Model, position: int, value: float, bound: int | float) -> bool:
    """Whether a bound proves an answer as far as can be told from what is reported: but for rounding.

    Parameters
    ----------
    value : float
        The answer's objective at the position by the exact formula.
    bound : int or float
        Of the position's integer objective, or as it is reported; NaN: unknown.
    """
    proven = bound if isinstance(bound, float) else model.proven(position, bound)
    return bool(value - proven <= CLOSED * max(1.0, abs(value)) + model.tuple_positions[position].epsilon)


__all__ = ["CLOSED", "closed_as_reported"]
