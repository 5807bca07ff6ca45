"""moves_in_progress: moves that were started earlier and will be finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ContainerName, ObjectName, Part, also_called

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem


class MoveInProgress(Part):
    """One move that is under way."""

    obj_name: ObjectName = Field(
        description="The object.", validation_alias=also_called("obj_name", "object_name", "object")
    )
    to_container: ContainerName = Field(description="Where it is going.")


class MovesInProgressSpec(Spec):
    """State which objects are on their way already, and where to.

    This is a fact, not a wish: a listed object stands at its destination from the start and stays there, whatever the
    policy. Its source remembers it: there it counts as having been initially, so that the source has a departure, the
    destination an arrival, and both hold the object "during" the transition. The moves are no part of the answer.

    Notes
    -----
    Constraint: one component, the number of listed objects that are not at their destination; always HARD. Two
    destinations for one object are an error; the same one twice is not. An unplaced object may be on its way, too.
    """

    key: ClassVar[str] = "moves_in_progress"

    moves: tuple[MoveInProgress, ...] = Field(description="The moves.")

    def effective_policy(self, policy: str) -> str:
        """Return HARD: a fact is not weighed against anything."""
        return "HARD"

    def prepare(self, problem: Problem) -> Problem:
        """Return the problem with the listed objects at their destinations."""
        return problem.moving(self._destinations(problem))

    def components(self, model: ModelBuilder) -> list[Component]:
        going = self._destinations(model.problem)
        if not going:
            return []
        arrived = model.at(np.array(list(going)), np.array(list(going.values())))
        return [Component(model.linear([(arrived, -1)], len(going)), "all")]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        # what another statement of moves in progress has set already counts like an earlier entry of this one
        going = {
            problem.objects[index]: problem.containers[int(problem.initial[index])]
            for index in np.flatnonzero(problem.in_progress).tolist()
        }
        for position, move in enumerate(self.moves):
            first = going.setdefault(move.obj_name, move.to_container)
            if first != move.to_container:
                message = (
                    f"{problem.object_name} '{move.obj_name}' is on its way to '{first}' and to '{move.to_container}'"
                )
                yield Fault("two-destinations", message, ("moves", position, "to_container"), move.to_container)

    def _destinations(self, problem: Problem) -> dict[int, int]:
        return {
            problem.objects.index[move.obj_name]: problem.containers.index[move.to_container] for move in self.moves
        }
