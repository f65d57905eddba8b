"""Commands about hosts and other resources."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, bodies


def test_hosts_are_set_and_unset(blazar: Blazar) -> None:
    assert bodies(blazar, "host-create h --extra gpu=True --extra 'a=b=c, \"d\"'") == [
        {"name": "h", "gpu": "True", "a": 'b=c, "d"'}
    ]
    assert bodies(blazar, "host-update compute-0001 --extra a=") == [{"a": ""}]
    assert bodies(blazar, "host-unset 1 --extra gpu") == [{"gpu": None}]
    for line in ("host-update 1", "host-unset 1", "host-update 1 --extra gpu", "host-create h --extra id=3"):
        assert blazar(line).code == 2, line


def test_properties(blazar: Blazar, cloud: RecordingCloud) -> None:
    assert blazar("host-property-list --detail --all -f value").out == (
        "arch False ['x86_64']\ngpu False ['True', 'False']\n"
    )
    assert blazar("host-property-show gpu -f value -c property_values").out == "True\nFalse\n"
    assert json.loads(blazar("host-property-show gpu -f json").out)["property_values"] == ["True", "False"]
    assert "Did you mean 'gpu'" in blazar("host-property-show gpus").err
    assert bodies(blazar, "host-property-set gpu --private") == [{"private": True}]
    assert bodies(blazar, "host-property-set gpu --public") == [{"private": False}]
    assert blazar("host-property-set gpu").code == 2


def test_allocations_are_narrowed_here(blazar: Blazar) -> None:
    listed = json.loads(blazar(f"allocation-list host -f json --lease-id {samples.LEASE_ID}").out)
    assert [[item["id"] for item in row["reservations"]] for row in listed] == [["r1"], []]
    ran = blazar("allocation-show host compute-0001 --reservation-id r2 -f json")
    assert json.loads(json.loads(ran.out)["reservations"])["id"] == "r2"
    assert all(request.query == () for request in ran.requests)


def test_floating_ips_go_by_address_too(blazar: Blazar) -> None:
    assert bodies(blazar, "floatingip-create n1 172.24.4.10") == [
        {"floating_network_id": "n1", "floating_ip_address": "172.24.4.10"}
    ]
    assert blazar("floatingip-show 172.24.4.10 -f value -c id").out == f"{samples.FLOATINGIP_ID}\n"
    assert blazar("floatingip-delete 172.24.4.10").out == "Deleted floatingip: 172.24.4.10\n"


def test_volume_types_go_by_name_too(blazar: Blazar) -> None:
    assert bodies(blazar, "volumetype-create fast 10000 200") == [
        {"volume_type": "fast", "gigabytes": 10000, "volumes": 200}
    ]
    assert bodies(blazar, "volumetype-set fast --volumes 300") == [{"gigabytes": 10000, "volumes": 300}]
    assert bodies(blazar, "volumetype-set fast --gigabytes 1") == [{"gigabytes": 1, "volumes": 200}]
    assert blazar("volumetype-show fast -f value -c id").out == f"{samples.VOLUME_TYPE_ID}\n"
    assert blazar("volumetype-list -f value -c name -c gigabytes").out == "fast 10000\n"
    assert blazar("volumetype-delete fast").out == "Deleted volumetype: fast\n"


def test_network_segments_go_by_name_too(blazar: Blazar) -> None:
    vlan = {"network_type": "vlan", "segmentation_id": 101}
    assert bodies(blazar, "networksegment-create vlan 101 120 --physical-network physnet1") == [
        {**vlan, "last_segmentation_id": 120, "physical_network": "physnet1"}
    ]
    assert bodies(blazar, "networksegment-create vxlan 7") == [
        {"network_type": "vxlan", "segmentation_id": 7}
    ]
    name = samples.network_segment()["name"]
    assert blazar(f"networksegment-show '{name}' -f value -c id").out == f"{samples.SEGMENT_ID}\n"
    assert blazar("networksegment-list -f value -c name").out == f"{name}\n"
    assert blazar(f"networksegment-delete '{name}'").out == f"Deleted networksegment: {name}\n"


def test_the_number_of_ports_is_set_and_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    assert bodies(blazar, "portpool-set 5000") == [{"ports": 5000}]
    assert blazar("portpool-show -f value -c ports").out == "5000\n"
    assert blazar("portpool-unset").out == "Updated portpool: no ports can be reserved\n"
    assert cloud.requests[-1].method == "DELETE"


def test_what_can_be_done_where_there_are_too_few_ports(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/leases", 409, samples.error(409, "Not enough ports available: none."))
    ran = blazar("lease-create x --reservation resource_type=network:port,amount=9")
    assert "See how many there are with `openstack reservation portpool show`." in ran.err


def test_what_can_be_done_where_there_are_too_few_segments(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/leases", 409, samples.error(409, "Not enough network segments available: none."))
    ran = blazar("lease-create x --reservation resource_type=network")
    assert "See the segments with `openstack reservation networksegment list`." in ran.err


def test_what_can_be_done_where_a_volume_type_is_unknown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/leases", 400, samples.error(400, "Failed to find volume type nope"))
    wish = "resource_type=storage:volume,volume_type=nope,gigabytes=1"
    ran = blazar(f"lease-create x --duration 1h --reservation {wish}")
    assert "See the volume types with `openstack volume type list`." in ran.err


def test_a_service_without_floating_ips_says_so(blazar: Blazar, cloud: RecordingCloud) -> None:
    del cloud.answers["GET", "/floatingips"]
    ran = blazar("floatingip-list")
    assert ran.code == 1
    assert "ERROR: The requested URL was not found" in ran.err
    assert "The service here may not offer resources of this kind" in ran.err


HOST_SHOWN = samples.host(available_from="2030-01-08T12:00:00.000000", available_until=None)


def lasting(cloud: RecordingCloud) -> list[tuple[str, str, Any]]:
    """Return what was asked since 1.15."""
    return [
        (each.method, each.path, each.body)
        for each in cloud.requests
        if each.headers.get("openstack-api-version") == "reservation 1.15"
    ]


def test_a_host_is_registered_from_a_date_on(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/os-hosts", 201, {"host": HOST_SHOWN})
    ran = blazar(
        "host-create compute-1 --available-from 'tomorrow 12:00' --extra rack=r1 -f value -c available_from"
    )
    assert ran.out == "Created a new host:\n2030-01-08T12:00:00.000000\n"
    assert lasting(cloud) == [
        ("POST", "/os-hosts", {"name": "compute-1", "available_from": "2030-01-08 12:00", "rack": "r1"})
    ]


@pytest.mark.parametrize(
    ("options", "dates"),
    [
        ("--available-from 'tomorrow 12:00'", {"available_from": "2030-01-08 12:00"}),
        ("--available-from now --available-until never", {"available_from": None, "available_until": None}),
        (
            "--available-until 'tomorrow 14:00' --force",
            {"available_until": "2030-01-08 14:00", "force": True},
        ),
    ],
)
def test_the_time_of_a_host_is_changed(
    blazar: Blazar, cloud: RecordingCloud, options: str, dates: dict[str, Any]
) -> None:
    cloud.answer("PUT", "/os-hosts/1", 200, {"host": HOST_SHOWN, "impact": samples.IMPACT})
    ran = blazar(f"host-update 1 {options}")
    assert ran.out.startswith("Updated host: 1 (leases that move: ")
    assert lasting(cloud) == [("PUT", "/os-hosts/1", {"force": False, **dates})]


@pytest.mark.parametrize(("option", "value"), [("--buffer", True), ("--no-buffer", False)])
def test_a_host_is_kept_as_a_buffer(blazar: Blazar, cloud: RecordingCloud, option: str, value: bool) -> None:
    cloud.answer("PUT", "/os-hosts/1", 200, {"host": {**HOST_SHOWN, "buffer": value}})
    assert blazar(f"host-update 1 {option}").out == "Updated host: 1\n"
    assert lasting(cloud) == [("PUT", "/os-hosts/1", {"buffer": value})]


def test_a_dry_run_changes_no_host(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("PUT", "/os-hosts/1", 200, {"impact": samples.IMPACT})
    ran = blazar("host-update 1 --available-until 'tomorrow 12:00' --dry-run")
    assert ran.out.startswith("Nothing is changed: leases that move: ")
    body = {"available_until": "2030-01-08 12:00", "force": False, "dry_run": True}
    assert lasting(cloud) == [("PUT", "/os-hosts/1", body)]


def test_a_refused_time_of_a_host_names_what_would_break(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer(
        "PUT", "/os-hosts/1", 409, {**samples.error(409, "Leases would break."), "impact": samples.IMPACT}
    )
    ran = blazar("host-update 1 --available-until 'tomorrow 12:00'")
    assert ran.code == 1
    assert ran.err.startswith("breaks: ")


def test_the_region_of_a_host_is_sent_and_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    shown = samples.host(region="RegionTwo")
    cloud.answer("POST", "/os-hosts", 201, {"host": shown})
    cloud.answer("GET", "/os-hosts", 200, {"hosts": [shown]})
    ran = blazar("host-create compute-1 --region RegionTwo --extra rack=r1 -f value -c region")
    assert ran.out == "Created a new host:\nRegionTwo\n"
    assert blazar("host-list --regions -f value -c region").out == "RegionTwo\n"
    asked = [r for r in cloud.requests if r.headers.get("openstack-api-version") == "reservation 1.26"]
    assert [(each.method, each.body) for each in asked] == [
        ("POST", {"name": "compute-1", "rack": "r1", "region": "RegionTwo"}),
        ("GET", None),
    ]


def test_the_times_of_hosts_are_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/os-hosts", 200, {"hosts": [HOST_SHOWN]})
    cloud.answer("GET", "/os-hosts/1", 200, {"host": HOST_SHOWN})
    assert blazar("host-list --available -f value -c available_from -c available_until").out == (
        "2030-01-08T12:00:00.000000 \n"
    )
    assert blazar("host-show 1 --available -f value -c available_from").out == "2030-01-08T12:00:00.000000\n"
    assert [path for _, path, _ in lasting(cloud)] == ["/os-hosts", "/os-hosts/1"]


@pytest.mark.parametrize(
    "options",
    [
        "--extra a=b --available-from now",
        "--extra a=b --force",
        "--dry-run",
        "--buffer --extra a=b",
        "--buffer --force",
    ],
)
def test_what_does_not_go_together_at_a_host_is_not_sent(
    blazar: Blazar, cloud: RecordingCloud, options: str
) -> None:
    assert blazar(f"host-update 1 {options}").code == 2
    assert not cloud.requests
