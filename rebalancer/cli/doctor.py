"""`rebalance doctor`: what is installed, whether it works, and compiled kernels ahead of time."""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

import rebalancer
from rebalancer.cli import faults
from rebalancer.cli.exits import Exit
from rebalancer.cli.options import common
from rebalancer.problem.errors import Fault

#: Seconds that are waited at a time: a signal that comes just before is heeded when they are over.
_LOOK_UP = 0.2
#: What the command cannot do without: distribution -> module.
_REQUIRED = {
    "ortools": "ortools.sat.python.cp_model",
    "numba": "numba",
    "numpy": "numpy",
    "pandas": "pandas",
    "pydantic": "pydantic",
    "pyyaml": "yaml",
    "click": "click",
    "rich": "rich",
}
#: What only some things need: distribution -> module, and the extra that installs it.
_OPTIONAL = {
    "pyarrow": ("pyarrow", "parquet"),
    "SQLAlchemy": ("sqlalchemy", "sql"),
    "matplotlib": ("matplotlib", "plot"),
}


@click.command(name="doctor")
@click.option("--warm", is_flag=True, help="Compile what local search needs, so that no run has to wait for it.")
@common
def command(warm: bool, as_json: bool) -> int:
    """Say what is installed and whether it works.

    Local search is compiled when it is first used, which takes half a minute to two; --warm does that now. What was
    compiled is kept in a folder of the user's cache, or in REBALANCER_CACHE_DIR.
    """
    found: list[Fault] = []
    libraries = _libraries(found)
    if not found:
        found += _folder_faults()
    if warm and not found:
        found += _compiler_faults()
    if warm and not found:
        _warm()
    report = {
        "rebalancer": rebalancer.__version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "processors": _processors(),
        "libraries": libraries,
        "kernels": _kernels() if libraries["numba"] else None,
    }
    if as_json:
        faults.print_json({"errors": [faults.record(fault) for fault in found], **report})
    else:
        rows = _rows(report)
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            click.echo(f"{label:<{width}}  {text}")
        faults.report(found, False)
    return Exit.BAD_INPUT if found else Exit.DONE


def _libraries(found: list[Fault]) -> dict[str, str | None]:
    """Return the version of each library, None where it is not installed; one that is needed, or broken, is a fault."""
    versions: dict[str, str | None] = {}
    for name, module in [*_REQUIRED.items(), *((name, module) for name, (module, _) in _OPTIONAL.items())]:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
            if name in _REQUIRED:
                found.append(Fault("missing-library", f"{name} is not installed; pip install {name}", value=name))
            continue
        try:
            import_module(module)
        except Exception as error:
            message = f"{name} {versions[name]} cannot be loaded: {error}; reinstall it"
            found.append(Fault("broken-library", message, value=name))
    return versions


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _folder_faults() -> list[Fault]:
    from rebalancer.engines.local_search import kept

    reason, folder = kept.obstacle(), str(kept.cache_folder())
    if reason is None or _kernels()["warm"]:  # what is there can be read
        return []
    message = (
        f"compiled kernels cannot be kept in '{folder}': {reason.strerror or reason}; make it writable, or set "
        f"{kept.CACHE_VARIABLE} to a folder that is"
    )
    return [Fault("unwritable-cache", message, value=folder, file=folder)]


def _compiler_faults() -> list[Fault]:
    from rebalancer.engines.local_search import kept

    message = f"nothing can be compiled with {kept.OFF_VARIABLE} set; unset it"
    return [Fault("not-compiled", message, value=os.environ[kept.OFF_VARIABLE])] if kept.is_off() else []


def _warm() -> None:
    """Compile all kernels, with progress on stderr.

    In another thread than the one that serves signals: what is raised where the compiler calls back is lost, and the
    compiler then misses what it has just made.
    """
    from rebalancer.engines.local_search.warm import names, warm

    def show(name: str | None) -> str:
        return name or ""

    with click.progressbar(length=len(names()), label="compiling", item_show_func=show, file=sys.stderr) as bar:
        work = ThreadPoolExecutor(1).submit(warm, lambda name: bar.update(1, name))
        while wait([work], _LOOK_UP).not_done:
            pass
        work.result()


def _kernels() -> dict[str, Any]:
    from rebalancer.engines.local_search import kept
    from rebalancer.engines.local_search.warm import ENTRIES

    there, damaged = kept.kept(), kept.damaged()
    return {
        "folder": str(kept.cache_folder()),
        "warm": not damaged and all(name in there for name in ENTRIES),
        "damaged": [str(path) for path in damaged],
        "outdated": [str(folder) for folder in kept.outdated()],
    }


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("rebalancer", report["rebalancer"]),
        ("python", f"{report['python']} ({report['executable']})"),
        ("platform", report["platform"]),
        ("processors", str(report["processors"])),
    ]
    for name, number in report["libraries"].items():
        absent = "not installed"
        if name in _OPTIONAL:
            absent += f"; pip install 'rebalancer-cp[{_OPTIONAL[name][1]}]'"
        rows.append((name, number or absent))
    kernels = report["kernels"]
    if kernels is not None:
        state = "compiled" if kernels["warm"] else "not compiled yet; `rebalance doctor --warm` does that"
        if kernels["damaged"]:
            state = f"damaged ({len(kernels['damaged'])} of the files); `rebalance doctor --warm` compiles them anew"
        rows.append(("kernels", state))
        rows.append(("kept in", kernels["folder"]))
        if kernels["outdated"]:
            rows.append(("outdated", f"{len(kernels['outdated'])} beside it; --warm deletes what older versions left"))
    return rows
