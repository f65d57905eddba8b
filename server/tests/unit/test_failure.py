"""What a look at a resource makes of its failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.failure import Failure, FailureReason, observed

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DOWN, DISABLED = FailureReason.DOWN, FailureReason.DISABLED
MINUTES = timedelta(minutes=1)
PROBATION = 3 * MINUTES


def looks(*reasons: FailureReason | None, probation: timedelta = PROBATION) -> list[Failure | None]:
    """What is known after each look; there is one a minute."""
    failure, known = None, []
    for number, reason in enumerate(reasons):
        failure = observed(failure, reason, NOW + number * MINUTES, probation)
        known.append(failure)
    return known


def test_a_resource_that_works_has_no_failure() -> None:
    assert looks(None, None) == [None, None]


def test_a_failure_is_known_since_its_first_sight() -> None:
    assert looks(None, DOWN, DOWN)[-1] == Failure(DOWN, NOW + MINUTES)


def test_it_is_over_after_the_probation() -> None:
    back = NOW + MINUTES
    assert looks(DOWN, None, None, None) == [Failure(DOWN, NOW)] + [Failure(DOWN, NOW, back)] * 3
    assert looks(DOWN, None, None, None, None)[-1] is None


def test_without_probation_it_is_over_at_once() -> None:
    assert looks(DOWN, None, probation=timedelta(0)) == [Failure(DOWN, NOW), None]


def test_what_comes_and_goes_has_failed_all_the_time() -> None:
    known = looks(DOWN, None, None, DOWN, None, None, None)
    assert known[3] == Failure(DOWN, NOW)
    assert known[-1] == Failure(DOWN, NOW, NOW + 4 * MINUTES)


@pytest.mark.parametrize("reasons", [(DISABLED, DOWN), (DOWN, DISABLED)])
def test_another_reason_is_another_failure(reasons: tuple[FailureReason, ...]) -> None:
    assert looks(*reasons)[-1] == Failure(reasons[-1], NOW + MINUTES)


def test_a_reason_of_a_newer_version_is_read() -> None:
    assert FailureReason("on fire") is FailureReason.UNKNOWN
