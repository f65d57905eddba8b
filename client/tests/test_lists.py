"""Are lists read page by page from a service with microversion 1.1, and is an older one asked as ever?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud

from blazarclient import exception
from blazarclient.v1.client import Client

ROWS = [
    samples.lease(
        id=f"l{number}",
        name="ab"[number % 2],
        status="ACTIVE" if number == 3 else "PENDING",
        start_date=f"2050-01-0{5 - number}T10:00:00.000000",
        end_date=f"2050-01-0{6 - number}T10:00:00.000000",
        project_id=f"p{number}",
    )
    for number in range(5)
]
Blazar = Callable[..., Any]


@pytest.fixture
def library(cloud: RecordingCloud) -> Client:
    return Client(cloud.endpoint, "token")


def link(query: str) -> list[dict[str, str]]:
    """A link with an address that leads nowhere, as behind a proxy."""
    return [{"rel": "next", "href": f"https://inside.example.org/v1/leases?{query}"}]


def queries(cloud: RecordingCloud) -> list[dict[str, str]]:
    return [dict(request.query) for request in cloud.requests]


def test_pages_are_followed_by_their_links(library: Client, cloud: RecordingCloud) -> None:
    cloud.version = "1.1"
    cloud.answer_in_turn(
        "GET",
        "/leases",
        (200, {"leases": ROWS[:2], "leases_links": link("name=a&marker=p_x")}),
        (200, {"leases": [], "leases_links": link("name=a&marker=p_y")}),
        (200, {"leases": ROWS[2:]}),
    )
    assert library.lease.list(name="a") == ROWS
    assert queries(cloud) == [
        {"name": "a"},
        {"name": "a", "marker": "p_x"},
        {"name": "a", "marker": "p_y"},
    ]
    assert {request.headers["openstack-api-version"] for request in cloud.requests} == {"reservation 1.1"}


def test_no_more_is_read_than_asked_for(library: Client, cloud: RecordingCloud) -> None:
    cloud.version = "1.1"
    cloud.answer_in_turn(
        "GET",
        "/leases",
        (200, {"leases": ROWS[:2], "leases_links": link("limit=3&marker=p_x")}),
        (200, {"leases": ROWS[2:3], "leases_links": link("limit=1&marker=p_y")}),
    )
    assert library.lease.list(limit=3) == ROWS[:3]
    assert queries(cloud) == [{"limit": "3"}, {"limit": "1", "marker": "p_x"}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"status": "ACTIVE"}, [3]),
        ({"status": ["ACTIVE", "PENDING"], "limit": 2}, [0, 1]),
        ({"name": "b"}, [1, 3]),
        ({"id": ["l1", "l4"]}, [1, 4]),
        ({"project_id": "p2"}, [2]),
        ({"resource_type": "physical:host"}, [0, 1, 2, 3, 4]),
        ({"resource_type": "virtual:instance"}, []),
        ({"starts_after": "2050-01-04 10:00"}, [0, 1]),
        ({"starts_before": "2050-01-03 10:00", "ends_after": "2050-01-02 10:00"}, [3]),
        ({"ends_before": "2050-01-03 10:00"}, [3, 4]),
        ({"sort": "start_date"}, [4, 3, 2, 1, 0]),
        ({"sort": "name:desc", "limit": 2}, [3, 1]),
        ({"sort_by": "start_date", "limit": 2}, [1, 0]),
    ],
)
@pytest.mark.parametrize("says", [None, "1.0", 406])
def test_an_older_service_is_asked_for_all(
    library: Client, cloud: RecordingCloud, says: Any, arguments: dict[str, Any], expected: list[int]
) -> None:
    cloud.version = says if isinstance(says, str) else None
    whole = (200, {"leases": ROWS})
    refused = (406, {"error": 406, "error_message": "Version 1.1 is not supported by the API."})
    cloud.answer_in_turn("GET", "/leases", *([refused, whole] if says == 406 else [whole]))
    assert library.lease.list(**arguments) == [ROWS[number] for number in expected]
    assert len(cloud.requests) == (2 if says == 406 else 1)
    assert cloud.requests[-1].headers.get("openstack-api-version") == (
        None if says == 406 else "reservation 1.1"
    )


def test_other_refusals_are_told(library: Client, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/leases", 400, samples.error(400, "Malformed parameter sort"))
    with pytest.raises(exception.BlazarClientException, match="Malformed parameter sort"):
        library.lease.list(sort="nonsense")


@pytest.mark.parametrize(
    ("path", "key", "read"),
    [
        ("/os-hosts", "hosts", lambda library: library.host.list()),
        ("/floatingips", "floatingips", lambda library: library.floatingip.list()),
        ("/os-hosts/allocations", "allocations", lambda library: library.allocation.list("os-hosts")),
    ],
)
def test_resources_come_in_pages(
    library: Client, cloud: RecordingCloud, path: str, key: str, read: Callable[[Client], Any]
) -> None:
    cloud.version = "1.1"
    more = {f"{key}_links": link("marker=1")}
    cloud.answer_in_turn("GET", path, (200, {key: [{"id": "1"}], **more}), (200, {key: [{"id": "2"}]}))
    assert read(library) == [{"id": "1"}, {"id": "2"}]
    assert queries(cloud) == [{}, {"marker": "1"}]


def test_the_options_of_the_list(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.version = "1.1"
    cloud.answer("GET", "/leases", 200, {"leases": ROWS[:2]})
    words = (
        "--status active --status PENDING --name a --project p1 --resource-type physical:host --limit 7 "
        "--sort start_date:desc --starts-after '2050-01-01 10:00' --ends-before 2050-01-02T00:00+02:00"
    )
    ran = blazar(f"lease-list -f value -c id {words}")
    assert (ran.code, ran.out) == (0, "l0\nl1\n")
    assert dict(ran.requests[0].query) == {
        "status": "ACTIVE,PENDING",
        "name": "a",
        "project_id": "p1",
        "resource_type": "physical:host",
        "starts_after": "2050-01-01 10:00",
        "ends_before": "2050-01-01 22:00",
        "sort": "start_date:desc",
        "limit": "7",
    }


@pytest.mark.parametrize("words", ["--limit 0", "--limit x", "--sort colour", "--starts-after nonsense"])
def test_options_that_mean_nothing_send_nothing(blazar: Blazar, words: str) -> None:
    ran = blazar(f"lease-list {words}")
    assert (ran.code, list(ran.requests)) == (2, [])


def test_without_an_order_of_the_service_the_list_is_sorted_here(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    cloud.version = "1.1"
    cloud.answer("GET", "/leases", 200, {"leases": ROWS[:3]})
    assert blazar("lease-list -f value -c id").out == "l0\nl2\nl1\n"
    assert blazar("lease-list -f value -c id --limit 3").out == "l0\nl1\nl2\n"
    assert blazar("lease-list -f value -c id --limit 3 --sort-by start_date").out == "l2\nl1\nl0\n"


def test_a_name_is_looked_up_by_the_service(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.version = "1.1"
    cloud.answer_in_turn("GET", "/leases", (200, {"leases": []}), (200, {"leases": ROWS}))
    ran = blazar("lease-show aa")
    assert ran.code == 1
    assert "did you mean 'a'?" in ran.err
    assert queries(cloud) == [{"name": "aa"}, {"sort": "created_at:desc", "limit": "1000"}]
