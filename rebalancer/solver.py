"""The solver object: states a problem and its specs in any order, then evaluates or solves it."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rebalancer import arguments, inputs
from rebalancer.dialects.base import Dialect
from rebalancer.dialects.entries import NamedRule, Rules, expand
from rebalancer.inputs import AssignmentLike
from rebalancer.placement import Placement, check_placement
from rebalancer.problem import Fault, InputError, Path, Problem
from rebalancer.rounding import coarse_goals
from rebalancer.search import InternalError, search
from rebalancer.settings import Settings
from rebalancer.solution import Evaluation, Solution
from rebalancer.specs.base import Spec
from rebalancer.specs.entries import Constraint, Goal, InFlight, Policy, check_entries
from rebalancer.stated import StatedProblem

if TYPE_CHECKING:
    from rebalancer.engines.base import Progress
    from rebalancer.model import Model
    from rebalancer.scenario.plan_section import PlanOptions
    from rebalancer.scenario.reader import Scenario

__all__ = ["InternalError", "Rebalancer"]

log = logging.getLogger(__name__)

#: So many goals are said to be rounded, by name; of the others how many they are. `rebalance check` tells all.
_WARNINGS = 3
#: First step of the paths of what is added to a scenario.
_ADDED = "added"


class Rebalancer(StatedProblem):
    """Objects, containers, and what a good placement is.

    Calls may come in any order. What has not the form that a method asks for raises `InputError` there; what is wrong
    with the whole, such as unknown names, is reported by another one, all at once, when it is used. Every number
    may be an int, a float, a Decimal or a Fraction. Wherever a mapping is expected a pandas Series or DataFrame does as
    well; those are read without a Python loop over their rows.

    Parameters
    ----------
    object_name, container_name : str
        What the two kinds are called.

    Examples
    --------
    >>> from rebalancer import Rebalancer, CapacitySpec, BalanceSpec
    >>> solver = Rebalancer(object_name="task", container_name="host")
    >>> solver.set_assignment({"host0": ["task0", "task1"], "host1": []})
    >>> solver.add_object_dimension("memory", {"task0": 10, "task1": 10})
    >>> solver.add_container_dimension("memory", {"host0": 20, "host1": 20})
    >>> solver.add_constraint(CapacitySpec(scope="host", dimension="memory"))
    >>> solver.add_goal(BalanceSpec(scope="host", dimension="memory"))
    >>> solution = solver.solve(time_limit=10)
    """

    def __init__(self, object_name: str = "object", container_name: str = "container") -> None:
        super().__init__(object_name, container_name)
        self._goals: list[Goal] = []
        self._constraints: list[Constraint] = []
        self._statements: list[Rules] = []
        self._rules: list[NamedRule] = []
        self._from_rules: frozenset[str] = frozenset()
        self._settings = Settings()
        self._scenario: Scenario | None = None
        self._model: Model | None = None

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Rebalancer:
        """Return the solver of a scenario file. Its ``solve`` section gives the defaults of `solve`.

        Raises
        ------
        InputError
            With every fault of the file and its tables, each with file, line and column.
        """
        from rebalancer.scenario.reader import load

        return cls.from_scenario(load(arguments.file_path(path, "path")))

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> Rebalancer:
        """Return the solver of a scenario. Goals and constraints may be added; its problem is complete."""
        solver = cls(scenario.problem.object_name, scenario.problem.container_name)
        solver._scenario = scenario
        solver._problem = scenario.problem
        solver._goals = list(scenario.goals)
        solver._constraints = list(scenario.constraints)
        solver._rules = list(scenario.rules)
        solver._from_rules = scenario.from_rules
        solver._settings = Settings.of(scenario.solve)
        return solver

    def _change(self) -> None:
        if self._scenario is not None:
            message = "the problem of a scenario is complete; change the file instead"
            raise InputError([Fault("complete-problem", message)])
        super()._change()
        self._model = None

    # -- what is good -------------------------------------------------------------------------------------------------

    def add_constraint(
        self,
        spec: Spec,
        name: str | None = None,
        policy: str | Policy = "DEFAULT",
        invalid_cost: float = 100,
        invalid_state: float = 10000,
        tuple_pos_if_broken: int = 0,
        in_flight: str | InFlight | None = None,
    ) -> None:
        """Demand a spec.

        Parameters
        ----------
        spec : Spec
        name : str, optional
            Of its row in the results; ``<key>#<n>`` otherwise.
        policy : str
            What if the initial assignment breaks it: DEFAULT (may not get worse, and is repaired at a cost), HARD (has
            to hold) or SOFT (is repaired at a cost).
        invalid_cost, invalid_state : number
            Cost per unit of violation, and per broken component.
        tuple_pos_if_broken : int
            The tuple position of that cost.
        in_flight : str, optional
            When it must hold while a plan is carried out: "always", "between_waves" or "at_end". Left out: always for
            upper and lower bounds on amounts that are not negative, between waves otherwise.

        Raises
        ------
        InputError
            The spec cannot be a constraint, or a parameter is wrong.
        """
        path = self._path("constraints", self._constraints)
        arguments.kind(spec, "constraint", path)
        chosen = arguments.policy(policy, path)
        cost, state = (
            arguments.number(value, field, path)
            for field, value in (("invalid_cost", invalid_cost), ("invalid_state", invalid_state))
        )
        position = arguments.position(tuple_pos_if_broken, "tuple_pos_if_broken", path)
        moment = arguments.in_flight(in_flight, path)
        self._constraints.append(
            Constraint(spec, arguments.name(name, path), chosen, cost, state, position, path, moment)
        )
        self._model = None

    def add_goal(self, spec: Spec, name: str | None = None, weight: float = 1.0, tuple_pos: int = 0) -> None:
        """Minimise a spec.

        Parameters
        ----------
        spec : Spec
        name : str, optional
            Of its row in the results; ``<key>#<n>`` otherwise.
        weight : number
            Factor of its value in the sum of its tuple position.
        tuple_pos : int
            Positions are minimised one after the other, lower ones first.

        Raises
        ------
        InputError
            The spec cannot be a goal, or a parameter is wrong.
        """
        path = self._path("goals", self._goals)
        arguments.kind(spec, "goal", path)
        factor, position = arguments.number(weight, "weight", path), arguments.position(tuple_pos, "tuple_pos", path)
        self._goals.append(Goal(spec, arguments.name(name, path), factor, position, path))
        self._model = None

    def add_rules(
        self,
        statement: Dialect,
        name: str | None = None,
        policy: str | Policy = "DEFAULT",
        invalid_cost: float = 100,
        invalid_state: float = 10000,
        tuple_pos_if_broken: int = 0,
        weight: float = 1.0,
        tuple_pos: int = 0,
        in_flight: str | InFlight | None = None,
    ) -> None:
        """Demand what a statement in the language of another scheduler demands, and minimise what it would rather not.

        Parameters
        ----------
        statement : Dialect
            Such as ``rebalancer.dialects.marathon.Marathon(app="/web", constraints=[["rack_id", "GROUP_BY", "3"]])``.
        name : str, optional
            Its rules are called ``<name>: <rule>``.
        policy, invalid_cost, invalid_state, tuple_pos_if_broken, in_flight, weight, tuple_pos
            Of what it demands, as in `add_constraint`; of what it prefers, as in `add_goal`.

        Raises
        ------
        InputError
            It is no such statement, or a parameter is wrong.
        """
        path = self._path("rules", self._statements)
        if not isinstance(statement, Dialect):
            raise InputError([Fault("wrong-type", f"expected a statement, got {statement!r}", path, statement)])
        cost, state, factor = (
            arguments.number(value, field, path)
            for value, field in ((invalid_cost, "invalid_cost"), (invalid_state, "invalid_state"), (weight, "weight"))
        )
        broken, position = (
            arguments.position(value, field, path)
            for value, field in ((tuple_pos_if_broken, "tuple_pos_if_broken"), (tuple_pos, "tuple_pos"))
        )
        self._statements.append(
            Rules(
                statement,
                arguments.name(name, path),
                arguments.policy(policy, path),
                cost,
                state,
                broken,
                factor,
                position,
                path,
                arguments.in_flight(in_flight, path),
            )
        )
        self._model = None

    # -- using it -----------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The compiled model.

        Raises
        ------
        InputError
            With everything that is wrong with the problem, or with the specs on it.
        """
        if self._model is None:
            from rebalancer.model import GridTooLarge
            from rebalancer.specs.compiler import compile_model

            began = time.monotonic()
            try:
                problem, goals, constraints = self._translated()
                check_entries(problem, goals, constraints).raise_if_any()
                self._model = compile_model(problem, goals, constraints)
            except GridTooLarge as error:
                message = f"the specs need a table of {error}, which is too large"
                raise InputError([Fault("too-large", message)]) from error
            except InputError as error:
                if self._scenario is None:
                    raise
                raise InputError(map(self._located, error.faults)) from None
            coarse = coarse_goals(self._model, goals, constraints)
            for warning in coarse[:_WARNINGS]:
                log.warning("%s", warning.message)
            if len(coarse) > _WARNINGS:
                log.warning("so it is with %d more goals and constraints", len(coarse) - _WARNINGS)
            stated = len(goals) + len(constraints)
            log.info("compiled %d goals and constraints in %.2f s", stated, time.monotonic() - began)
        return self._model

    def _path(self, section: str, entries: Sequence[Any]) -> Path:
        """Return the path of another entry; one that is added to a scenario stands in none of its files."""
        return (section, len(entries)) if self._scenario is None else (_ADDED, section, len(entries))

    def _located(self, fault: Fault) -> Fault:
        return fault if self._scenario is None or fault.path[:1] == (_ADDED,) else self._scenario.locate(fault)

    def _translated(self) -> tuple[Problem, list[Goal], list[Constraint]]:
        """Return the problem with goals and constraints, those of other schedulers' rules last."""
        problem = self.problem
        if not self._statements:
            return problem, self._goals, self._constraints
        rules, made = ([], frozenset()) if self._scenario is None else (self._scenario.rules, self._scenario.from_rules)
        expansion = expand(problem, [*self._goals, *self._constraints, *self._statements], made)
        expansion.faults.raise_if_any()
        self._rules, self._from_rules = [*rules, *expansion.rules], expansion.made
        return expansion.problem, expansion.goals, expansion.constraints

    def check_placement(self, object: str, container: str) -> Placement:
        """Return whether one object may go to a container now, while all others stay where they are.

        Rules of other schedulers answer as their system does when it places one object after the other; what they say
        of a whole assignment may differ. Any other constraint refuses what it would not let a solution do.

        Raises
        ------
        InputError
            Unknown names, or anything wrong with the problem or its specs.
        """
        object = inputs.check_name(object, self._object_name, ())
        container = inputs.check_name(container, self._container_name, ())
        return check_placement(self.model, self._rules, self._from_rules, object, container)

    def evaluate(self, assignment: AssignmentLike | None = None) -> Evaluation:
        """Score an assignment; solves nothing.

        Parameters
        ----------
        assignment : mapping, Series or DataFrame, optional
            In any form that `set_assignment` takes; the initial one where left out. Every object has to be there,
            except that ``{container: [objects]}`` may leave out objects that start unplaced, and stay so.

        Raises
        ------
        InputError
            Unknown, repeated or missing names, or anything wrong with the problem or its specs.
        """
        model = self.model
        placed = model.problem.initial if assignment is None else self._indices(assignment, model)
        initial = model.evaluate(model.problem.initial)
        final = initial if assignment is None else model.evaluate(placed)
        unknown = np.full(model.positions, np.nan)
        return Evaluation(
            worsened=tuple(final.worsened),
            _model=model,
            _initial=initial,
            _final=final,
            _assignment=placed,
            _bounds=unknown,
            _gaps=unknown,
            _plan_options=self._plan_options,
        )

    def solve(
        self,
        engine: str | None = None,
        time_limit: float | None = None,
        gap: float | None = None,
        seed: int | None = None,
        workers: int | None = None,
        start: AssignmentLike | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        deterministic: bool | None = None,
        iterations: int | None = None,
        deterministic_time: float | None = None,
        target: float | Fraction | Sequence[float | Fraction] | None = None,
        patience: float | None = None,
        stop: threading.Event | None = None,
        began: float | None = None,
    ) -> Solution:
        """Search for a better assignment, and prove how good it is.

        What is left out is what the scenario's ``solve`` section says, and otherwise as stated below. Ctrl-C ends the
        search with the best answer so far; a second one ends it at once.

        Parameters
        ----------
        engine : str
            "auto" (default), "cpsat", "local_search" or "neighbourhood".
        time_limit : float
            Seconds from this call, default 60; ``math.inf``: until proven.
        gap : float
            Relative gap at which a tuple position may stop, default 0.
        seed, workers : int
            Default 0 and 2.
        start : mapping, Series or DataFrame, optional
            An assignment to start from, in any form that `evaluate` takes.
        on_progress : callable, optional
            Called with a `Progress` at each improvement, mostly from another thread.
        deterministic : bool
            The same seed and workers give the same answer: time is counted as work, not by the clock. Default False.
        iterations : int
            Rounds of search after which to stop.
        deterministic_time : float
            Seconds of counted work instead of ``time_limit``; implies ``deterministic``.
        target : number or list of numbers
            Values of the first tuple positions that are good enough, a number alone being that of the first: a
            position that has reached its own gives way to the next, and the search ends where all of them have.
        patience : float
            Seconds without a better answer after which to stop.
        stop : threading.Event, optional
            Set it, from any thread, to end the search with the best answer so far.
        began : float, optional
            `time.monotonic` from which ``time_limit`` counts instead, where what came before this call is part of it;
            half of it is left for the search, however long that took.

        Raises
        ------
        InputError
            A parameter is wrong, or the problem or its specs are.
        InternalError
            An engine's answer is not what it says it is; please report it.
        """
        called = time.monotonic()
        if stop is not None:
            arguments.event(stop, "stop")
        if on_progress is not None:
            arguments.function(on_progress, "on_progress")
        if began is not None:
            began = float(arguments.number(began, "began", ()))
        settings = self._settings.updated(
            engine=engine,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            workers=workers,
            deterministic=deterministic,
            iterations=iterations,
            deterministic_time=deterministic_time,
            target=target,
            patience=patience,
        )
        began = called if began is None else min(began, called)
        if settings.seconds is not None:
            began = max(began, called - settings.seconds / 2)
        model = self.model
        hint = None if start is None else self._indices(start, model)
        found = search(model, settings, hint, on_progress, stop or threading.Event(), began)
        return replace(found, _plan_options=self._plan_options)

    @property
    def _plan_options(self) -> PlanOptions | None:
        return None if self._scenario is None else self._scenario.plan

    def _indices(self, assignment: AssignmentLike, model: Model) -> Any:
        problem = model.problem
        return inputs.indices(inputs.read_placements(assignment, problem.object_name, problem.container_name), problem)
