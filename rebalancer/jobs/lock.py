"""One run of a job at a time: a file that the system locks for as long as the process lives."""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from types import TracebackType

from rebalancer.folders import cannot_write
from rebalancer.jobs.times import spoken, utc_now
from rebalancer.problem import InputError

#: How often a waiting run tries again, in seconds.
_TRY_AGAIN = 0.2


@dataclass(frozen=True)
class Holder:
    """Who runs a job.

    Parameters
    ----------
    user, host : str
    pid : int
    job : str
    since : str
        ISO 8601, UTC.
    """

    user: str
    host: str
    pid: int
    job: str
    since: str

    @classmethod
    def of_this_process(cls, job: str) -> Holder:
        """Return this process as holder of a job's lock, from now on."""
        return cls(_user(), socket.gethostname(), os.getpid(), job, utc_now().isoformat(timespec="seconds"))

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (pid {self.pid})"

    def held_for(self) -> str:
        """Return for how long, in words."""
        return spoken((utc_now() - datetime.fromisoformat(self.since)).total_seconds())


class LockHeld(Exception):
    """Another run holds the lock.

    Attributes
    ----------
    path : str
    holder : Holder or None
        None in the instant between its locking the file and its signing it.
    """

    def __init__(self, path: str, holder: Holder | None) -> None:
        self.path = path
        self.holder = holder
        who = "held by a process that has just started" if holder is None else (
            f"held by {holder} for {holder.held_for()}"
        )  # fmt: skip
        super().__init__(f"another run is under way: the lock '{path}' is {who}")


class JobLock:
    """The lock of a job, held while it is entered.

    The system lets go of the lock when the process ends, however it ends: a killed run never keeps the next one out.
    The file itself stays, because a run that deleted it could delete the one that another has locked in the meantime;
    what it says of the holder counts only while it is locked.

    Parameters
    ----------
    path : str
    job : str
        Name of the job, for whoever is kept out.
    wait : float
        Seconds to wait for another run to end.
    stop : threading.Event, optional
        Set it to end the waiting.
    """

    def __init__(self, path: str, job: str, wait: float = 0.0, stop: threading.Event | None = None) -> None:
        self.path = path
        self._job = job
        self._wait = wait
        self._stop = stop or threading.Event()
        self._descriptor = -1

    def __enter__(self) -> JobLock:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError([cannot_write(self.path, error)]) from None
        try:
            self._acquire(descriptor)
            text = json.dumps(asdict(Holder.of_this_process(self._job))) + "\n"
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, text.encode(), 0)
        except OSError as error:
            os.close(descriptor)
            raise InputError([cannot_write(self.path, error)]) from None
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def _acquire(self, descriptor: int) -> None:
        until = time.monotonic() + self._wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                left = until - time.monotonic()
                if left <= 0:
                    raise LockHeld(self.path, _signed(descriptor)) from None
            if self._stop.wait(min(left, _TRY_AGAIN)):
                raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)  # which lets go of the lock


def _signed(descriptor: int) -> Holder | None:
    """Return who signed a lock file."""
    try:
        return Holder(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):
        return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name
        return str(os.getuid())
