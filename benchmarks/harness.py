"""What the benchmarks share: tables, files that are not installed, and the peer's results, which are kept."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


def load_module(path: Path) -> ModuleType:
    """Import a file that is not installed."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def command(script: str, options: Namespace, names: Sequence[str]) -> str:
    """Return a command with those of its options that a reader needs; paths are for him to fill in."""
    words = ["python", f"benchmarks/{script}"]
    for name in names:
        value = getattr(options, name)
        if value is True or isinstance(value, Path):
            words += [f"--{name.replace('_', '-')}"] + (["…"] if value is not True else [])
        elif value not in (None, False):
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return " ".join(words)


def peer_result(python: Path | None, command: Sequence[object], out: Path, cache: Path | None, key: str) -> Any:
    """Return the JSON that a command in the peer's environment writes, from the cache if it has run before.

    None where it fails, which is told on stderr and not kept.

    Parameters
    ----------
    python : Path or None
        That of the peer's environment; None: only what is in the cache.
    command : sequence
        What it is to run; it writes `out`.
    cache : Path or None
        JSON file of results by `key`.
    """
    known: dict[str, Any] = json.loads(cache.read_text()) if cache is not None and cache.exists() else {}
    if key not in known:
        if python is None:
            raise SystemExit(f"no result of the peer for {key} is known; give --peer-python")
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run([str(python), *map(str, command)], capture_output=True, text=True, env=plain)
        if done.returncode:
            reason = done.stderr.strip().rpartition("\n")[2]
            print(f"warning: the peer failed on {key}: {reason}", file=sys.stderr)
            return None
        known[key] = json.loads(out.read_text())
        if cache is not None:
            fresh = cache.with_name(f"{cache.name}.new")  # written whole: a run takes minutes
            fresh.write_text(json.dumps(known), encoding="utf-8")
            fresh.replace(cache)
    return known[key]
