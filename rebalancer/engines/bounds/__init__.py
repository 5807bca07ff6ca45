"""Proven lower bounds without a search."""

from rebalancer.engines.bounds.raising import bounding, lower_bounds
from rebalancer.engines.closed import CLOSED, closed_as_reported

__all__ = ["CLOSED", "bounding", "closed_as_reported", "lower_bounds"]
