"""Which walk is next: how hot it starts, for how long, and whether limits are relaxed or goals levelled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

#: Shares of exchanges, returns home and ejections that walks take in turn.
MIXES = ((0.3, 0.3, 0.3), (0.1, 0.2, 0.6), (0.2, 0.5, 0.2))
#: Those of a first walk that is relaxed, far from the bound: of where hot moves scatter objects from, much is good.
_HOMEWARD = (0.15, 0.6, 0.2)
#: Short walks try one heat each, two longer ones the best of these and a hotter one; the winner takes the rest.
_HEATS, _HOTTER = (0.001, 0.01, 0.1, 3.0), 4.0
_SHORT, _LONGER = 0.025, 0.08


@dataclass(frozen=True)
class Walk:
    """One walk.

    Parameters
    ----------
    multiple : float
        How hot it starts.
    share : float
        Its share of the time.
    relaxed, levelled : bool
        Whether limits are relaxed, or goals levelled, at first.
    afresh : bool
        Whether it starts from the initial assignment again, and not from the best answer.
    raced : bool
        Whether whatever gains fastest goes on from where it ends.
    """

    multiple: float
    share: float
    relaxed: bool = False
    levelled: bool = False
    afresh: bool = False
    raced: bool = False


#: Where limits forbid most moves, a relaxed walk finds what others do not, and takes nearly all of the time. It is the
#: hotter the more steps it has for each object, up to the first number: what a cooler one leaves where it was decides
#: how good the end can be. With fewer steps than the second number, or so many times as there are containers to come
#: by, it ends above where moves that gain have led.
_PLENTY, _MANY, _EACH = 4_000, 200, 2
#: Then short walks warm up a little what these have settled, and they go on from there: so many steps for each object,
#: and at least and at most these shares of the time.
_STIRRING, _STIRRED, _LEAST_STIRRED, _MOST_STIRRED = 0.03, 100, 0.02, 0.2
#: One walk of each kind with so many steps for each object, if that takes at most this share of the time, tells whether
#: to level goals instead: a walk that levels them is so mild that it has to start afresh to tell anything.
_TRIAL, _AT_MOST = 1_500, 0.04
#: Relaxed walks gain more by length. So who is not daring relaxes limits unless the trial ends so many times as high.
_CLOSE = 2.0
HOT = 16.0
_THOROUGH = Walk(HOT, 0.9, relaxed=True)
_AFTERWARDS = (Walk(0.3, 0.2), Walk(2.0, 0.25, relaxed=True))
#: Close to the bound a longer one ends no lower: which of a few valleys it ends in is chance. So there are several, of
#: this share of the time, or so many steps for each object where that is more; what follows each takes a share of that.
_AGAIN, _SURE, BETWEEN = 0.16, 50_000, 0.25

#: Walks with levelled goals start at this multiple of what the mildest one costs. The first takes at least the first of
#: these shares of the time, none more than the second, so that greedy search can follow. It makes so many steps for
#: each object where there is time: several shorter ones end higher. None makes fewer than the last number.
_MILD, _FIRST, _MOST, _GOOD, _FEWEST = 0.25, 0.05, 0.85, 300, 130
#: Each takes so many times as long as the last one, so often; once they make so many steps for each object, only after
#: one that has ended lower than all before: where longer ones end no lower, more of them are better.
_GROWTH, _GROWING, _AMPLE = 1.4, 6, 4_000
#: A walk that makes so many steps for each object is followed by trades, and every other one that levels goals starts
#: afresh: what is large stays where the first walk has put it, however many follow from there.
_ENOUGH = 1_000
#: Where goals are levelled and too little time is left for that.
_COLD = 0.001


@dataclass
class Walks:
    """Decides what the next walk is like: longer walks can be hotter, and what that brings only trying tells.

    Parameters
    ----------
    crowded : bool
        Whether bounds forbid so many moves that relaxing them is worth a try.
    uneven : bool
        Whether some goals are much steeper than others.
    steps : float
        How many steps there is time for with each object.
    daring : bool
        Who is not starts afresh where there are plenty of steps: what is better to start from differs between problems.
    near : bool
        Whether the best answer is close to its bound.
    hot : float
        How many of these steps there is time for where a walk is hot and keeps many.
    containers : int
        How many there are.

    Attributes
    ----------
    relaxing : bool
        Whether walks relax bounds.
    """

    crowded: bool
    uneven: bool
    steps: float
    daring: bool = True
    near: bool = False
    hot: float = math.inf
    containers: int = 0
    ends: dict[float, float] = field(default_factory=dict)
    number: int = 0
    _first: float = 0.0
    _levelled: int = 0
    _lowest: float = math.inf
    _grown: int = 0
    _trials: tuple[Walk, ...] = ()

    def __post_init__(self) -> None:
        levels = self._levels(self.uneven)
        self.relaxing = self.crowded and min(self.steps, self.hot) > max(_MANY, _EACH * self.containers)
        self._levelling = levels and not self.crowded
        if self.relaxing and levels and _AT_MOST * self.steps >= _TRIAL:
            share = _TRIAL / self.steps
            self._trials = (_thorough(_TRIAL, share, False), Walk(_MILD, share, levelled=True, afresh=True))

    def notice(self, uneven: bool) -> None:
        """Level goals from now on if they differ, as they do once most of a steep one is gone."""
        self._levelling |= self._levels(uneven) and not self.crowded

    def _levels(self, uneven: bool) -> bool:
        return uneven and self.steps * _MOST > _FEWEST

    def next(self, left: float = 1.0, trading: float = 0.0) -> Walk:
        """Return the next walk, for at most the share of the time that is left; trades take so many times as long."""
        number = self.number - len(self._trials)
        self.number += 1
        if number < 0:
            return self._trials[number]
        if number == 0 and self._trials:
            relaxed, levelled = (self.ends[walk.multiple] for walk in self._trials)
            close = relaxed <= _CLOSE * levelled and not self.daring
            self.relaxing = relaxed <= levelled or close
            self._levelling = not self.relaxing
        if self.relaxing:
            return self._relaxed(number, left)
        if self._levelling:
            share = max(_FIRST, _GOOD / self.steps) * _GROWTH**self._grown
            self._levelled += 1
            share = min(share, _MOST * left, max(left / (1 + trading), _ENOUGH / self.steps))
            if share * self.steps < _FEWEST:
                return Walk(_COLD, left)
            return Walk(_MILD, share, levelled=True, afresh=not self._levelled % 2 and share * self.steps >= _ENOUGH)
        if self.crowded:
            share = min(_MOST_STIRRED, max(_LEAST_STIRRED, _STIRRED / max(1.0, self.steps)))
            return Walk(_STIRRING, min(share, left), raced=True)
        at = number - len(_HEATS)
        if at < 0:
            return Walk(_HEATS[at], _SHORT)
        best = min(self.ends, key=lambda multiple: self.ends[multiple])
        if at == 0:
            self.ends = {}
            self._first = best
            return Walk(best, _LONGER)
        if at == 1:
            return Walk(self._first * _HOTTER, _LONGER)
        return Walk(best, left)

    def mix(self, walk: Walk) -> tuple[float, float, float]:
        """Return which shares of exchanges, returns home and ejections the walk has that was asked for last."""
        turn = self.number - 1
        return _HOMEWARD if walk.relaxed and not (turn or self.near) else MIXES[turn % len(MIXES)]

    def _relaxed(self, number: int, left: float) -> Walk:
        """Return the next walk where limits are relaxed."""
        share = max(_AGAIN, _SURE / self.steps) if self.near else 1.0
        several = share < _THOROUGH.share
        if number and not several:
            return _AFTERWARDS[number % 2 - 1]
        if number % 2:
            return replace(_AFTERWARDS[0], share=BETWEEN * share)
        return _thorough(self.steps, min(share, left) if several else _THOROUGH.share, not self.daring)

    def settles(self, walk: Walk) -> bool:
        """Return whether a walk has steps enough for trades to find what it leaves; else a longer walk finds more."""
        return walk.share * self.steps >= _ENOUGH

    def learn(self, walk: Walk, end: float) -> None:
        """Note where a walk ended; infinity: nowhere that holds the bounds."""
        self.ends[walk.multiple] = end
        if self._levelled and walk.levelled:
            if end < self._lowest or walk.share * self.steps < _AMPLE:
                self._grown = min(self._grown + 1, _GROWING)
            self._lowest = min(self._lowest, end)


#: Walks by trades start at these multiples in turn, and end at this share of it.
_TRADING, TRADED = (1e-3, 3e-3, 3e-4), 0.03
#: They take as long as the walk before, and at most this share of the time left. Where that gains less than this share
#: of what there is, the next one takes half as long, down to so many times.
_LEAVING, _WORTHWHILE, _BRIEFEST = 0.5, 1e-4, 0.125


@dataclass
class Trades:
    """Decides how long to trade after each other walk, and how hot to start."""

    ratio: float = 1.0
    number: int = 0

    def next(self, walked: float, left: float) -> tuple[float, float]:
        """Return how hot to start and how many seconds to trade, after a walk of some seconds and with some left."""
        self.number += 1
        return _TRADING[(self.number - 1) % len(_TRADING)], min(self.ratio * walked, _LEAVING * left)

    def learn(self, gain: float) -> None:
        """Note what trading has gained, as a share of what there was."""
        self.ratio = 1.0 if gain >= _WORTHWHILE else max(_BRIEFEST, self.ratio / 2)


#: Walks across earlier positions start at these multiples in turn. The first takes this share of the time, each so many
#: times as long as the last one, so often. After one that brings nothing twice as many other walks come first, up to
#: so many.
_ACROSS, _CROSSING, _CROSSED, _LONGEST_WAIT = (0.3, 1.0, 3.0), 0.05, 6, 8


def crosses(steps: float) -> bool:
    """Return whether the first of these has steps enough, of so many for each object in all of the time."""
    return _CROSSING * steps >= _FEWEST


@dataclass
class Crossings:
    """Decides after how many other walks to walk across what is worse in earlier tuple positions, and how."""

    number: int = 0
    _wait: int = 1
    _left: int = 0

    def due(self) -> bool:
        """Return whether the next walk is one of these."""
        self._left -= 1
        return self._left < 0

    def next(self) -> Walk:
        """Return the next one."""
        turn, self.number = self.number, self.number + 1
        return Walk(_ACROSS[turn % len(_ACROSS)], _CROSSING * _GROWTH ** min(turn, _CROSSED))

    def mix(self) -> tuple[float, float, float]:
        """Return which shares of exchanges, returns home and ejections the walk has that was asked for last."""
        return MIXES[(self.number - 1) % len(MIXES)]

    def learn(self, gained: bool) -> None:
        """Note whether the last one has found something better."""
        self._wait = 1 if gained else min(2 * self._wait, _LONGEST_WAIT)
        self._left = self._wait


def _thorough(steps: float, share: float, afresh: bool) -> Walk:
    """Return a relaxed walk of so many steps for each object; with fewer than plenty it does not find back afresh."""
    multiple = _THOROUGH.multiple * min(1.0, steps / _PLENTY)
    return replace(_THOROUGH, multiple=multiple, share=share, afresh=afresh and steps >= _PLENTY)


__all__ = ["BETWEEN", "HOT", "MIXES", "TRADED", "Crossings", "Trades", "Walk", "Walks", "crosses"]
