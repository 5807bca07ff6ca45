"""Languages in scenario files: mixed with each other and with specs, faults with their place, and single placements."""

import json
from pathlib import Path

import pytest

from rebalancer import InputError, Rebalancer
from tests.cli.commands import parsed, run, written

MIXED = """\
object: task
container: host
assignment: {h1: [web-0], h2: [pong], h3: [], h4: []}
unassigned: [web-1, ping, shard]
attributes:
  host:
    h1: {rack_id: a, labels: {disk: ssd}}
    h2: {rack_id: a, labels: {disk: hdd}}
    h3: {rack_id: b, labels: {disk: ssd}}
    h4: {rack_id: b, labels: {disk: hdd}}
  task:
    web-0: {app: /web}
    web-1: {app: /web}
dimensions:
  slots: {task: {default: 1}, host: {default: 2}}
constraints:
  - capacity: {scope: host, dimension: slots}
    name: slots
  - marathon: {app: /web, constraints: [[rack_id, UNIQUE]]}
    name: web
  - fleet: {units: {ping: ["MachineOf=pong"]}}
    name: units
    policy: HARD
  - kubernetes: {pods: [shard, pong], spec: {nodeSelector: {disk: ssd}}}
    name: shards
goals:
  - minimize_movement: {scope: host, dimension: task_count}
    name: moves
    tuple_pos: 1
"""


def test_three_languages_and_specs_on_one_fleet(tmp_path: Path) -> None:
    solution = Rebalancer.from_yaml(written(tmp_path, MIXED)).solve(engine="cpsat", time_limit=20)
    assert solution.status.value == "OPTIMAL"
    found = solution.assignment
    assert {found["web-0"], found["web-1"]} & {"h1", "h2"}
    assert {found["web-0"], found["web-1"]} & {"h3", "h4"}
    assert found["ping"] == found["pong"]
    assert {found["shard"], found["pong"]} <= {"h1", "h3"}
    rows = solution.constraints.set_index("name")
    assert list(rows.index) == [
        "slots",
        "web: rack_id UNIQUE",
        "units: ping MachineOf=pong",
        "shards: node affinity",
        "placed",
    ]
    assert rows["policy"].tolist() == ["DEFAULT", "DEFAULT", "HARD", "DEFAULT", "DEFAULT"]
    moved = solution.moves[solution.moves["source"].notna()]
    assert moved["object"].tolist() == ["pong"]  # it leaves its hard disk, nobody else moves


@pytest.mark.parametrize(
    ("obj", "container", "refused"),
    [
        ("web-1", "h1", {"web: rack_id UNIQUE"}),
        ("web-1", "h3", set()),
        ("ping", "h1", {"units: ping MachineOf=pong"}),
        ("ping", "h2", set()),
        ("shard", "h4", {"shards: node affinity"}),
    ],
)
def test_may_this_object_go_there_now(obj: str, container: str, refused: set[str], tmp_path: Path) -> None:
    result = run("check-placement", written(tmp_path, MIXED), obj, container, "--json")
    answer = parsed(result)
    assert {one["rule"] for one in answer["refusals"]} == refused
    assert answer["allowed"] is not bool(refused)
    assert result.exit_code == (3 if refused else 0)
    text = run("check-placement", written(tmp_path, MIXED), obj, container).stdout
    assert text.startswith(f"{obj} may {'not ' if refused else ''}go to {container}")


def test_specs_refuse_what_would_break_them(tmp_path: Path) -> None:
    full = MIXED.replace("host: {default: 2}", "host: {default: 1}")
    answer = parsed(run("check-placement", written(tmp_path, full), "web-1", "h1", "--json"))
    assert {one["rule"] for one in answer["refusals"]} == {"web: rack_id UNIQUE", "slots"}


def test_soft_rules_refuse_nothing(tmp_path: Path) -> None:
    soft = MIXED.replace("    name: web\n", "    name: web\n    policy: SOFT\n")
    assert parsed(run("check-placement", written(tmp_path, soft), "web-1", "h1", "--json"))["allowed"]


def test_unknown_names_of_a_placement(tmp_path: Path) -> None:
    result = run("check-placement", written(tmp_path, MIXED), "web1", "h9", "--json")
    assert result.exit_code == 2
    assert [fault["suggestion"] for fault in json.loads(result.stdout)["errors"]] == ["web-1", None]


def test_mistakes_have_their_line_and_the_nearest_word(tmp_path: Path) -> None:
    text = MIXED.replace("UNIQUE", "UNIQ").replace("MachineOf", "MachinOf").replace("nodeSelector", "nodeSelctor")
    file = written(tmp_path, text.replace("- capacity:", "- capacty:"))
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(file)
    found = [(fault.line, fault.column, fault.suggestion) for fault in caught.value.faults]
    lines = file.read_text().splitlines()
    assert found == [
        (line, lines[line - 1].index(word) + 1, meant)
        for line, word, meant in (
            (17, "capacty", "capacity"),
            (19, "UNIQ", "UNIQUE"),
            (21, '"MachinOf', "MachineOf"),
            (24, "nodeSelctor", "nodeSelector"),
        )
    ]


def test_a_language_stands_under_constraints(tmp_path: Path) -> None:
    text = MIXED.replace("  - minimize_movement: {scope: host, dimension: task_count}", "  - marathon: {app: /web}")
    with pytest.raises(InputError, match="stands under 'constraints'"):
        Rebalancer.from_yaml(written(tmp_path, text))


def test_preferences_take_the_weight_and_position_beside_them(tmp_path: Path) -> None:
    soft = (
        "  - fenzo: {tasks: [web-0], soft: [{type: HostAttrValueConstraint, attribute: rack_id, value: b}]}\n"
        "    weight: 3\n    tuple_pos: 2\n"
    )
    goals = Rebalancer.from_yaml(written(tmp_path, MIXED.replace("goals:\n", f"{soft}goals:\n"))).evaluate().goals
    row = goals.set_index("name").loc["fenzo#1: soft HostAttrValue rack_id b"]
    assert (row["weight"], row["tuple_pos"], row["initial"]) == (3.0, 2, 1.0)


MISTAKES = """\
object: task
container: host
assignment: {h1: [web-0], h2: [pong], h3: []}
attributes:
  task: {web-0: {app: /web, tags: [web]}, pong: {tags: [pong]}}
constraints:
  - kubernetes:
      pods: [webb-0]
      spec:
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpresions: [{key: disk, operator: Inn, values: [ssd]}]
  - marathon:
      objects: [web-1]
      constraints: [[hostname, UNIQ], [hostname, MAX_PER, x]]
      group_by: docmented
  - fenzo:
      tasks: [web-2]
      hard: [{type: ExclusiveHostConstrant}]
  - firmament:
      flow:
        - {construct: xor, tasks: [png], r: 1, scope: rack}
        - {construct: gang, tasks: [pong], minimum: x}
  - yarn:
      map:
        - sourceTags: [web]
          constraint: {scop: node, max: many, target: tag IN a}
        - sourceTags: [web]
          constraint: "AND(INN,NODE,a:IN,NOD,a)"
"""


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    """A wrong field, however deep, hides neither the names nor the texts beside it."""
    file = written(tmp_path, MISTAKES)
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(file)
    lines = file.read_text().splitlines()
    found = [(lines[int(fault.line or 0) - 1][int(fault.column or 0) - 1 :]) for fault in caught.value.faults]
    expected = (
        "webb-0",
        "matchExpresions",
        "Inn",
        "web-1",
        "UNIQ",
        "x]]",
        "docmented",
        "web-2",
        "ExclusiveHostConstrant",
        "png",
        "rack}",
        "x}",
        "scop",
        "many",
        "tag IN a",
        '"AND',
        '"AND',
    )
    assert len(found) == len(expected)
    assert all(text.startswith(word) for text, word in zip(found, expected, strict=True))


def test_a_mistake_in_a_pasted_text_has_the_line_of_that_text(tmp_path: Path) -> None:
    text = """\
object: unit
container: machine
assignment: {m1: [a.service, b.service]}
attributes: {unit: {a.service: {tags: [a]}}}
constraints:
  - fleet:
      units:
        a.service: |
          [X-Fleet]
          # not beside the other one

          Conflict=b.service
  - yarn:
      spec: |
        a(1),NOTIN,NODE,a
        :b(1),NOTIM,NODE,a
"""
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(written(tmp_path, text))
    assert [(fault.line, fault.column, fault.suggestion) for fault in caught.value.faults] == [
        (12, 11, "Conflicts"),
        (16, 9, "NOTIN"),
    ]


def test_several_entries_of_a_list_that_fit_no_form_are_each_said(tmp_path: Path) -> None:
    """Each is wrong as a whole, so that the list itself is taken out before its first entry is."""
    text = """\
assignment: {h: []}
constraints:
  - kubernetes:
      spec:
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions:
                    - {key: rack, operator: In}
                    - {key: rack, operator: Gt, values: [x]}
                    - {key: rack, operator: Exists, values: [x]}
"""
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(written(tmp_path, text))
    assert [fault.line for fault in caught.value.faults] == [10, 11, 12]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("fenzo: {hard: [{type: BalancedHostAttrConstraint, expectedValues: 0}]}", "greater than or equal to 1"),
        ("firmament: {flow: [{construct: xor}]}", "'xor' needs"),
        ("kubernetes: {spec: {tolerations: [{operator: Equals}]}}", "unknown value 'Equals'"),
        ("yarn: {count: others}", "no rules are stated; they stand in 'map', 'spec'"),
        ("firmament: {constructs: [{kind: xor, r: 1}]}", "unknown field 'constructs'"),
        ("firmament: {flow: [{kind: xor, q: 1}]}", "unknown field 'q'"),
        ("firmament: {flow: [{kind: max_tasks, q: 1}]}", "unknown field 'q'"),
    ],
)
def test_what_is_wrong_is_not_missed_as_well(statement: str, said: str, tmp_path: Path) -> None:
    """Once it is taken out, in order to look for what else is wrong, it seems not to be stated."""
    file = written(tmp_path, MIXED.replace("goals:\n", f"  - {statement}\ngoals:\n"))
    with pytest.raises(InputError) as caught:
        Rebalancer.from_yaml(file)
    (fault,) = caught.value.faults
    assert said in fault.message
