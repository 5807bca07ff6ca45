"""How many random examples a test draws: the same few on every run, or many fresh ones."""

import os

from hypothesis import settings

#: The profile of all tests: ``fixed``, or ``explore`` for so many times as many examples, which differ on every run.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fixed")
TIMES = 15


def examples(number: int) -> settings:
    """Have a test draw so many examples, more of them where the profile is ``explore``."""
    return settings(max_examples=number * (TIMES if PROFILE == "explore" else 1))


__all__ = ["PROFILE", "TIMES", "examples"]
