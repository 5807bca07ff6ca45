"""What holds for all tests: the same examples on every run, and an engine that fails fails the test.

Hypothesis draws the same examples, so that a red build is red again when it is repeated. `auto` goes on where an engine
fails; here that would hide the defect.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import PROFILE, TIMES

settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("explore", parent=settings.get_profile("fixed"), derandomize=False, max_examples=100 * TIMES)
settings.load_profile(PROFILE)


@pytest.fixture(autouse=True, scope="session")
def failures_are_heard() -> Iterator[None]:
    from rebalancer.engines.auto import AutoEngine

    def fail(_engine: AutoEngine, failure: Exception, *_: object) -> None:
        raise failure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoEngine, "_without", fail)
        yield
