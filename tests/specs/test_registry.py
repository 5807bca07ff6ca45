"""Specs of one's own: registered by hand or by installed distributions, used like the built-in ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest

from rebalancer import CapacitySpec, InputError, Rebalancer
from rebalancer.scenario.schema import json_schema
from rebalancer.specs import ScopeName, Spec, register, registry
from tests.specs.own import ROOT, blocks, install, install_example, write_example


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    registry.keys()
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


def a_spec(key: Any = "far_away", name: str = "FarAwaySpec", **more: Any) -> type[Spec]:
    body = {"__doc__": "Nothing is far away.", "goal": lambda self, model: model.linear([], 7), "key": key, **more}
    return type(name, (Spec,), {name: value for name, value in body.items() if value is not None})


def scenario(folder: Path, *goals: str) -> Path:
    path = folder / "scenario.yaml"
    listed = "".join(f"  - {goal}: {{}}\n" for goal in goals)
    path.write_text(f"object: task\ncontainer: host\nassignment: {{h: [t]}}\ngoals:\n{listed}", encoding="utf-8")
    return path


def test_a_goal_of_several_cells_is_refused_at_its_line(tmp_path: Path) -> None:
    register(a_spec(goal=lambda self, model: model.amount("host")))
    text = scenario(tmp_path, "far_away").read_text(encoding="utf-8").replace("{h: [t]}", "{h: [t], i: []}")
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"scenario\.yaml:5:.*not-one-cell.*far_away is 1 × 2 cells"):
        Rebalancer.from_yaml(tmp_path / "scenario.yaml").evaluate()


def test_a_registered_spec_is_used_from_yaml_and_python(tmp_path: Path) -> None:
    @register
    class FarAwaySpec(Spec):
        """Nothing is far away."""

        key: ClassVar[str] = "far_away"
        scope: ScopeName = "host"

        def goal(self, model: Any) -> Any:
            return model.total(model.amount(self.scope))

    assert registry.get("far_away") is FarAwaySpec
    assert "far_away" in registry.keys()  # noqa: SIM118 - not a mapping
    spellings = ["far_away", "farAway", "farAwaySpec", "FarAwaySpec"]
    evaluation = Rebalancer.from_yaml(scenario(tmp_path, *spellings)).evaluate()
    assert evaluation.goals["spec"].tolist() == ["far_away"] * 4
    assert evaluation.goals["initial"].tolist() == [1.0] * 4
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h": ["t"]})
    solver.add_goal(FarAwaySpec(scope="host"))
    assert solver.solve(time_limit=10).goals["final"].tolist() == [1.0]


def test_names_in_its_fields_are_checked_and_located(tmp_path: Path) -> None:
    register(a_spec(__annotations__={"scope": ScopeName}, scope="host"))
    path = scenario(tmp_path, "farAway")
    path.write_text(path.read_text().replace("{}", "{scope: hots}"))
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(path)
    (fault,) = caught.value.faults
    assert (fault.code, fault.line, fault.suggestion) == ("unknown-name", 5, "host")


def test_a_key_with_digits_or_a_tail_is_found_under_every_spelling(tmp_path: Path) -> None:
    register(a_spec("rack2_spec", "Rack2Spec"))
    path = scenario(tmp_path, "rack2_spec", "rack2", "Rack2Spec")
    assert Rebalancer.from_yaml(path).evaluate().goals["initial"].tolist() == [7.0] * 3
    path.write_text(path.read_text().replace("Rack2Spec: {}", "Rack2Spec: {x: 1}"))
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(path)
    assert [(fault.code, fault.line) for fault in caught.value.faults] == [("unknown-field", 7)]


def test_it_is_in_the_schema_even_if_its_class_is_called_like_another() -> None:
    register(a_spec("own_capacity", "CapacitySpec"))
    schema = json_schema()
    validator = jsonschema.Draft7Validator(schema)
    assert not list(validator.iter_errors({"goals": [{"own_capacity": {}}]}))
    assert not list(validator.iter_errors({"constraints": [{"capacity": {"scope": "host", "limit": 1}}]}))
    assert list(validator.iter_errors({"goals": [{"own_capacity": {"scope": "host"}}]}))
    assert list(validator.iter_errors({"constraints": [{"own_capacity": {}}]}))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: 3, TypeError, "expected a subclass of Spec to register, got 3"),
        (lambda: dict, TypeError, "expected a subclass of Spec to register, got <class 'dict'>"),
        (lambda: a_spec()(), TypeError, "register the class FarAwaySpec itself"),
        (
            lambda: a_spec(None),
            ValueError,
            "FarAwaySpec has no key; write in its body: key: ClassVar[str] = 'far_away'",
        ),
        (lambda: a_spec("farAway"), ValueError, "must be in snake_case, such as 'far_away', got 'farAway'"),
        (lambda: a_spec("far-away"), ValueError, "must be in snake_case"),
        (lambda: a_spec("_far"), ValueError, "must be in snake_case"),
        (lambda: a_spec("weight"), ValueError, "'weight' of FarAwaySpec is what scenarios write beside a spec"),
        (lambda: a_spec("capacity"), ValueError, "is taken by rebalancer.specs.capacity:CapacitySpec"),
        (lambda: a_spec("capacity_spec"), ValueError, "is taken by rebalancer.specs.capacity:CapacitySpec"),
        (lambda: type("Mine", (CapacitySpec,), {}), ValueError, "the key 'capacity' of Mine is taken by"),
        (lambda: a_spec(goal=None), ValueError, "has neither goal(model) nor components(model)"),
    ],
)
def test_what_cannot_be_registered(wrong: Any, error: type[Exception], message: str) -> None:
    before = registry.keys()
    with pytest.raises(error) as caught:
        register(wrong())
    assert message in str(caught.value)
    assert registry.keys() == before


def test_a_key_that_is_a_field_is_no_key() -> None:
    with pytest.warns(UserWarning, match="shadows"):
        wrong = type("FarAwaySpec", (Spec,), {"__annotations__": {"key": str}, "key": "far_away"})
    with pytest.raises(ValueError, match="the key of FarAwaySpec is a field"):
        register(wrong)


def test_two_classes_cannot_have_one_key() -> None:
    first = register(a_spec())
    assert register(first) is first  # once more is no harm
    with pytest.raises(ValueError, match=r"the key 'far_away' of OtherSpec is taken by .*:FarAwaySpec"):
        register(a_spec(name="OtherSpec"))
    with pytest.raises(ValueError, match="taken"):
        register(a_spec())


def test_a_notebook_may_define_a_class_again() -> None:
    register(a_spec(__module__="__main__"))
    again = register(a_spec(__module__="__main__"))
    assert registry.get("far_away") is again


# -- installed distributions, each in a fresh interpreter -------------------------------------------------------------


def python(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


COMMANDS = """
import json
from click.testing import CliRunner
from rebalancer.cli import main
results = [CliRunner().invoke(main, arguments) for arguments in {commands!r}]
print(json.dumps([[result.exit_code, result.stdout, result.stderr] for result in results]))
"""


def commands(folder: Path, *lines: str) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of commands where a folder is on the path."""
    done = python(folder, COMMANDS.format(commands=[line.split() for line in lines]))
    assert done.returncode == 0, done.stderr
    return [tuple(result) for result in json.loads(done.stdout)]


def test_the_example_of_the_guide_as_an_installed_distribution(tmp_path: Path) -> None:
    install_example(tmp_path)
    check, evaluated, solved, listed, page, schema = commands(
        tmp_path,
        "check scenario.yaml",
        "evaluate scenario.yaml --json",
        "solve scenario.yaml --json --time-limit 10s",
        "specs",
        "specs LicenseCostSpec",
        "schema",
    )
    assert (check[0], check[2]) == (0, "")
    data = json.loads(evaluated[1])
    assert [(goal["spec"], goal["initial"]) for goal in data["goals"]] == [
        ("license_cost", 17.0),
        ("minimize_movement", 0.0),
    ]
    assert [row["initial_violation"] for row in data["constraints"]] == [0.0, 5.0]
    data = json.loads(solved[1])
    assert (solved[0], data["status"]) == (0, "OPTIMAL")
    assert [goal["final"] for goal in data["goals"]] == [6.0, 3.0]
    assert [row["final_violation"] for row in data["constraints"]] == [0.0, 0.0]
    assert "Pay for every scope item in which a licensed group is." in listed[1]
    assert page[1].startswith(
        "# license_cost\n\nPay for every scope item in which a licensed group is. Goal and constraint."
    )
    assert "| `prices` | group → number | required | Price of a license, by product. |" in page[1]
    assert "## Notes\n\nWith `n(g)` the number of scope items" in page[1]
    assert json.loads(schema[1])["definitions"]["LicenseCostSpec"]["properties"]["prices"]


@pytest.mark.parametrize("program", range(1, len(blocks("python"))))
def test_the_programs_of_the_guide_run(tmp_path: Path, program: int) -> None:
    write_example(tmp_path)
    done = python(tmp_path, blocks("python")[program])
    assert done.returncode == 0, done.stderr


def test_an_entry_point_that_cannot_be_loaded_is_named_and_breaks_no_other(tmp_path: Path) -> None:
    install_example(tmp_path)
    (tmp_path / "broken_spec.py").write_text("import no_such_library\n", encoding="utf-8")
    (tmp_path / "bad_spec.py").write_text("class NotASpec:\n    pass\n", encoding="utf-8")
    points = {"rack_weight": "broken_spec:RackWeightSpec", "not_a_spec": "bad_spec:NotASpec", "gone": "bad_spec:Gone"}
    install(tmp_path, "broken-specs", "2.0", points)
    (tmp_path / "user.yaml").write_text(
        "object: task\ncontainer: host\nassignment: {h: [t]}\ngoals:\n  - rackWeight: {}\n", encoding="utf-8"
    )
    good, refused, page, unknown = commands(
        tmp_path, "evaluate scenario.yaml", "check user.yaml", "specs rack_weight", "specs rack_weigt"
    )
    assert good[0] == 0
    lines = good[2].splitlines()
    assert len(lines) == 3
    why = (
        "the entry point 'rack_weight = broken_spec:RackWeightSpec' of broken-specs 2.0 cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_library'"
    )
    assert any(line.endswith(f"WARNING rebalancer.specs.registry: {why}") for line in lines)
    assert any("'not_a_spec = bad_spec:NotASpec'" in line and "expected a subclass of Spec" in line for line in lines)
    assert any("'gone = bad_spec:Gone'" in line and "AttributeError" in line for line in lines)
    assert (refused[0], refused[2].splitlines()) == (
        2,
        [f"user.yaml:5:5: error[unloadable-spec]: there is no spec 'rackWeight': {why}"],
    )
    assert (page[0], page[2].splitlines()) == (2, [f"error[unloadable-spec]: there is no spec 'rack_weight': {why}"])
    assert unknown[0] == 2
    assert "unknown spec 'rack_weigt'" in unknown[2]


def test_an_entry_point_may_be_a_module_that_registers_its_classes(tmp_path: Path) -> None:
    write_example(tmp_path)
    install(tmp_path, "our-specs", "1.0", {"our": "license_cost"})
    ((code, out, err),) = commands(tmp_path, "specs license_cost --json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["class"], data["goal"], data["constraint"]) == ("license_cost:LicenseCostSpec", True, True)
