"""assignment_affinities: objects that would rather be in some scope items than in others."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemName, Number, ObjectName, Part, ScopeOrContainer, also_called, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class AssignmentAffinity(Part):
    """How much one object would like to be in one scope item."""

    object_name: ObjectName = Field(description="The object.", validation_alias=also_called("object_name", "object"))
    scope_item_name: ItemName = Field(
        description="The scope item.", validation_alias=also_called("scope_item_name", "scope_item")
    )
    affinity: Number = Field(description="What the placement is worth; negative: what it costs.")


class AssignmentAffinitiesSpec(Spec):
    """Reward objects for being where they like to be.

    Notes
    -----
    Goal: ``−Σ affinity · [the object is in the scope item]`` over the listed entries; entries of the same pair add
    up. An object that is unplaced, or in a container outside the scope, contributes 0. Without entries the goal is 0.
    """

    key: ClassVar[str] = "assignment_affinities"

    scope: ScopeOrContainer = Field("", description="Scope of the items; empty: the containers.")
    affinities: tuple[AssignmentAffinity, ...] = Field(description="Who likes to be where, and how much.")

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        if not self.affinities:
            return model.linear([])
        items = scope.items.lookup([entry.scope_item_name for entry in self.affinities])
        objects = problem.objects.lookup([entry.object_name for entry in self.affinities])
        cost: list[Fraction] = [-exact(entry.affinity) for entry in self.affinities]
        return model.located(scope.item_of, np.asarray(items), np.asarray(objects), cost)
