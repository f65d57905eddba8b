"""When the stack of a lease has to be there, and what stands in its parameters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.start_task import (
    Need,
    Placeholder,
    StackRequest,
    begins_to_end,
    filled_in,
    need_of,
    next_look,
)
from blazar.domain.time import Interval

START = datetime(2030, 1, 1, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LEAD = 5 * MINUTE
DOCUMENT = {
    "id": "lease",
    "name": "cluster",
    "reservations": [
        {"id": "first", "flavor_id": "f", "network_ids": ["a", "b"], "group": None, "amount": 3}
    ],
}


def lease(status: LeaseStatus = LeaseStatus.ACTIVE, minutes: int = 60) -> Lease:
    return Lease("lease", "x", "user", "project", Interval(START, START + minutes * MINUTE), status)


@pytest.mark.parametrize(
    ("status", "minute", "need"),
    [
        (LeaseStatus.WAITING, 0, Need.NOT_YET),
        (LeaseStatus.CREATING, 0, Need.NOT_YET),
        (LeaseStatus.PENDING, 0, Need.NOT_YET),
        (LeaseStatus.STARTING, 10, Need.NOT_YET),
        (LeaseStatus.ACTIVE, 0, Need.THERE),
        (LeaseStatus.ACTIVE, 54, Need.THERE),
        (LeaseStatus.ACTIVE, 55, Need.GONE),
        (LeaseStatus.ERROR, 10, Need.NOT_YET),
        (LeaseStatus.ERROR, 55, Need.GONE),
        (LeaseStatus.TERMINATING, 10, Need.GONE),
        (LeaseStatus.TERMINATED, 10, Need.GONE),
        (LeaseStatus.DELETING, 10, Need.GONE),
    ],
)
def test_the_lease_says_whether_its_stack_is_needed(status: LeaseStatus, minute: int, need: Need) -> None:
    assert need_of(lease(status), START + minute * MINUTE, LEAD) is need


def test_a_lease_that_is_removed_needs_none() -> None:
    assert need_of(None, START, LEAD) is Need.GONE


def test_a_short_lease_has_its_stack_for_three_quarters() -> None:
    assert begins_to_end(lease(minutes=8), LEAD) == START + 6 * MINUTE
    assert begins_to_end(lease(), timedelta(0)) == START + 60 * MINUTE


def test_it_is_looked_at_again_when_something_is_to_do() -> None:
    assert next_look(lease(), START, LEAD) == START + 55 * MINUTE
    assert next_look(lease(LeaseStatus.PENDING), START - 30 * MINUTE, LEAD) == START + MINUTE
    assert next_look(lease(LeaseStatus.STARTING), START + 5 * MINUTE, LEAD) == START + 6 * MINUTE


def fill(each: Placeholder) -> Any:
    return each.value_in(DOCUMENT)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{lease.id}", "lease"),
        ("on {lease.name}: {reservations.0.flavor_id}!", "on cluster: f!"),
        ("{reservations.0.network_ids}", ["a", "b"]),
        ("{reservations.0.network_ids.1}", "b"),
        ("{reservations.0.amount}", 3),
        ("{reservations.0.amount} servers", "3 servers"),
        ("{{lease.id}}", "{{lease.id}}"),
        (
            "{ lease.id } {other} {lease} {reservations.x.id} {}",
            "{ lease.id } {other} {lease} {reservations.x.id} {}",
        ),
        ('{"a": {"lease": 1}}', '{"a": {"lease": 1}}'),
        (["{lease.id}", 1, None, {"a": "{lease.id}"}], ["lease", 1, None, {"a": "lease"}]),
        (True, True),
    ],
)
def test_placeholders_stand_for_fields(text: Any, filled: Any) -> None:
    assert filled_in(text, fill) == filled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{lease.trust_id}", "a lease has"),
        ("{reservations.1.id}", "counted from 0"),
        ("{reservations.0.nope}", "the reservation has"),
        ("{reservations.0.group}", "no value"),
        ("{reservations.0.network_ids.2}", "no value"),
        ("{reservations.0.id.0}", "no value"),
    ],
)
def test_what_stands_for_nothing_is_told(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refusal:
        filled_in(text, fill)
    assert text in refusal.value.message


def test_a_request_is_not_shown() -> None:
    request = StackRequest({"a": "secret"}, "secret", {"a": "secret"}, {"a": "secret"}, 5)
    assert "secret" not in repr(request)
