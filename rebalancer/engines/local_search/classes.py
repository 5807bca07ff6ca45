"""The first descent: who gains most goes first everywhere, so that the small fill what the large have left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.local_search.kernels.descent import descend, gains
from rebalancer.engines.local_search.kernels.trail import T_PICKY
from rebalancer.engines.local_search.packing import pack_leavers

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: In each class the first gains at least so many times what the last does; more where there are too many classes for
#: this share of the time.
_FINE, _SHARE = 1.2, 0.4


def descend_in_classes(searcher: Searcher, budget: Budget, width: int) -> None:
    """Descend, those first everywhere who gain the most by leaving, then those who gain a little less, and so on.

    Parameters
    ----------
    width : int
        How many containers each of them looks at.
    """
    pack_leavers(searcher, budget, width)
    flat, trail = searcher.flat, searcher.trail
    gained, least, ratio = np.zeros(len(flat.place)), math.inf, _FINE
    share, containers = budget.part(_SHARE * budget.remaining), searcher.containers + 1
    looked_at = np.ones(containers, bool)
    trail.numbers[T_PICKY], trail.hope[:] = 1, math.inf
    while not share.over:
        began, load = share.seconds, flat.load.copy()
        searcher.slopes()
        gains(flat, trail, looked_at, gained)
        share.spend(len(gained) * STEP)
        to_rank = share.seconds - began
        others = gained[(gained > searcher.least) & (gained < least)]
        if not len(others):
            break
        least = float(others.max()) / ratio
        own = np.flatnonzero(gained >= least)
        heat = np.bincount(flat.place[own], gained[own], containers)
        order = np.argsort(-heat, kind="stable")[: np.count_nonzero(heat)]
        searcher.work_on(order.astype(np.int32), descend, share, width, least)
        # where nobody gained and nothing has changed nobody gains
        looked_at = np.bincount(flat.place, gained > searcher.least, containers) > 0
        looked_at |= flat.load != load
        ratio = _ratio(others[others < least], share.remaining / max(2 * to_rank, STEP))
    trail.numbers[T_PICKY] = 0
    searcher.sweep(descend, budget, width)


def _ratio(gained: NDArray[np.float64], classes: float) -> float:
    """Return how wide the next class is: what is gained most in it over what is gained least.

    Half of the classes that there is time for go to the upper half of what is gained; sizes that nobody gains, as
    between broken limits and goals, take none.
    """
    if not len(gained):
        return _FINE
    steps = np.log(gained) / math.log(_FINE)
    kinds = len(np.unique(np.floor(steps[steps >= np.median(steps)])))
    return float(_FINE ** max(1.0, 2 * kinds / max(1.0, classes)))


__all__ = ["descend_in_classes"]
