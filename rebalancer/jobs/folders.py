"""The folder of a job's plans: one folder per plan, named by its time, and `latest`, which points to the newest.

A plan is written into a hidden folder first and renamed when it is complete, so that whoever looks into the folder sees
whole plans only, at every moment. The lock of the job is held by whoever writes here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from rebalancer.folders import OutputFolder, cannot_write
from rebalancer.problem import Fault, InputError

LATEST = "latest"
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?")
_HIDDEN = re.compile(rf"\.({_NAME.pattern}|{LATEST})\.partial")
#: Says whose folder it is: two jobs in one would remove each other's plans.
_OWNER = ".job"


@dataclass(frozen=True)
class Draft:
    """A plan that is written, but not in its place yet.

    Parameters
    ----------
    hidden, final : Path
        Where it is, and where it will be.
    """

    hidden: Path
    final: Path


class PlanFolder:
    """The folder of a job's plans.

    Parameters
    ----------
    path : str
    job : str
        Name of the job.
    """

    def __init__(self, path: str, job: str) -> None:
        self.path = Path(path)
        self._job = job

    def prepare(self) -> None:
        """Make sure that plans can be written here, and remove what a killed run has left.

        Raises
        ------
        InputError
            They cannot: there is no right to write, the folder belongs to another job, or `latest` is no link.
        """
        with OutputFolder(self.path) as folder:
            latest = self.path / LATEST
            if latest.exists() and not latest.is_symlink():
                message = f"'{latest}' is in the way: it should be a link to the newest plan"
                raise InputError([Fault("unwritable-output", message, value=str(latest))])
            try:
                owner = (self.path / _OWNER).read_text(encoding="utf-8").rstrip("\n")
            except FileNotFoundError:
                folder.write({_OWNER: [f"{self._job}\n"]})
                owner = self._job
            except OSError as error:
                raise InputError([cannot_write(self.path, error)]) from None
            if owner != self._job:
                message = (
                    f"the folder '{self.path}' holds the plans of the job '{owner}'; each job needs one of its own"
                )
                raise InputError([Fault("foreign-folder", message, value=str(self.path))])
            for name in os.listdir(self.path):
                if _HIDDEN.fullmatch(name):
                    self._remove(self.path / name)

    def __contains__(self, folder: object) -> bool:
        """Whether a plan is in its place."""
        return isinstance(folder, str) and os.path.isfile(self.locate(folder) / "plan.json")

    def locate(self, folder: str) -> Path:
        """Return where a plan is that the history names: all of it may have been moved since, or mounted elsewhere."""
        return self.path / Path(folder).name

    def begin(self, moment: datetime, files: Mapping[str, Callable[[TextIO], None]]) -> Draft:
        """Write the files of a plan into a hidden folder.

        Parameters
        ----------
        moment : datetime
            UTC; names the folder.
        files : mapping of name to function that writes it

        Raises
        ------
        InputError
            They cannot be written; nothing is left.
        """
        stem = moment.strftime("%Y-%m-%dT%H-%M-%SZ")
        name, again = stem, 1
        while (self.path / name).exists():  # two plans within a second
            again += 1
            name = f"{stem}-{again}"
        hidden = self.path / f".{name}.partial"
        try:
            with OutputFolder(hidden) as folder:
                folder.write(files)
        except BaseException:
            self._remove(hidden)
            raise
        return Draft(hidden, self.path / name)

    def place(self, draft: Draft) -> None:
        """Put a plan in its place, and let `latest` point to it.

        Raises
        ------
        InputError
            The folder cannot be written to; if so, the plan is still a draft.
        """
        renamed = False
        try:
            _sync(draft.hidden)
            os.rename(draft.hidden, draft.final)
            renamed = True
            _sync(self.path)
            self.point(draft.final)
        except (OSError, InputError) as error:
            if renamed:  # a new plan beside a `latest` that points to an old one would mislead
                os.rename(draft.final, draft.hidden)
            raise error if isinstance(error, InputError) else InputError([cannot_write(self.path, error)]) from None

    def discard(self, draft: Draft) -> None:
        """Remove a draft."""
        self._remove(draft.hidden)

    def point(self, folder: str | os.PathLike[str] | None) -> None:
        """Let `latest` point to a plan; None: to nothing.

        Raises
        ------
        InputError
            The link cannot be changed.
        """
        link, latest = self.path / f".{LATEST}.partial", self.path / LATEST
        try:
            if folder is None:
                latest.unlink(missing_ok=True)
                return
            link.unlink(missing_ok=True)
            link.symlink_to(Path(folder).name)
            os.replace(link, latest)
        except OSError as error:
            raise InputError([cannot_write(latest, error)]) from None

    def prune(self, keep: int | None) -> None:
        """Remove the oldest plans, so that some stay; the one that `latest` points to always does.

        Parameters
        ----------
        keep : int or None
            How many; None: all.
        """
        if keep is None:
            return
        pointed = os.path.realpath(self.path / LATEST)
        for folder in list(self.plans())[:-keep]:
            if os.path.realpath(folder) != pointed:
                hidden = folder.with_name(f".{folder.name}.partial")
                os.rename(folder, hidden)  # so that nobody ever sees a plan with half of its files
                self._remove(hidden)

    def plans(self) -> Iterator[Path]:
        """Yield the folders of plans, the oldest first."""
        named = [name for name in os.listdir(self.path) if _NAME.fullmatch(name)]
        yield from (self.path / name for name in sorted(named, key=_age) if (self.path / name).is_dir())

    @staticmethod
    def _remove(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _age(name: str) -> tuple[str, int]:
    stem, _, again = name.partition("Z")
    return stem, int(again[1:]) if again else 1


def _sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
