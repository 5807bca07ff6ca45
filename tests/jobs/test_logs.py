"""Log lines that programs read."""

import json
import logging
import sys
from typing import Any

from rebalancer.jobs.logs import JsonLines


def line(formatter: JsonLines, message: str, *arguments: object, **others: Any) -> dict[str, Any]:
    record = logging.LogRecord("rebalancer.jobs.run", logging.WARNING, "run.py", 1, message, arguments, None)
    record.created = 1795228201.5  # 2026-11-21T02:30:01.500Z
    vars(record).update(others)
    text = formatter.format(record)
    assert "\n" not in text
    content: dict[str, Any] = json.loads(text)
    return content


def test_what_a_line_holds() -> None:
    context: dict[str, Any] = {"job": "web"}
    formatter = JsonLines(context)
    expected = {"time": "2026-11-21T02:30:01.500Z", "level": "warning", "logger": "rebalancer.jobs.run",
                "message": "“3”\nhosts", "job": "web"}  # fmt: skip
    assert line(formatter, "“%d”\nhosts", 3) == expected
    context["run"] = 7
    assert line(formatter, "", fields={"code": "locked", "file": None}) == expected | {
        "message": "", "run": 7, "code": "locked",
    }  # fmt: skip


def test_an_exception_is_part_of_its_line() -> None:
    try:
        raise ValueError("wrong")
    except ValueError:
        content = line(JsonLines({}), "failed", exc_info=sys.exc_info())
    assert content["exception"].startswith("Traceback")
    assert content["exception"].endswith("ValueError: wrong")


def test_what_a_signal_handler_says() -> None:
    text = JsonLines({"job": "web"}).notice(b"stopping\n")
    assert text.endswith(b"}\n")
    content = json.loads(text)
    assert (content["message"], content["level"], content["job"]) == ("stopping", "warning", "web")
