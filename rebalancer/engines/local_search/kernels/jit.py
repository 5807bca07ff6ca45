"""How kernels are compiled: without the GIL, and kept on disk for the next process."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

#: Where compiled kernels are kept; a folder of the user's cache otherwise.
CACHE_VARIABLE = "REBALANCER_CACHE_DIR"

_F = TypeVar("_F", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """Return the folder of compiled kernels: one for each state of their sources, as kernels are made of each other."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return _cache_root() / f"kernels-{digest.hexdigest()[:16]}"


def _cache_root() -> Path:
    stated = os.environ.get(CACHE_VARIABLE)
    if stated:
        return Path(stated).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "rebalancer"


def kernel(function: _F) -> _F:
    """Compile a function when it is first called, or load what an earlier process compiled."""
    import numba

    if not os.environ.get("NUMBA_CACHE_DIR"):
        numba.config.CACHE_DIR = str(cache_folder())
    compiled: _F = numba.njit(nogil=True, cache=True, error_model="numpy", boundscheck=False)(function)
    return compiled


def _pointer() -> Any:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def pointer(typing_context: Any, array: Any) -> Any:
        """Return where the data of an array begins."""

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return types.CPointer(array.dtype)(array), build

    return pointer


pointer = _pointer()
