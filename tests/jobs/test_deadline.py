"""The deadline: what is left of it, and for what."""

import pytest

from rebalancer.jobs.deadline import Deadline, DeadlinePassed


def test_no_deadline() -> None:
    deadline = Deadline(None)
    deadline.check()
    with deadline.enforced():
        assert (deadline.left, deadline.for_search(), str(deadline)) == (None, None, "none")


def test_what_is_left_for_the_search() -> None:
    for seconds, reserved in ((100.0, 20.0), (36000.0, 600.0)):
        left = Deadline(seconds).for_search()
        assert left is not None
        assert seconds - reserved - 5 < left <= seconds - reserved


def test_nothing_is_left() -> None:
    for call in (Deadline.check, Deadline.for_search):
        with pytest.raises(DeadlinePassed):
            call(Deadline(1e-9))
