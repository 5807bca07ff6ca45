"""From a solution to a plan in one line of Python."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

import rebalancer
from rebalancer import (
    Cap,
    CapacitySpec,
    GroupCapacitySpec,
    InputError,
    LogicalAndSpec,
    PlanOptions,
    Rebalancer,
    plan_moves,
)
from rebalancer.dialects import marathon
from rebalancer.plan import waiting
from rebalancer.plan.schema import json_schema

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONTENTS = {"h0": [f"t{at}" for at in range(4)], "h1": []}
END = dict.fromkeys(CONTENTS["h0"], "h1")


def solver() -> Rebalancer:
    made = Rebalancer("task", "host")
    made.set_assignment(CONTENTS)
    made.add_partition("job", {"a": ["t0", "t1"], "b": ["t2", "t3"]})
    return made


def test_options_are_stated_as_in_a_scenario() -> None:
    plan = plan_moves(solver().evaluate(END), max_per_group={"job": 1}, max_in_flight=3, created=NOON)
    assert plan.options == PlanOptions(max_per_group={"job": Cap(default=1)}, max_in_flight=3)
    assert (plan.waves, plan.table["wave"].tolist()) == (2, [1, 1, 2, 2])
    fewer = plan_moves(solver().evaluate(END), plan.options, max_in_flight=1)
    assert (fewer.waves, fewer.options.max_per_group) == (4, plan.options.max_per_group)


@pytest.mark.parametrize(
    ("limit", "in_flight", "waves"), [(2, None, []), (3, None, [1, 2]), (4, None, [1, 1]), (2, "between_waves", [1, 1])]
)
@pytest.mark.parametrize("nested", [False, True])
def test_in_flight_a_total_counts_an_object_at_both_ends(
    limit: int, in_flight: str | None, waves: list[int], nested: bool
) -> None:
    """Both hosts count, so the 2 objects of job a are 3 while one of them is on its way, and 4 while both are."""
    spec = GroupCapacitySpec(scope="host", partition="job", definition="AFTER", limit=limit, contribution=1)
    total = solver()
    total.add_constraint(LogicalAndSpec(generic_specs=[spec]) if nested else spec, name="total", in_flight=in_flight)
    plan = plan_moves(total.evaluate({"t0": "h1", "t1": "h1", "t2": "h0", "t3": "h0"}))
    assert [row["wave"] for row in plan.rows()] == waves
    assert len(plan.blocked) == 2 - len(waves)


def test_a_table_says_of_each_step_which_waves_it_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second step waits for the first, which leaves room in flight, and as one of a large batch for its wave."""
    monkeypatch.setattr(waiting, "_MOST_PAIRS", 0)
    made = solver()
    spec = GroupCapacitySpec(scope="host", partition="job", definition="AFTER", limit=2, contribution=1)
    made.add_constraint(spec, in_flight="between_waves")
    plan = plan_moves(made.evaluate({"t0": "h1", "t1": "h1", "t2": "h0", "t3": "h0"}), max_in_flight=1)
    plan.write(tmp_path / "plan")
    with (tmp_path / "plan" / "plan.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["wave"], row["after"], row["after_wave"]) for row in rows] == [("1", "", ""), ("2", "s1", "1")]


def test_a_plan_without_steps_is_an_empty_table() -> None:
    plan = plan_moves(solver().evaluate())
    assert plan.table.columns.tolist() == ["id", "object", "source", "destination", "wave", "after", "reason"]
    assert plan.table["wave"].tolist() == []


def test_wrong_options_are_named_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        plan_moves(solver().evaluate(END), max_in_fligt=1, expires="soon")
    assert [(fault.path, fault.suggestion) for fault in caught.value.faults] == [
        (("plan", "max_in_fligt"), "max_in_flight"),
        (("plan", "expires"), None),
    ]


@pytest.mark.parametrize("field", ["expires", "exact_time", "max_in_flight", "max_in_per_container", "max_amount"])
def test_half_a_character_is_a_wrong_value(field: str) -> None:
    """Python's texts may hold one, and no encoding does."""
    value = {"mem": "\ud800"} if field == "max_amount" else "\ud800"
    with pytest.raises(InputError) as caught:
        plan_moves(solver().evaluate(END), **{field: value})
    (fault,) = caught.value.faults
    assert (fault.code, fault.path[:2]) == ("wrong-type", ("plan", field))
    assert "\\ud800" in fault.message


def test_a_plan_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    plan = plan_moves(solver().evaluate(END), created=NOON)
    assert plan.write(tmp_path / "plan", "mv {object}") == ["plan.csv", "plan.md", "plan.sh", "plan.json"]
    content = json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, json_schema())
    assert content == plan.to_json()
    assert (tmp_path / "plan" / "plan.md").read_text(encoding="utf-8") == plan.to_markdown()
    with pytest.raises(InputError, match="did you mean"):
        plan.write(tmp_path / "other", "mv {objct}")
    assert not (tmp_path / "other").exists()


def test_the_same_plan_comes_out_every_time() -> None:
    first, second = (plan_moves(solver().evaluate(END), created=NOON, max_in_flight=2).to_json() for _ in range(2))
    assert first == second


def test_a_state_is_given_in_any_form() -> None:
    plan = plan_moves(solver().evaluate(END))
    verdict = plan.verify({"h0": ["t1", "t2", "t3"], "h1": ["t0"]})
    assert (verdict.verdict, verdict.done, len(verdict.valid)) == ("VALID", ["s1"], 3)
    with pytest.raises(InputError, match="t9"):
        plan.verify({"t9": "h0"})


def test_the_plan_section_of_a_scenario_counts_unless_options_are_given(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "object: task\ncontainer: host\nassignment: {h0: [a, b], h1: []}\nplan: {max_in_flight: 1, expires: 2h}\n"
        "goals:\n  - to_free: {containers: [h0]}\n",
        encoding="utf-8",
    )
    solution = Rebalancer.from_yaml(path).solve(time_limit=10)
    assert plan_moves(solution).waves == 2
    assert plan_moves(solution).expires is not None
    assert plan_moves(solution, max_in_flight=2).waves == 1
    assert plan_moves(solution, PlanOptions()).waves == 1


def test_without_an_answer_there_is_nothing_to_plan() -> None:
    made = solver()
    made.add_object_dimension("mem", {}, default=1)
    made.add_container_dimension("mem", {}, default=1)
    made.add_constraint(CapacitySpec(scope="host", dimension="mem"), policy="HARD")
    with pytest.raises(InputError, match="nothing to plan"):
        plan_moves(made.solve(time_limit=10))


def test_rules_of_other_schedulers_take_in_flight_too() -> None:
    made = Rebalancer("task", "host")
    made.set_assignment({"h0": ["a", "b"], "h1": [], "h2": []})
    made.add_object_attribute("app", {"a": "/web", "b": "/web"})
    statement = marathon.Marathon(app="/web", constraints=[["hostname", "UNIQUE"]])
    made.add_rules(statement, in_flight="at_end")
    assert {one.in_flight for one in made.model.constraints if not one.implicit} == {"at_end"}
    with pytest.raises(InputError, match="did you mean 'at_end'"):
        made.add_rules(statement, in_flight="at_ende")


def test_everything_that_a_plan_takes_is_public() -> None:
    assert {"Cap", "Plan", "PlanOptions", "plan_moves"} <= set(dir(rebalancer))
