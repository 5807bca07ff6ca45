"""Log lines as JSON objects, for those who collect logs of many machines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any


class JsonLines(logging.Formatter):
    """One JSON object per record: time (UTC), level, logger, message, and whatever `context` and the record add.

    Parameters
    ----------
    context : dict
        Fields of every line; it may be filled later, such as with the number of the run.

    Notes
    -----
    A record adds the fields of the dictionary that it was given as ``extra={"fields": {…}}``.
    """

    def __init__(self, context: dict[str, Any]) -> None:
        super().__init__()
        self.context = context

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        moment = datetime.fromtimestamp(record.created, UTC)
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return self._line(moment, record.levelname, record.name, record.getMessage(), fields)

    def notice(self, text: bytes) -> bytes:
        """Return what a signal handler says, which must not use the log, as a line of it."""
        return self._line(datetime.now(UTC), "WARNING", "rebalancer", text.decode().rstrip(), {}).encode() + b"\n"

    def _line(self, moment: datetime, level: str, logger: str, message: str, fields: dict[str, Any]) -> str:
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": level.lower(),
            "logger": logger,
            "message": message,
            **self.context,
            **{key: value for key, value in fields.items() if value is not None},
        }
        return json.dumps(line, ensure_ascii=False, default=str)
