"""Tests of the fields of the kinds, and of lease files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blazarclient.commands.lease_file import parse_lease_file
from blazarclient.kinds.registry import installed_kinds
from blazarclient.kinds.reservations import (
    help_text,
    needed_version,
    parse_reservation,
    parse_reservation_update,
)
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs

HOST = {"resource_type": "physical:host", "min": 1, "max": 2}
INSTANCE = {"resource_type": "virtual:instance", "vcpus": 1, "memory_mb": 512, "disk_gb": 0, "amount": 2}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (
            "resource_type=physical:host,min=1,max=2",
            HOST | {"hypervisor_properties": "", "resource_properties": ""},
        ),
        (
            "resource_type=physical:host,min=1,max=2,before_end=snapshot,"
            'resource_properties=["=", "$a", "b"]',
            HOST
            | {
                "hypervisor_properties": "",
                "resource_properties": '["=", "$a", "b"]',
                "before_end": "snapshot",
            },
        ),
        (
            "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=0,amount=2",
            INSTANCE | {"affinity": "None", "resource_properties": ""},
        ),
        (
            "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=0,amount=2,affinity=false",
            INSTANCE | {"affinity": "false", "resource_properties": ""},
        ),
        (
            "resource_type=flavor:instance,flavor_id=007,amount=2",
            {"resource_type": "flavor:instance", "flavor_id": "007", "amount": 2, "affinity": "None"},
        ),
        (
            "resource_type=instance:server,server_id=web,on_end=create_image+delete",
            {
                "resource_type": "instance:server",
                "server_id": "web",
                "on_end": ["create_image", "delete"],
                "resource_properties": "",
            },
        ),
        (
            "resource_type=instance:server,server_id=web,locked=true",
            {
                "resource_type": "instance:server",
                "server_id": "web",
                "locked": True,
                "resource_properties": "",
            },
        ),
        (
            "resource_type=instance:server,server_name=web,image_id=cirros,flavor_id=7,amount=2,"
            "networks=one+two,security_groups=web,on_end=delete",
            {
                "resource_type": "instance:server",
                "server_name": "web",
                "image_id": "cirros",
                "flavor_id": "7",
                "amount": 2,
                "networks": ["one", "two"],
                "security_groups": ["web"],
                "on_end": ["delete"],
                "resource_properties": "",
            },
        ),
        (
            "resource_type=virtual:floatingip,network_id=n",
            {
                "resource_type": "virtual:floatingip",
                "network_id": "n",
                "amount": 1,
                "required_floatingips": [],
            },
        ),
        (
            "resource_type=virtual:floatingip,network_id=n,amount=2,"
            'required_floatingips=["10.0.0.1", "fe80::1"]',
            {
                "resource_type": "virtual:floatingip",
                "network_id": "n",
                "amount": 2,
                "required_floatingips": ["10.0.0.1", "fe80::1"],
            },
        ),
        (
            "resource_type=storage:volume,volume_type=fast,gigabytes=500,on_end=delete",
            {
                "resource_type": "storage:volume",
                "volume_type": "fast",
                "gigabytes": 500,
                "volumes": 1,
                "on_end": "delete",
            },
        ),
        (
            "resource_type=storage:volume,volume_type=fast,gigabytes=500,volumes=2,volume_name=data,"
            "volume_size=200,image_id=i,server_id=web,on_end=snapshot+detach",
            {
                "resource_type": "storage:volume",
                "volume_type": "fast",
                "gigabytes": 500,
                "volumes": 2,
                "on_end": "snapshot,detach",
                "volume_name": "data",
                "volume_size": 200,
                "image_id": "i",
                "server_id": "web",
            },
        ),
        (
            "resource_type=network,network_type=vlan,network_name=lab",
            {"resource_type": "network", "amount": 1, "network_type": "vlan", "network_name": "lab"},
        ),
        ("resource_type=network:port,amount=20", {"resource_type": "network:port", "amount": 20}),
        (
            "resource_type=network:port,amount=20,on_end=delete",
            {"resource_type": "network:port", "amount": 20, "on_end": "delete"},
        ),
        (
            "resource_type=quantum:link,lanes=4,name=x",
            {"resource_type": "quantum:link", "lanes": 4, "name": "x"},
        ),
    ],
)
def test_what_is_sent(given: str, sent: dict[str, Any]) -> None:
    assert parse_reservation(parse_pairs(given)) == sent


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("min=1,max=1", "resource_type is missing: one of physical:host, virtual:instance"),
        ("resource_type=physical:hots,min=1", "did you mean 'physical:host'"),
        ("resource_type=host,min=1", "unknown resource_type 'host'.*physical:host"),
        ("resource_type=physical:host,min=1,mx=1", "unknown key 'mx'.*did you mean 'max'"),
        ("resource_type=physical:host,min=1,vcpus=1", "unknown key 'vcpus' of physical:host"),
        ("resource_type=physical:host,min=1", "needs also max"),
        ("resource_type=physical:host", "needs also min, max"),
        ("resource_type=physical:host,min=0,max=1", "at least 1"),
        ("resource_type=physical:host,min=3,max=1", "max=1 is less than min=3"),
        ("resource_type=physical:host,min=one,max=1", "min=one is not a whole number"),
        ("resource_type=physical:host,min=1.5,max=2", "not a whole number"),
        ("resource_type=physical:host,min=1,max=1,before_end=mail", "one of default, snapshot, nothing"),
        ("resource_type=physical:host,min=1,max=1,resource_properties=['==', '$a', 'b']", "not JSON.*quotes"),
        ("resource_type=physical:host,min=1,max=1,resource_properties={}", "JSON list"),
        ("resource_type=virtual:instance,vcpus=1", "needs also memory_mb, disk_gb, amount"),
        (
            "resource_type=virtual:instance,vcpus=1,memory_mb=1,disk_gb=1,amount=1,affinity=maybe",
            "one of True, False",
        ),
        ("resource_type=flavor:instance,flavor_id=,amount=1", "flavor_id is empty"),
        ("resource_type=instance:server,server_id=web,on_end=burn", "on_end=burn is not possible"),
        ("resource_type=network:port", "amount"),
        ("resource_type=network:port,amount=1,on_end=burn", "on_end"),
        ("resource_type=storage:volume,volume_type=f,gigabytes=1,on_end=burn", "on_end=burn is not possible"),
        ("resource_type=storage:volume,volume_type=f,gigabytes=1,on_end=detach", "without volume_name"),
        ("resource_type=storage:volume,volume_type=f,gigabytes=1,server_id=w", "volume_name is missing"),
        ("resource_type=instance:server,server_id=web,locked=maybe", "locked=maybe is not possible"),
        ("resource_type=instance:server", "needs also server_id, or server_name, image_id, flavor_id"),
        ("resource_type=instance:server,image_id=cirros", "needs also server_name, flavor_id"),
        ("resource_type=instance:server,server_id=web,image_id=c", "leave it out, or image_id"),
        ("resource_type=instance:server,server_id=web,user_data=/no/such/file", "cannot be read"),
        (
            "resource_type=virtual:floatingip,network_id=n,required_floatingips=10.0.0.300",
            "not an IP address",
        ),
    ],
)
def test_what_is_refused_is_refused_with_help(given: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_reservation(parse_pairs(given))


def test_addresses_may_be_typed_in_any_way() -> None:
    for typed in ("10.0.0.1", "[10.0.0.1]", '["10.0.0.1"]', "10.0.0.1;", '"10.0.0.1"'):
        pairs = parse_pairs(f"resource_type=virtual:floatingip,network_id=n,required_floatingips={typed}")
        assert parse_reservation(pairs)["required_floatingips"] == ["10.0.0.1"], typed


def test_a_change_needs_an_id_and_may_name_keys_of_any_kind() -> None:
    assert parse_reservation_update(parse_pairs("id=r1,min=2,max=3")) == {"id": "r1", "min": 2, "max": 3}
    assert parse_reservation_update(parse_pairs("id=r1,amount=3,affinity=True")) == {
        "id": "r1",
        "amount": 3,
        "affinity": "True",
    }
    assert parse_reservation_update(parse_pairs("id=r1,flavor_id=007,before_end=snapshot")) == {
        "id": "r1",
        "flavor_id": "007",
        "before_end": "snapshot",
    }
    with pytest.raises(InvalidInput, match="id=RESERVATION_ID is missing"):
        parse_reservation_update(parse_pairs("min=2"))
    with pytest.raises(InvalidInput, match="did you mean 'amount'"):
        parse_reservation_update(parse_pairs("id=r1,amuont=2"))


def test_the_help_names_every_key_of_every_kind() -> None:
    for kind in installed_kinds():
        assert kind.resource_type in help_text()
        for item in kind.fields:
            assert item.name in help_text()


def test_a_file_describes_a_lease(tmp_path: Path) -> None:
    path = tmp_path / "lease.yaml"
    path.write_text(
        """
name: training
start: tomorrow 9:00
duration: 8h
reservations:
  - resource_type: physical:host
    min: 1
    max: 2
    resource_properties: ["==", "$gpu", "True"]
  - resource_type: virtual:instance
    vcpus: 1
    memory_mb: 512
    disk_gb: 0
    amount: 2
    affinity: false
"""
    )
    described = parse_lease_file(path)
    assert (described.name, described.start_date, described.duration) == ("training", "tomorrow 9:00", "8h")
    assert described.reservations[0]["resource_properties"] == '["==", "$gpu", "True"]'
    assert described.reservations[1] == INSTANCE | {"affinity": "False", "resource_properties": ""}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "is not YAML"),
        ("- a", "keys and values"),
        ("nmae: x", "did you mean 'name'"),
        ("start: now\nstart_date: now", "given twice"),
        ("reservations: many", "list of keys and values"),
        ("reservations: [{resource_type: physical:host, min: 1}]", "needs also max"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "lease.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"(?s)lease.yaml.*{reason}"):
        parse_lease_file(path)


def test_a_file_may_hold_times_that_yaml_reads_as_such(tmp_path: Path) -> None:
    path = tmp_path / "lease.yaml"
    path.write_text("start: 2030-01-31T09:00:00Z\nend: 2030-02-01\n")
    described = parse_lease_file(path)
    assert described.start_date == "2030-01-31T09:00:00+00:00"
    assert described.end_date == "2030-02-01"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.yaml: No such file"):
        parse_lease_file(tmp_path / "nowhere.yaml")


def test_user_data_are_the_contents_of_a_file(tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_bytes(b"#!/bin/sh\n")
    given = f"resource_type=instance:server,server_name=w,image_id=i,flavor_id=f,user_data={script}"
    assert parse_reservation(parse_pairs(given))["user_data"] == "IyEvYmluL3NoCg=="


def test_the_version_that_new_servers_need() -> None:
    old = {"resource_type": "instance:server", "server_id": "web"}
    new = {"resource_type": "instance:server", "image_id": "cirros"}
    assert needed_version({"reservations": [old, HOST]}) is None
    assert needed_version({"reservations": [old, new]}) == "1.20"
    assert needed_version({"reservations": [INSTANCE]}) is None
    assert needed_version({"name": "x"}) is None


def test_the_version_that_volumes_from_a_template_need() -> None:
    given = "resource_type=storage:volume,volume_type=fast,gigabytes=1"
    assert needed_version({"reservations": [parse_reservation(parse_pairs(given))]}) is None
    made = parse_reservation(parse_pairs(f"{given},volume_name=data"))
    assert needed_version({"reservations": [made]}) == "1.39"
    assert needed_version({"reservations": [{"id": "r1", "on_end": "detach"}]}) is None


def test_the_version_that_reservations_which_lend_need() -> None:
    text = "resource_type=physical:host,min=3,max=3,lend=True,keep_free=2"
    hosts = parse_reservation(parse_pairs(text))
    assert (hosts["lend"], hosts["keep_free"]) == (True, 2)
    assert needed_version({"reservations": [hosts]}) == "1.43"
    change = parse_reservation_update(parse_pairs("id=r1,lend=false"))
    assert change == {"id": "r1", "lend": False}
    assert needed_version({"reservations": [change]}) == "1.43"


def test_the_version_that_open_reservations_need() -> None:
    hosts = parse_reservation(parse_pairs("resource_type=physical:host,min=1,max=1,match=open"))
    assert hosts["match"] == "open"
    assert needed_version({"reservations": [hosts]}) == "1.29"
    change = parse_reservation_update(parse_pairs("id=r1,match=explicit"))
    assert change == {"id": "r1", "match": "explicit"}
    assert needed_version({"reservations": [change]}) == "1.29"
    assert needed_version({"reservations": [{"id": "r1", "flavor_id": "f"}]}) is None
    with pytest.raises(InvalidInput, match="match=all is not possible: one of explicit, open"):
        parse_reservation(parse_pairs("resource_type=physical:host,min=1,max=1,match=all"))
