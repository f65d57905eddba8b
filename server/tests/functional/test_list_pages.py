"""What API 1.1 adds: lists in pages, with filters, an order and fields, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from falcon.testing import Result
from oslo_config import cfg

from blazar.api.lease_lists import listing, place_at
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.time import Interval
from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service
from blazar.service.ports import LeasePage, LeaseQuery
from blazar.service.ports.lease_lists import LONGEST_SCAN

from .canned import LEASE, MADE, Canned
from .conftest import INTERFACES, House, Send, edge
from .test_lists import Managers, leases
from .test_resource_lists import LISTS, Listed, former

HEADER = {"OpenStack-API-Version": "reservation 1.1"}
ADMIN = {"X-Auth-Token": "admin"}
BOTH = Codec(INTERFACES)


def get(send: Send, path: str, persona: str = "member", **query: Any) -> Result:
    return send("GET", f"{path}?{urlencode(query)}" if query else path, persona, headers=HEADER)


def pages(send: Send, path: str, persona: str = "member", **query: Any) -> Iterator[list[Any]]:
    """The pages of a list, by the links from one to the next."""
    name = path.rpartition("/")[2].removeprefix("os-")
    answer = get(send, path, persona, **query)
    while True:
        assert answer.status_code == 200, answer.text
        yield answer.json[name]
        links = answer.json.get(f"{name}_links")
        if links is None:
            return
        (link,) = links
        assert link["rel"] == "next"
        address = urlsplit(link["href"])
        answer = get(send, f"{address.path}?{address.query}", persona)


def lease(number: int, **fields: Any) -> Lease:
    start = LEASE.interval.start + timedelta(hours=number)
    return replace(
        LEASE,
        id=f"{number:08}-0000-4000-8000-000000000000",
        created_at=MADE + timedelta(minutes=number),
        interval=Interval(start, start + timedelta(hours=2)),
        name=f"lease {number}",
        **fields,
    )


STORED = [lease(n, project_id=f"p{1 + n % 2}") for n in range(6)]
STORED[2] = replace(STORED[2], status=LeaseStatus.ACTIVE)
STORED[4] = replace(STORED[4], status=LeaseStatus.ERROR, name="lease 0")


@pytest.fixture
def canned(conf: cfg.ConfigOpts) -> Send:
    return edge(Canned(stored=STORED), conf)


def numbers(send: Send, persona: str = "admin", **query: Any) -> list[int]:
    found = get(send, "/v1/leases", persona, **query).json["leases"]
    return [int(each["id"][:8]) for each in found]


def moment(hours: int) -> str:
    return (LEASE.interval.start + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M")


def test_a_page_and_the_way_to_the_next(canned: Send) -> None:
    found = list(pages(canned, "/v1/leases", "admin", limit=4, sort="start_date:desc"))
    assert [[int(each["id"][:8]) for each in page] for page in found] == [[5, 4, 3, 2], [1, 0]]


def test_links_keep_the_query_and_lead_where_the_client_came_from(canned: Send) -> None:
    answer = canned(
        "GET", "/v1/leases?limit=1&name=lease%200", "admin", headers=HEADER, host="cloud", protocol="https",
        root_path="/reservation",
    )  # fmt: skip
    href = answer.json["leases_links"][0]["href"]
    assert href.startswith("https://cloud/reservation/v1/leases?limit=1&name=lease+0&marker=")


def test_the_whole_answer_is_as_in_1_0_but_for_the_links(canned: Send) -> None:
    former_answer = canned("GET", "/v1/leases?limit=1&sort=nonsense&unknown=1", "admin")
    assert len(former_answer.json["leases"]) == len(STORED)
    assert get(canned, "/v1/leases", "admin").content == former_answer.content


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"status": "ACTIVE"}, [2]),
        ({"status": "ACTIVE,ERROR"}, [2, 4]),
        ({"name": "lease 0"}, [0, 4]),
        ({"project_id": "p2"}, [1, 3, 5]),
        ({"id": f"{STORED[3].id},{STORED[1].id},absent"}, [1, 3]),
        ({"starts_after": moment(4)}, [4, 5]),
        ({"starts_before": moment(2), "ends_after": moment(2)}, [1]),
        ({"ends_before": moment(3)}, [0, 1]),
        ({"resource_type": "physical:host"}, [0, 1, 2, 3, 4, 5]),
        ({"resource_type": "virtual:instance"}, []),
        ({"sort": "name"}, [0, 4, 1, 2, 3, 5]),
        ({"sort": "created_at:desc", "limit": 2}, [5, 4]),
        ({"sort": "end_date:asc", "marker": STORED[3].id}, [4, 5]),
        ({"status": "", "limit": "1000"}, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_filters_and_orders(canned: Send, query: dict[str, Any], expected: list[int]) -> None:
    assert numbers(canned, **query) == expected


def test_only_the_fields_that_are_asked_for(canned: Send) -> None:
    found = get(canned, "/v1/leases", fields="name,id,status_reason", limit=1).json["leases"]
    assert found == [{"id": STORED[0].id, "name": "lease 0"}]


KNOWN = (
    "ends_after, ends_before, fields, id, limit, marker, name, project_id, resource_type, sort, "
    "starts_after, starts_before, status"
)
LIMIT = "Malformed parameter limit: a number from 1 to 1000 is expected."
SORT = (
    "Malformed parameter sort: one of created_at, start_date, end_date, name is expected, with :asc or :desc "
    "behind it."
)
MARKER = "Malformed parameter marker: take it from the link to the next page."


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("limit=0", LIMIT),
        ("limit=1001", LIMIT),
        ("limit=-1", LIMIT),
        ("limit=ten", LIMIT),
        ("limit=٣", LIMIT),
        ("offset=3", f"Unknown parameter offset: the known ones are {KNOWN}."),
        ("limit=1&limit=2", "A parameter is given twice. Several values are separated by commas."),
        ("marker=p_nonsense", MARKER),
        ("marker=p_W10", MARKER),
        ("marker=p_WyJuYW1lIixmYWxzZSwiXHUwMDAwIiwiMjA1MC0wMS0wMVQwMDowMDowMFoiLCJ4Il0", MARKER),
        ("marker=%00", MARKER),
        ("marker=absent", "Malformed parameter marker: there is no such lease."),
        (
            "sort=user_id",
            SORT,
        ),
        (
            "sort=name:down",
            SORT,
        ),
        (
            "status=active",
            "Malformed parameter status: some of WAITING, CREATING, PENDING, STARTING, ACTIVE, "
            "TERMINATING, TERMINATED, DELETING, ERROR are expected.",
        ),
        (
            "id=a,,b",
            "Malformed parameter id: at most 100 values are expected, with commas between them.",
        ),
        ("id=a%20b", "Malformed parameter id: not an id."),
        ("name=" + "x" * 81, "Malformed parameter name: at most 80 characters are expected."),
        ("name=%00", "Malformed parameter name: at most 80 characters are expected."),
    ],
)
def test_what_is_not_understood_is_refused(canned: Send, query: str, sentence: str) -> None:
    answer = canned("GET", "/v1/leases", headers=HEADER, query_string=query)
    assert (answer.status_code, answer.json["error_message"]) == (400, sentence)
    assert canned("GET", "/v1/leases", query_string=query).status_code == 200


@pytest.mark.parametrize("name", ["starts_after", "starts_before", "ends_after", "ends_before"])
def test_moments_that_are_none_are_refused(canned: Send, name: str) -> None:
    answer = get(canned, "/v1/leases", **{name: "tomorrow"})
    assert answer.status_code == 400
    assert "tomorrow" in answer.json["error_message"]


def test_fields_that_no_lease_has_are_refused(canned: Send) -> None:
    answer = get(canned, "/v1/leases", fields="id,colour")
    assert answer.status_code == 400
    assert answer.json["error_message"].startswith(
        "Malformed parameter fields: no lease has 'colour', only id,"
    )


def test_a_marker_belongs_to_its_order(canned: Send) -> None:
    first = get(canned, "/v1/leases", "admin", limit=1, sort="name").json
    query = urlsplit(first["leases_links"][0]["href"]).query
    answer = canned(
        "GET", "/v1/leases", "admin", headers=HEADER, query_string=query.replace("name", "end_date")
    )
    assert answer.status_code == 400
    assert "another order" in answer.json["error_message"]


def test_who_may_see_which_project(canned: Send) -> None:
    """A refusal does not tell whether the project has leases, or is there at all."""
    assert numbers(canned, "member") == numbers(canned, "reader", project_id="p1") == [0, 2, 4]
    assert numbers(canned, "stranger") == [1, 3, 5]
    for project_id in ("p2", "absent"):
        assert get(canned, "/v1/leases", "member", project_id=project_id).status_code == 403
    assert numbers(canned, project_id="absent") == []
    for persona in ("norole", "system", "unscoped"):
        assert get(canned, "/v1/leases", persona).status_code == 403
    foreign = get(canned, "/v1/leases", "member", marker=STORED[1].id)
    assert (foreign.status_code, foreign.json["error_message"]) == (
        400,
        "Malformed parameter marker: there is no such lease.",
    )
    assert numbers(canned, "member", id=",".join(each.id for each in STORED)) == [0, 2, 4]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_leases_that_a_policy_hides_leave_no_gap(limit: int) -> None:
    """They are on no page, and those behind them are met."""
    service = Canned(stored=leases(20))
    seen, query = [], LeaseQuery(1)
    while True:
        found = listing(service.leases, query, limit, lambda each: int(each.id) % 7 == 6)
        seen += [each.id for part in found.parts() for each in part]
        if found.goes_on is None:
            break
        query = replace(query, after=place_at(found.goes_on, query, service.leases, lambda _: True))
    assert seen == ["00000006", "00000013"]


def test_a_manager_of_the_version_before_shows_no_other_series() -> None:
    """It does not know the condition, and finds all leases."""
    stored = [replace(each, series_id=("mine", "other", None)[n % 3]) for n, each in enumerate(leases(9))]
    service = Canned(stored=stored)

    class Before:
        def find(self, query: LeaseQuery) -> LeasePage:
            return service.leases.find(replace(query, series_id=None))

    query = LeaseQuery(10, series_id="mine")
    found = listing(Before(), query, 5, lambda each: True)  # type: ignore[arg-type]  # all that it needs
    assert [each.series_id for part in found.parts() for each in part] == ["mine"] * 3


def test_no_message_has_more_than_a_page_of_leases(conf: cfg.ConfigOpts) -> None:
    managers = Managers(Canned(stored=leases(700)), BOTH)
    send = edge(remote_service(managers, BOTH), conf)  # type: ignore[arg-type]  # all that the edge needs
    assert len(get(send, "/v1/leases").json["leases"]) == 700
    assert managers.asked == 4
    found = list(pages(send, "/v1/leases", limit=300))
    assert [len(page) for page in found] == [300, 300, 100]


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("limit", [1, 7, 199, 200, 201, 499, 500, 1000])
@pytest.mark.parametrize("versions", ["T", "FT"])
def test_resources_come_in_pages(conf: cfg.ConfigOpts, listed: Listed, limit: int, versions: str) -> None:
    service = listed.service(min(3 * limit, listed.page + limit) + 1)
    codecs = {"F": former(listed), "T": BOTH}
    remote = remote_service(Managers(service, *(codecs[each] for each in versions)), BOTH)
    found = list(pages(edge(remote, conf), listed.path, "admin", limit=limit))  # type: ignore[arg-type]
    stored = getattr(service, listed.field)
    met = [each.get("resource_id") or each["id"] for page in found for each in page]
    assert len(met) == len(stored)
    assert set(met) == {getattr(each, "resource_id", None) or each.id for each in stored}
    assert all(len(page) == limit for page in found[:-1])
    if listed.field == "allocated":
        counts = {each.resource_id: len(each.allocations) for each in stored}
        assert all(
            len(each["reservations"]) == counts[each["resource_id"]] for page in found for each in page
        )


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_lists_of_resources_refuse_what_they_do_not_know(conf: cfg.ConfigOpts, listed: Listed) -> None:
    send = edge(listed.service(3), conf)
    for query in ({"limit": 0}, {"limit": 1001}, {"colour": "red"}, {"marker": "a b"}):
        assert get(send, listed.path, "admin", **query).status_code == 400
        assert send("GET", listed.path, "admin", query_string=urlencode(query)).status_code == 200


# ------------------------------------------------------------------------------------------------
# with the real service


def made(house: House, number: int, name: str, **more: Any) -> str:
    body = {
        "name": name,
        "start_date": f"2050-01-0{1 + number} 10:00",
        "end_date": f"2050-01-0{2 + number} 10:00",
        **more,
    }
    answer = house.send("POST", "/v1/leases", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json["lease"]["id"])


def test_a_shortage_is_409_from_1_1_on(house: House) -> None:
    properties = {"hypervisor_properties": "", "resource_properties": ""}
    host = {"resource_type": "physical:host", "min": 1, "max": 1, **properties}
    body = {
        "name": "a",
        "start_date": "2050-01-01 10:00",
        "end_date": "2050-01-01 11:00",
        "reservations": [host],
    }
    answers = [house.send("POST", "/v1/leases", json=body, headers=headers) for headers in ({}, HEADER)]
    assert [answer.status_code for answer in answers] == [400, 409]
    assert answers[0].json["error_message"] == answers[1].json["error_message"]


def test_leases_of_the_database_in_pages(house: House) -> None:
    ids = [made(house, number, f"lease {number % 3}") for number in range(7)]
    for query in ({"sort": "start_date"}, {"sort": "created_at"}, {"starts_after": "2000-01-01 00:00"}):
        found = list(pages(house.send, "/v1/leases", limit=3, **query))
        assert [[each["id"] for each in page] for page in found] == [ids[:3], ids[3:6], ids[6:]]
    assert [each["id"] for each in get(house.send, "/v1/leases", name="lease 1").json["leases"]] == [
        ids[1],
        ids[4],
    ]
    # What is gone is no obstacle to go on from.
    first = get(house.send, "/v1/leases", limit=3, sort="name:desc").json
    assert house.send("DELETE", f"/v1/leases/{first['leases'][-1]['id']}").status_code == 204
    address = urlsplit(first["leases_links"][0]["href"])
    rest = get(house.send, f"{address.path}?{address.query}&fields=id").json["leases"]
    met = [each["id"] for each in (*first["leases"], *rest)][:6]
    assert met == [ids[5], ids[2], ids[4], ids[1], ids[6], ids[3]]


def test_a_page_looks_at_so_many_leases_and_no_more(house: House) -> None:
    """Nothing is found among thousands, and the list goes on after a while."""
    stored = [replace(lease(n), reservations=(), events=(), project_id="p1") for n in range(3 * LONGEST_SCAN)]
    house.database.transact(lambda u: [u.leases.add(each, MADE) for each in stored])
    found = list(pages(house.send, "/v1/leases", resource_type="physical:host", limit=5))
    assert [page for page in found if page] == []
