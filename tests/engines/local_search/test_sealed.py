"""Compiled kernels that were damaged on disk are never loaded: they are deleted, and compiled anew."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalancer.engines.local_search import kept, sealed
from rebalancer.engines.local_search.sealed import SealedFile

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[:100],
    "empty": lambda content: b"",
    "junk": lambda content: b"junk",
    "one bit": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where kernels are kept: one is, called anneal."""
    sealed._warn.cache_clear()
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path)
    (tmp_path / "kernels").mkdir()
    file_of(tmp_path).save("types", list(range(1000)))
    return tmp_path


def file_of(folder: Path) -> SealedFile:
    return SealedFile(str(folder / "kernels"), "walk.anneal-7.py311", (1.0, 2))


def test_what_is_whole_is_loaded(folder: Path) -> None:
    assert file_of(folder).load("types") == list(range(1000))
    assert file_of(folder).load("other types") is None
    assert (kept.kept(), kept.kept("parts"), kept.damaged()) == ({"anneal"}, frozenset(), [])
    assert kept.is_warm()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_what_is_damaged_is_compiled_anew(
    folder: Path, suffix: str, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = folder.glob(f"*/*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    assert (kept.kept(), kept.damaged()) == (frozenset(), [path])
    assert not kept.is_warm()
    with caplog.at_level(logging.WARNING):
        assert file_of(folder).load("types") is None
    assert not path.exists()
    file_of(folder).save("types", "anew")
    assert file_of(folder).load("types") == "anew"
    assert kept.is_warm()
    (record,) = caplog.records
    assert "are damaged: they are compiled anew" in record.getMessage()


def test_a_disk_that_is_full_costs_no_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SealedFile, "_save_data", fail)
    file_of(folder).save("other types", 1)
    (record,) = caplog.records
    assert record.getMessage().endswith("No space left on device")
