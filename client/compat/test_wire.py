"""Tests that each command has the requests and the output of client 4.6.

Both clients talk to a recording cloud that answers as the API's documentation says.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from clientkit.output import normalize, relevant_lines
from clientkit.recorder import RecordingCloud
from clientkit.samples import FLOATINGIP_ID, LEASE_ID, MISSING_LEASE_ID
from conftest import Program
from lists import as_of_1_0

PLUGIN = "openstack reservation"
HOST = "--reservation resource_type=physical:host,min=1,max=1"
SAME = [
    f"{PLUGIN} lease list",
    f"{PLUGIN} lease list -f json",
    f"{PLUGIN} lease list -c status -c id",
    f"{PLUGIN} lease list -c nope -c id -f json",
    f"{PLUGIN} lease list --sort-by start_date -f csv",
    f"{PLUGIN} lease list --sort-column name --sort-descending -f value",
    f"{PLUGIN} lease show a",
    f"{PLUGIN} lease show a -f json",
    f"{PLUGIN} lease show a -f yaml",
    f"{PLUGIN} lease show a -f shell",
    f"{PLUGIN} lease show {LEASE_ID} -f value -c id",
    f"{PLUGIN} lease show nope",
    f"{PLUGIN} lease show {MISSING_LEASE_ID}",
    f"{PLUGIN} lease create x {HOST}",
    f"{PLUGIN} lease create x {HOST} -f json",
    f"{PLUGIN} lease create x {HOST} --start-date '2050-1-1 1:0' --end-date '2050-01-02 10:00'"
    " --before-end-date '2050-01-01 22:00' -f value -c id",
    f"{PLUGIN} lease create x {HOST} --event event_type=notification,event_date='2050-01-01 10:00'"
    " -f value -c id",
    f"{PLUGIN} lease create x --reservation resource_type=virtual:instance,vcpus=1,memory_mb=1024,disk_gb=20,"
    'amount=1,affinity=False,resource_properties=\'["==","$gpu","True"]\' -f value -c id',
    f"{PLUGIN} lease create x --reservation 'resource_type=physical:host,min=1,max=2,"
    'hypervisor_properties=[">=", "$vcpus", "2"],resource_properties=["==", "$a", "x,y=z"]\' -f value -c id',
    f"{PLUGIN} lease create x --reservation resource_type=physical:host,min=1,max=2,before_end=snapshot"
    " -f value -c id",
    f"{PLUGIN} lease create x --reservation resource_type=flavor:instance,flavor_id=m1.small,amount=2"
    " -f value -c id",
    f"{PLUGIN} lease create x --reservation 'resource_type=virtual:floatingip,network_id=abc,amount=2,"
    'required_floatingips=["172.24.4.10","172.24.4.11"]\' -f value -c id',
    f"{PLUGIN} lease create x --reservation resource_type=virtual:floatingip,network_id=abc {HOST}"
    " -f value -c id",
    f"{PLUGIN} lease delete a",
    f"{PLUGIN} lease set a --name n",
    f"{PLUGIN} lease set a --prolong-for 1h --defer-by 30m",
    f"{PLUGIN} lease set a --reduce-by 30s --advance-by 1d",
    f"{PLUGIN} lease set a --end-date '2050-01-02 10:00' --start-date '2050-1-1 9:0'",
    f"{PLUGIN} lease set a --reservation id=feb5,min=2,max=3",
    f"{PLUGIN} lease set a --name z --prolong-for 2h --reservation id=feb5,amount=3,affinity=True,"
    'resource_properties=\'["==","$a","b"]\' --reservation id=feb6,required_floatingips=\'["10.0.0.1"]\'',
    f"{PLUGIN} lease set a",
    f"{PLUGIN} lease set a --prolong-for 1h --reduce-by 1h",
    f"{PLUGIN} host list",
    f"{PLUGIN} host list -c id -c gpu",
    f"{PLUGIN} host list --sort-by memory_mb -f csv",
    f"{PLUGIN} host show compute-0001",
    f"{PLUGIN} host set 1 --extra gpu=True --extra a=b=c",
    f"{PLUGIN} host create compute-0001 --extra gpu=True --extra n=5",
    f"{PLUGIN} host create compute-0001 -f value -c id",
    f"{PLUGIN} host delete compute-0001",
    f"{PLUGIN} host property list --detail",
    f"{PLUGIN} host property list --detail --all -f json",
    f"{PLUGIN} host property list --detail -f csv",
    f"{PLUGIN} host property show gpu",
    f"{PLUGIN} host property show gpu -f json",
    f"{PLUGIN} host property show gpx",
    f"{PLUGIN} host property set gpu --private",
    f"{PLUGIN} host property set gpu --public",
    f"{PLUGIN} allocation list host",
    f"{PLUGIN} allocation list host -f json",
    f"{PLUGIN} allocation list host --lease-id {LEASE_ID}",
    f"{PLUGIN} allocation list host --reservation-id r2 -f json",
    f"{PLUGIN} allocation show host compute-0001",
    f"{PLUGIN} allocation show host 1 --lease-id {LEASE_ID} -f json",
    f"{PLUGIN} floatingip list",
    f"{PLUGIN} floatingip create n1 172.24.4.10",
    f"{PLUGIN} floatingip show {FLOATINGIP_ID}",
    f"{PLUGIN} floatingip delete {FLOATINGIP_ID}",
    "blazar lease-list -c name -c status",
    "blazar lease-show a",
    'blazar lease-create --physical-reservation min=1,max=2,hypervisor_properties=\'[">=", "$vcpus", "2"]\','
    "resource_properties='',before_end=snapshot "
    "--reservation resource_type=virtual:floatingip,network_id=x x",
    "blazar lease-update a --prolong_for 1h",
    "blazar lease-delete a",
    "blazar host-list -f json",
    "blazar host-show 1",
    "blazar host-create h --extra gpu=True",
    "blazar host-update 1 --extra gpu=False",
    "blazar host-unset 1 --extra gpu",
    "blazar host-delete 1",
    "blazar host-property-list --detail",
    "blazar host-property-show gpu",
    "blazar host-property-set gpu --private",
    "blazar allocation-list host",
    "blazar allocation-show host 1",
    "blazar floatingip-list",
    f"blazar floatingip-show {FLOATINGIP_ID}",
    "blazar floatingip-create n1 172.24.4.10",
    f"blazar floatingip-delete {FLOATINGIP_ID}",
]
# Times of requests vary, because the default end follows the clock.
_MOMENT = re.compile(r"^2\d{3}-\d\d-\d\d \d\d:\d\d$")


def recorded_requests(cloud: RecordingCloud) -> list[Any]:
    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(item) for key, item in value.items()}
        return "some minute" if isinstance(value, str) and _MOMENT.match(value) and value < "2050" else value

    seen = [[*item.as_json()[:3], timeless(item.body), item.headers] for item in cloud.requests]
    cloud.requests.clear()
    return seen


@pytest.mark.parametrize("line", SAME)
def test_same_command_same_requests_same_output(
    line: str, old: Program, new: Program, recorder: RecordingCloud, recorder_variables: dict[str, str]
) -> None:
    recorder.requests.clear()
    expected = old(shlex.split(line), recorder_variables)
    expected_requests = recorded_requests(recorder)
    got = new(shlex.split(line), recorder_variables)
    assert as_of_1_0(recorded_requests(recorder)) == expected_requests
    assert normalize(got.out) == normalize(expected.out)
    assert got.code == expected.code
    if expected.code == 1:  # ours may add what to do about it; a usage text names our options too
        assert relevant_lines(got.err)[0] == relevant_lines(expected.err)[0]
