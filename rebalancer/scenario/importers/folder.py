"""Scenario folders written whole: nothing appears under its final name before everything is on disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from rebalancer.problem.errors import Fault, InputError


def write_folder(target: Path, files: Mapping[str, Iterable[str]], overwrite: bool = False) -> None:
    """Write text files into a folder, all or none.

    Parameters
    ----------
    target : Path
        The folder; made where it is missing, with its parents.
    files : mapping of str to iterable of str
        File name to the pieces of its text.
    overwrite : bool
        Replace these files in a folder that already holds something; its other files stay.

    Raises
    ------
    InputError
        The target is no folder, holds something and ``overwrite`` is not set, or cannot be written.
    """
    if target.exists() and not target.is_dir():
        raise InputError([Fault("not-a-folder", f"'{target}' is a file, expected a folder", value=str(target))])
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        message = f"the folder '{target}' is not empty; choose another, or ask to overwrite"
        raise InputError([Fault("not-empty", message, value=str(target))])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            _write(draft, files)
            _publish(draft, target, files)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        message = f"cannot write to '{target}': {error.strerror or error}"
        raise InputError([Fault("unwritable-output", message, value=str(target))]) from None


def _write(draft: Path, files: Mapping[str, Iterable[str]]) -> None:
    for name, pieces in files.items():
        with (draft / name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())


def _publish(draft: Path, target: Path, names: Iterable[str]) -> None:
    if target.is_dir() and any(target.iterdir()):
        for name in names:
            os.replace(draft / name, target / name)
    else:
        draft.chmod(0o777 & ~_umask())  # mkdtemp makes folders that only the owner may read
        os.replace(draft, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
