"""Tests of leases that are shared with other projects: the requests of the library, and the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar
from keystoneauth1 import session
from keystoneauth1.identity import v3

from blazarclient.exception import BlazarClientException
from blazarclient.v1.client import Client
from blazarclient.v1.leases import Leases

PATH = f"/leases/{samples.LEASE_ID}/shares"
SHARE = {
    "lease_id": samples.LEASE_ID,
    "project_id": "other",
    "right": "read",
    "user_id": "u",
    "created_at": "2030-01-07 08:30:20",
    "updated_at": None,
}
SINCE = "reservation 1.34"
USE = "reservation 1.36"
TAKE_OVER = "reservation 1.38"


@pytest.fixture
def shared(cloud: RecordingCloud) -> RecordingCloud:
    cloud.answer("GET", PATH, 200, {"shares": [{**SHARE, "project_id": "zoo", "right": "change"}, SHARE]})
    cloud.answer("PUT", f"{PATH}/other", 200, {"share": SHARE})
    cloud.answer("DELETE", f"{PATH}/other", 204, None)
    return cloud


def calls(cloud: RecordingCloud) -> Leases:
    project = {"project_name": "demo", "user_domain_name": "Default", "project_domain_name": "Default"}
    auth = v3.Password(cloud.auth_url, username="demo", password="x", **project)
    return Client(session=session.Session(auth)).lease


def last(cloud: RecordingCloud) -> tuple[str, str, Any, str]:
    sent = cloud.requests[-1]
    return sent.method, sent.path, sent.body, sent.headers["openstack-api-version"]


def test_a_lease_is_shared(shared: RecordingCloud) -> None:
    assert calls(shared).share(samples.LEASE_ID, "other") == SHARE
    assert last(shared)[1:] == (f"{PATH}/other", {"right": "read"}, SINCE)
    assert calls(shared).share(samples.LEASE_ID, "other", "change") == SHARE
    assert last(shared) == ("PUT", f"{PATH}/other", {"right": "change"}, SINCE)
    for right in ("use", "use_and_change"):
        assert calls(shared).share(samples.LEASE_ID, "other", right) == SHARE
        assert last(shared) == ("PUT", f"{PATH}/other", {"right": right}, USE)
    assert calls(shared).share(samples.LEASE_ID, "other", "take_over") == SHARE
    assert last(shared) == ("PUT", f"{PATH}/other", {"right": "take_over"}, TAKE_OVER)


def test_a_lease_is_taken_over(shared: RecordingCloud, blazar: Blazar) -> None:
    path = f"/leases/{samples.LEASE_ID}/take_over"
    shared.answer("POST", path, 200, {"lease": {**samples.lease(), "project_id": "mine"}})
    assert calls(shared).take_over(samples.LEASE_ID)["project_id"] == "mine"
    assert last(shared) == ("POST", path, None, TAKE_OVER)
    ran = blazar(f"lease-take-over {samples.LEASE_ID}")
    assert ran.out == f"Lease {samples.LEASE_ID} belongs to mine now.\n"


def test_a_share_is_withdrawn(shared: RecordingCloud) -> None:
    assert calls(shared).unshare(samples.LEASE_ID, "other") is None
    assert last(shared)[::3] == ("DELETE", SINCE)


def test_shares_are_listed(shared: RecordingCloud) -> None:
    found = calls(shared).shares(samples.LEASE_ID, sort_by="project_id")
    assert [(each["project_id"], each["right"]) for each in found] == [("other", "read"), ("zoo", "change")]
    assert last(shared)[::3] == ("GET", TAKE_OVER)


def test_a_service_without_the_right_to_use_is_asked_in_the_version_of_shares(cloud: RecordingCloud) -> None:
    cloud.answer("GET", PATH, 406, {"error_message": "The version is not supported."})
    with pytest.raises(BlazarClientException):
        calls(cloud).shares(samples.LEASE_ID)
    asked = [each.headers["openstack-api-version"] for each in cloud.requests if each.path == PATH]
    assert asked == [TAKE_OVER, USE, SINCE]


def test_shared_leases_are_asked_for(shared: RecordingCloud) -> None:
    leases = calls(shared)
    leases.list(shared=True, status="ACTIVE", limit=1)
    sent = shared.requests[-1]
    assert (dict(sent.query)["shared"], dict(sent.query)["status"]) == ("true", "ACTIVE")
    assert sent.headers["openstack-api-version"] == TAKE_OVER
    leases.list()
    assert "shared" not in dict(shared.requests[-1].query)
    leases.get_since_1_34(samples.LEASE_ID)
    assert shared.requests[-1].headers["openstack-api-version"] == TAKE_OVER


@pytest.mark.parametrize(
    ("line", "printed", "sent"),
    [
        ("set {} other", "Lease {} is shared with other: read.\n", ("PUT", {"right": "read"})),
        ("set {} other --right use", "Lease {} is shared with other: read.\n", ("PUT", {"right": "use"})),
        (
            "set {} other --right change",
            "Lease {} is shared with other: read.\n",
            ("PUT", {"right": "change"}),
        ),
        ("unset {} other", "Lease {} is no longer shared with other.\n", ("DELETE", None)),
        ("list {} -f value -c project_id -c right", "other read\nzoo change\n", ("GET", None)),
    ],
    ids=["read", "use", "change", "unset", "list"],
)
def test_commands(
    shared: RecordingCloud,
    blazar: Blazar,
    line: str,
    printed: str,
    sent: tuple[str, Mapping[str, str] | None],
) -> None:
    ran = blazar("lease-share-" + line.format(samples.LEASE_ID))
    assert (ran.code, ran.out) == (0, printed.format(samples.LEASE_ID))
    assert (ran.requests[-1].method, ran.requests[-1].body) == sent


def test_a_right_is_one_of_five_words(blazar: Blazar) -> None:
    ran = blazar(f"lease-share-set {samples.LEASE_ID} other --right own")
    assert ran.code == 2
    assert "'own'" in ran.err
    assert not ran.requests


def test_the_list_of_shared_leases_has_their_projects(shared: RecordingCloud, blazar: Blazar) -> None:
    rows = [{**samples.lease(), "project_id": "theirs", "shared_right": "change"}]
    shared.answer("GET", "/leases", 200, {"leases": rows})
    ran = blazar("lease-list --shared -f csv --quote none")
    assert ran.out.splitlines()[0].endswith(",end_date,project_id,shared_right")
    assert ran.out.splitlines()[1].endswith(",theirs,change")
    assert dict(ran.requests[-1].query)["shared"] == "true"
    ran = blazar("lease-list --shared --long -f csv --quote none")
    assert ran.out.splitlines()[0].endswith(",end_date,status,project_id,shared_right")


def test_a_lease_tells_the_right_where_it_is_asked_for(shared: RecordingCloud, blazar: Blazar) -> None:
    shared.answer(
        "GET",
        f"/leases/{samples.LEASE_ID}",
        200,
        {"lease": {**samples.lease(), "reservations": [], "shared_right": "read"}},
    )
    ran = blazar(f"lease-show {samples.LEASE_ID} -f value -c shared_right")
    assert (ran.code, ran.out) == (0, "read\n")
    assert ran.requests[-1].headers["openstack-api-version"] == TAKE_OVER
