"""Progress: lines for a file, one live line for a terminal, nothing when quiet."""

import io

import pytest

from rebalancer.engines.base import Progress
from rebalancer.report.progress import Lines, LiveLine, Silent, reporter

FIRST = Progress(0.5, 0, 10050.0, None, None)
BOUND = Progress(0.6, 0, 10050.0, 5000.0, 0.5025)
BETTER = Progress(1.25, 0, 9000.0, 9000.0, 0.0)
NEXT = Progress(61.0, 1, 9000.0, 0.0, 1.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_better_answers() -> None:
    stream = io.StringIO()
    with reporter(False, stream) as show:
        for progress in (FIRST, BOUND, BETTER, BETTER, NEXT):
            show(progress)
    assert stream.getvalue().splitlines() == [
        "   0.5 s  position 0  objective 10050  bound -  gap -",
        "   1.2 s  position 0  objective 9000  bound 9000  gap 0 %",
        "1 min 01 s  position 1  objective 9000  bound 0  gap 100 %",
    ]


def test_what_comes_after_the_search_is_a_line_too() -> None:
    stream = io.StringIO()
    with reporter(False, stream) as show:
        show.stage("ordering 2,000 moves")
    assert stream.getvalue() == "ordering 2,000 moves\n"
    with reporter(True, stream) as show:
        show.stage("ordering 2,000 moves")
    assert stream.getvalue().count("\n") == 1


def test_news_out_of_order_never_looks_worse() -> None:
    stream = io.StringIO()
    with reporter(False, stream) as show:
        for progress in (BETTER, BOUND, FIRST):
            show(progress)
    assert stream.getvalue().count("\n") == 1


def test_quiet_shows_nothing() -> None:
    stream = io.StringIO()
    with reporter(True, stream) as show:
        show(FIRST)
    assert isinstance(show, Silent)
    assert stream.getvalue() == ""


def test_without_a_stream_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    assert type(reporter(False, stream)) is Silent
    monkeypatch.setattr("sys.stderr", None)
    assert type(reporter(False)) is Silent


def test_what_an_earlier_answer_had_is_shown_anew() -> None:
    stream = io.StringIO()
    with reporter(False, stream) as show:
        for position, objective, bound in (
            (0, 9.0, None),
            (1, 2.0, None),
            (0, 9.0, 5.0),
            (0, 8.0, 5.0),
            (1, 2.0, None),
        ):
            show(Progress(1.0, position, objective, bound, None))
    shown = [line.split()[3:6:2] for line in stream.getvalue().splitlines()]
    assert shown == [["0", "9"], ["1", "2"], ["0", "8"], ["1", "2"]]


def test_a_terminal_gets_one_line_that_goes_away() -> None:
    stream = Terminal()
    with reporter(False, stream) as show:
        assert isinstance(show, LiveLine)
        assert "reading and compiling" in show._text().plain
        show(BETTER)
        assert show._text().plain.startswith("position 0 · objective 9,000 · bound 9,000 · gap 0 % · ")
        show.stage("ordering 2,000 moves")
        assert show._text().plain.startswith("ordering 2,000 moves · ")
    assert not isinstance(reporter(False, io.StringIO()), LiveLine)
    assert isinstance(reporter(False, io.StringIO()), Lines)
