"""Proven lower bounds without a search."""

from rebalancer.engines.bounds.raising import CLOSED, bounding, closed_as_reported, lower_bounds

__all__ = ["CLOSED", "bounding", "closed_as_reported", "lower_bounds"]
