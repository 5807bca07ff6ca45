"""The solver of a scenario file."""

import threading
from pathlib import Path

import pytest

from rebalancer import CapacitySpec, InputError, Rebalancer
from rebalancer.engines.base import Answer, Request
from rebalancer.model import Model
from tests.solver import engines

SCENARIO = """\
object: task
container: host
assignment:
  h0: [t0, t1, t2]
  h1: []
dimensions:
  memory:
    task: {default: 10}
    host: {h0: 20, h1: 20}
constraints:
  - capacity: {scope: host, dimension: memory}
    name: fits
solve: {time_limit: 2m, gap: 0.1, workers: 1}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_its_solve_section_gives_the_defaults(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Request] = []

    def answer(model: Model, request: Request) -> Answer:
        seen.append(request)
        return engines.enumerated(model, request)

    engines.use(monkeypatch, answer)
    solver = Rebalancer.from_yaml(scenario)
    solver.solve()
    solver.solve(time_limit=5)
    assert [(request.time_limit, request.gap, request.workers) for request in seen] == [(120.0, 0.1, 1), (5.0, 0.1, 1)]


def test_entries_may_be_added_and_nothing_else(scenario: Path) -> None:
    solver = Rebalancer.from_yaml(str(scenario))
    solver.add_goal(CapacitySpec(scope="host", dimension="memory"), name="room")
    assert list(solver.evaluate().goals["name"]) == ["room"]
    with pytest.raises(InputError, match="the problem of a scenario is complete"):
        solver.add_partition("job", {})


def test_a_real_solution(scenario: Path) -> None:
    solution = Rebalancer.from_yaml(scenario).solve(time_limit=60)
    assert solution.status == "OPTIMAL"
    assert len(solution.moves) == 1
    assert solution.constraints["final_violation"].tolist() == [0.0]


def test_a_search_that_is_stopped_before_it_begins_keeps_the_start(scenario: Path) -> None:
    stop = threading.Event()
    stop.set()
    solution = Rebalancer.from_yaml(scenario).solve(stop=stop)
    assert solution.found


def test_moves_in_progress_are_no_moves(scenario: Path) -> None:
    text = SCENARIO + "  - moves_in_progress: {moves: [{object: t0, to_container: h1}]}\n"
    text = text.replace("solve: {time_limit: 2m, gap: 0.1, workers: 1}\n", "")
    scenario.write_text(text, encoding="utf-8")
    solution = Rebalancer.from_yaml(scenario).solve(time_limit=60)
    assert solution.moves.empty
    assert solution.assignment["t0"] == "h1"
