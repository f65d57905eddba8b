"""Tests of stories on the real service with both clients, one after the other."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass

import pytest
from clientkit.output import normalize, relevant_lines
from clientkit.service import Service
from conftest import Program, Ran

HOST = "resource_type=physical:host,min=1,max=1"
LEASE = "openstack reservation lease"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WAIT_SECONDS = 60


@dataclass(frozen=True)
class Step:
    """One command as one user, run until it prints `until`. `keep` names the last id of its output, for later
    steps."""

    cloud: str
    line: str
    keep: str = ""
    until: str = ""


def demo(line: str, keep: str = "", until: str = "") -> Step:
    return Step("sandbox-demo", line, keep, until)


def admin(line: str, keep: str = "") -> Step:
    return Step("sandbox-admin", line, keep)


STORIES = {
    "a lease from creation to deletion": [
        demo(
            f"{LEASE} create story --reservation {HOST} "
            "--start-date '2040-01-01 10:00' --end-date '2040-01-01 12:00'"
        ),
        demo(f"{LEASE} show story -f value -c id", keep="lease"),
        demo(f"{LEASE} show story"),
        demo(f"{LEASE} show {{lease}} -f json"),
        demo(f"{LEASE} list"),
        demo(f"{LEASE} set story --prolong-for 1h"),
        demo(f"{LEASE} set story --defer-by 30m --end-date '2040-01-01 14:00'"),
        demo(f"{LEASE} set story --name renamed"),
        demo(f"{LEASE} show renamed -f value -c start_date -c end_date -c name -c status"),
        admin("openstack reservation allocation list host --lease-id {lease} -f json"),
        demo(f"{LEASE} delete renamed"),
        demo(f"{LEASE} show renamed"),
        demo(f"{LEASE} show {{lease}}"),
    ],
    "a lease that starts at once, by the standalone command": [
        demo(
            "blazar lease-create --physical-reservation min=1,max=2,before_end=default at-once -f value -c id"
        ),
        demo("blazar lease-list -f value -c name"),
        demo("blazar lease-show at-once -f value -c status", until="ACTIVE"),
        demo("blazar lease-update at-once --reduce-by 1h"),
        demo("blazar lease-delete at-once"),
        demo("blazar lease-list"),
    ],
    "requirements": [
        demo(
            f"{LEASE} create picky --reservation 'resource_type=physical:host,min=1,max=1,"
            'hypervisor_properties=[">=", "$vcpus", "16"],resource_properties=["==", "$ssd", "True"]\' '
            "--start-date '2040-02-01 10:00' --end-date '2040-02-01 12:00' -f json"
        ),
        demo(f"{LEASE} show picky -f json"),
        demo(f"{LEASE} delete picky"),
    ],
    "servers of a size and of a flavor": [
        demo(
            f"{LEASE} create slots --reservation resource_type=virtual:instance,vcpus=2,memory_mb=2048,"
            "disk_gb=10,amount=2,affinity=False "
            "--reservation resource_type=flavor:instance,flavor_id=1,amount=1 "
            "--start-date '2040-03-01 10:00' --end-date '2040-03-01 12:00' -f json"
        ),
        demo(f"{LEASE} show slots -f json"),
        demo(f"{LEASE} show slots"),
        demo(f"{LEASE} delete slots"),
    ],
    "floating IPs": [
        admin("openstack network show public -f value -c id", keep="network"),
        admin("openstack reservation floatingip list --sort-by floating_ip_address"),
        admin("openstack reservation floatingip create {network} 203.0.113.120 -f json"),
        admin("openstack reservation floatingip create {network} 203.0.113.50"),
        admin(
            "openstack reservation floatingip list --sort-by floating_ip_address -f value -c id",
            keep="address",
        ),
        admin("openstack reservation floatingip show {address}"),
        demo(
            f"{LEASE} create public --reservation resource_type=virtual:floatingip,network_id={{network}},"
            "amount=2,required_floatingips='[\"203.0.113.120\"]' "
            "--start-date '2040-03-01 10:00' --end-date '2040-03-01 12:00' -f json"
        ),
        demo(f"{LEASE} show public"),
        admin("openstack reservation floatingip delete {address}"),
        demo(f"{LEASE} delete public"),
        admin("openstack reservation floatingip delete {address}"),
        admin("openstack reservation floatingip show {address}"),
    ],
    "refusals": [
        demo(f"{LEASE} create x --reservation resource_type=physical:host,min=99,max=99"),
        demo(
            f"{LEASE} create x --reservation {HOST} "
            "--start-date '2020-01-01 10:00' --end-date '2040-01-01 10:00'"
        ),
        demo(f"{LEASE} delete nothing"),
        demo(f"{LEASE} show 951ec3b5-33a7-49a3-90fa-ebbb92c7439c"),
        demo("openstack reservation host list"),
        demo("openstack reservation allocation list host"),
        admin("openstack reservation host show 9999"),
        admin("openstack reservation host create no-such-host"),
        admin("openstack reservation host property show nothing"),
    ],
    "hosts and their properties": [
        admin("openstack reservation host list"),
        admin("openstack reservation host show compute-01"),
        admin("openstack reservation host create compute-08 --extra colour=red --extra n=5"),
        admin("openstack reservation host set compute-08 --extra colour='dark \"red\", x=1'"),
        admin("openstack reservation host show compute-08 -f json"),
        admin("openstack reservation host property list --detail -f json"),
        admin("openstack reservation host property set colour --private"),
        admin("openstack reservation host property list"),
        admin("openstack reservation host property list --all"),
        admin("openstack reservation host property set colour --public"),
        admin("openstack reservation host delete compute-08"),
        admin("openstack reservation host list -f csv"),
        admin("openstack reservation allocation list host"),
        admin("openstack reservation allocation show host compute-01"),
    ],
}


def run_story(story: list[Step], program: Program, service: Service) -> list[tuple[str, Ran]]:
    kept: dict[str, str] = {}
    ran = []
    for step in story:
        words, variables = shlex.split(step.line.format(**kept)), service.environment(step.cloud)
        result = program(words, variables)
        deadline = time.monotonic() + WAIT_SECONDS
        while step.until not in result.out and time.monotonic() < deadline:
            time.sleep(0.1)
            result = program(words, variables)
        assert step.until in result.out, f"{step.line}: {result}"
        if step.keep:
            kept[step.keep] = _ID.findall(result.out)[-1]
        ran.append((step.line, result))
    return ran


@pytest.mark.parametrize("story", STORIES)
def test_the_same_story(story: str, old: Program, new: Program, service: Service) -> None:
    steps = zip(run_story(STORIES[story], old, service), run_story(STORIES[story], new, service), strict=True)
    for (line, expected), (_, got) in steps:
        assert normalize(got.out) == normalize(expected.out), f"{line}: {got.err or expected.err}"
        assert got.code == expected.code, line
        if expected.code:
            assert normalize(relevant_lines(got.err)[0]) == normalize(relevant_lines(expected.err)[0]), line
