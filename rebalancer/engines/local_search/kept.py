"""Where compiled kernels are kept, and whether they are there, whole. Needs no compiler."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

#: The folder of compiled kernels; that of the compiler or one of the user's cache otherwise.
CACHE_VARIABLE = "REBALANCER_CACHE_DIR"

#: Has the compiler compile nothing, if it is a number other than 0: then there is no local search.
OFF_VARIABLE = "NUMBA_DISABLE_JIT"

_KERNELS = Path(__file__).parent / "kernels"
#: Digits of a folder's name that tell where the kernels are installed, and what they are.
_WHERE, _WHAT = 6, 10
#: Bytes at the end of a file that say what the others are.
_SEAL = 16


@cache
def cache_folder() -> Path:
    """Return the folder of these kernels.

    There is one for each installation, each state of the sources, as kernels are made of each other, and whatever else
    decides what they are compiled to.
    """
    where, digest = hashlib.sha256(str(_KERNELS).encode()), hashlib.sha256()
    for source in sorted(_KERNELS.glob("*.py")):
        digest.update(source.read_bytes())
    for fact in (str(sys.implementation.cache_tag), version("numba"), version("llvmlite"), _processor()):
        digest.update(fact.encode() + b"\0")
    return cache_root() / f"kernels-{where.hexdigest()[:_WHERE]}{digest.hexdigest()[:_WHAT]}"


def cache_root() -> Path:
    """Return the folder that holds those of all versions."""
    stated = os.environ.get(CACHE_VARIABLE) or os.environ.get("NUMBA_CACHE_DIR")
    root = Path(stated) if stated else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "rebalancer"
    try:
        return root.expanduser()
    except RuntimeError:  # there is no such user, or none that has a home
        return root


def _processor() -> str:
    """Return what a processor can do, as far as that is told: code is compiled for it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


@cache
def obstacle() -> OSError | None:
    """Return why nothing can be kept in the folder; None where it can."""
    folder = cache_folder()
    if folder.parts[0].startswith("~"):
        return OSError(f"nobody knows what home folder '{folder.parts[0]}' is")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error
    return None


def sealed(content: bytes) -> bytes:
    """Return what is written of a kernel, with its seal: damaged code does not fail, it crashes."""
    return content + hashlib.blake2b(content, digest_size=_SEAL).digest()


def is_whole(path: Path) -> bool:
    """Return whether a file can be read and is as it was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return sealed(content[:-_SEAL]) == content


def kept(name: str = "*") -> frozenset[str]:
    """Return the names of the kernels that are in the folder, whole: of all, or of one."""
    there = frozenset(path for path in cache_folder().glob(f"*/*.{name}-*.nb[ci]") if is_whole(path))
    codes = {path.name.rsplit(".", 2)[0] for path in there if path.suffix == ".nbc"}
    indices = (path.stem for path in there if path.suffix == ".nbi")
    return frozenset(index.split(".")[1].rpartition("-")[0] for index in indices if index in codes)


def damaged() -> list[Path]:
    """Return the files of kernels that cannot be loaded; they are compiled anew once they are needed."""
    return [path for path in sorted(cache_folder().glob("*/*.nb[ci]")) if not is_whole(path)]


def is_warm() -> bool:
    """Return whether a search can start without compiling: whether the last kernel that it compiles is there."""
    return not is_off() and (is_loaded() or bool(kept("anneal")))


def is_loaded() -> bool:
    """Return whether this process has loaded or compiled that kernel: one that can keep nothing has it as well."""
    walk = sys.modules.get(f"{__package__}.kernels.walk")
    return bool(getattr(getattr(walk, "anneal", None), "signatures", ()))


def is_off() -> bool:
    """Return whether the compiler was told to compile nothing: uncompiled, kernels would not even run."""
    try:
        return int(os.environ.get(OFF_VARIABLE, "")) != 0
    except ValueError:  # which the compiler ignores as well
        return False


def outdated() -> list[Path]:
    """Return the folders that older versions of this installation have left."""
    own = cache_folder()
    ours = re.compile(rf"{own.name[:-_WHAT]}[0-9a-f]{{{_WHAT}}}")
    return [path for path in sorted(own.parent.glob("kernels-*")) if ours.fullmatch(path.name) and path != own]


__all__ = [
    "CACHE_VARIABLE",
    "OFF_VARIABLE",
    "cache_folder",
    "cache_root",
    "damaged",
    "is_loaded",
    "is_off",
    "is_warm",
    "is_whole",
    "kept",
    "obstacle",
    "outdated",
    "sealed",
]
