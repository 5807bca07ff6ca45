"""The constraint languages: key to class."""

from __future__ import annotations

from importlib import import_module

from rebalancer.dialects.base import Dialect

#: One line per language: key -> module and class.
BUILT_IN = {
    "firmament": "rebalancer.dialects.firmament:Firmament",
    "fenzo": "rebalancer.dialects.fenzo:Fenzo",
    "fleet": "rebalancer.dialects.fleet:Fleet",
    "kubernetes": "rebalancer.dialects.kubernetes:Kubernetes",
    "marathon": "rebalancer.dialects.marathon:Marathon",
    "yarn": "rebalancer.dialects.yarn:Yarn",
}


def get(key: str) -> type[Dialect]:
    """Return the class of a key.

    Raises
    ------
    KeyError
        There is no such language.
    """
    module, _, name = BUILT_IN[key].partition(":")
    found: type[Dialect] = getattr(import_module(module), name)
    return found
