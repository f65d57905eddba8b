"""Tests of `blazarclient.sdk`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import openstack
import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import FakeClock
from openstack import exceptions

import blazarclient.sdk
from blazarclient.sdk import Proxy


@pytest.fixture
def reservation(cloud: RecordingCloud, clock: FakeClock) -> Proxy:
    proxy = blazarclient.sdk.reservation(blazarclient.sdk.connect())
    proxy.clock = clock
    return proxy


def test_a_connection_of_ones_own_can_be_taught(cloud: RecordingCloud) -> None:
    connection = openstack.connect()
    assert connection.reservation  # request for before, which the connection remembers
    blazarclient.sdk.add_reservation(connection)
    assert [lease.name for lease in connection.reservation.leases()] == ["a", "b"]
    assert isinstance(blazarclient.sdk.reservation(openstack.connect()), Proxy)


def test_a_cloud_of_clouds_yaml_can_name_the_hook(
    cloud: RecordingCloud, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "clouds.yaml"
    profile.write_text(
        "clouds:\n  c:\n    vendor_hook: 'blazarclient.sdk:add_reservation'\n    region_name: RegionOne\n"
        f"    auth: {{auth_url: '{cloud.auth_url}', username: demo, password: x, project_name: demo, "
        "user_domain_name: Default, project_domain_name: Default}\n"
    )
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(profile))
    connection = openstack.connect(cloud="c")
    assert [lease.name for lease in connection.reservation.leases()] == ["a", "b"]


def test_nothing_is_discovered_the_first_request_is_the_real_one(
    reservation: Proxy, cloud: RecordingCloud
) -> None:
    assert reservation.get_lease(samples.LEASE_ID).name == "a"
    assert [request.path for request in cloud.requests] == [f"/leases/{samples.LEASE_ID}"]


def test_a_lease_has_types(reservation: Proxy) -> None:
    lease = reservation.get_lease(samples.LEASE_ID)
    assert lease.starts_at == datetime(2050, 1, 1, 10, tzinfo=UTC)
    assert lease.ends_at - lease.starts_at == timedelta(hours=1)
    assert lease.degraded is False
    (line,) = lease.reservations
    assert (line.resource_type, line.min, line.status) == ("physical:host", 1, "pending")
    assert lease.reservations_of("virtual:instance") == []
    assert lease.events[0].at == lease.starts_at


def test_leases_are_created(reservation: Proxy, cloud: RecordingCloud, clock: FakeClock) -> None:
    line = {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "resource_properties": ["==", "$gpu", "True"],
    }
    made = reservation.create_lease("n", duration=timedelta(hours=4), reservations=[line])
    assert made.id == samples.LEASE_ID
    assert cloud.requests[-1].body == {
        "name": "n",
        "start_date": "now",
        "end_date": "2030-01-07 12:30",
        "before_end_date": None,
        "reservations": [
            line | {"hypervisor_properties": "", "resource_properties": '["==", "$gpu", "True"]'}
        ],
        "events": [],
    }
    start = datetime(2030, 1, 8, 9, tzinfo=timezone(timedelta(hours=1)))
    reservation.create_lease(
        "n", start, duration=timedelta(hours=2), before_end_date=start + timedelta(hours=1)
    )
    body = cloud.requests[-1].body
    assert (body["start_date"], body["end_date"], body["before_end_date"]) == (
        "2030-01-08 08:00",
        "2030-01-08 10:00",
        "2030-01-08 09:00",
    )


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"end_date": "2030-01-08 09:00", "duration": timedelta(hours=1)},
        {"start_date": "2030-01-08 09:00", "duration": timedelta(hours=1)},
        {"end_date": datetime(2030, 1, 8)},  # noqa: DTZ001 (that is the point)
    ],
)
def test_times_that_mean_nothing_are_refused(
    reservation: Proxy, cloud: RecordingCloud, times: dict[str, Any]
) -> None:
    with pytest.raises(ValueError):
        reservation.create_lease("n", **times)
    assert cloud.requests == []


def test_leases_are_changed(reservation: Proxy, cloud: RecordingCloud) -> None:
    reservation.update_lease(samples.LEASE_ID, name="z", reservations=[{"id": "r", "min": 2}])
    assert cloud.requests[-1].body == {"name": "z", "reservations": [{"id": "r", "min": 2}]}
    reservation.extend_lease(samples.LEASE_ID, timedelta(hours=2))
    assert cloud.requests[-1].body == {"end_date": "2050-01-01 13:00"}
    assert reservation.update_lease(samples.LEASE_ID).name == "a"
    assert cloud.requests[-1].method == "GET"
    lease = reservation.get_lease(samples.LEASE_ID)
    lease.name = "as a resource"
    lease.commit(reservation)
    assert cloud.requests[-1].body == {"name": "as a resource"}


def test_leases_are_found_and_deleted(reservation: Proxy, cloud: RecordingCloud) -> None:
    found = reservation.find_lease("b")
    assert found is not None
    assert found.id == samples.OTHER_LEASE_ID
    assert reservation.find_lease("c") is None
    with pytest.raises(exceptions.NotFoundException, match="'c'"):
        reservation.find_lease("c", ignore_missing=False)
    reservation.delete_lease(found)
    assert cloud.requests[-1].method == "DELETE"
    reservation.delete_lease(samples.MISSING_LEASE_ID)
    with pytest.raises(exceptions.NotFoundException):
        reservation.delete_lease(samples.MISSING_LEASE_ID, ignore_missing=False)
    cloud.answer("GET", "/leases", 200, {"leases": [samples.lease(), samples.other_lease(name="a")]})
    with pytest.raises(exceptions.DuplicateResource):
        reservation.find_lease("a")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, exceptions.BadRequestException),
        (403, exceptions.ForbiddenException),
        (404, exceptions.NotFoundException),
        (409, exceptions.ConflictException),
        (500, exceptions.HttpException),
    ],
)
def test_exceptions_say_what_the_service_said(
    reservation: Proxy, cloud: RecordingCloud, status: int, kind: type[exceptions.HttpException]
) -> None:
    words = "Not enough hosts: 5 match, 2 are free"
    for method, path in (("GET", "/leases"), ("POST", "/leases"), ("GET", f"/leases/{samples.LEASE_ID}")):
        cloud.answer(method, path, status, samples.error(status, words))
    for call in (
        lambda: list(reservation.leases()),
        lambda: reservation.create_lease("n", duration=timedelta(hours=1)),
        lambda: reservation.get_lease(samples.LEASE_ID),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.message == words
        assert caught.value.status_code == status


def test_waiting_for_a_lease(reservation: Proxy, cloud: RecordingCloud, clock: FakeClock) -> None:
    path = f"/leases/{samples.LEASE_ID}"
    states = [(200, {"lease": samples.lease(status=status)}) for status in ("PENDING", "STARTING", "ACTIVE")]
    cloud.answer_in_turn("GET", path, *states)
    seen: list[str] = []
    lease = reservation.wait_for_lease(samples.LEASE_ID, on_look=lambda lease: seen.append(lease.status))
    assert lease.status == "ACTIVE"
    assert seen == ["PENDING", "STARTING", "ACTIVE"]
    assert clock.slept == [2, 2]


def test_waiting_in_vain(reservation: Proxy, cloud: RecordingCloud, clock: FakeClock) -> None:
    with pytest.raises(exceptions.ResourceTimeout, match="still PENDING"):
        reservation.wait_for_lease(samples.LEASE_ID, wait=5)
    assert sum(clock.slept) == 5
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(status="ERROR")})
    with pytest.raises(exceptions.ResourceFailure, match="is ERROR"):
        reservation.wait_for_lease(samples.LEASE_ID)


def test_hosts(reservation: Proxy, cloud: RecordingCloud) -> None:
    host = reservation.get_host("1")
    assert (host.vcpus, host.reservable) == (4, True)
    assert host.properties == {"gpu": "True", "n": "5"}
    assert [item.hypervisor_hostname for item in reservation.hosts()] == ["compute-0001", "compute-0000"]
    found = reservation.find_host("compute-0000")
    assert found is not None
    assert found.id == "2"
    assert reservation.create_host("h", gpu="True", name_of_rack="r1").id == "1"
    assert cloud.requests[-1].body == {"name": "h", "gpu": "True", "name_of_rack": "r1"}
    reservation.update_host(host, gpu=None)
    assert cloud.requests[-1].as_json() == ["PUT", "/os-hosts/1", [], {"gpu": None}]
    reservation.delete_host(host)
    assert cloud.requests[-1].method == "DELETE"


def test_properties(reservation: Proxy, cloud: RecordingCloud) -> None:
    found = {item.property: item.property_values for item in reservation.properties(detail=True, all=True)}
    assert found == {"gpu": ["True", "False"], "arch": ["x86_64"]}
    assert cloud.requests[-1].query == (("detail", "True"), ("all", "True"))
    assert reservation.update_property("gpu", private=True).private is True


def test_floating_ips(reservation: Proxy, cloud: RecordingCloud) -> None:
    assert [item.floating_ip_address for item in reservation.floating_ips()] == ["172.24.4.10"]
    found = reservation.find_floating_ip("172.24.4.10")
    assert found is not None
    assert reservation.get_floating_ip(found).id == samples.FLOATINGIP_ID
    assert reservation.create_floating_ip("n", "10.0.0.1").subnet_id == "s1"
    assert cloud.requests[-1].body == {"floating_network_id": "n", "floating_ip_address": "10.0.0.1"}
    reservation.delete_floating_ip(found)
    assert cloud.requests[-1].method == "DELETE"


def test_allocations(reservation: Proxy, cloud: RecordingCloud) -> None:
    found = {item.resource_id: len(item.reservations) for item in reservation.allocations(lease_id="l")}
    assert found == {"1": 2, "2": 0}
    assert cloud.requests[-1].query == (("lease_id", "l"),)
    assert reservation.get_allocation("1", reservation_id="r").reservations[0]["id"] == "r1"
    assert cloud.requests[-1].as_json() == [
        "GET",
        "/os-hosts/1/allocation",
        [["reservation_id", "r"]],
        None,
    ]


class Paging:
    """Five leases, for a service with pages of two and for one without pages."""

    rows = tuple(samples.lease(id=f"l{number}", name=f"n{number}") for number in range(5))


def test_a_service_without_pages_is_asked_once(reservation: Proxy, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/leases", 200, {"leases": Paging.rows})
    assert len(list(reservation.leases())) == 5
    assert len(list(reservation.leases(limit=2))) == 5
    assert [request.query for request in cloud.requests] == [(), (("limit", "2"),)]


def test_a_service_without_pages_never_gives_a_lease_twice(reservation: Proxy, cloud: RecordingCloud) -> None:
    # Just as many as a page: it may be the first page, so there is one more request.
    cloud.answer("GET", "/leases", 200, {"leases": Paging.rows})
    assert [lease.id for lease in reservation.leases(limit=5)] == ["l0", "l1", "l2", "l3", "l4"]
    assert len(cloud.requests) == 2


def test_pages_are_fetched_one_by_one_as_needed(reservation: Proxy, cloud: RecordingCloud) -> None:
    pages = [Paging.rows[:2], Paging.rows[2:4], Paging.rows[4:]]
    cloud.answer_in_turn("GET", "/leases", *[(200, {"leases": page}) for page in pages])
    leases = reservation.leases(limit=2)
    assert next(leases).id == "l0"
    assert len(cloud.requests) == 1
    assert [lease.id for lease in leases] == ["l1", "l2", "l3", "l4"]
    assert [dict(request.query).get("marker") for request in cloud.requests] == [None, "l1", "l3"]


def test_filters_are_left_to_the_service(reservation: Proxy, cloud: RecordingCloud) -> None:
    cloud.version = "1.1"
    cloud.answer("GET", "/leases", 200, {"leases": []})
    assert list(reservation.leases(status="ACTIVE", sort="name")) == []
    assert reservation.find_lease("a") is None
    assert reservation.find_lease(samples.LEASE_ID) is None
    assert [dict(request.query) for request in cloud.requests] == [
        {"status": "ACTIVE", "sort": "name"},
        {"name": "a"},
        {"id": samples.LEASE_ID},
        {"name": samples.LEASE_ID},
    ]
    assert cloud.requests[0].headers["openstack-api-version"] == "reservation 1.1"


def test_a_service_that_knows_no_1_1_is_asked_as_ever(reservation: Proxy, cloud: RecordingCloud) -> None:
    refused = (406, {"error": 406, "error_message": "Version 1.1 is not supported by the API."})
    cloud.answer_in_turn("GET", "/leases", refused, (200, {"leases": Paging.rows}))
    assert len(list(reservation.leases())) == 5
    assert "openstack-api-version" not in cloud.requests[-1].headers


def test_links_are_followed(reservation: Proxy, cloud: RecordingCloud) -> None:
    link = [{"rel": "next", "href": f"{cloud.endpoint}/leases?page=2"}]
    cloud.answer_in_turn(
        "GET",
        "/leases",
        (200, {"leases": Paging.rows[:3], "leases_links": link}),
        (200, {"leases": Paging.rows[3:]}),
    )
    assert [lease.id for lease in reservation.leases()] == ["l0", "l1", "l2", "l3", "l4"]
    assert cloud.requests[-1].query == (("page", "2"),)
