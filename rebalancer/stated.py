"""What the world is, stated call by call and in any order: objects, containers, dimensions, groupings, facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from rebalancer import inputs
from rebalancer.inputs import AssignmentLike, GroupsLike, ValuesLike
from rebalancer.problem import Column, Fault, InputError, Problem, ProblemBuilder

_Part: TypeAlias = Callable[[ProblemBuilder], None]


class StatedProblem:
    """Objects and containers; `Rebalancer` says what a good placement of them is.

    Parameters
    ----------
    object_name, container_name : str
        What the two kinds are called.
    """

    def __init__(self, object_name: str = "object", container_name: str = "container") -> None:
        self._object_name = inputs.check_name(object_name, "object_name", ("object",))
        self._container_name = inputs.check_name(container_name, "container_name", ("container",))
        self._placements: _Part | None = None
        self._parts: list[_Part] = []
        self._problem: Problem | None = None

    @property
    def problem(self) -> Problem:
        """The problem as stated so far.

        Raises
        ------
        InputError
            With everything that is wrong with it.
        """
        if self._problem is None:
            builder = ProblemBuilder(self._object_name, self._container_name)
            for part in (self._placements, *self._parts):
                if part is not None:
                    part(builder)
            self._problem = builder.build()
        return self._problem

    def set_assignment(
        self, assignment: AssignmentLike, unassigned: Iterable[str] = (), containers: Iterable[str] = ()
    ) -> None:
        """State where every object is now. A second call replaces the first.

        Parameters
        ----------
        assignment : mapping, Series or DataFrame
            ``{container: [objects]}`` with every container, empty ones too; or object -> container as a mapping, a
            Series, or a DataFrame with columns named like the object and the container. NA or None: unplaced.
        unassigned : iterable of str
            Further objects that are in no container.
        containers : iterable of str
            Further containers: the way to state empty ones where the assignment is given by object. (The categories of
            a categorical column are containers too.)

        Raises
        ------
        InputError
            The assignment has none of these forms, or a name is no text.
        """
        read = inputs.read_placements(assignment, self._object_name, self._container_name)
        loose = inputs.read_names(unassigned, self._object_name, ("unassigned",))
        others = inputs.read_names(containers, self._container_name, ("containers",))

        def state(builder: ProblemBuilder) -> None:
            builder.add_containers(list(dict.fromkeys([*read.listed, *others])))
            if read.contents is None:
                builder.add_placements(Column(read.objects, read.containers))
            builder.set_assignment(read.contents or {}, loose)

        self._change()
        self._placements = state

    def add_object_dimension(self, name: str, values: ValuesLike, default: Any = 0) -> None:
        """State what objects use.

        Parameters
        ----------
        name : str
        values : mapping, Series or DataFrame
            Object -> number, or object -> list of numbers, which makes a vector (as do several columns of a DataFrame).
        default : number
            Of the objects that are not there.
        """
        name = _dimension(name, default)
        given = inputs.read_values(values, self._object_name, ("dimensions", name))
        self._add(lambda builder: builder.add_object_dimension(name, given, default))

    def add_container_dimension(self, name: str, values: ValuesLike, default: Any = 1) -> None:
        """State what containers offer: container -> number."""
        self.add_scope_dimension(name, self._container_name, values, default)

    def add_scope_dimension(self, name: str, scope: str, values: ValuesLike, default: Any = 1) -> None:
        """State what the items of a scope offer: item -> number."""
        name = _dimension(name, default)
        scope = inputs.check_name(scope, "scope", ("dimensions", name))
        given = inputs.read_values(values, scope, ("dimensions", name, scope))
        self._add(lambda builder: builder.add_scope_dimension(name, scope, given, default))

    def add_dynamic_object_dimension(
        self, name: str, scope: str, values: Mapping[str, Mapping[str, Any]], default: Any = 0
    ) -> None:
        """State what an object uses depending on the scope item that it is in: item -> object -> number."""
        name = _dimension(name, default)
        scope = inputs.check_name(scope, "scope", ("dimensions", name))
        given = inputs.read_items(values, self._object_name, ("dimensions", name))
        self._add(lambda builder: builder.add_dynamic_object_dimension(name, scope, given, default))

    def add_scope(self, name: str, items: GroupsLike) -> None:
        """State a grouping of containers: item -> containers, or a table container -> item."""
        name = inputs.check_name(name, "scope", ("scopes",))
        given = inputs.read_groups(items, name, self._container_name, ("scopes", name))
        self._add(lambda builder: builder.add_scope(name, given))

    def add_partition(self, name: str, groups: GroupsLike) -> None:
        """State a grouping of objects: group -> objects, or a table object -> group. Groups may overlap."""
        name = inputs.check_name(name, "partition", ("partitions",))
        given = inputs.read_groups(groups, name, self._object_name, ("partitions", name))
        self._add(lambda builder: builder.add_partition(name, given))

    def add_object_attribute(self, name: str, values: ValuesLike) -> None:
        """State a fact about objects: object -> value. One text or number each makes it a partition as well."""
        self._add_attribute("object", self._object_name, name, values)

    def add_container_attribute(self, name: str, values: ValuesLike) -> None:
        """State a fact about containers: container -> value. One text or number each makes it a scope as well."""
        self._add_attribute("container", self._container_name, name, values)

    def _add_attribute(self, kind: str, what: str, name: str, values: ValuesLike) -> None:
        name = inputs.check_name(name, "attribute", ("attributes",))
        given = inputs.read_facts(values, name, what, ("attributes", kind, name))
        self._add(lambda builder: builder.add_attribute(kind, name, given))

    def _add(self, part: _Part) -> None:
        self._change()
        self._parts.append(part)

    def _change(self) -> None:
        self._problem = None


def _dimension(name: str, default: Any) -> str:
    """Return the name of a dimension; raise InputError where it is none, or nothing is its default."""
    name = inputs.check_name(name, "dimension", ("dimensions",))
    if default is None:  # which would mean 0 or 1 without anybody having said so
        message = f"the default of dimension '{name}': expected a number, got nothing"
        raise InputError([Fault("wrong-type", message, ("dimensions", name, "default"))])
    return name
