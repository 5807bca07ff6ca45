"""One searcher: where it stands, what it has found, and the kernels at work on it.

Every step is a kernel call of some milliseconds, so that limits, interrupts and other searchers' answers are heeded
between any two. What the kernels know of the best answer is exact; the evaluator judges it all the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.core import MOST_PAIRS, Core, Cores
from rebalancer.engines.local_search.emptying import worth_emptying
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.goals import Goals
from rebalancer.engines.local_search.kernels.chains import vacate
from rebalancer.engines.local_search.kernels.descent import descend, place, return_home, swap_down
from rebalancer.engines.local_search.kernels.heat import heat
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.pull import PULL, drawn, pull
from rebalancer.engines.local_search.kernels.recall import fullness, recall, returning
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.teams import move_teams
from rebalancer.engines.local_search.kernels.trade import TRADE, even_out
from rebalancer.engines.local_search.kernels.trail import (
    LOT,
    M_BEST,
    M_NOW,
    NEVER,
    SOME,
    T_BEST,
    T_BLIND,
    T_GUESSES,
    T_HITS,
    T_KEPT,
    T_LARGEST,
    T_LENGTH,
    T_POSITION,
    T_REACH,
    T_ROOM,
    Trail,
    appraise,
    best_place,
    follow,
    new_trail,
    restart,
)
from rebalancer.engines.local_search.kernels.walk import anneal, may_leave, sample, sampled_share
from rebalancer.engines.local_search.limits import Limits
from rebalancer.engines.local_search.pace import Pace
from rebalancer.engines.local_search.sharing import Sharing
from rebalancer.engines.local_search.walks import MIXES
from rebalancer.model import Model
from rebalancer.problem.numbers import IntArray

#: Destinations that an object of a whole group looks at.
_GLANCE = 8
#: Per cent of moves that are tried against their slopes in problems of few objects, and how many are few.
_BLIND, _FEW = 20, 500
#: After so many such tries, fewer are made if less than the first share of them was kept, and more above the second.
_GUESSES, _IN_VAIN, _PAYS = 1_000, 0.01, 0.05
#: How often each group is tried as a whole, the most tries, and the share of the time left that these may take.
_TEAMS, _MOST_TEAMS, _MOVING = 20, 20_000, 0.05
#: Containers that an object looks at where its own is emptied, and the share of the time left that a round may take.
_VACANT, _VACATING = 16, 0.1
#: In how many ways an object is recalled, and how many looks at a container each takes as long as.
_WAYS, _RECALL = 4, 150
#: Into how many containers without room an object is pulled.
_ROOMS = 2
#: So many sweeps in a row may gain nothing where they may have to.
_LEVEL = 5
#: What a move may cost there, as a share of all.
_UPHILL = 1e-4
#: With how many containers one that has too much trades, of at least how many that have room.
_TRADES, _COOL = 6, 16
#: So many steps tell how long one takes, once so many have been made that what is noted by object is known.
_SOUNDING, _MOST_SOUNDING = 20_000, 200_000
#: Steps in one call of a kernel where nobody knows yet how long they take.
_CALL = 5_000
#: So many containers or objects are worked on at first, until it is known how long one takes.
_FEW_FIRST = 16.0
#: Containers are crowded where fewer than this share of random moves are within the limits on amounts.
_TIGHT = 0.6
#: Slopes, and what is noted by object, are taken anew after so many steps, or one for each cell or so many for each
#: object where that is more.
_FRESH, _TURNS = 200_000, 16
#: So many moves that are possible and cost something are looked for.
_SOME = 50
#: Smaller gains than this share of the merit are noise of floating point.
_NOISE = 1e-12


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
    trail : Trail
        The moves since its best answer, and what these are worth.
    best : int32 array, objects
        Its best answer, as far as it is written down, and `best_merit`, what that is worth.
    daring : bool
        Whether it takes what pays late: of searchers side by side every other one does.
    """

    def __init__(self, model: Model, incumbent: Incumbent, seed: int) -> None:
        self.model = model
        self.incumbent = incumbent
        self.flattener = incumbent.once(Flattener)
        found = incumbent.found
        start = model.problem.initial if found is None else found.assignment
        self.flat: Flat = self.flattener.at(start)
        objects = len(start)
        pairs = objects * (len(model.problem.containers) + 1)
        small = pairs <= MOST_PAIRS
        self.trail: Trail = new_trail(model.positions, seed, objects, max(1 << 16, 2 * objects), pairs if small else 0)
        self.trail.numbers[T_LARGEST] = SOME if small else 2  # elsewhere more trades are worth more than larger ones
        self.rng = np.random.default_rng([seed, 1])
        self.best: NDArray[np.int32] = self.flat.place.copy()
        self.best_merit = math.inf
        self.containers = len(model.problem.containers)
        longest = max((column.items for column in self.flattener.forms.columns), default=1)
        compute(self.flat, np.ones(model.positions))
        self.trail.numbers[T_REACH] = self.containers + bool(may_leave(self.flat, self.trail, 200))
        self.trail.numbers[T_BLIND] = self._blind()
        self.sharing = Sharing(self)
        self.daring = self.sharing.number % 2 == 0  # of two side by side, one
        self.fresh = max(_FRESH, len(self.flat.values), _TURNS * objects)
        self.limits = Limits.of(self.flattener)
        self._teams = self.flattener.teams
        self._worth_emptying = incumbent.once(worth_emptying)
        self._heat, self._scratch = np.zeros(self.containers), np.zeros(longest)

    def turn_to(self, position: int) -> None:
        """Minimise a position, the earlier ones at no more than what they are, from where it stands."""
        self.aim_at(position)
        self.start_here()

    def aim_at(self, position: int) -> None:
        """Minimise a position, the earlier ones at no more than what they are; what was best stays that."""
        self.trail.numbers[T_POSITION] = position
        self.trail.worth[:] = 0.0
        self.trail.worth[position] = 1.0
        appraise(self.flat, self.trail)

    def slopes(self) -> None:
        """Take fresh slopes where the searcher stands. Earlier positions pull as well, so that they are not lost."""
        position = int(self.trail.numbers[T_POSITION])
        worth = self.trail.worth.copy()
        worth[:position] = 1e3
        compute(self.flat, worth)

    @property
    def least(self) -> float:
        """The least gain that is not noise."""
        return max(1e-9, abs(self.merit) * _NOISE)

    @property
    def merit(self) -> float:
        """What this searcher minimises, where it stands."""
        return float(self.trail.merits[M_NOW])

    def crowded(self) -> bool:
        """Whether limits on amounts forbid a large share of all moves."""
        if not self.limits.words.size or sampled_share(self.flat, self.trail, 2_000) >= _TIGHT:
            return False
        return bool(sample(self.flat, self.trail, np.zeros(_SOME)))

    def goals(self) -> Goals:
        """Return how steep each goal of the position that is minimised is where it stands."""
        return Goals.of(self.flat, self.trail, *self.flattener.goals[int(self.trail.numbers[T_POSITION])])

    def core(self, budget: Budget) -> Core | None:
        """Return the placements that walks may be confined to; None where nothing tells them."""
        core = self.incumbent.once(Cores).at(int(self.trail.numbers[T_POSITION]), self.incumbent, budget)
        if core is not None:
            self.trail.reduced[:] = core.reduced
        return core

    def confine(self, most: float = math.inf) -> None:
        """Leave out placements of a higher reduced cost, in walks and trades."""
        self.trail.within[0] = min(most, NEVER)

    def sweep(self, kernel: Callable[..., int], budget: Budget, width: int) -> None:
        """Let a kernel work on all containers, hottest first.

        A largest or smallest number changes only once the last of several has: where there are such, moves that ought
        to gain are kept if they cost next to nothing, and sweeps follow each other until some in a row have gained
        nothing; then it returns to where they were best.
        """
        if not self.flattener.extremes or kernel not in (descend, swap_down):
            self._sweep(kernel, budget, width, self.least)
            return
        left, best, place = _LEVEL, self.merit, self.flat.place.copy()
        while left and not budget.over:
            kept = int(self.trail.numbers[T_KEPT])
            self._sweep(kernel, budget, width, -max(self.least, _UPHILL * abs(self.merit)))
            left = _LEVEL if best - self.merit > self.least else left - 1
            if self.merit < best:
                best, place = self.merit, self.flat.place.copy()
            if self.trail.numbers[T_KEPT] == kept:
                break
        if self.merit - best > self.least:  # not the best answer of all: repair has none, and walks come from elsewhere
            self.start_at(place)

    def _sweep(self, kernel: Callable[..., int], budget: Budget, width: int, least: float) -> None:
        self.slopes()
        heat(self.flat, self._heat, self._scratch)
        mixed = self._heat * self.rng.uniform(0.8, 1.25, len(self._heat))
        order = np.argsort(-mixed, kind="stable").astype(np.int32)
        hot = int((self._heat > 0).sum())
        if 0 < hot < len(order):
            order = order[:hot]  # elsewhere there is nothing to gain but what a later round finds
        order = self.sharing.own_first(order)
        if self.flat.load[self.containers] > LOT and kernel is descend:
            self._place(budget, width)
        elif self.flat.load[self.containers]:
            order = np.append(np.int32(self.containers), order)  # what is in no container
        self.work_on(order, kernel, budget, width, least)

    def _place(self, budget: Budget, width: int) -> None:
        """Put many objects that are in no container into some, the largest first."""
        who = np.flatnonzero(self.flat.place == self.containers).astype(np.int32)
        weight = self.flat.lane_weight.reshape(len(self.flat.place) + 1, 2, -1)[who, 0]
        size = (weight / np.maximum(weight.mean(axis=0), 1e-300)).sum(axis=1)
        order = self.sharing.own_first(who[np.argsort(-size, kind="stable")])
        self.work_on(order, place, budget, width, self.least, np.ones(len(order), np.int64))

    def overfull(self) -> NDArray[np.int32]:
        """Return the containers where limits are exceeded, those first where that costs most; slopes have to follow."""
        compute(self.flat, np.zeros(self.model.positions))  # so that nothing else is hot
        heat(self.flat, self._heat, self._scratch)
        order = np.argsort(-self._heat, kind="stable").astype(np.int32)
        return order[: int((self._heat > 0).sum())]

    def work_on(
        self,
        order: NDArray[np.int32],
        kernel: Callable[..., int],
        budget: Budget,
        width: int,
        least: float,
        held: IntArray | None = None,
    ) -> None:
        """Let a kernel work on some containers, or on whatever holds so many objects; make what gains ``least``."""
        units = len(order) / 64 if budget.deterministic else min(_FEW_FIRST, len(order) / 64)
        at, pace = 0, Pace(budget, max(1.0, units))
        while at < len(order) and not budget.over:
            until = min(len(order), at + pace.take())
            loads = int((self.flat.load[order[at:until]] if held is None else held[at:until]).sum())
            stopped = kernel(self.flat, self.trail, order, at, until, width, least)
            pace.took(until - at, loads * width)
            self.hand_over(patient=True)
            if stopped < until:
                self.clear_log()
            at = max(stopped, at + 1) if stopped == at and self.trail.numbers[T_LENGTH] == 0 else stopped

    def home(self, budget: Budget) -> None:
        """Take back moves that bring nothing."""
        at, objects = 0, len(self.flat.place)
        while at < objects and not budget.over:
            stopped = return_home(self.flat, self.trail, at, objects, 0.0)
            budget.spend((stopped - at) * STEP)
            if stopped < objects:
                self.clear_log()
            at = stopped

    def recall(self, budget: Budget, share: float) -> None:
        """Recall a share of what is away, those first that cost least to return."""
        cost = np.empty(len(self.flat.place))
        returning(self.flat, cost)
        most = math.ceil(share * np.count_nonzero(cost < np.inf))
        order = self.sharing.own_first(np.argsort(cost, kind="stable")[:most].astype(np.int32))
        self.slopes()
        self.work_on(order, recall, budget, _WAYS, self.least, np.full(most, _RECALL))

    def pull(self, budget: Budget) -> None:
        """Move objects to the few containers that they are drawn to, which no sample of all of them would have."""
        if not self.flattener.pulls:
            return
        self.slopes()
        who = np.zeros(len(self.flat.place), np.bool_)
        drawn(self.flat, self.trail, who)
        order = self.sharing.own_first(self.rng.permutation(np.flatnonzero(who)).astype(np.int32))
        self.work_on(order, pull, budget, _ROOMS, self.least, np.full(len(order), PULL))

    def even_out(self, budget: Budget) -> None:
        """Trade what containers have too much for room that others have, those first with most."""
        over, room = np.empty(self.containers), np.empty(self.containers)
        fullness(self.flat, over, room)
        hot = np.argsort(-over, kind="stable")[: np.count_nonzero(over)].astype(np.int32)
        cool = np.argsort(-room, kind="stable").astype(np.int32)
        half = np.searchsorted(np.cumsum(room[cool]), over.sum() / 2)
        cool = cool[: max(_COOL, int(half) + 1)]

        def settle(flat: Flat, trail: Trail, *which: Any) -> int:
            return even_out(flat, trail, cool, *which)

        hot = self.sharing.own_first(hot)
        self.slopes()
        self.work_on(hot, settle, budget, _TRADES, self.least, np.full(len(hot), TRADE))

    def together(self, budget: Budget, most: float = _MOST_TEAMS) -> None:
        """Move whole groups, which may pay where no single move does: so many at most, and briefly."""
        starts, members = self._teams
        if len(starts) < 2 or budget.over:
            return
        if most < math.inf:
            budget = budget.part(_MOVING * budget.remaining)
        self.slopes()
        pace = Pace(budget, 200, _TEAMS * len(starts))
        left = min(_TEAMS * len(starts), most)
        while left > 0 and not budget.over:
            tries = int(min(left, pace.take()))
            made = move_teams(self.flat, self.trail, starts, members, tries, _GLANCE, -self.least)
            pace.took(tries, tries * _GLANCE)
            if made < tries:
                self.clear_log()
            left -= tries
        self.hand_over(patient=True)

    def vacate(self, budget: Budget) -> None:
        """Empty containers or racks while that gains, those first that hold least; single moves may not find it."""
        starts, containers = self._worth_emptying

        def empty(flat: Flat, trail: Trail, *which: Any) -> int:
            return vacate(flat, trail, starts, containers, *which)

        while len(starts) > 1 and not budget.over:
            before, load = self.merit, np.add.reduceat(self.flat.load[containers], starts[:-1])
            mixed = np.where(load, load * self.rng.uniform(0.8, 1.25, len(load)), np.inf)
            order = np.argsort(mixed, kind="stable")[: np.count_nonzero(load)].astype(np.int32)
            part = budget.part(_VACATING * budget.remaining)
            self.work_on(order, empty, part, _VACANT, self.least, load[order])
            if before - self.merit <= self.least:
                break

    def enough(self, position: int) -> bool:
        """Whether a position is as good as was asked for, or as it can be."""
        return self.incumbent.enough(position, self.incumbent.bounds[position])

    def guess(self) -> None:
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

    @cached_property
    def speed(self) -> float:
        """How many steps walks make in a second for each object where next to none is kept."""
        objects = len(self.flat.place)
        self.step(min(objects, _MOST_SOUNDING), 1e-3 * self.least)
        return _SOUNDING / max(STEP, self.step(_SOUNDING, 1e-3 * self.least)) / objects

    def typical(self) -> float:
        """Return the median cost of random moves that are no gain; 0 where none is found."""
        costs = np.zeros(1_000)
        found = sample(self.flat, self.trail, costs)
        return float(np.median(costs[:found])) if found else 0.0

    def step(self, steps: int, temperature: float) -> float:
        """Make so many steps of a walk, if there is time; return the seconds that took."""
        made, began, budget = 0, time.perf_counter(), self.incumbent.budget
        while made < steps and budget.remaining > 0 and not budget.stop.is_set():  # rounds do not count them
            some = min(_CALL, steps - made)
            made += max(1, anneal(self.flat, self.trail, some, temperature, temperature, *MIXES[0]))
            self.clear_log()
        budget.spend(made * STEP)
        return made * STEP if budget.deterministic else time.perf_counter() - began

    def _blind(self) -> int:
        """Return the per cent of moves to try although their slopes speak against them: where slopes know little."""
        columns = self.flattener.forms.columns
        far = any(
            piece.target.groups * piece.target.items > 1 for column in columns for piece in column.pieces
        ) or bool(self.flattener.forms.specials)
        return 0 if not far else _BLIND if len(self.flat.place) <= _FEW else 1

    def rest(self) -> None:
        """Return to the best answer of this searcher."""
        place = np.empty_like(self.flat.place)
        self.harvest()
        place[:] = self.best
        follow(self.flat, place)
        restart(self.flat, self.trail)
        self.slopes()

    def start_at(self, place: NDArray[np.int32]) -> None:
        """Go on from another assignment; what it has found stays its best answer. Slopes have to follow."""
        self.clear_log()
        follow(self.flat, place)
        appraise(self.flat, self.trail)

    def join(self) -> None:
        """Take over what is better in the shared answer."""
        self.sharing.join()

    def start_here(self) -> None:
        """Take where it stands as its best answer, whatever that was worth: for another position, say."""
        restart(self.flat, self.trail)
        self.best_merit = math.inf
        self.harvest()
        self.slopes()

    def harvest(self) -> None:
        """Write down the best answer of this searcher, if it is not written down yet."""
        if self.trail.merits[M_BEST] < self.best_merit or self.trail.numbers[T_BEST]:
            best_place(self.flat, self.trail, self.best)
            self.best_merit = float(self.trail.merits[M_BEST])

    def clear_log(self, half: bool = False) -> None:
        """Make room in the log."""
        trail = self.trail
        if half and trail.numbers[T_LENGTH] < trail.numbers[T_ROOM] // 2:
            return
        self.harvest()
        trail.numbers[T_LENGTH] = trail.numbers[T_BEST] = 0

    def hand_over(self, patient: bool = False) -> None:
        """Offer the best answer; where ``patient``, only now and then."""
        self.sharing.hand_over(patient)


__all__ = ["Searcher"]
