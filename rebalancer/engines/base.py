"""What every engine takes and gives back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model, Score


class Status(StrEnum):
    """How far a search got."""

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Progress:
    """One line of progress: a better answer or a better bound at one tuple position.

    Parameters
    ----------
    seconds : float
        Since the request was made.
    tuple_pos : int
    objective, bound, gap : float or None
        In the user's units; None where not known yet.
    """

    seconds: float
    tuple_pos: int
    objective: float | None
    bound: float | None
    gap: float | None


@dataclass(frozen=True)
class Request:
    """What to search for, and for how long.

    Parameters
    ----------
    time_limit : float or None
        Seconds from ``began``; None: until proven.
    gap : float
        Relative gap at which a position may stop.
    seed, workers : int
    start : int32 array or None
        An assignment to start from.
    deterministic : bool
        The same seed and workers give the same answer: time is counted as work, not by the clock.
    iterations : int or None
        Rounds of search after which to stop.
    patience : float or None
        Seconds without a better answer after which to stop.
    target : tuple of Fraction
        Values of the first tuple positions, in the user's units, that are good enough: a position that has reached its
        own gives way to the next, and the search ends where all of them have. Empty: none.
    on_progress : callable or None
    initial_score : Score or None
        Of the initial assignment, where it is known already: on large problems it takes a second to compute.
    stop : threading.Event
        Set it to end the search with the best answer so far.
    began : float
        `time.monotonic` when the caller's clock started.
    """

    time_limit: float | None = 60.0
    gap: float = 0.0
    seed: int = 0
    workers: int = 2
    start: NDArray[np.int32] | None = None
    deterministic: bool = False
    iterations: int | None = None
    patience: float | None = None
    target: tuple[Fraction, ...] = ()
    on_progress: Callable[[Progress], None] | None = None
    initial_score: Score | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)

    def good_enough(self, model: Model) -> tuple[int, ...]:
        """Return the target as the largest integer objective of each position that reaches it."""
        positions = model.tuple_positions[: len(self.target)]
        return tuple(
            math.floor((value + position.objective.error) / position.objective.unit)
            for value, position in zip(self.target, positions, strict=True)
        )

    @property
    def seconds(self) -> float:
        """Seconds since the request was made."""
        return time.monotonic() - self.began

    @property
    def remaining(self) -> float:
        """Seconds left; infinite without a limit."""
        return float("inf") if self.time_limit is None else self.time_limit - self.seconds


@dataclass(frozen=True)
class Answer:
    """What an engine found.

    Parameters
    ----------
    status : Status
    assignment : int32 array or None
        Container index per object, -1 unplaced; None if nothing was found.
    bounds : tuple of (int or None)
        Proven lower bound of each tuple position, given the earlier positions' values, in its integers; None where
        unknown. What `Model.real` makes of it is at most the exact formula's least value; integers may be less, by
        their rounding.
    reason : str or None
        Why there is no answer.
    engine : str
    """

    status: Status
    assignment: NDArray[np.int32] | None
    bounds: tuple[int | None, ...]
    reason: str | None = None
    engine: str = ""


class EngineError(RuntimeError):
    """An engine's answer is not what the evaluator says it is: a defect, never the user's fault."""


class Engine(Protocol):
    """Something that searches for a good assignment of a model."""

    name: str

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found."""
        ...
