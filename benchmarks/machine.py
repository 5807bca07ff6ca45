"""What a result has to say about where it was measured."""

from __future__ import annotations

import os
import platform
import resource
from importlib.metadata import version
from pathlib import Path


def facts() -> str:
    """Return cores and versions in one line; nothing that names the machine."""
    return f"Python {platform.python_version()}, OR-tools {version('ortools')}, {os.cpu_count()} cores"


def peak_memory() -> float:
    """Return the most memory this process has held, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024  # ru_maxrss would remember the parent
