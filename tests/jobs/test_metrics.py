"""The metrics file, read by Prometheus's own parser."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rebalancer.exits import Exit
from rebalancer.jobs.metrics import check_metrics, write_metrics
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.problem import InputError

BEGUN = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
REPORT = Report(
    'a "job"\\with\nall',
    BEGUN,
    run=7,
    finished=BEGUN + timedelta(seconds=90),
    outcome=Outcome.PLANNED,
    exit_code=Exit.BROKEN,
    snapshot_taken=BEGUN - timedelta(minutes=5),
    objective=(
        {"tuple_pos": 0, "initial": 10050.5, "final": 0.1, "bound": None},
        {"tuple_pos": 1, "initial": 0.0, "final": 2.0, "bound": float("nan")},
    ),
    constraints=(
        {"name": "fits", "policy": "DEFAULT", "initial_broken": 2, "final_broken": 0},
        {"name": "apart", "policy": "HARD", "initial_broken": 1, "final_broken": 1},
        {"name": "nice", "policy": "SOFT", "initial_broken": 3, "final_broken": 3},
    ),
    moves=12,
    waves=3,
    blocked=1,
)


def samples(path: Path) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return every sample of a file, its job label checked and left out."""
    out = {}
    for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("job") == REPORT.job
            key = sample.name.removeprefix("rebalancer_"), frozenset(labels.items())
            assert key not in out
            out[key] = sample.value
    return out


def test_every_metric(tmp_path: Path) -> None:
    path = tmp_path / "web.prom"
    write_metrics(str(path), REPORT, BEGUN)
    found = samples(path)
    outcomes = {labels: value for (name, labels), value in found.items() if name == "outcome"}
    assert sum(outcomes.values()) == outcomes[frozenset({("outcome", "planned")})] == 1
    assert len(outcomes) == 9, "running, writing and died are not how a run ends that lives to tell"
    plain = {name: value for (name, labels), value in found.items() if not labels}
    assert plain == {
        "last_run_timestamp_seconds": BEGUN.timestamp() + 90,
        "last_success_timestamp_seconds": BEGUN.timestamp(),
        "run_duration_seconds": 90,
        "exit_code": 3,
        "moves": 12,
        "waves": 3,
        "blocked_moves": 1,
        "snapshot_age_seconds": 300,
    }
    others = {
        (name, *sorted(value for _, value in labels)): value
        for (name, labels), value in found.items()
        if labels and name != "outcome"
    }
    assert others == {
        ("objective", "0", "initial"): 10050.5,
        ("objective", "0", "final"): 0.1,
        ("objective", "1", "initial"): 0,
        ("objective", "1", "final"): 2,
        ("broken_constraints", "initial"): 2,
        ("broken_constraints", "final"): 1,
    }
    assert [entry.name for entry in tmp_path.iterdir()] == ["web.prom"]


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "web.prom"
    failed = Report(REPORT.job, BEGUN, finished=BEGUN, outcome=Outcome.FAILED, exit_code=Exit.BAD_INPUT)
    write_metrics(str(path), failed, None)
    assert {name for name, _ in samples(path)} == {
        "last_run_timestamp_seconds", "run_duration_seconds", "exit_code", "outcome",
    }  # fmt: skip


def test_the_last_success_outlives_a_database_that_is_away(tmp_path: Path) -> None:
    path = tmp_path / "web.prom"
    write_metrics(str(path), REPORT, BEGUN)
    write_metrics(str(path), replace(REPORT, outcome=Outcome.FAILED, exit_code=Exit.BAD_INPUT), None)
    found = samples(path)
    assert found["last_success_timestamp_seconds", frozenset()] == BEGUN.timestamp()
    assert found["outcome", frozenset({("outcome", "failed")})] == 1


def test_a_folder_that_is_not_there_to_write_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write to"):
        check_metrics(str(tmp_path / "file" / "web.prom"))
    check_metrics(str(tmp_path / "web.prom"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
