"""object_expression: what must hold of each of some objects where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault, Names
from rebalancer.specs.base import Spec
from rebalancer.specs.expression import Census, Expression, expression_faults
from rebalancer.specs.selection import Objects, excess, name_of, selected

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ObjectExpressionSpec(Spec):
    """Demand of each of some objects that an expression holds where it is.

    Notes
    -----
    Expressions are about one object at a time: the scope items that it is in, how many of others are in its own item,
    where some object is at the start, and all_of, any_of, none_of of these. OR is therefore per object: one may
    satisfy this branch, another that.

    Goal: the number of placed objects of which the expression is false. Constraint: these numbers by kind of object
    and place, each a component. Objects that are counted alike are of one kind; containers that are in the same scope
    items, as far as the expression can tell, are one place. Unplaced objects satisfy everything.
    """

    key: ClassVar[str] = "object_expression"

    objects: Objects | None = Field(None, description="Of whom it must hold; left out: of all objects.")
    holds: Expression = Field(description="What must hold.")

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        members = selected(model.problem, self.objects)
        if not len(members):
            return []
        census = Census(model, members, [self.holds])
        return [failing_component(census, census.failing(census.truth(self.holds)))]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from expression_faults(self.holds, ("holds",))


def failing_component(census: Census, failing: Cells) -> Component:
    """Return a component per kind and place; reports name an object of the kind and a container of the place."""
    problem = census.model.problem
    names = Names(name_of(problem, census.members[census.kind_of == kind]) for kind in range(len(census.first)))
    return Component(
        failing, amount=failing, scope=problem.container_name, item_index=census.container, group_names=names
    )
