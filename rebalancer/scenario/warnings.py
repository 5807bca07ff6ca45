"""What is legal in a scenario but surprising."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalancer.problem import Fault, Path, Problem
from rebalancer.specs.entries import Constraint, Goal, check_warnings
from rebalancer.specs.fields import Limit, LimitType


def warnings_of(
    problem: Problem,
    goals: list[Goal],
    constraints: list[Constraint],
    stated: Mapping[tuple[str, str | None], Path],
) -> list[Fault]:
    """Return what `check` should tell about a valid scenario.

    Parameters
    ----------
    problem : Problem
    goals, constraints : list
    stated : mapping
        (dimension, scope or None for objects) -> path of the place that states it.
    """
    found = [*check_warnings(goals, constraints, problem), *_defaulted(problem, stated), *_rounded(problem, stated)]
    return [*found, *_unstated(problem, goals, constraints), *_empty_groups(problem)]


def _defaulted(problem: Problem, stated: Mapping[tuple[str, str | None], Path]) -> Iterator[Fault]:
    for (name, scope), dimension in problem.scope_dimensions.items():
        if dimension.defaulted:
            total = len(problem.scopes[scope].items)
            message = (
                f"dimension '{name}' is not given for {dimension.defaulted} of {total} items of scope '{scope}'; "
                "they count as 1 (say so with 'default: 1')"
            )
            yield Fault("defaulted-capacity", message, stated.get((name, scope), ()), name)


def _rounded(problem: Problem, stated: Mapping[tuple[str, str | None], Path]) -> Iterator[Fault]:
    for name, dimension in problem.object_dimensions.items():
        if dimension.rounded:
            yield _rounding(name, dimension.scale, stated.get((name, None), ()))
    for (name, scope), capacity in problem.scope_dimensions.items():
        if capacity.rounded:
            yield _rounding(name, capacity.scale, stated.get((name, scope), ()))


def _rounding(name: str, scale: int, path: Path) -> Fault:
    message = f"values of dimension '{name}' are rounded to multiples of {1 / scale:g}; 'resolution:' sets the step"
    return Fault("rounded-values", message, path, name)


def _unstated(problem: Problem, goals: list[Goal], constraints: list[Constraint]) -> Iterator[Fault]:
    """Yield capacities that a spec uses and nobody stated: each item of the scope then offers 1."""
    entries: list[Constraint | Goal] = [*constraints, *goals]
    for entry in entries:
        scope, dimension = getattr(entry.spec, "scope", None), getattr(entry.spec, "dimension", None)
        limit = getattr(entry.spec, "limit", None)
        if entry.spec.key not in ("capacity", "balance") or scope is None or not dimension:
            continue
        if dimension == problem.count_dimension or (isinstance(limit, Limit) and limit.type is LimitType.ABSOLUTE):
            continue
        if not problem.capacity(dimension, scope).defined:
            message = (
                f"nobody states the capacity of '{dimension}' in scope '{scope}', so every item offers 1; "
                "it is not the sum over the containers"
            )
            yield Fault("unstated-capacity", message, (*entry.path, entry.spec.key, "dimension"), dimension)


def _empty_groups(problem: Problem) -> Iterator[Fault]:
    for name, scope in problem.scopes.items():
        if name in (problem.container_name, "placed"):
            continue
        held = set(scope.item_of[:-1].tolist())
        empty = [item for index, item in enumerate(scope.items) if index not in held]
        for item in empty[:5]:
            yield Fault(
                "empty-item",
                f"'{item}' of scope '{name}' has no {problem.container_name}",
                ("scopes", name, item),
                item,
            )
    for name, partition in problem.partitions.items():
        groups = [group for group, size in zip(partition.groups, partition.sizes.tolist(), strict=True) if size == 0]
        for group in groups[:5]:
            message = f"group '{group}' of partition '{name}' has no {problem.object_name}"
            yield Fault("empty-group", message, ("partitions", name, group), group)
