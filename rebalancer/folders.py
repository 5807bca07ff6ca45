"""Folders of output: every file is written whole, and all of them are ready before the first appears."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rebalancer.problem.errors import Fault, InputError


class OutputFolder:
    """A folder that files will be written to; entering makes sure that this will work, before the work is done.

    A folder that was made and stays empty is removed again.

    Parameters
    ----------
    path : str or path
    overwrite : bool
        Whether the folder may hold something already; its other files stay.
    """

    def __init__(self, path: str | os.PathLike[str], overwrite: bool = True) -> None:
        self.path = Path(path)
        self._overwrite = overwrite
        self._made: list[Path] = []

    def __enter__(self) -> OutputFolder:
        if not self._overwrite and self.path.is_dir() and any(self.path.iterdir()):
            message = f"the folder '{self.path}' is not empty; choose another, or ask to overwrite"
            raise InputError([Fault("not-empty", message, value=str(self.path))])
        try:
            missing = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir()
                self._made.append(folder)
            descriptor, probe = tempfile.mkstemp(prefix=".rebalance-", dir=self.path)
            os.close(descriptor)
            os.unlink(probe)
        except OSError as error:
            self._remove_made()
            raise InputError([cannot_write(self.path, error)]) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_made()

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            try:
                folder.rmdir()
            except OSError:  # it holds something now
                return

    def write(self, files: Mapping[str, Callable[[TextIO], None] | Iterable[str]]) -> None:
        """Write files: name -> function that writes the text, or its pieces. All of them, or none.

        Raises
        ------
        InputError
            Nothing could be written; no file was changed.
        """
        ready: list[tuple[str, Path]] = []
        try:
            for name, write in files.items():
                target = self.path / name
                if target.is_dir():
                    raise IsADirectoryError(21, "is a directory", str(target))
                descriptor, temporary = tempfile.mkstemp(prefix=f".{name}-", dir=self.path)
                ready.append((temporary, target))
                with open(descriptor, "w", encoding="utf-8", newline="") as stream:
                    if callable(write):
                        write(stream)
                    else:
                        stream.writelines(write)
                    stream.flush()
                    os.fsync(descriptor)
                os.chmod(temporary, 0o666 & ~_umask())
            while ready:
                os.replace(*ready[0])
                ready.pop(0)
        except OSError as error:
            raise InputError([cannot_write(self.path, error)]) from None
        except UnicodeEncodeError as error:  # half a character, which Python's texts may hold
            wrong = error.object[error.start : error.end]
            message = f"cannot write to '{self.path}': a name holds {wrong!r}, which UTF-8 cannot"
            raise InputError([Fault("not-utf8", message, value=wrong, file=str(self.path))]) from None
        finally:
            for temporary, _ in ready:
                Path(temporary).unlink(missing_ok=True)


def cannot_write(path: Path | str, error: OSError) -> Fault:
    """Return the fault of a folder that cannot be written to."""
    return Fault(
        "unwritable-output", f"cannot write to '{path}': {error.strerror or error}", value=str(path), file=str(path)
    )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
