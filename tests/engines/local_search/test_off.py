"""The compiler can be switched off: then local search says so, and `auto` does without."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rebalancer.engines import auto
from rebalancer.engines.auto import searchers
from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.local_search import kept
from rebalancer.engines.local_search.engine import LocalSearchEngine
from rebalancer.engines.neighbourhood.engine import improve
from rebalancer.problem.errors import InputError
from tests.cli.commands import SCENARIO, process, written
from tests.engines.worlds import attracted


@pytest.mark.parametrize(("value", "off"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_a_number_switches_it_off(monkeypatch: pytest.MonkeyPatch, value: str, off: bool) -> None:
    monkeypatch.setenv(kept.OFF_VARIABLE, value)
    assert kept.is_off() is off


def test_local_search_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.OFF_VARIABLE, "1")
    with pytest.raises(InputError, match="cannot run with NUMBA_DISABLE_JIT set"):
        LocalSearchEngine().solve(attracted(4, 2), Request(time_limit=5))


def test_auto_leaves_it_out(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(kept.OFF_VARIABLE, "1")
    assert not kept.is_warm()
    auto._say_off.cache_clear()
    with caplog.at_level(logging.INFO, "rebalancer"):
        assert searchers(Budget(None)) == (improve,)
        searchers(Budget(None))
    assert caplog.text.count("local search is left out: NUMBA_DISABLE_JIT is set") == 1


@pytest.mark.parametrize("arguments", [["solve", "--engine", "local_search"], ["doctor", "--warm"]], ids=" ".join)
def test_the_command_calls_it_bad_input(tmp_path: Path, arguments: list[str]) -> None:
    scenario = [written(tmp_path, SCENARIO)] if arguments[0] == "solve" else []
    running = process(*arguments, *scenario, NUMBA_DISABLE_JIT="1")
    _, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "error[not-compiled]: " in err
    assert "Traceback" not in err
