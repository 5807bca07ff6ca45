"""Weeks of random nights, recounted from outside; plans are carried out wholly, in part, or not at all."""

import random
from pathlib import Path

import pytest

from rebalancer.jobs.outcome import Outcome
from rebalancer.plan import PlanOptions
from rebalancer.plan.read import read_plan, verify_plan
from rebalancer.solver import Rebalancer
from tests.jobs.fleet import Fleet
from tests.solver import engines

HOSTS = ("h0", "h1", "h2")
TASKS = ("a", "b", "c")
NIGHTS = 12


@pytest.mark.parametrize("seed", range(3))
def test_weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    engines.use(monkeypatch, engines.enumerated)
    chance = random.Random(seed)
    fleet = Fleet(tmp_path, guards={"cool_down": "60h"}, output={"keep": 2})
    at = {task: chance.choice(HOSTS) for task in TASKS}
    arrived: dict[str, int] = {}  # object -> the last night whose plan moved it
    seen: set[str] = set()
    for night in range(NIGHTS):
        fleet.tasks(at)
        if chance.random() < 0.6:
            wishes = [
                {"object_name": task, "scope_item_name": chance.choice(HOSTS), "affinity": chance.randint(1, 9)}
                for task in TASKS
            ]
            # Hosts have room for two, so that plans have an order, or stage an object.
            fleet.scenario(goals=[{"assignment_affinities": {"scope": "host", "affinities": wishes}}])
        report = fleet.run(night)
        seen.add(report.outcome)
        assert report.outcome in (Outcome.PLANNED, Outcome.KEPT, Outcome.NOTHING_TO_DO), report.reasons
        latest = tmp_path / "plans" / "latest"
        if not latest.exists():
            assert report.outcome is Outcome.NOTHING_TO_DO
            seen.add("no plan")
            continue
        content = read_plan(str(latest / "plan.json"))
        model = Rebalancer.from_yaml(tmp_path / "scenario.yaml").model
        verdict = verify_plan(model, content, model.problem.initial, PlanOptions())
        assert verdict.verdict == "VALID", "latest leads to what holds tonight"
        to_do = [step for step in content["steps"] if step["id"] in verdict.valid]
        assert len(to_do) == (report.moves or 0)
        if report.outcome is Outcome.PLANNED:
            for step in to_do:
                resting = night - arrived.get(step["object"], -NIGHTS)
                assert resting > 2, f"night {night}: {step['object']} moved {resting} nights ago"
        for step in to_do[: chance.choice([0, 1, len(to_do)])]:
            assert at[step["object"]] == step["source"]
            at[step["object"]] = step["destination"]
        ends = {step["object"]: step["destination"] for step in content["steps"]}
        for task in {step["object"] for step in to_do}:
            if at[task] == ends[task]:
                arrived[task] = night
    assert Outcome.PLANNED in seen
    assert len([path for path in (tmp_path / "plans").iterdir() if path.name[0] not in ".l"]) <= 3
