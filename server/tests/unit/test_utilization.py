"""How samples add up to what reservations have really used."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.utilization import (
    QuantityUse,
    Sample,
    Utilization,
    begun,
    ended,
    ended_with,
    sampled,
)
from blazar.domain.resource import WHOLE, Allocation
from blazar.domain.time import Interval

START = datetime(2030, 1, 1, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TEN_HOURS = Interval(START, START + 600 * MINUTE)


def reservation(id_: str = "r", units: int = 2) -> Reservation:
    held = tuple(Allocation(f"{id_}{n}", id_, "l", str(n), TEN_HOURS, WHOLE) for n in range(units))
    active = ReservationStatus.ACTIVE
    return Reservation(id_, "l", "res", "physical:host", {}, status=active, allocations=held)


def lease(*reservations: Reservation) -> Lease:
    had = reservations or (reservation(),)
    return Lease("l", "lunch", "u", "p", TEN_HOURS, LeaseStatus.ACTIVE, reservations=had)


def after(*samples: tuple[float, int | None]) -> Utilization:
    """What is known after samples, at minutes from the start, that found so many units used."""
    known: Utilization | None = None
    for minutes, used in samples:
        found = None if used is None else Sample(used)
        known = sampled(known, lease(), reservation(), found, START + minutes * MINUTE)
    assert known is not None
    return known


def unit_minutes(known: Utilization) -> tuple[float, float, float]:
    return known.promised / 60, known.known / 60, known.used / 60


def test_what_a_sample_tells_of_quantities_is_kept_until_the_next_one() -> None:
    found = Sample(1, {"volumes": QuantityUse(1, 2)})
    known = sampled(None, lease(), reservation(), found, START + MINUTE)
    assert ended(known, START + 2 * MINUTE).quantities_now == {"volumes": QuantityUse(1, 2)}
    for later in (Sample(1), None):
        assert sampled(known, lease(), reservation(), later, START + 2 * MINUTE).quantities_now == {}


def test_a_sample_stands_for_the_time_since_the_one_before() -> None:
    known = after((10, 0), (20, 1), (30, 2))
    assert unit_minutes(known) == (60, 60, 30)
    assert (known.used_now, known.looked_at) == (2, START + 30 * MINUTE)


def test_a_sample_stands_for_an_hour_at_the_most_and_the_rest_is_unknown() -> None:
    assert unit_minutes(after((10, 2), (310, 2))) == (620, 140, 140)


def test_more_than_is_reserved_counts_as_all_of_it() -> None:
    assert unit_minutes(after((10, 7))) == (20, 20, 20)


def test_what_a_kind_cannot_tell_is_unknown() -> None:
    known = after((10, None), (20, None))
    assert unit_minutes(known) == (40, 0, 0)
    assert (known.used_now, known.looked_at) == (None, None)
    assert not ended_with(lease(), [known], START + 30 * MINUTE)[0].is_no_show


def test_nothing_is_promised_after_the_end() -> None:
    assert unit_minutes(after((590, 0), (640, 0))) == (1200, 140, 0)


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    assert unit_minutes(after((20, 1), (10, 1))) == (40, 40, 20)


def test_what_the_last_sample_found_is_true_until_the_end() -> None:
    assert unit_minutes(ended(after((10, 1)), START + 20 * MINUTE)) == (40, 40, 20)
    assert unit_minutes(ended(after((10, 1)), START + 130 * MINUTE)) == (260, 140, 70)


def test_a_reservation_that_is_added_begins_when_it_is_added() -> None:
    late = Interval(START + 60 * MINUTE, TEN_HOURS.end)
    added = replace(reservation(), allocations=(Allocation("a", "r", "l", "1", late, WHOLE),))
    assert begun(lease(), added).start == late.start


def test_one_use_of_one_reservation_makes_a_lease_used() -> None:
    both = lease(reservation("r"), reservation("s"))
    unused = [sampled(None, both, each, Sample(0), START + 10 * MINUTE) for each in both.reservations]
    end = START + 60 * MINUTE
    assert [each.is_no_show for each in ended_with(both, unused, end)] == [True, True]
    used = [unused[0], sampled(None, both, both.reservations[1], Sample(1), START + 10 * MINUTE)]
    assert [each.is_no_show for each in ended_with(both, used, end)] == [False, False]


def test_what_was_not_looked_at_is_no_no_show_unless_it_was_released_for_that() -> None:
    end = START + 60 * MINUTE
    (known,) = ended_with(lease(), [], end)
    assert (known.is_no_show, known.is_over) == (False, True)
    assert unit_minutes(known) == (120, 0, 0)
    released = replace(lease(), claim_by=ClaimBy(60 * MINUTE, released_at=end))
    assert ended_with(released, [], end)[0].is_no_show


def test_what_has_left_its_lease_ends_where_it_was_seen_last() -> None:
    gone = replace(after((10, 1)), reservation_id="gone")
    found = {each.reservation_id: each for each in ended_with(lease(), [gone], START + 60 * MINUTE)}
    assert found["gone"].is_over
    assert found["gone"].until == START + 10 * MINUTE
    assert not found["r"].is_no_show


def test_a_lease_that_is_active_again_goes_on() -> None:
    over = ended_with(lease(), [after((10, 0))], START + 20 * MINUTE)[0]
    again = sampled(over, lease(), reservation(), Sample(0), START + 30 * MINUTE)
    assert (again.is_over, again.is_no_show) == (False, False)
    assert unit_minutes(again) == (60, 60, 0)
