"""Folders of output: whole files, all of them or none."""

from pathlib import Path

import pytest

from rebalancer import InputError
from rebalancer.folders import OutputFolder


def test_pieces_and_functions_become_files(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "a" / "b") as folder:
        folder.write({"one": ["x\n", "y\n"], "two": lambda stream: print("z", file=stream)})
    assert (tmp_path / "a" / "b" / "one").read_text() == "x\ny\n"
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["one", "two"]


def test_a_folder_that_stays_empty_is_not_left_behind(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert not (tmp_path / "a").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="not empty"), OutputFolder(tmp_path, overwrite=False):
        pass
    with OutputFolder(tmp_path) as folder:
        folder.write({"new": ["y"]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "new"]


def test_what_fails_while_writing_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")

    def fails(stream: object) -> None:
        raise OSError(28, "No space left on device")

    with OutputFolder(tmp_path) as folder, pytest.raises(InputError, match="No space left"):
        folder.write({"one": ["new"], "two": fails})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("one", "old")]


def test_half_a_character_is_one_clear_fault(tmp_path: Path) -> None:
    with OutputFolder(tmp_path) as folder, pytest.raises(InputError, match="which UTF-8 cannot"):
        folder.write({"one": ["x"], "two": ["\ud800"]})
    assert not list(tmp_path.iterdir())
