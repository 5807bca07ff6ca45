"""Kinds of parts: which containers, groups or scope items to free, by need (heat) and by reach.

Each kind returns a `Choice` of about ``size`` placements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.lookup import ranges
from rebalancer.model import Model, Tally
from rebalancer.problem.numbers import IntArray

#: Containers that the objects of a group may go to besides those they are in; receivers of one hot container.
_ELSEWHERE, _RECEIVERS = 8, 12


@dataclass(frozen=True, eq=False)
class Scene:
    """What the kinds choose from.

    Parameters
    ----------
    assignment, initial : int32 arrays
    heat : float64 array, one per container
    """

    assignment: NDArray[np.int32]
    initial: NDArray[np.int32]
    heat: NDArray[np.float64]

    def objects_in(self, containers: IntArray) -> IntArray:
        """Return the objects in some containers."""
        inside = np.zeros(len(self.heat) + 1, bool)
        inside[containers] = True
        return np.flatnonzero(inside[self.assignment])

    def load(self) -> IntArray:
        """Return how many objects each container has."""
        return np.bincount(self.assignment[self.assignment >= 0], minlength=len(self.heat))

    def by_heat(self, rng: np.random.Generator, among: IntArray | None = None) -> IntArray:
        """Return containers in random order, hot ones first more often."""
        heat = self.heat if among is None else self.heat[among]
        floor = float(heat.mean()) * 1e-3 or 1.0
        order = np.argsort(rng.exponential(size=len(heat)) / (heat + floor))
        return order if among is None else among[order]

    def cool(self, rng: np.random.Generator, count: int) -> IntArray:
        """Return some of the containers that the objective hurts at least."""
        drawn = rng.choice(len(self.heat), min(len(self.heat), 4 * count), replace=False)
        return drawn[np.argsort(self.heat[drawn], kind="stable")][:count]


Kind = Callable[[Scene, int, np.random.Generator], Choice | None]


def kinds_of(model: Model) -> dict[str, Kind]:
    """Return the kinds of parts that a model has: those of groups and scope items only where it has some."""
    out: dict[str, Kind] = {"containers": _containers, "receivers": _receivers, "moved": _moved, "leavers": _leavers}
    for number, (group, member) in enumerate(_groupings(model)):
        out[f"groups {number}"] = _Groups(group, member, len(model.problem.objects))
    for number, item_of in enumerate(scopes_of(model)):
        out[f"items {number}"] = _Items(item_of)
    if (model.problem.initial < 0).any():
        out["unplaced"] = _unplaced
    return out


def _groupings(model: Model) -> list[tuple[IntArray, IntArray]]:
    """Return the memberships by which the model counts objects in groups of more than one, each once."""
    found: dict[tuple[int, int, int], tuple[IntArray, IntArray]] = {}
    for cells in model.graph:
        if isinstance(cells, Tally) and 1 < cells.groups < len(cells.member):
            mark = int((cells.group * (cells.member % 8191 + 1)).sum())
            found.setdefault((cells.groups, len(cells.member), mark), (cells.group, cells.member))
    return list(found.values())[:4]


def scopes_of(model: Model) -> list[NDArray[np.int32]]:
    """Return the groupings of containers that the model counts by, each once; not the containers themselves."""
    found: dict[bytes, NDArray[np.int32]] = {}
    for cells in model.graph:
        if isinstance(cells, Tally):
            inside = cells.item_of[:-1]
            items = len(np.unique(inside[inside >= 0]))
            if 1 < items < len(inside):
                found.setdefault(inside.tobytes(), inside)
    return list(found.values())[:4]


# -- containers -------------------------------------------------------------------------------------------------------


def _containers(scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
    """Free all objects of a few containers: half of them drawn by heat, the others evenly."""
    hot, even = scene.by_heat(rng), rng.permutation(len(scene.heat))
    return _exchange(scene, np.stack([hot, even], axis=1).ravel(), size)


def _exchange(scene: Scene, order: IntArray, size: int) -> Choice | None:
    """Free the objects of the first containers of an order, for any of these, up to a size."""
    load = scene.load()
    if len(order) < 2:
        return None
    _, first = np.unique(order[: 4 * size], return_index=True)
    order = order[np.sort(first)]
    placements = np.cumsum(load[order]) * (np.arange(len(order)) + 2)
    chosen = order[: max(2, int(np.searchsorted(placements, size, "right")))]
    objects = scene.objects_in(chosen)
    return Choice.among(scene.assignment, objects, np.sort(chosen)) if len(objects) else None


def _receivers(scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
    """Free the objects of hot containers for many cool ones, whose own objects stay."""
    cool = scene.cool(rng, max(2, min(_RECEIVERS, size // 8)))
    hot = scene.by_heat(rng)
    rows = np.cumsum(scene.load()[hot])
    hot = hot[: max(1, int(np.searchsorted(rows, size // len(cool), "right")))]
    objects = scene.objects_in(hot)
    if len(objects) * len(cool) > 2 * size:
        objects = rng.choice(objects, max(1, size // len(cool)), replace=False)
    return Choice.among(scene.assignment, objects, cool) if len(objects) else None


def _moved(scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
    """Let moved objects go back or change places: those of a few containers, each for its home and any of these."""
    moved = np.flatnonzero(scene.assignment != scene.initial)
    if not len(moved):
        return None
    some = rng.choice(moved, min(len(moved), max(1, size // 4)), replace=False)
    places = scene.assignment[some].astype(np.int64)
    others = places[rng.permutation(len(places))]
    obj = np.concatenate([some, some])
    return Choice.of(scene.assignment, obj, np.concatenate([scene.initial[some].astype(np.int64), others]))


def _leavers(scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
    """Let others leave than those that did: who started or is in a few containers, for these and where they are now."""
    away = (scene.assignment != scene.initial) & (scene.initial >= 0)
    if not away.any():
        return None
    left = np.bincount(scene.initial[away], minlength=len(scene.heat))
    some = np.flatnonzero(left)
    some = some[np.argsort(rng.exponential(size=len(some)) / left[some])]
    for count in (4, 2, 1):
        chosen = some[:count]
        objects = np.flatnonzero(np.isin(scene.initial, chosen) | np.isin(scene.assignment, chosen))
        places = np.unique(np.concatenate([scene.assignment[objects].astype(np.int64), chosen, scene.cool(rng, 3)]))
        places = places[places >= 0]
        if len(objects) * len(places) <= size:
            break
    most = max(2, 2 * size // len(objects))
    if len(places) > most:
        places = np.union1d(rng.choice(places, most, replace=False), chosen)
    return Choice.among(scene.assignment, objects, places)


def _unplaced(scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
    """Place unplaced objects in cool containers, from which others may make way."""
    loose = np.flatnonzero(scene.assignment < 0)
    cool = scene.cool(rng, _ELSEWHERE)
    if not len(loose):
        return None
    loose = rng.choice(loose, min(len(loose), max(1, size // (2 * len(cool)))), replace=False)
    there = scene.objects_in(cool)
    there = rng.choice(there, min(len(there), len(loose)), replace=False)
    objects = np.concatenate([loose, there])
    guests = there[scene.initial[there] < 0]  # what began unplaced may be taken out again for another one
    return Choice.of(
        scene.assignment,
        np.concatenate([np.repeat(objects, len(cool)), guests]),
        np.concatenate([np.tile(cool, len(objects)), np.full(len(guests), -1)]),
    )


# -- groups and scope items -------------------------------------------------------------------------------------------


class _Groups:
    """Frees the objects of a few groups that are on hot containers: for where they are, and some cool containers."""

    def __init__(self, group: IntArray, member: IntArray, objects: int) -> None:
        by_group, by_object = np.argsort(group, kind="stable"), np.argsort(member, kind="stable")
        self._member, self._group = member[by_group], group[by_object]
        self._of_group = np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64)
        self._of_object = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=objects))]).astype(np.int64)

    def __call__(self, scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
        hot = scene.by_heat(rng)[:4]
        seeds = scene.objects_in(hot)
        first, lengths = self._of_object[seeds], np.diff(self._of_object)[seeds]
        groups = np.unique(self._group[ranges(first, lengths)])
        if not len(groups):
            return None
        groups = rng.permutation(groups)
        rows = np.cumsum(np.diff(self._of_group)[groups])
        budget = max(2, size // (2 * _ELSEWHERE))
        groups = groups[: max(1, int(np.searchsorted(rows, budget, "right")))]
        objects = np.unique(self._member[ranges(self._of_group[groups], np.diff(self._of_group)[groups])])
        if len(objects) > budget:
            objects = rng.choice(objects, budget, replace=False)
        here = np.unique(scene.assignment[objects])
        here = rng.permutation(here[here >= 0])[:_ELSEWHERE]
        places = np.unique(np.concatenate([here.astype(np.int64), scene.cool(rng, _ELSEWHERE)]))
        return Choice.among(scene.assignment, objects, places)


class _Items:
    """Frees the containers of one scope item, by heat, as many as fit."""

    def __init__(self, item_of: NDArray[np.int32]) -> None:
        self._item_of = item_of

    def __call__(self, scene: Scene, size: int, rng: np.random.Generator) -> Choice | None:
        seed = int(scene.by_heat(rng)[0])
        if self._item_of[seed] < 0:
            return None
        inside = np.flatnonzero(self._item_of == self._item_of[seed])
        order = scene.by_heat(rng, inside)
        return _exchange(scene, np.concatenate([[seed], order]), size)


__all__ = ["Kind", "Scene", "kinds_of", "scopes_of"]
