"""Compiled kernels on disk: what is damaged is deleted and compiled anew, and what only can be read is loaded."""

from __future__ import annotations

import errno
import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import pytest

from rebalancer.engines.local_search import kept, sealed
from rebalancer.engines.local_search.kernels import jit
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
    monkeypatch.setattr(kept, "is_loaded", lambda: False)  # whatever tests before this one have searched
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


def test_what_another_process_writes_in_this_moment_is_not_called_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = folder.glob("*/*.nbi")
    content, exists = path.read_bytes(), Path.exists
    path.unlink()

    def written_between(asked: Path, **how: bool) -> bool:
        there = exists(asked, **how)
        path.write_bytes(content)
        return there

    def missed(asked: Path) -> bool:
        whole = kept.is_whole(asked)
        path.write_bytes(content)
        return whole

    monkeypatch.setattr(Path, "exists", written_between)
    monkeypatch.setattr(sealed, "is_whole", missed)
    assert file_of(folder).load("types") in (None, list(range(1000)))
    assert caplog.messages == []
    assert file_of(folder).load("types") == list(range(1000))


def test_a_disk_that_is_full_costs_no_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SealedFile, "_save_data", fail)
    file_of(folder).save("other types", 1)
    (record,) = caplog.records
    assert record.getMessage().endswith("No space left on device")


def anneal(number: int) -> int:
    """Return what is never called: its name is what tells whether kernels are there."""
    return number + 1


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that was writable when a kernel was compiled into it, and is not any more."""
    for module in (kept, sealed, jit):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kept, "is_loaded", lambda: False)
    kept.obstacle.cache_clear()
    sealed._warn.cache_clear()
    assert jit._kept(numba.njit, anneal)(1) == 2

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    monkeypatch.setattr(SealedFile, "_open_for_write", fail)
    kept.obstacle.cache_clear()
    yield tmp_path
    kept.obstacle.cache_clear()


@pytest.mark.usefixtures("image")
def test_what_can_only_be_read_is_loaded(caplog: pytest.LogCaptureFixture) -> None:
    assert kept.is_warm()
    kernel = jit._kept(numba.njit, anneal)
    assert kernel(1) == 2
    assert sum(kernel.stats.cache_hits.values()) == 1
    assert caplog.messages == []


def test_what_is_not_there_is_compiled_and_said_once(image: Path, caplog: pytest.LogCaptureFixture) -> None:
    for path in image.glob("*/*"):
        path.unlink()
    assert not kept.is_warm()
    for _ in range(2):
        kernel = jit._kept(numba.njit, anneal)
        assert kernel(1) == 2
        assert sum(kernel.stats.cache_hits.values()) == 0
    assert caplog.messages == [
        f"kernels are compiled anew by every process: cannot write to '{image}': Read-only file system"
    ]
