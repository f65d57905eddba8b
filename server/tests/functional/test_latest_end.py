"""Leases that start early and last as long as can be, since version 1.35, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.35"}
FIRST, SECOND = "2050-01-01 10:00", "2050-01-01 11:00"
NEXT = "2050-01-01 14:00"


@pytest.fixture
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    yield at
    at.stop()


def create(at: Sandboxed, start: str, end: str, user: str = "demo") -> dict[str, Any]:
    body = {"name": "a", "start_date": start, "end_date": end, "reservations": [HOST]}
    made = at.send("POST", "/v1/leases", user, json=body, headers=VERSION)
    assert made.status_code == 201, made.json
    lease: dict[str, Any] = made.json["lease"]
    return lease


def change(at: Sandboxed, lease: dict[str, Any], headers: Any = VERSION, **body: Any) -> Any:
    return at.send("PUT", f"/v1/leases/{lease['id']}", "demo", json=body, headers=headers)


def test_it_lasts_until_the_next_lease_begins(at: Sandboxed) -> None:
    lease = create(at, FIRST, SECOND)
    create(at, NEXT, "2050-01-01 15:00", "admin")
    tried = change(at, lease, latest_end="2050-01-02 00:00", dry_run=True)
    assert tried.json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"
    assert at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]["end_date"] == lease["end_date"]
    extended = change(at, lease, latest_end="2050-01-02 00:00")
    assert extended.status_code == 200
    assert extended.json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"
    # Nothing more is to be had, and nothing is lost.
    again = change(at, lease, latest_end="2050-01-02 00:00")
    assert again.status_code == 200
    assert again.json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"


def test_it_ends_at_the_moment_that_is_named_where_all_is_free(at: Sandboxed) -> None:
    lease = create(at, FIRST, SECOND)
    assert change(at, lease, latest_end=NEXT).json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"


def test_it_starts_early_and_lasts_longer_in_one_step(at: Sandboxed) -> None:
    lease = create(at, FIRST, SECOND)
    changed = change(at, lease, start_date="now", latest_end=NEXT)
    assert changed.status_code == 200
    assert changed.json["lease"]["start_date"] < "2050"
    assert changed.json["lease"]["end_date"] == "2050-01-01T14:00:00.000000"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"latest_end": "2050-01-01 10:30"}, "The lease ends later than latest_end already."),
        ({"latest_end": NEXT, "end_date": NEXT}, "Give only one of end_date, duration and latest_end."),
        ({"latest_end": NEXT, "duration": 60}, "Give only one of end_date, duration and latest_end."),
        ({"latest_end": "soon"}, "soon is an invalid date"),
    ],
)
def test_what_says_two_things_is_refused(at: Sandboxed, body: Any, told: str) -> None:
    lease = create(at, FIRST, SECOND)
    refused = change(at, lease, **body)
    assert refused.status_code == 400
    assert told in refused.json["error_message"]
    assert at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]["end_date"] == lease["end_date"]


def test_earlier_versions_ignore_it(at: Sandboxed) -> None:
    lease = create(at, FIRST, SECOND)
    same = change(at, lease, {"OpenStack-API-Version": "reservation 1.33"}, latest_end=NEXT)
    assert same.json["lease"]["end_date"] == lease["end_date"]
