"""The folder of plans: whole plans only, whatever happens while one is written."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

import pytest

from rebalancer.jobs.folders import PlanFolder
from rebalancer.problem import InputError

NIGHT = datetime(2026, 11, 21, 2, 30, 0, tzinfo=UTC)


def files(text: str = "{}") -> dict[str, Callable[[TextIO], None]]:
    def write(stream: TextIO) -> None:
        stream.write(text)

    return {"plan.json": write}


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path))


def plan(folder: PlanFolder, day: int) -> str:
    draft = folder.begin(NIGHT + timedelta(days=day), files())
    folder.place(draft)
    return draft.final.name


def test_a_plan_appears_when_it_is_put_in_its_place(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path / "plans"), "web")
    folder.prepare()
    draft = folder.begin(NIGHT, files("whole"))
    assert names(folder.path) == [".2026-11-21T02-30-00Z.partial", ".job"]
    assert str(draft.final) not in folder
    folder.place(draft)
    assert names(folder.path) == [".job", "2026-11-21T02-30-00Z", "latest"]
    assert str(draft.final) in folder
    assert (folder.path / "latest" / "plan.json").read_text(encoding="utf-8") == "whole"
    assert os.readlink(folder.path / "latest") == "2026-11-21T02-30-00Z", "the folder may be mounted elsewhere"


def test_two_plans_within_a_second(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path), "web")
    assert [plan(folder, 0) for _ in range(11)][-2:] == ["2026-11-21T02-30-00Z-10", "2026-11-21T02-30-00Z-11"]
    assert [path.name for path in folder.plans()][-2:] == ["2026-11-21T02-30-00Z-10", "2026-11-21T02-30-00Z-11"]


def test_leftovers_of_a_killed_run_go_and_nothing_else(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path), "web")
    folder.begin(NIGHT, files())
    (tmp_path / ".latest.partial").symlink_to("nowhere")
    (tmp_path / ".mine.partial").mkdir()
    (tmp_path / ".2026-11-21.partial").touch()
    folder.prepare()
    assert names(tmp_path) == [".2026-11-21.partial", ".job", ".mine.partial"]


def test_the_oldest_go_but_never_the_latest(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path), "web")
    made = [plan(folder, day) for day in range(4)]
    (tmp_path / "notes").mkdir()
    folder.prune(None)
    assert [path.name for path in folder.plans()] == made
    folder.point(made[0])
    folder.prune(2)
    assert [path.name for path in folder.plans()] == [made[0], made[2], made[3]]
    assert names(tmp_path) == [made[0], made[2], made[3], "latest", "notes"]


def test_two_jobs_do_not_share_a_folder(tmp_path: Path) -> None:
    PlanFolder(str(tmp_path), "web").prepare()
    with pytest.raises(InputError, match="holds the plans of the job 'web'; each job needs one of its own"):
        PlanFolder(str(tmp_path), "db").prepare()
    PlanFolder(str(tmp_path), "web").prepare()


def test_a_latest_that_is_no_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    with pytest.raises(InputError, match=r"'.*/latest' is in the way: it should be a link"):
        PlanFolder(str(tmp_path), "web").prepare()
    assert names(tmp_path) == ["latest"]


def test_a_plan_that_cannot_be_pointed_to_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = PlanFolder(str(tmp_path), "web")
    first = plan(folder, 0)
    draft = folder.begin(NIGHT + timedelta(days=1), files())

    def full(self: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "symlink_to", full)
        with pytest.raises(InputError, match="No space left on device"):
            folder.place(draft)
    assert os.readlink(tmp_path / "latest") == first
    assert [path.name for path in folder.plans()] == [first]
    folder.discard(draft)
    assert names(tmp_path) == [first, "latest"]


def test_a_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path), "web")

    def fail(stream: TextIO) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left on device"):
        folder.begin(NIGHT, files() | {"plan.md": fail})
    assert names(tmp_path) == []
