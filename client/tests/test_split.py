"""Tests of leases that are split: the request of the library, and the command."""

from __future__ import annotations

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

from .test_shares import calls

PATH = f"/leases/{samples.LEASE_ID}/split"
PART = {**samples.lease(), "name": "part"}


@pytest.fixture
def splitting(cloud: RecordingCloud) -> RecordingCloud:
    cloud.answer("POST", PATH, 201, {"lease": PART})
    return cloud


def test_a_lease_is_split(splitting: RecordingCloud) -> None:
    assert calls(splitting).split(samples.LEASE_ID, "part", {"r1": None, "r2": 3}) == PART
    sent = splitting.requests[-1]
    assert (sent.method, sent.path) == ("POST", PATH)
    assert sent.body == {"name": "part", "reservations": [{"id": "r1"}, {"id": "r2", "units": 3}]}
    assert sent.headers["openstack-api-version"] == "reservation 1.40"
    assert len(sent.headers["idempotency-key"]) == 36


def test_the_command(splitting: RecordingCloud, blazar: Blazar) -> None:
    ran = blazar(f"lease-split {samples.LEASE_ID} part --reservation r1 --reservation r2=3 -f value -c name")
    assert (ran.code, ran.out) == (0, "Created a new lease:\npart\n")
    assert ran.requests[-1].body["reservations"] == [{"id": "r1"}, {"id": "r2", "units": 3}]


@pytest.mark.parametrize("going", ["r1=", "=2", "r1=0", "r1=-1", "r1=x", "r1=1 --reservation r1"])
def test_what_is_no_reservation_is_refused(splitting: RecordingCloud, blazar: Blazar, going: str) -> None:
    ran = blazar(f"lease-split {samples.LEASE_ID} part --reservation {going}")
    assert ran.code == 2
    assert "--reservation" in ran.err
    assert not [each for each in splitting.requests if each.method == "POST" and each.path == PATH]


def test_something_has_to_go(blazar: Blazar) -> None:
    ran = blazar(f"lease-split {samples.LEASE_ID} part")
    assert ran.code == 2
    assert "--reservation" in ran.err


def test_of_the_only_reservation_its_id_need_not_be_named(splitting: RecordingCloud, blazar: Blazar) -> None:
    lease = {**samples.lease(), "reservations": [{"id": "r1"}]}
    splitting.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": lease})
    ran = blazar(f"lease-split {samples.LEASE_ID} part --units 2")
    assert ran.code == 0
    assert ran.requests[-1].body["reservations"] == [{"id": "r1", "units": 2}]
    lease["reservations"].append({"id": "r2"})
    ran = blazar(f"lease-split {samples.LEASE_ID} part --units 2")
    assert ran.code == 2
    assert "2 reservations" in ran.err
