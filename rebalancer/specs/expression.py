"""What can be said about one object where it is: places, counts beside it, and AND, OR, NOT of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from rebalancer.model import Cells, Param
from rebalancer.problem import UNPLACED, Fault, Path
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.conditional_presence import bound_faults
from rebalancer.specs.fields import Flag, ItemName, ObjectName, Part, ScopeOrContainer, Whole, also_called, together
from rebalancer.specs.selection import MISSING, Missing, Objects, one_group

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem, Scope

#: Whether something is true: known by kind of object (or for all) and place, or 0/1 cells.
Truth: TypeAlias = "NDArray[np.bool_] | Cells"


class Within(Part):
    """True where the object is in one of some scope items."""

    scope: ScopeOrContainer = Field("", description="Scope of the items; empty: the containers.")
    items: tuple[ItemName, ...] | None = Field(None, description="The items; left out: any item of the scope.")


class Count(Part):
    """True where so and so many objects are in the object's own scope item."""

    scope: ScopeOrContainer = Field("", description="Scope of the item that they share; empty: the containers.")
    of: Objects = Field(description="Who is counted.")
    min: Whole = Field(0, description="At least so many are there.")
    max: Whole | None = Field(None, description="At most so many are there; left out: any number.")
    count_self: Flag = Field(False, description="Whether the object counts, where it is among them.")
    missing: Missing = Field("refuse", description=f"{MISSING} Here: false (refuse) or true.")


class Now(Part):
    """True where the object is in the scope item in which some object is at the start."""

    scope: ScopeOrContainer = Field("", description="Scope of the item; empty: the containers.")
    object: ObjectName = Field(description="The object whose place at the start counts; false if that is nowhere.")


def _listed(value: Any) -> Any:
    return value if value is None or isinstance(value, list | tuple) else [value]


#: Reads a single expression as a list of one.
_ONE_OR_MORE = BeforeValidator(_listed, json_schema_input_type="list[Expression] | Expression")


class Expression(Part):
    """What holds of an object: exactly one of these."""

    all_of: Annotated[tuple[Expression, ...] | None, _ONE_OR_MORE] = Field(
        None, description="Each of these holds.", validation_alias=also_called("all_of", "and")
    )
    any_of: Annotated[tuple[Expression, ...] | None, _ONE_OR_MORE] = Field(
        None, description="Some of these holds.", validation_alias=also_called("any_of", "or")
    )
    none_of: Annotated[tuple[Expression, ...] | None, _ONE_OR_MORE] = Field(
        None, description="None of these holds.", validation_alias=also_called("none_of", "not")
    )
    within: Within | None = Field(None, description="The object is in one of these scope items.")
    count: Count | None = Field(None, description="So many objects are in the object's own scope item.")
    now: Now | None = Field(None, description="The object is in the scope item where some object is at the start.")

    @together
    def _one(self) -> None:
        stated = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(stated) != 1:
            names = ", ".join(f"'{name}'" for name in type(self).model_fields)
            got = " and ".join(f"'{name}'" for name in stated) or "nothing"
            raise ValueError(f"an expression is exactly one of {names}, got {got}")

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions in it."""
        return self.all_of or self.any_of or self.none_of or ()

    def leaves(self) -> Iterator[Expression]:
        """Yield the expressions without others in them."""
        if self.within or self.count or self.now:
            yield self
        for part in self.parts:
            yield from part.leaves()


def expression_faults(expression: Expression, path: Path) -> Iterator[Fault]:
    """Yield what is wrong with the bounds of counts."""
    if expression.count is not None:
        for fault in bound_faults(expression.count.min, expression.count.max):
            yield fault.below((*path, "count"))
    for field in ("all_of", "any_of", "none_of"):
        for position, part in enumerate(getattr(expression, field) or ()):
            yield from expression_faults(part, (*path, field, position))


class Census:
    """Objects sorted by what expressions can tell apart: their kind, and the place that they are in.

    Two containers are one place if they are in the same items of all scopes that matter; two objects are of one kind if
    they are among those counted in the same counts. So the cells are kinds × places, however many objects there are.

    Parameters
    ----------
    model : ModelBuilder
    members : int64 array
        The objects that are judged, ascending.
    expressions : sequence of Expression
    """

    def __init__(self, model: ModelBuilder, members: IntArray, expressions: Sequence[Expression]) -> None:
        self.model = model
        self.members = members
        problem = model.problem
        leaves = [leaf for expression in expressions for leaf in expression.leaves()]
        columns = [self._column(problem, leaf) for leaf in leaves] or [np.zeros(len(problem.containers), np.int32)]
        _, first, place = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
        #: A container of each place.
        self.container = first.astype(np.int64)
        self.place_of = np.append(place.reshape(-1), UNPLACED).astype(np.int32)
        itself = [self._counts_itself(problem, leaf.count) for leaf in leaves if leaf.count is not None]
        known = np.stack([np.zeros(len(members), bool), *itself])
        #: An object of each kind, as a position in ``members``.
        _, self.first, kind = np.unique(known, axis=1, return_index=True, return_inverse=True)
        self.kind_of = kind.reshape(-1).astype(np.int64)
        #: How many objects of each kind are in each place.
        self.number = model.custom_tally(self.kind_of, members, len(self.first), self.place_of, len(self.container))
        self._tallies: dict[tuple[str, bytes], Cells] = {}

    def failing(self, truth: Truth) -> Cells:
        """Return how many objects of each kind are in each place while something is false there."""
        if isinstance(truth, np.ndarray):
            return self.model.linear([(self.number, _param(~truth))])
        return self.model.hinge(self.model.linear([(self.number, 1), (truth, -self.number.high)]))

    def truth(self, expression: Expression) -> Truth:
        """Return whether an expression holds of objects of each kind in each place."""
        if expression.all_of is not None:
            return self.all_of([self.truth(part) for part in expression.parts])
        if expression.any_of is not None:
            return self.any_of([self.truth(part) for part in expression.parts])
        if expression.none_of is not None:
            return self.negated(self.any_of([self.truth(part) for part in expression.parts]))
        if expression.count is not None:
            return self._counted(expression.count)
        known: NDArray[np.bool_] = self._column(self.model.problem, expression)[self.container] > 0
        return known[None, :]

    def negated(self, truth: Truth) -> Truth:
        """Return where something is false."""
        return ~truth if isinstance(truth, np.ndarray) else self.model.linear([(truth, -1)], 1)

    def any_of(self, truths: Sequence[Truth]) -> Truth:
        """Return where some of several things are true; nowhere without any."""
        known, open_ones = self._folded(truths, np.logical_or, False)
        if not open_ones or known.all():
            return known
        return self.model.step(self.model.linear([(cells, 1) for cells in open_ones], _param(known)))

    def all_of(self, truths: Sequence[Truth]) -> Truth:
        """Return where all of several things are true; everywhere without any."""
        known, open_ones = self._folded(truths, np.logical_and, True)
        if not open_ones or not known.any():
            return known
        lacking = known.astype(np.int64) - len(open_ones)
        return self.model.step(self.model.linear([(cells, 1) for cells in open_ones], Param.of(lacking)))

    @staticmethod
    def _folded(
        truths: Sequence[Truth], together: Callable[..., NDArray[np.bool_]], nothing: bool
    ) -> tuple[NDArray[np.bool_], list[Cells]]:
        """Return all that is known as one, and what is not."""
        known = np.array([[nothing]])
        for truth in truths:
            if isinstance(truth, np.ndarray):
                known = together(known, truth)
        return known, [truth for truth in truths if isinstance(truth, Cells)]

    def _counted(self, count: Count) -> Truth:
        problem, model = self.model.problem, self.model
        scope = _scope(problem, count.scope)
        counted = count.of.members(problem)
        key = (scope.name, counted.tobytes())
        if key not in self._tallies:
            self._tallies[key] = one_group(counted).tally(model, scope.item_of, len(scope.items))
        item = scope.item_of[self.container].astype(np.int64)
        here = item >= 0
        seen = model.gather(self._tallies[key], np.zeros(len(item), np.int64), np.maximum(item, 0))
        own = self._counts_itself(problem, count)[self.first].astype(np.int64)[:, None]
        bounds: list[Truth] = []
        if count.min > 0:
            bounds.append(model.step(model.linear([(seen, 1)], Param.of(1 - count.min - own))))
        if count.max is not None:
            bounds.append(model.step(model.linear([(seen, -1)], Param.of(1 + count.max + own))))
        if count.missing == "refuse":
            return self.all_of([here[None, :], *bounds])
        return self.any_of([~here[None, :], self.all_of(bounds)])

    def _counts_itself(self, problem: Problem, count: Count) -> NDArray[np.bool_]:
        """Return which judged objects are among the counted ones, and not to count themselves."""
        among = np.zeros(len(problem.objects), bool)
        if not count.count_self:
            among[count.of.members(problem)] = True
        return among[self.members]

    @staticmethod
    def _column(problem: Problem, leaf: Expression) -> NDArray[np.int32]:
        """Return for every container what a leaf can tell of it: the item for a count, else whether it is true."""
        if leaf.count is not None:
            return _scope(problem, leaf.count.scope).item_of[:-1]
        if leaf.now is not None:
            scope = _scope(problem, leaf.now.scope)
            start = scope.item_of[problem.origin[problem.objects.index[leaf.now.object]]]
            true = np.asarray((scope.item_of == start) & (start >= 0))
        else:
            assert leaf.within is not None
            scope = _scope(problem, leaf.within.scope)
            listed = leaf.within.items
            chosen = np.arange(len(scope.items)) if listed is None else scope.items.lookup(list(listed))
            true = np.isin(scope.item_of, chosen)
        return true[:-1].astype(np.int32)


def _scope(problem: Problem, name: str) -> Scope:
    return problem.scopes[name or problem.container_name]


def _param(known: NDArray[np.bool_]) -> Param:
    return Param.of(known.astype(np.int64))
