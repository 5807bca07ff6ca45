"""Result folders: every file is written whole, and all of them are ready before the first appears."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from rebalancer.problem.errors import Fault, InputError

if TYPE_CHECKING:
    from rebalancer.solution import Solution


class OutputFolder:
    """A folder that results will be written to; entering makes sure that this will work, before the work is done.

    A folder that was made and stays empty is removed again.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._made: list[Path] = []

    def __enter__(self) -> OutputFolder:
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

    def write(self, files: dict[str, Callable[[TextIO], None]]) -> None:
        """Write files: name -> function that writes the text.

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
                    write(stream)
                    stream.flush()
                    os.fsync(descriptor)
                os.chmod(temporary, 0o666 & ~_umask())
            while ready:
                os.replace(*ready[0])
                ready.pop(0)
        except OSError as error:
            raise InputError([cannot_write(self.path, error)]) from None
        finally:
            for temporary, _ in ready:
                Path(temporary).unlink(missing_ok=True)


def write_solution(folder: OutputFolder, solution: Solution) -> list[str]:
    """Write ``assignment.csv``, ``moves.csv`` and, last, ``result.json``; return their names."""

    def result(stream: TextIO) -> None:
        json.dump(solution.to_json(), stream, ensure_ascii=False, indent=2, allow_nan=False)
        stream.write("\n")

    files: dict[str, Callable[[TextIO], None]] = {
        "assignment.csv": lambda stream: solution.assignment.to_frame().to_csv(stream, lineterminator="\n"),
        "moves.csv": lambda stream: solution.moves.to_csv(stream, index=False, lineterminator="\n"),
        "result.json": result,
    }
    folder.write(files)
    return list(files)


def cannot_write(path: Path | str, error: OSError) -> Fault:
    """Return the fault of a folder that cannot be written to."""
    return Fault(
        "unwritable-output", f"cannot write to '{path}': {error.strerror or error}", value=str(path), file=str(path)
    )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
