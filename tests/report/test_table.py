"""Tables drawn for a terminal and printed plainly."""

import io

from rich.console import Console

from rebalancer.report.table import Table, draw, plain

TABLE = Table(
    "hosts",
    ["host", ">load"],
    [["[red]h0[/red]", "1"], ["a-very-long-name-of-a-host-that-does-not-fit", "12.5"]],
    note="… and 3 more",
)


def drawn(table: Table, width: int) -> str:
    stream = io.StringIO()
    draw(table, Console(file=stream, width=width, force_terminal=True, color_system=None))
    return stream.getvalue()


def test_plain_is_aligned_text() -> None:
    assert plain(TABLE).splitlines() == [
        "hosts",
        "host                                          load",
        "[red]h0[/red]                                    1",
        "a-very-long-name-of-a-host-that-does-not-fit  12.5",
        "… and 3 more",
    ]


def test_plain_keeps_one_line_per_row_and_columns_of_wide_characters() -> None:
    lines = plain(Table("t", ["a", "b"], [["x\ny", "1"], ["\u8868", "2"]])).splitlines()
    assert lines == ["t", "a     b", "x\\ny  1", "\u8868    2"]


def test_a_terminal_gets_all_of_a_long_name_and_no_markup() -> None:
    text = drawn(TABLE, width=30)
    assert "[red]h0[/red]" in text
    assert "12.5" in text
    squeezed = "".join(text.split())
    assert "a-very-long-name-of-a-host-tha" in squeezed.replace("12.5", "")
    assert "… and 3 more" in text


def test_a_table_without_columns_is_its_title() -> None:
    empty = Table("nothing has to move", [], [])
    assert plain(empty) == "nothing has to move\n"
    assert drawn(empty, 40).strip() == "nothing has to move"


def test_a_narrow_terminal_cuts_nothing_off() -> None:
    stream = io.StringIO()
    table = Table("goals", ["goal", ">weight", ">position", ">initial"], [["balance#1", "1,000,000", "0", "123,456.7"]])
    draw(table, Console(file=stream, width=30, force_terminal=True, color_system=None))
    for text in ("balance#1", "1,000,000", "position", "123,456.7"):
        assert text in stream.getvalue()
