"""How kernels are compiled: without the GIL, and kept on disk for the next process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from rebalancer.engines.local_search.kept import cache_folder, obstacle

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function when it is first called, or load what an earlier process compiled."""
    return _compiled(function, False)


def sums(function: _F) -> _F:
    """Compile a function like `kernel`, whose sums may be added up in any order, several addends at once."""
    return _compiled(function, {"reassoc", "contract", "nsz"})


def _compiled(function: _F, fastmath: bool | set[str]) -> _F:
    # The compiler's own types, where it has any, say nothing of what kernels take: to type checkers they are functions.
    numba = _compiler()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())  # is looked at once, when the function is wrapped
    try:
        how = {"nogil": True, "cache": _keeps(), "error_model": "numpy", "boundscheck": False, "fastmath": fastmath}
        compiled: _F = numba.njit(**how)(function)
    finally:
        numba.config.CACHE_DIR = before
    return compiled


def _compiler() -> Any:
    import numba

    return numba


@cache
def _keeps() -> bool:
    reason = obstacle()
    if reason is not None:
        logging.getLogger(__name__).warning(
            "kernels are compiled anew by every process: cannot write to '%s': %s",
            cache_folder(),
            reason.strerror or reason,
        )
    return reason is None


def _pointer() -> Any:
    from numba.extending import intrinsic

    types = _compiler().types

    @intrinsic
    def pointer(typing_context: Any, array: Any) -> Any:
        """Return where the data of an array begins."""

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return types.CPointer(array.dtype)(array), build

    return pointer


pointer = _pointer()
