"""Improves an answer by compiled local search: greedy first, then walks that cool down, again and again.

Every step is a kernel call of some milliseconds, so that limits, interrupts and other searchers' answers are heeded
between any two. What the kernels know of the best answer is exact; the evaluator judges it all the same.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.classes import descend_in_classes
from rebalancer.engines.local_search.flatten import Flattener
from rebalancer.engines.local_search.goals import Goals
from rebalancer.engines.local_search.kernels.chains import chase_down, rebuild
from rebalancer.engines.local_search.kernels.climb import (
    anneal,
    descend,
    may_leave,
    move_teams,
    return_home,
    sample,
    sampled_share,
    swap_down,
)
from rebalancer.engines.local_search.kernels.heat import heat
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, Flat
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.trail import (
    M_BEST,
    M_NOW,
    NEVER,
    T_BEST,
    T_BLIND,
    T_GUESSES,
    T_HITS,
    T_LENGTH,
    T_POSITION,
    T_REACH,
    T_RELAXED,
    T_ROOM,
    Trail,
    appraise,
    best_place,
    follow,
    new_trail,
    restart,
)
from rebalancer.engines.local_search.limits import Limits
from rebalancer.engines.local_search.walks import Walks
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: Destinations that greedy search looks at for an object, and for one of a whole group, partners for an exchange, and
#: chains that begin with each object.
_WIDTH, _GLANCE, _PARTNERS, _CHAINS = 32, 8, 24, 2
_SWEEPS = ((descend, _WIDTH), (swap_down, _PARTNERS), (chase_down, _CHAINS), (rebuild, _WIDTH // 2))
#: Greedy search goes on while a round gains this share of what there is, for so many rounds at most.
_WORTHWHILE, _ROUNDS = 0.003, 1_000
#: Per cent of moves that are tried against their slopes in problems of few objects, and how many are few.
_BLIND, _FEW = 20, 500
#: After so many such tries, fewer are made if less than the first share of them was kept, and more above the second.
_GUESSES, _IN_VAIN, _PAYS = 1_000, 0.01, 0.05
#: How often each group is tried as a whole, and the most tries.
_TEAMS, _MOST_TEAMS = 20, 20_000
#: Seconds that one kernel call should take, and that pass between two answers that are handed over.
_CALL, _SHARE = 0.05, 0.25
#: A walk starts at some multiple of the median cost of moves that are no gain, and ends at this share of that.
_COLD = 0.003
#: Limits on amounts are relaxed by this share at first, down to none at this share of a walk; what is beyond them costs
#: this multiple of a typical move per typical object, and up to so many times more at the end. Only where fewer than
#: this share of random moves are within the limits.
_WIDER, _NARROW, _PRICE, _URGENT, _TIGHT = 0.1, 0.6, 20.0, 30.0, 0.6
#: Goals that are levelled are as steep as they are from this share of a walk on, and it ends at this share of its heat.
_STEEP, _CHILLY = 0.95, 0.03
#: So many times limits or goals change during a walk.
_FIFTIETHS = 50
#: Rounds of mending what a relaxed walk leaves beyond its limits, steps of each, and how warm they are.
_MENDING, _MENDING_STEPS, _WARM = 20, 100_000, 0.02
#: Shares of exchanges, returns home and ejections that walks take in turn.
_MIXES = ((0.3, 0.3, 0.3), (0.1, 0.2, 0.6), (0.2, 0.5, 0.2))
#: Slopes, and what is noted by object, are taken anew after so many steps, or one for each cell or so many for each
#: object where that is more.
_FRESH, _TURNS = 200_000, 16
#: So many steps tell how long one takes, once so many have been made that what is noted by object is known.
_SOUNDING, _MOST_SOUNDING = 20_000, 200_000
#: What gains fastest is told by turns of so many seconds, or this share of the time where that is less, and by walks of
#: this heat.
_LAP, _LAP_SHARE, _LUKEWARM = 0.3, 0.03, 0.01
#: The share of the time for chains, and for placing objects anew, when greedy search has dried up.
_POLISH = 0.01
#: Smaller gains than this share of the merit are noise of floating point.
_NOISE = 1e-12


def improve(model: Model, incumbent: Incumbent, budget: Budget, request: Request) -> None:
    """Improve a shared incumbent, position by position, until the budget is over.

    Raises
    ------
    TooLargeForMoves
        Some cells would need a table over too many groups and items.
    """
    if len(model.problem.containers) and len(model.problem.objects):
        Searcher(model, incumbent, request.seed).run(budget)


def is_crowded(model: Model, incumbent: Incumbent, request: Request) -> bool:
    """Whether limits on amounts forbid a large share of all moves, once objects have left where it hurts most.

    Raises
    ------
    TooLargeForMoves
        Some cells would need a table over too many groups and items.
    """
    if not len(model.problem.containers) or incumbent.found is None:
        return False
    searcher = Searcher(model, incumbent, request.seed)
    searcher.turn_to(0)
    if not searcher.flat.counts[N_BROKEN]:
        descend_in_classes(searcher, incumbent.budget, _WIDTH)
        searcher.hand_over()
    return searcher.crowded()


def _numbers(_model: Model) -> Iterator[int]:
    """Return what numbers the searchers of a model."""
    return count()


@dataclass
class Pace:
    """How many units of work a kernel call may do to last about `_CALL` seconds."""

    budget: Budget
    units: float
    largest: float = math.inf
    _began: float = field(default=0.0)

    def take(self) -> int:
        """Return the units of the next call, and start its clock."""
        self._began = time.perf_counter()
        return max(1, int(min(self.units, self.largest)))

    def took(self, units: int, steps: int) -> None:
        """Note that a call did this much; steps count where the clock does not."""
        self.budget.spend(steps * STEP)
        self.budget.tick(max(1, steps))
        if not self.budget.deterministic:
            seconds = max(1e-5, time.perf_counter() - self._began)
            self.units = min(4 * self.units, max(1.0, units * _CALL / seconds))


class Searcher:
    """One searcher: a copy of all cells, and the log of its moves.

    Parameters
    ----------
    model : Model
    incumbent : Incumbent
    seed : int

    Attributes
    ----------
    flat : Flat
        Where it stands.
    """

    def __init__(self, model: Model, incumbent: Incumbent, seed: int) -> None:
        self.model = model
        self.incumbent = incumbent
        self.flattener = incumbent.once(Flattener)
        found = incumbent.found
        start = model.problem.initial if found is None else found.assignment
        self.flat: Flat = self.flattener.at(start)
        objects = len(start)
        self.trail: Trail = new_trail(model.positions, seed, objects, room=max(1 << 16, 2 * objects))
        self.rng = np.random.default_rng([seed, 1])
        self._handed = time.monotonic()
        self._best: NDArray[np.int32] = self.flat.place.copy()
        self._best_merit = math.inf
        self.containers = len(model.problem.containers)
        longest = max((column.items for column in self.flattener.forms.columns), default=1)
        compute(self.flat, np.ones(model.positions))
        self.trail.numbers[T_REACH] = self.containers + bool(may_leave(self.flat, self.trail, 200))
        self.trail.numbers[T_BLIND] = self._blind()
        self._daring = next(incumbent.once(_numbers)) % 2 == 0  # of two side by side, one
        self._fresh = max(_FRESH, len(self.flat.values), _TURNS * objects)
        self._limits = Limits.of(self.flattener)
        self._teams = self.flattener.teams()
        self._heat, self._scratch = np.zeros(self.containers), np.zeros(longest)

    # -- the whole search -------------------------------------------------------------------------------------------

    def run(self, budget: Budget) -> None:
        """Search until the budget is over."""
        from rebalancer.engines.local_search.repair import repair

        self.turn_to(0)
        if self.flat.counts[N_BROKEN] and not repair(self, budget):
            return
        positions = self.model.positions
        for position in range(positions):
            if budget.over:
                break
            left = positions - position
            share = budget.part(budget.remaining / (1 if left == 1 else 2))
            self.turn_to(position)
            self._position(position, share)
        self.hand_over()

    def turn_to(self, position: int) -> None:
        """Minimise a position, the earlier ones at no more than what they are."""
        self.trail.numbers[T_POSITION] = position
        self.trail.worth[:] = 0.0
        self.trail.worth[position] = 1.0
        appraise(self.flat, self.trail)
        self._start_here()

    def slopes(self) -> None:
        """Take fresh slopes where the searcher stands. Earlier positions pull as well, so that they are not lost."""
        position = int(self.trail.numbers[T_POSITION])
        worth = self.trail.worth.copy()
        worth[:position] = 1e3
        compute(self.flat, worth)

    def _position(self, position: int, budget: Budget) -> None:
        if self._daring:
            descend_in_classes(self, budget, _WIDTH)
        else:
            self.sweep(descend, budget, _WIDTH)
        (self._race if self.crowded() else self._greedy)(position, budget)
        whole = budget.remaining if math.isfinite(budget.remaining) else 60.0
        walks = Walks(self.crowded(), self._goals().differ, self._steps_each(whole), self._daring)
        for turn in count():
            if budget.over or self._enough(position):
                break
            self.join()
            walk = walks.next(min(1.0, budget.remaining / whole))
            part, mix = budget.part(walk.share * whole), _MIXES[turn % len(_MIXES)]
            if walk.levelled:
                self._levelled(position, budget, part, walk.multiple, mix)
            else:
                (self._relaxed if walk.relaxed else self._walk)(part, walk.multiple, mix)
            end = math.inf if self.flat.counts[N_BROKEN] else self.merit
            walks.learn(walk, end)
            _log.debug("%s: best %g, ended at %g", walk, self.trail.merits[M_BEST], end)
            self.rest()
            self._home(budget)
            self._together(budget)
            self.hand_over()

    def _steps_each(self, seconds: float) -> float:
        """Return how many steps a walk of some time makes for each object, as far as a short one tells."""
        temperature, objects = 1e-3 * self.least, len(self.flat.place)
        for steps in (min(objects, _MOST_SOUNDING), _SOUNDING):
            made, began = 0, time.perf_counter()
            while made < steps:
                made += max(1, anneal(self.flat, self.trail, steps, temperature, temperature, *_MIXES[0]))
                self._clear_log()
            self.incumbent.budget.spend(made * STEP)
        took = made * STEP if self.incumbent.budget.deterministic else time.perf_counter() - began
        return made / took * seconds / objects

    def _enough(self, position: int) -> bool:
        return self.incumbent.enough(position, self.incumbent.bounds[position])

    def _blind(self) -> int:
        """Return the per cent of moves to try although their slopes speak against them: where slopes know little."""
        columns = self.flattener.forms.columns
        far = any(
            piece.target.groups * piece.target.items > 1 for column in columns for piece in column.pieces
        ) or bool(self.flattener.forms.specials)
        return 0 if not far else _BLIND if len(self.flat.place) <= _FEW else 1

    def _guess(self) -> None:
        """Try more moves against their slopes where that pays, fewer where it does not."""
        numbers = self.trail.numbers
        if numbers[T_GUESSES] < _GUESSES:
            return
        share = numbers[T_HITS] / numbers[T_GUESSES]
        if share < _IN_VAIN:
            numbers[T_BLIND] = max(1, numbers[T_BLIND] // 2)
        elif share > _PAYS:
            numbers[T_BLIND] = min(_BLIND, 2 * numbers[T_BLIND])
        numbers[T_GUESSES] = numbers[T_HITS] = 0

    # -- greedy -----------------------------------------------------------------------------------------------------

    def _greedy(self, position: int, budget: Budget) -> None:
        """Descend from hot containers until that dries up, then exchange; again until neither gains much."""
        for turn in range(_ROUNDS):
            before = self.merit
            self._descend(position, budget)
            if turn % 3 == 0:
                self._together(budget)
            between = self.merit
            self.sweep(swap_down, budget, _PARTNERS)
            self._home(budget)
            self.hand_over(patient=True)
            if budget.over or self._enough(position) or (self._dry(between) and self._dry(before)):
                break
        for kernel, width in _SWEEPS[2:]:
            self.sweep(kernel, budget.part(min(_LAP, _POLISH * budget.remaining)), width)
        self.hand_over()

    def _race(self, position: int, budget: Budget) -> None:
        """Descend, exchange, push in chains, place anew, or walk, whatever gains fastest, until that is walking."""
        ways: list[Callable[[Budget], object]] = [
            *(partial(self.sweep, kernel, width=width) for kernel, width in _SWEEPS),
            partial(self._walk, multiple=_LUKEWARM, mix=_MIXES[0]),
        ]
        rates = [math.inf] * len(ways)
        while not (budget.over or self._enough(position)):
            way = rates.index(max(rates))
            if rates[way] <= 0 or (way == len(ways) - 1 and rates[way] < math.inf):
                break
            before, turn = self.merit, budget.part(min(_LAP, _LAP_SHARE * budget.remaining))
            ways[way](turn)
            rates[way] = (before - self.merit) / max(turn.seconds, STEP)
            self.hand_over(patient=True)
        self.rest()
        self._home(budget)
        self.hand_over()

    def _descend(self, position: int, budget: Budget) -> None:
        """Descend until a round gains little."""
        for _ in range(_ROUNDS):
            before = self.merit
            self.sweep(descend, budget, _WIDTH)
            if budget.over or self._enough(position) or self._dry(before):
                break

    def _dry(self, before: float) -> bool:
        """Whether little has been gained since."""
        return before - self.merit <= _WORTHWHILE * abs(before)

    def sweep(self, kernel: Callable[..., int], budget: Budget, width: int) -> None:
        """Let a kernel work on all containers, hottest first."""
        self.slopes()
        heat(self.flat, self._heat, self._scratch)
        mixed = self._heat * self.rng.uniform(0.8, 1.25, len(self._heat))
        order = np.argsort(-mixed, kind="stable").astype(np.int32)
        hot = int((self._heat > 0).sum())
        if 0 < hot < len(order):
            order = order[:hot]  # elsewhere there is nothing to gain but what a later round finds
        if self.flat.load[self.containers]:
            order = np.append(np.int32(self.containers), order)  # what is in no container
        self.work_on(order, kernel, budget, width, self.least)

    def work_on(
        self, order: NDArray[np.int32], kernel: Callable[..., int], budget: Budget, width: int, least: float
    ) -> None:
        """Let a kernel work on some containers, and make what gains at least so much."""
        at, pace = 0, Pace(budget, max(1.0, len(order) / 64))
        while at < len(order) and not budget.over:
            until = min(len(order), at + pace.take())
            loads = int(self.flat.load[order[at:until]].sum())
            stopped = kernel(self.flat, self.trail, order, at, until, width, least)
            pace.took(until - at, loads * width)
            self.hand_over(patient=True)
            if stopped < until:
                self._clear_log()
            at = max(stopped, at + 1) if stopped == at and self.trail.numbers[T_LENGTH] == 0 else stopped

    def _home(self, budget: Budget) -> None:
        """Take back moves that bring nothing."""
        at, objects = 0, len(self.flat.place)
        while at < objects and not budget.over:
            stopped = return_home(self.flat, self.trail, at, objects, 0.0)
            budget.spend((stopped - at) * STEP)
            if stopped < objects:
                self._clear_log()
            at = stopped

    def _together(self, budget: Budget) -> None:
        """Move whole groups, which may pay where no single move does."""
        starts, members = self._teams
        if len(starts) < 2 or budget.over:
            return
        self.slopes()
        pace = Pace(budget, 200, _TEAMS * len(starts))
        left = min(_TEAMS * len(starts), _MOST_TEAMS)
        while left > 0 and not budget.over:
            tries = min(left, pace.take())
            made = move_teams(self.flat, self.trail, starts, members, tries, _GLANCE, -self.least)
            pace.took(tries, tries * _GLANCE)
            if made < tries:
                self._clear_log()
            left -= tries
        self.hand_over(patient=True)

    @property
    def least(self) -> float:
        """The least gain that is not noise."""
        return max(1e-9, abs(self.merit) * _NOISE)

    # -- walks ------------------------------------------------------------------------------------------------------

    def _walk(
        self,
        budget: Budget,
        multiple: float,
        mix: tuple[float, float, float],
        between: Callable[[float, float], None] | None = None,
        typical: float = 0.0,
        coldest: float = _COLD,
    ) -> float:
        """Cool down over a budget; return the typical cost.

        ``between`` is told the share done and the typical cost at each fiftieth of the way; ``typical`` is what the
        temperature is measured by, where that is not what random moves cost.
        """
        self.slopes()
        if not typical:
            costs = np.zeros(1_000)
            found = sample(self.flat, self.trail, costs)
            if not found:
                budget.spend(STEP * 1_000)
                budget.tick(1_000)
                return 0.0
            typical = float(np.median(costs[:found]))
        hot, cold = typical * multiple, typical * multiple * coldest
        whole = budget.remaining
        pace = Pace(budget, 10_000)
        stale, step = 0, -1
        while not budget.over:
            if stale > self._fresh:
                self.slopes()
                stale = 0
            done = min(1.0, 1 - budget.remaining / whole) if math.isfinite(whole) else 0.5
            if between is not None and step != int(_FIFTIETHS * done):
                step = int(_FIFTIETHS * done)
                between(done, typical)
            now = hot * (cold / hot) ** done
            steps = pace.take()
            made = anneal(self.flat, self.trail, steps, now, now, *mix)
            self._guess()
            pace.took(steps, max(1, made))
            stale += steps
            self.hand_over(patient=True)
            self._clear_log(half=True)
        return typical

    def _levelled(
        self, position: int, budget: Budget, part: Budget, multiple: float, mix: tuple[float, float, float]
    ) -> None:
        """Walk with all goals as steep as the mildest one at first, and as they are in the end; then descend.

        The walk takes a part of the budget. If it ends above the best answer of this searcher, that stays the best.
        """
        goals = self._goals()
        self.harvest()
        best, merit, marks = self._best.copy(), self._best_merit, self.trail.best.copy()
        self.trail.numbers[T_LENGTH] = self.trail.numbers[T_BEST] = 0
        self.trail.numbers[T_RELAXED] = 1

        def steepen(done: float, typical: float) -> None:
            goals.level(self.flat, max(0.0, 1 - done / _STEEP))
            appraise(self.flat, self.trail)
            self.slopes()

        self._walk(part, multiple, mix, steepen, goals.mildest, _CHILLY)
        goals.level(self.flat, 0.0)
        self.trail.numbers[T_RELAXED] = self.trail.numbers[T_LENGTH] = 0
        appraise(self.flat, self.trail)
        restart(self.flat, self.trail)
        self._best_merit = math.inf
        self._greedy(position, budget)
        self.harvest()
        self.trail.numbers[T_LENGTH] = self.trail.numbers[T_BEST] = 0
        if (*self.trail.best[:position], self._best_merit) > (*marks[:position], merit):
            self._best[:], self.trail.best[:] = best, marks
            self._best_merit = self.trail.merits[M_BEST] = merit

    def _goals(self) -> Goals:
        return Goals.of(self.flat, self.trail, *self.flattener.goals[int(self.trail.numbers[T_POSITION])])

    def crowded(self) -> bool:
        """Whether limits on amounts forbid a large share of all moves."""
        costs = np.zeros(1_000)
        free = sample(self.flat, self.trail, costs)
        return bool(self._limits.words.size) and sampled_share(self.flat, self.trail, 2_000) < _TIGHT and free > 0

    def _relaxed(self, budget: Budget, multiple: float, mix: tuple[float, float, float]) -> None:
        """Walk with limits that are wider at first, and narrow down to what they are; mend what is then beyond them."""
        self.harvest()
        self.trail.numbers[T_LENGTH] = self.trail.numbers[T_BEST] = 0
        self.trail.numbers[T_RELAXED] = 1

        def narrow(done: float, typical: float) -> None:
            self._limits.widen(self.flat, _WIDER * max(0.0, 1 - done / _NARROW))
            urgency = 1 + _URGENT * max(0.0, done - _NARROW) / (1 - _NARROW)
            self._limits.price(self.flat, _PRICE * typical * urgency)
            appraise(self.flat, self.trail)

        typical = self._walk(budget, multiple, mix, narrow)
        self._limits.widen(self.flat, 0.0)
        self._mend(budget, typical, mix)
        self.flat.penalty[:] = np.inf
        self.trail.numbers[T_RELAXED] = self.trail.numbers[T_LENGTH] = 0
        if self.flat.counts[N_BROKEN]:
            self.trail.merits[M_BEST] = math.inf  # nothing of this walk counts
            return
        appraise(self.flat, self.trail)
        if self.merit < self._best_merit:
            restart(self.flat, self.trail)
            self.hand_over()

    def _mend(self, budget: Budget, typical: float, mix: tuple[float, float, float]) -> None:
        """Move what is still beyond its limits: dearer and dearer, and in the end warmer as well."""
        finite = np.isfinite(self.flat.penalty)
        temperature = typical * _WARM
        for number in range(_MENDING):
            if not self.flat.counts[N_BROKEN] or self.incumbent.budget.over:
                return
            self.flat.penalty[finite] *= 2.0
            temperature *= 1.0 if number < _MENDING // 2 else 1.5
            appraise(self.flat, self.trail)
            self.slopes()
            steps = anneal(self.flat, self.trail, _MENDING_STEPS, temperature, temperature / 4, *mix)
            budget.spend(steps * STEP)
            self.trail.numbers[T_LENGTH] = 0

    def rest(self) -> None:
        """Return to the best answer of this searcher."""
        place = np.empty_like(self.flat.place)
        self.harvest()
        place[:] = self._best
        follow(self.flat, place)
        restart(self.flat, self.trail)
        self.slopes()

    def join(self) -> None:
        """Stand at the shared answer where it is better than what this searcher has."""
        found = self.incumbent.found
        if found is None:
            return
        appraise(self.flat, self.trail)
        mine = tuple(self.trail.marks.tolist())
        if found.integers < mine:
            containers = self.containers
            follow(self.flat, np.where(found.assignment < 0, containers, found.assignment).astype(np.int32))
            self._start_here()

    def _start_here(self) -> None:
        """Take where it stands as its best answer, whatever that was worth: for another position, say."""
        restart(self.flat, self.trail)
        self._best_merit = math.inf
        self.harvest()
        self.slopes()

    # -- answers ----------------------------------------------------------------------------------------------------

    @property
    def merit(self) -> float:
        """What this searcher minimises, where it stands."""
        return float(self.trail.merits[M_NOW])

    def harvest(self) -> None:
        """Write down the best answer of this searcher, if it is not written down yet."""
        if self.trail.merits[M_BEST] < self._best_merit or self.trail.numbers[T_BEST]:
            best_place(self.flat, self.trail, self._best)
            self._best_merit = float(self.trail.merits[M_BEST])

    def _clear_log(self, half: bool = False) -> None:
        """Make room in the log."""
        trail = self.trail
        if half and trail.numbers[T_LENGTH] < trail.numbers[T_ROOM] // 2:
            return
        self.harvest()
        trail.numbers[T_LENGTH] = trail.numbers[T_BEST] = 0

    def hand_over(self, patient: bool = False) -> None:
        """Offer the best answer; where ``patient``, only now and then."""
        now = time.monotonic()
        if patient and not self.incumbent.budget.deterministic and now - self._handed < _SHARE:
            return
        if self.trail.merits[M_BEST] >= NEVER:  # no answer yet that holds every bound
            return
        integers = tuple(self.trail.best.tolist())
        known = self.incumbent.integers
        if known and integers >= known:
            return
        self.harvest()
        containers = self.containers
        self.incumbent.offer(np.where(self._best == containers, -1, self._best).astype(np.int32), integers)
        self._handed = time.monotonic()


__all__ = ["Searcher", "improve"]
