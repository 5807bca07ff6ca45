"""What signal handlers raise is not lost in an import."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from rebalancer.signals import raiser


class Told(BaseException):
    """What the handler raises."""


SWALLOWING = """
import contextlib, signal
with contextlib.suppress(BaseException):
    signal.raise_signal(signal.SIGUSR1)
whole = True
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules, with a handler of SIGUSR1 that is to raise."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = signal.getsignal(signal.SIGUSR1)
    known = set(sys.modules)
    yield tmp_path
    signal.signal(signal.SIGUSR1, before)
    for name in set(sys.modules) - known:
        del sys.modules[name]


def listen() -> None:
    """Raise from now on at SIGUSR1."""
    give_up = raiser(Told)

    def heard(_number: int, frame: FrameType | None) -> None:
        give_up(frame)

    signal.signal(signal.SIGUSR1, heard)


def test_at_once_where_nothing_is_imported(modules: Path) -> None:
    listen()
    with pytest.raises(Told):
        signal.raise_signal(signal.SIGUSR1)


@pytest.mark.parametrize("outer", ["inner_of_signals", "outer_of_signals"])
def test_an_import_ends_first(modules: Path, outer: str) -> None:
    (modules / "inner_of_signals.py").write_text(SWALLOWING)
    (modules / "outer_of_signals.py").write_text("import inner_of_signals\n")
    listen()
    with pytest.raises(Told):
        importlib.import_module(outer)
    assert sys.modules["inner_of_signals"].whole
    assert outer in sys.modules
    assert sys.gettrace() is None
    importlib.import_module(outer)


def test_who_is_imported_is_not_waited_for(modules: Path) -> None:
    (modules / "script_of_signals.py").write_text(
        "import signal\n"
        "from tests.test_signals import Told, listen\n"
        "listen()\n"
        "try:\n"
        "    signal.raise_signal(signal.SIGUSR1)\n"
        "except Told:\n"
        "    told = True\n"
    )
    assert importlib.import_module("script_of_signals").told
