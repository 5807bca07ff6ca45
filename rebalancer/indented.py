"""JSON, indented as people read it."""

from __future__ import annotations

import json
from typing import Any


def indented(content: dict[str, Any]) -> str:
    """Return JSON, indented by two spaces; NaN and infinite numbers as null.

    Results list a million objects, so this is what pydantic writes with: four times as fast as the standard library.
    """
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(content, indent=2, inf_nan_mode="null").decode()
    except PydanticSerializationError:  # the name of a file that is no text: halves of surrogate pairs stand for bytes
        return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


__all__ = ["indented"]
