"""Files of compiled kernels that say whether they are whole: what is damaged is deleted and compiled anew.

What can only be read is read: an image may have been made warm, and run where nothing can be written.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

from rebalancer.engines.local_search.kept import cache_folder, is_whole, obstacle, sealed

_log = logging.getLogger(__name__)


class Folder(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where the files are; the compiler's own looks for another place where nothing can be written."""

    def ensure_cache_path(self) -> None:
        """Make the folder if that is possible; whoever writes to it says why it is not."""
        if obstacle() is None:
            with suppress(OSError):
                os.makedirs(self.get_cache_path(), exist_ok=True)


class SealedFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function, as the compiler keeps them, each with a seal at its end: reading stops before it."""

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled; where that is not possible, or not any more, the next process compiles it."""
        reason = obstacle()
        if reason is None:
            try:
                super().save(key, data)
            except OSError as error:
                reason = error
        if reason is not None:
            where = f"cannot write to '{cache_folder()}': {reason.strerror or reason}"
            _warn(f"kernels are compiled anew by every process: {where}")

    def _load_index(self) -> dict[Any, str]:
        found: dict[Any, str] = super()._load_index() if _is_usable(Path(self._index_path)) else {}
        return found

    def _load_data(self, name: str) -> Any:
        path = Path(self._data_path(name))
        if not _is_usable(path):
            raise FileNotFoundError(path)  # as it would be for the compiler had somebody else deleted it
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(sealed(content.getvalue()))


def _is_usable(path: Path) -> bool:
    """Whether a file is there, whole; deletes one that is not."""
    if not path.exists():  # asked first: another process may write it at any moment
        return False
    if is_whole(path):
        return True
    _warn(f"compiled kernels in '{cache_folder()}' are damaged: they are compiled anew")
    with suppress(OSError):
        path.unlink()
    return False


@cache
def _warn(message: str) -> None:
    """Warn once."""
    _log.warning("%s", message)
