"""Tests of the library of existing programs."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import TOKEN, RecordingCloud
from keystoneauth1 import exceptions as ksa_exceptions
from keystoneauth1 import session
from keystoneauth1.identity import v3

from blazarclient import client, exception
from blazarclient.v1.client import Client


@pytest.fixture
def keystone_session(cloud: RecordingCloud) -> session.Session:
    auth = v3.Password(
        cloud.auth_url,
        username="demo",
        password="x",
        project_name="demo",
        user_domain_name="Default",
        project_domain_name="Default",
    )
    return session.Session(auth)


@pytest.fixture
def library(keystone_session: session.Session) -> Client:
    return client.Client("1", session=keystone_session)


def last_body(cloud: RecordingCloud) -> Any:
    return cloud.requests[-1].body


@pytest.mark.parametrize("version", [1, "1", "1a0"])
def test_versions(version: Any, keystone_session: session.Session) -> None:
    assert isinstance(client.Client(version, session=keystone_session), Client)


@pytest.mark.parametrize("version", [2, "2", None, "v1", 1.0])
def test_other_versions_are_refused(version: Any) -> None:
    with pytest.raises(exception.UnsupportedVersion, match="Must be one of: 1, 1a0"):
        client.Client(version)


SIGNATURES = {
    "Client": "(version=1, service_type='reservation', *args, **kwargs)",
    "v1.Client": "(blazar_url=None, auth_token=None, session=None, **kwargs)",
    "lease.create": "(name, start, end, reservations, events, before_end=None, before_end_date=None)",
    "lease.get": "(lease_id)",
    "lease.update": "(lease_id, name=None, prolong_for=None, reduce_by=None, end_date=None, advance_by=None, "
    "defer_by=None, start_date=None, reservations=None)",
    "lease.delete": "(lease_id)",
    "lease.extend": "(lease_id, latest_end, dry_run=False)",
    "lease.list": "(sort_by=None, *, status=None, name=None, project_id=None, id=None, resource_type=None, "
    "starts_after=None, starts_before=None, ends_after=None, ends_before=None, sort=None, limit=None, "
    "priority=None, series_id=None, shared=False)",
    "lease.share": "(lease_id, project_id, right='read')",
    "lease.unshare": "(lease_id, project_id)",
    "lease.shares": "(lease_id, sort_by=None)",
    "host.create": "(name, **kwargs)",
    "host.get": "(host_id)",
    "host.update": "(host_id, values)",
    "host.delete": "(host_id)",
    "host.list": "(sort_by=None)",
    "host.list_properties": "(detail=False, all=False, sort_by=None)",
    "host.get_property": "(property_name)",
    "host.set_property": "(property_name, private)",
    "floatingip.create": "(network_id, floating_ip_address, **kwargs)",
    "floatingip.get": "(floatingip_id)",
    "floatingip.delete": "(floatingip_id)",
    "floatingip.list": "(sort_by=None)",
    "volumetype.create": "(volume_type, gigabytes, volumes)",
    "volumetype.get": "(volumetype_id)",
    "volumetype.update": "(volumetype_id, gigabytes, volumes)",
    "volumetype.delete": "(volumetype_id)",
    "volumetype.list": "(sort_by=None)",
    "networksegment.create": "(network_type, segmentation_id, last_segmentation_id=None, "
    "physical_network=None)",
    "networksegment.get": "(networksegment_id)",
    "networksegment.delete": "(networksegment_id)",
    "networksegment.list": "(sort_by=None)",
    "allocation.get": "(resource, resource_id)",
    "allocation.list": "(resource, sort_by=None)",
    "capacity.show": "(start_date=None, end_date=None, **query)",
    "usage.report": "(start_date=None, end_date=None, *, project_id=None, user_id=None, resource_type=None, "
    "group_by=None)",
    "quota.list": "()",
    "portpool.get": "()",
    "portpool.set": "(ports)",
    "portpool.unset": "()",
    "quota.get": "(project_id=None)",
    "quota.usage": "(project_id=None)",
    "quota.set": "(project_id, limits)",
    "quota.unset": "(project_id, names=())",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str, library: Client) -> None:
    noun, _, verb = name.partition(".")
    functions = {"Client": client.Client, "v1.Client": Client}
    function = functions[name] if name in functions else getattr(getattr(library, noun), verb)
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


def test_network_segments(library: Client, cloud: RecordingCloud) -> None:
    vlan = {"network_type": "vlan", "segmentation_id": 101}
    assert library.networksegment.create("vlan", 101, 120, "physnet1") == [samples.network_segment()]
    assert last_body(cloud) == {**vlan, "last_segmentation_id": 120, "physical_network": "physnet1"}
    assert library.networksegment.get(samples.SEGMENT_ID) == samples.network_segment()
    assert library.networksegment.list(sort_by="name") == [samples.network_segment()]
    assert library.networksegment.delete(samples.SEGMENT_ID) is None
    assert {each.headers["openstack-api-version"] for each in cloud.requests} == {"reservation 1.28"}


def test_port_pool(library: Client, cloud: RecordingCloud) -> None:
    assert library.portpool.set(5000) == samples.port_pool()
    assert last_body(cloud) == {"ports": 5000}
    assert library.portpool.get() == samples.port_pool()
    assert library.portpool.unset() is None
    assert {each.headers["openstack-api-version"] for each in cloud.requests} == {"reservation 1.42"}


def test_volume_types(library: Client, cloud: RecordingCloud) -> None:
    assert library.volumetype.create("fast", 10000, 200) == samples.volume_type()
    assert last_body(cloud) == {"volume_type": "fast", "gigabytes": 10000, "volumes": 200}
    assert library.volumetype.update(samples.VOLUME_TYPE_ID, 12000, 200) == samples.volume_type()
    assert last_body(cloud) == {"gigabytes": 12000, "volumes": 200}
    assert library.volumetype.get(samples.VOLUME_TYPE_ID) == samples.volume_type()
    assert library.volumetype.list(sort_by="name") == [samples.volume_type()]
    assert library.volumetype.delete(samples.VOLUME_TYPE_ID) is None
    assert {each.headers["openstack-api-version"] for each in cloud.requests} == {"reservation 1.25"}


def test_leases(library: Client, cloud: RecordingCloud) -> None:
    made = library.lease.create("n", "now", "2050-01-01 11:00", [{"resource_type": "x"}], [])
    assert made == samples.lease()
    assert last_body(cloud) == {
        "name": "n",
        "start_date": "now",
        "end_date": "2050-01-01 11:00",
        "reservations": [{"resource_type": "x"}],
        "events": [],
        "before_end_date": None,
    }
    assert library.lease.get(samples.LEASE_ID) == samples.lease()
    assert [item["name"] for item in library.lease.list(sort_by="start_date")] == ["b", "a"]
    assert library.lease.delete(samples.LEASE_ID) is None


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"name": "z"}, {"name": "z"}),
        ({"prolong_for": "90m"}, {"end_date": "2050-01-01 12:30"}),
        ({"reduce_by": "30s"}, {"end_date": "2050-01-01 10:59"}),
        (
            {"prolong_for": "2d", "advance_by": "3h"},
            {"end_date": "2050-01-03 11:00", "start_date": "2050-01-01 07:00"},
        ),
        ({"defer_by": "30m"}, {"start_date": "2050-01-01 10:30"}),
        ({"end_date": "2050-1-5 1:0"}, {"end_date": "2050-01-05 01:00"}),
        ({"end_date": "2050-01-05 10:00", "prolong_for": "1h"}, {"end_date": "2050-01-05 10:00"}),
        ({"prolong_for": "1h", "reduce_by": "1m"}, {"end_date": "2050-01-01 12:00"}),
        ({"end_date": "now"}, {"end_date": "now"}),
        ({"reservations": [{"id": "r", "min": 2}]}, {"reservations": [{"id": "r", "min": 2}]}),
    ],
)
def test_update_computes_dates(
    library: Client, cloud: RecordingCloud, arguments: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert library.lease.update(samples.LEASE_ID, **arguments) == samples.lease()
    assert last_body(cloud) == sent
    reads = [request.method for request in cloud.requests]
    assert reads == (["PUT"] if set(sent) <= {"name", "reservations"} else ["GET", "PUT"])


@pytest.mark.parametrize("arguments", [{}, {"prolong_for": ""}, {"reservations": []}, {"name": ""}])
def test_nothing_to_update(library: Client, cloud: RecordingCloud, arguments: dict[str, Any]) -> None:
    assert library.lease.update(samples.LEASE_ID, **arguments) == "No values to update passed."
    assert library.host.update("1", {}) == "No values to update passed."
    assert cloud.requests == []


@pytest.mark.parametrize("duration", ["2w", "2|", "h", "-2h"])
def test_durations_of_the_library_are_the_old_ones(library: Client, duration: str) -> None:
    with pytest.raises(exception.BlazarClientException, match="Invalid time format for option"):
        library.lease.update(samples.LEASE_ID, prolong_for=duration)


def test_hosts(library: Client, cloud: RecordingCloud) -> None:
    assert library.host.create("h", a="b", n=3) == samples.host()
    assert last_body(cloud) == {"name": "h", "a": "b", "n": 3}
    assert library.host.update(host_id="1", values={"a": "b"}) == samples.host()
    assert [item["id"] for item in library.host.list(sort_by="hypervisor_hostname")] == ["2", "1"]
    assert library.host.get("1")["gpu"] == "True"
    assert library.host.delete("1") is None


def test_properties(library: Client, cloud: RecordingCloud) -> None:
    assert library.host.list_properties()[0]["property"] == "gpu"
    assert cloud.requests[-1].query == ()
    detailed = library.host.list_properties(detail=True, all=True, sort_by="property")
    assert cloud.requests[-1].query == (("detail", "True"), ("all", "True"))
    assert detailed[0] == {"property": "arch", "private": False, "property_values": ["x86_64"]}
    assert library.host.get_property("gpu")["property_values"] == ["True", "False"]
    with pytest.raises(exception.ResourcePropertyNotFound):
        library.host.get_property("gpx")
    assert library.host.set_property("gpu", True) == samples.CHANGED_PROPERTY
    assert last_body(cloud) == {"private": True}


def test_floating_ips_and_allocations(library: Client, cloud: RecordingCloud) -> None:
    assert library.floatingip.create("n", "10.0.0.1") == samples.floatingip()
    assert last_body(cloud) == {"floating_network_id": "n", "floating_ip_address": "10.0.0.1"}
    assert library.floatingip.list(sort_by="id") == [samples.floatingip()]
    assert library.floatingip.get(samples.FLOATINGIP_ID) == samples.floatingip()
    assert library.floatingip.delete(samples.FLOATINGIP_ID) is None
    assert library.allocation.get("os-hosts", "1") == samples.allocation()
    assert [row["resource_id"] for row in library.allocation.list("os-hosts", sort_by="resource_id")] == [
        "1",
        "2",
    ]


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, samples.error(400, "Missing parameter name"), "ERROR: Missing parameter name"),
        (404, {"error": 404, "error_message": "no such page"}, "ERROR: no such page"),
        (401, {"error": {"message": "who?", "code": 401, "title": "Unauthorized"}}, "ERROR: who?"),
        (500, "<html>oops</html>", "ERROR: <html>oops</html>"),
        (409, {"foo": "bar"}, "ERROR: {'foo': 'bar'}"),
        (409, [1], "ERROR: [1]"),
        (503, None, "ERROR: "),
    ],
)
def test_errors_carry_text_and_status(
    library: Client, cloud: RecordingCloud, status: int, body: Any, text: str
) -> None:
    cloud.answer("GET", "/leases", status, body)
    with pytest.raises(exception.BlazarClientException) as caught:
        library.lease.list()
    assert str(caught.value) == text
    assert caught.value.code == caught.value.kwargs["code"] == status
    assert caught.value.kwargs["request_id"] == "req-11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("BlazarClientException", 500),
        ("CommandError", 401),
        ("NotAuthorized", 401),
        ("NoBlazarEndpoint", 404),
        ("NoUniqueMatch", 409),
        ("UnsupportedVersion", 406),
        ("IncorrectLease", 409),
        ("DuplicatedLeaseParameters", 400),
        ("InsufficientAuthInformation", 400),
        ("ResourcePropertyNotFound", 404),
    ],
)
def test_the_exceptions_that_programs_catch(name: str, code: int) -> None:
    kind = getattr(exception, name)
    assert issubclass(kind, exception.BlazarClientException)
    assert kind().code == kind.code == code
    assert str(kind("in other words")) == "in other words"
    assert str(kind())


def test_the_old_way_with_url_and_token(cloud: RecordingCloud, caplog: pytest.LogCaptureFixture) -> None:
    library = client.Client("1", blazar_url=cloud.endpoint, auth_token="known")
    assert "deprecated" in caplog.text
    assert len(library.lease.list()) == 2
    assert cloud.requests[-1].headers["x-auth-token"] == "known"
    assert library.lease.create("n", "now", "now", [], [])["id"] == samples.LEASE_ID
    with pytest.raises(exception.InsufficientAuthInformation):
        client.Client("1")


def test_the_endpoint_is_chosen_as_keystoneauth_does(
    keystone_session: session.Session, cloud: RecordingCloud
) -> None:
    for choice in (
        {"interface": "internal", "region_name": "RegionOne"},
        {"endpoint_override": cloud.endpoint + "/"},
        {"service_name": "blazar"},
    ):
        assert client.Client("1", session=keystone_session, **choice).lease.list(), choice
        assert cloud.requests[-1].headers["x-auth-token"] == TOKEN
    with pytest.raises(ksa_exceptions.EndpointNotFound):
        client.Client("1", "nope", session=keystone_session).lease.list()


def test_the_request_manager_that_horizon_reaches_for(library: Client, cloud: RecordingCloud) -> None:
    response, body = library.host.request_manager.get("/os-hosts/allocations")
    assert response.status_code == 200
    assert body["allocations"][0] == samples.allocation()
    assert library.host.request_manager.post("/os-hosts", body={"name": "h"})[1] == {"host": samples.host()}
    assert library.host.request_manager.delete("/os-hosts/1")[1] is None
    assert library.host.request_manager.request("/os-hosts", "GET")[1]["hosts"]
    cloud.answer("GET", "/os-hosts", 200, "<html>")
    assert library.host.request_manager.get("/os-hosts")[1] is None
