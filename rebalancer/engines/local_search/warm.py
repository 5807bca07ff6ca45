"""Compiles all kernels ahead of time, so that no search has to wait for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from rebalancer.engines.local_search.kept import outdated
from rebalancer.model import GoalCells, Model, ModelBuilder, assemble
from rebalancer.problem import ProblemBuilder

#: The kernels that searches call; the others are compiled with these, or apart and before.
ENTRIES = (
    "fill_hashes",
    "fill_ranks",
    "build_trees",
    "link",
    "settle",
    "compute",
    "may_leave",
    "appraise",
    "restart",
    "heat",
    "gains",
    "descend",
    "place",
    "swap_down",
    "oust",
    "chase_down",
    "rebuild",
    "vacate",
    "return_home",
    "effects",
    "sample",
    "sampled_share",
    "move_teams",
    "best_place",
    "follow",
    "trade",
    "fullness",
    "even_out",
    "returning",
    "drawn",
    "pull",
    "recall",
    "leavers",
    "pack",
    "anneal",
    "parts",
    "cross",
)


def names() -> tuple[str, ...]:
    """Return the names of all that `warm` tells of, in order."""
    from rebalancer.engines.local_search.kernels.jit import names_apart

    return (*names_apart(), *ENTRIES)


def warm(on_kernel: Callable[[str], None] | None = None) -> None:
    """Compile every kernel that is not kept yet; delete what older versions have left.

    Parameters
    ----------
    on_kernel : callable, optional
        Is told each of `names` when it is ready.
    """
    load(on_kernel)
    for folder in outdated():
        shutil.rmtree(folder, ignore_errors=True)


def load(on_kernel: Callable[[str], None] | None = None) -> None:
    """Load every kernel, for what searches hand to it, and compile and keep those that are not there.

    Takes half a minute to two where nothing is kept, a second where everything is, and next to nothing a second time.
    Runs each kernel once on a model of two objects.
    """
    from rebalancer.engines.local_search.kernels.jit import ready

    ready(on_kernel)
    runs = _runs()
    for name in ENTRIES:
        runs[name]()
        if on_kernel is not None:
            on_kernel(name)


def _runs() -> dict[str, Callable[[], object]]:
    """Return what runs each kernel with arguments of the types that searches use."""
    from rebalancer.engines.local_search.flat.flatten import Flattener
    from rebalancer.engines.local_search.kernels import (
        chains,
        cross,
        descent,
        heat,
        pack,
        pull,
        ranks,
        recall,
        settle,
        slopes,
        teams,
        trade,
        trail,
        walk,
    )

    model = _tiny()
    flat = Flattener(model).at(model.problem.initial)
    own = trail.new_trail(model.positions, seed=0, objects=2)
    order = np.zeros(1, np.int32)
    indices, amounts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    lanes = np.zeros(1), np.zeros(1), indices, np.zeros(2)
    return {
        "fill_hashes": lambda: settle.fill_hashes(flat, 0, indices, indices, amounts),
        "fill_ranks": lambda: ranks.fill_ranks(flat, 0, 0, 0, indices, indices, amounts),
        "build_trees": lambda: settle.build_trees(flat.numbers, flat.spots, True),
        "link": lambda: settle.link(flat),
        "settle": lambda: settle.settle(flat),
        "compute": lambda: slopes.compute(flat, np.ones(model.positions)),
        "may_leave": lambda: walk.may_leave(flat, own, 1),
        "appraise": lambda: trail.appraise(flat, own),
        "restart": lambda: trail.restart(flat, own),
        "heat": lambda: heat.heat(flat, np.zeros(2), np.zeros(2)),
        "move_teams": lambda: teams.move_teams(flat, own, np.zeros(2, np.int64), order, 0, 1, 0.0),
        "gains": lambda: descent.gains(flat, own, np.ones(3, np.bool_), np.zeros(2)),
        "descend": lambda: descent.descend(flat, own, order, 0, 0, 1, 1.0),
        "place": lambda: descent.place(flat, own, order, 0, 0, 1, 1.0),
        "swap_down": lambda: descent.swap_down(flat, own, order, 0, 0, 1, 1.0),
        "oust": lambda: chains.oust(flat, own, order, 0, 0, 1, 1.0),
        "chase_down": lambda: chains.chase_down(flat, own, order, 0, 0, 1, 1.0),
        "rebuild": lambda: chains.rebuild(flat, own, order, 0, 0, 4, 1.0),
        "vacate": lambda: chains.vacate(flat, own, np.zeros(2, np.int64), order, order, 0, 0, 1, 1.0),
        "return_home": lambda: descent.return_home(flat, own, 0, 0, 0.0),
        "effects": lambda: walk.effects(flat, own, np.zeros(1, np.int64), np.zeros((0, 1))),
        "sample": lambda: walk.sample(flat, own, np.zeros(0)),
        "sampled_share": lambda: walk.sampled_share(flat, own, 1),
        "best_place": lambda: trail.best_place(flat, own, np.empty_like(flat.place)),
        "follow": lambda: trail.follow(flat, flat.place.copy()),
        "trade": lambda: trade.trade(flat, own, 1, 1.0),
        "fullness": lambda: recall.fullness(flat, np.zeros(2), np.zeros(2)),
        "even_out": lambda: trade.even_out(flat, own, order, order, 0, 0, 1, 1.0),
        "returning": lambda: recall.returning(flat, np.zeros(2)),
        "drawn": lambda: pull.drawn(flat, own, np.zeros(2, np.bool_)),
        "pull": lambda: pull.pull(flat, own, order, 0, 0, 1, 1.0),
        "recall": lambda: recall.recall(flat, own, order, 0, 0, 1, 1.0),
        "leavers": lambda: pack.leavers(flat, own, order, *lanes, np.zeros(2, np.bool_), order, 0, 0, 1, 1.0),
        "pack": lambda: pack.pack(flat, own, np.zeros(1), order, indices, 0, order, 0, 0, 1, 1.0),
        "anneal": lambda: walk.anneal(flat, own, 1, 1.0, 1.0, 0.5, 0.1, 0.1),
        "parts": lambda: cross.parts(flat, flat.place.copy(), np.empty_like(flat.place), np.empty(2, np.int32)),
        "cross": lambda: cross.cross(flat, own, np.zeros(0, np.int64), np.zeros(1, np.int64), flat.place.copy(), 1.0),
    }


def _tiny() -> Model:
    """Return a model of two objects in two containers."""
    problem = ProblemBuilder("object", "container")
    problem.set_assignment({"c0": ["o0", "o1"], "c1": []})
    builder = ModelBuilder(problem.build())
    number = builder.total(builder.amount("container", "", "AFTER"))
    return assemble(builder, [GoalCells("number", "none", Fraction(1), 0, number)], [])


__all__ = ["ENTRIES", "load", "names", "warm"]
