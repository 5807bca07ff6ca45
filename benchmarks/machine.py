"""What a result has to say about where it was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def facts() -> str:
    """Return cores and versions in one line; nothing that names the machine."""
    return f"Python {platform.python_version()}, OR-tools {version('ortools')}, {os.cpu_count()} cores"
