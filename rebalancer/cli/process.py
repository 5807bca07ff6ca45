"""The command as a process of its own, from its first moment to its last. Whatever takes a while is imported later."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

#: `time.monotonic` when this process started, if it is the command.
_began: float | None = None
#: What the system sends where a terminal closes; not all systems do.
HANG_UP: int | None = getattr(signal, "SIGHUP", None)


def began() -> float:
    """Return `time.monotonic` when the command started: from then on its time limit counts."""
    return time.monotonic() if _began is None else _began


def ending_signals() -> list[int]:
    """Return the signals that end the command: Ctrl-C, `kill`, a terminal that closes unless `nohup` says otherwise."""
    if HANG_UP is None or signal.getsignal(HANG_UP) is signal.SIG_IGN:
        return [signal.SIGINT, signal.SIGTERM]
    return [signal.SIGINT, signal.SIGTERM, HANG_UP]


def run() -> None:
    """Run the command as a process of its own, and end that with its code.

    What is left then is to free gigabytes, object by object, and to wait for threads that an answer did not wait for:
    seconds after an interrupt. The system does the one at once, and the other is not needed.
    """
    global _began
    try:
        for number in ending_signals():
            if number != signal.SIGINT:
                signal.signal(number, _give_up)
        _began = time.monotonic() - time.process_time()  # starting the interpreter and importing is computing
        code = _code()
    except KeyboardInterrupt:  # before the command itself listens, or when it is done
        for number in ending_signals():
            signal.signal(number, signal.SIG_IGN)
        from rebalancer.cli.stdout import unfailing_stderr
        from rebalancer.exits import Exit

        unfailing_stderr()
        print("interrupted", file=sys.stderr)
        code = int(Exit.INTERRUPTED)
    sys.stderr.flush()
    os._exit(code)


def _code() -> int:
    """Run the command and return its exit code."""
    from rebalancer.cli.stdout import unfailing_stderr

    unfailing_stderr()
    import logging

    from rebalancer.cli.group import main

    try:
        main()
    except SystemExit as end:
        logging.shutdown()
        return int(end.code or 0)
    return 0


def _give_up(number: int, frame: FrameType | None) -> None:
    """Do what Python does at Ctrl-C."""
    raise KeyboardInterrupt


__all__ = ["HANG_UP", "began", "ending_signals", "run"]
