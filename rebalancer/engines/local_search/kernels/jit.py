"""How kernels are compiled: without the GIL, and kept on disk for the next process.

A kernel has a copy of whatever it calls, compiled with it. What is large and called by many is compiled by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding
from numba import types
from numba.core import caching

from rebalancer.engines.local_search.kept import cache_folder
from rebalancer.engines.local_search.sealed import Folder, SealedFile

_F = TypeVar("_F", bound=Callable[..., Any])

#: What functions compiled apart take and return, besides addresses.
NOTHING, INT, FLOAT = types.none, types.int64, types.float64

_HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
#: What only kernels call needs nothing for Python to call it, and is kept with whatever calls it.
_WITHIN: dict[str, Any] = _HOW | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_apart: dict[str, tuple[Callable[..., Any], Any]] = {}
_ready: dict[str, Any] = {}
_lock = Lock()


def kernel(function: _F) -> _F:
    """Compile a function when it is first called, or load what an earlier process compiled."""
    return cast(_F, _general(_kept(numba.njit, function)))


def inner(function: _F) -> _F:
    """Compile a function that only kernels call, with them."""
    return cast(_F, _general(numba.njit(**_WITHIN)(function)))


def sums(function: _F) -> _F:
    """Compile a function like `inner`, whose sums may be added up in any order, several addends at once."""
    return cast(_F, _general(numba.njit(**_WITHIN, fastmath={"reassoc", "contract", "nsz"})(function)))


def apart(result: Any, *arguments: Any) -> Callable[[_F], _F]:
    """Compile a function once, for all kernels that call it; only they can, and only after `ready`.

    Parameters
    ----------
    result, arguments : numba types
    """
    types_of_it = result(*arguments)

    def wrap(function: _F) -> _F:
        symbol = f"rebalancer_{function.__name__}"
        _apart[symbol] = function, types_of_it
        return cast(_F, types.ExternalFunction(symbol, types_of_it))

    return wrap


def names_apart() -> tuple[str, ...]:
    """Return the names of what is compiled apart, in order."""
    from rebalancer.engines.local_search.kernels import trade  # noqa: F401 - it imports all that is called

    return tuple(function.__name__ for function, _ in _apart.values())


def ready(on_function: Callable[[str], None] | None = None) -> None:
    """Compile or load what is compiled apart, and tell the kernels where it is.

    Parameters
    ----------
    on_function : callable, optional
        Is told each of `names_apart` when it is ready.
    """
    from rebalancer.engines.local_search.kernels import trade  # noqa: F401 - it imports all that is called

    with _lock:
        for symbol, (function, types_of_it) in _apart.items():
            if symbol not in _ready:
                _ready[symbol] = _kept(partial(numba.cfunc, types_of_it), function)
                binding.add_symbol(symbol, _ready[symbol].address)
            if on_function is not None:
                on_function(function.__name__)


def _general(dispatcher: Any) -> Any:
    """Compile a function once for all integers: not again for numbers that a caller writes down, or narrower ones."""
    if numba.config.DISABLE_JIT:  # then it is the function itself
        return dispatcher
    template = dispatcher.get_call_template

    def of_any(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return template(tuple(map(_widened, arguments)), {name: _widened(given) for name, given in named.items()})

    dispatcher.get_call_template = of_any
    return dispatcher


def _widened(given: Any) -> Any:
    general = types.unliteral(given)
    return types.int64 if isinstance(general, types.Integer) and general.signed else general


def _kept(decorator: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Compile a function as a decorator does, to be kept in our folder."""
    before = numba.config.CACHE_DIR, caching.CacheImpl._locator_classes, caching.IndexDataCacheFile
    # all are looked at once, when the function is wrapped
    _keep_in(str(cache_folder()), [Folder], SealedFile)
    try:
        return decorator(**_HOW, cache=True)(function)
    finally:
        _keep_in(*before)


def _keep_in(folder: str, locators: list[Any], file: Any) -> None:
    """Say where the compiler keeps what it compiles, and how."""
    numba.config.CACHE_DIR, caching.CacheImpl._locator_classes, caching.IndexDataCacheFile = folder, locators, file
