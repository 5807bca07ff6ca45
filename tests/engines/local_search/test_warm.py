"""Kernels are compiled once, ahead of time, for exactly what searches hand to them."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.local_search import kept, warm
from rebalancer.engines.local_search.engine import LocalSearchEngine
from tests.engines.worlds import crowded

FOLDER = Path(rebalancer.__file__).parent / "engines" / "local_search"


def called_kernels() -> dict[str, str]:
    """Return the kernels that the rest of local search imports, and their modules."""
    found: dict[str, str] = {}
    for path in (*FOLDER.glob("*.py"), *FOLDER.glob("flat/*.py")):
        if path.stem == "warm":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and ".kernels." in node.module:
                module = import_module(node.module)
                names = [name.name for name in node.names]
                found |= {name: node.module for name in names if hasattr(getattr(module, name), "signatures")}
    return found


@pytest.fixture
def nothing_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the user's folders alone."""
    monkeypatch.setattr(warm, "outdated", list)


@pytest.mark.usefixtures("nothing_outdated")
def test_every_kernel_is_compiled_for_what_searches_use() -> None:
    entries = called_kernels()
    assert set(warm.ENTRIES) == set(entries)
    told: list[str] = []
    warm.warm(told.append)
    assert tuple(told) == warm.names()
    assert {"judged", "block", *warm.ENTRIES} <= set(told)
    assert kept.is_warm()
    assert set(warm.ENTRIES) <= kept.kept()
    kernels = {name: getattr(import_module(module), name) for name, module in entries.items()}
    compiled = {name: list(kernel.signatures) for name, kernel in kernels.items()}
    LocalSearchEngine().solve(crowded(60, 6), Request(time_limit=0.1, deterministic=True))
    assert {name: list(kernel.signatures) for name, kernel in kernels.items()} == compiled


def test_a_process_that_can_keep_nothing_is_warm_once_it_has_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path)
    kernel = SimpleNamespace(signatures=[])
    monkeypatch.setitem(sys.modules, f"{kept.__package__}.kernels.walk", SimpleNamespace(anneal=kernel))
    assert not kept.is_warm()
    kernel.signatures.append("as searches call it")
    assert kept.is_warm()
    monkeypatch.setenv(kept.OFF_VARIABLE, "1")
    assert not kept.is_warm()


def test_only_older_versions_of_this_installation_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, older, foreign = "kernels-0123456789abcdef", "kernels-0123450000000000", "kernels-ffffff0000000000"
    others = [foreign, "kernels-012345-mine", "kernels-0123450000000000x", "data"]
    for name in (own, older, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path / own)
    assert kept.outdated() == [tmp_path / older]
    monkeypatch.setattr(warm, "_runs", lambda: dict.fromkeys(warm.ENTRIES, lambda: None))
    warm.warm()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([own, *others])


def test_the_folder_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (kept.CACHE_VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert kept.cache_root() == Path("/home/me/.cache/rebalancer")
    for name, value, root in (
        ("XDG_CACHE_HOME", "/x", "/x/rebalancer"),
        ("NUMBA_CACHE_DIR", "/n", "/n"),
        (kept.CACHE_VARIABLE, "~/kernels", "/home/me/kernels"),
    ):
        monkeypatch.setenv(name, value)
        assert kept.cache_root() == Path(root)
    assert re.fullmatch(r"kernels-[0-9a-f]{16}", kept.cache_folder().name)


def test_a_home_that_nobody_knows_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    kept.cache_folder.cache_clear()
    kept.obstacle.cache_clear()
    monkeypatch.setenv(kept.CACHE_VARIABLE, "~no-such-user/kernels")
    monkeypatch.setattr(kept, "is_loaded", lambda: False)
    try:
        assert kept.cache_folder().parent == Path("~no-such-user/kernels")
        assert str(kept.obstacle()) == "nobody knows what home folder '~no-such-user' is"
        assert not kept.is_warm()
        assert not Path("~no-such-user").exists()
    finally:
        kept.cache_folder.cache_clear()
        kept.obstacle.cache_clear()


def test_without_a_home_the_folder_is_named_as_it_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (kept.CACHE_VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    assert kept.cache_root() == Path("~/.cache/rebalancer")
