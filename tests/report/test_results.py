"""Solutions and evaluations as text: everything in a pipe, the first rows on a terminal."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from rebalancer import CapacitySpec, Rebalancer, Solution, ToFreeSpec
from rebalancer.engines.base import Answer, Request, Status
from rebalancer.model import Model
from rebalancer.report.results import headline, show_evaluation, show_solution
from tests.solver import engines

MEMORY = CapacitySpec(scope="host", dimension="memory")
SPREAD = 40


@pytest.fixture
def solution(monkeypatch: pytest.MonkeyPatch) -> Solution:
    """Forty tasks that all leave one host, half of them for each of the others; the second position is not proven."""

    def spread(model: Model, request: Request) -> Answer:
        assignment = model.problem.initial.copy()
        assignment[:] = [1 + index % 2 for index in range(len(assignment))]
        return Answer(Status.FEASIBLE, assignment, (0, None), None, "scripted")

    engines.use(monkeypatch, spread)
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [f"t{number}" for number in range(SPREAD)], "h1": [], "h2": []})
    solver.add_object_dimension("memory", {}, default=1)
    solver.add_container_dimension("memory", {"h0": 1, "h1": 20, "h2": 20})
    solver.add_constraint(MEMORY, name="fits")
    for number in range(30):
        solver.add_constraint(MEMORY, name=f"again-{number}", policy="SOFT")
    solver.add_goal(MEMORY, name="room", tuple_pos=1)
    return solver.solve()


def piped(solution: Solution) -> str:
    stream = io.StringIO()
    show_solution(solution, Console(file=stream, width=40), "written")
    return stream.getvalue()


def on_terminal(solution: Solution, width: int = 100) -> str:
    stream = io.StringIO()
    show_solution(solution, Console(file=stream, width=width, force_terminal=True, color_system=None), "written")
    return stream.getvalue()


def headed(solution: Solution, final: list[float], gaps: list[float], epsilon: float = 0.0) -> str:
    """Return the headline of a solution with other values, and the rounding of its first position."""
    stream = io.StringIO()
    value, gap = np.array(final), np.array(gaps)
    first, *others = solution._model.tuple_positions
    changed = replace(
        solution,
        _final=replace(solution._final, objective=value),
        _bounds=value - gap * np.maximum(1.0, abs(value)),
        _gaps=gap,
        _model=replace(solution._model, tuple_positions=(replace(first, epsilon=epsilon), *others)),
    )
    headline(changed, Console(file=stream))
    return stream.getvalue()


def test_a_pipe_gets_everything_plainly(solution: Solution) -> None:
    text = piped(solution)
    lines = text.splitlines()
    assert lines[0].startswith("FEASIBLE  no bound is known at position 1 · 40 moves · ")
    assert lines[-1] == "written"
    assert not any(character in text for character in "─━│┃\x1b…")
    assert sum(line.startswith("t") and line.endswith(("h1", "h2")) for line in lines) == SPREAD
    assert sum(line.startswith("again-") for line in lines) == 30


def test_a_terminal_gets_the_first_rows(solution: Solution) -> None:
    text = on_terminal(solution)
    assert "… and 20 more" in text
    assert "… and 11 more constraints" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_the_headline_says_what_is_proven(solution: Solution) -> None:
    assert piped(replace(solution, status=Status.OPTIMAL)).startswith(
        "OPTIMAL  proven: no assignment is better · 40 moves"
    )
    infeasible = replace(solution, status=Status.INFEASIBLE, reason="fits cannot hold")
    assert piped(infeasible).startswith("INFEASIBLE  fits cannot hold · ")
    assert "moves" not in piped(infeasible)
    assert "within 0.40 % of the best at position 0" in headed(solution, [250.0, 0.0], [0.004, math.nan])
    assert "within 0.40 % of the best ·" in headed(solution, [250.0], [0.004])


def test_the_headline_claims_no_share_where_the_gap_is_none(solution: Solution) -> None:
    """Below 1 the gap is the difference itself: 0.0014 above 0.0011 is more than half of it."""
    assert "within 0.0014 of the best at position 0" in headed(solution, [0.0025, 0.0], [0.0014, math.nan])


def test_the_headline_passes_over_what_is_closed_within_its_rounding(solution: Solution) -> None:
    """0.001 of 250 is the rounding of the first position: the next one is what is open."""
    gaps = [0.001 / 250, math.nan]
    assert "no bound is known at position 1" in headed(solution, [250.0, 0.0], gaps, epsilon=0.001)
    assert "within <0.01 % of the best at position 0" in headed(solution, [250.0, 0.0], gaps, epsilon=0.0005)


def test_an_evaluation_shows_one_column_or_two() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": []})
    solver.add_constraint(CapacitySpec(scope="host", dimension=""), name="fits")
    stream = io.StringIO()
    show_evaluation(solver.evaluate(), Console(file=stream), compared=False)
    assert stream.getvalue().startswith("broken: fits\n")
    assert "final" not in stream.getvalue()
    stream = io.StringIO()
    show_evaluation(solver.evaluate({"h0": ["t0"], "h1": ["t1"]}), Console(file=stream), compared=True)
    assert stream.getvalue().startswith("nothing is broken\n")
    assert "1 → 0" in stream.getvalue()


def test_thousands_of_broken_constraints_are_not_all_named_in_the_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, lambda model, request: Answer(Status.FEASIBLE, model.problem.initial, (None,), None, "-"))
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": []})
    for number in range(30):
        solver.add_constraint(CapacitySpec(scope="host", dimension=""), name=f"fits-{number}")
    stream = io.StringIO()
    show_evaluation(solver.evaluate(), Console(file=stream), compared=False)
    assert stream.getvalue().splitlines()[0].endswith("fits-18, fits-19, … and 10 more")
    assert piped(solver.solve()).splitlines()[1].endswith("fits-18, fits-19, … and 10 more")


def test_nothing_has_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"]})
    assert "\nnothing has to move\n" in piped(solver.solve())
    engines.use(monkeypatch, lambda model, request: Answer(Status.FEASIBLE, model.problem.initial, (None,), None, "-"))
    solver.add_goal(ToFreeSpec(containers=["h0"]))
    assert "\nnothing moves: the search ended before it found anything better\n" in piped(solver.solve())
