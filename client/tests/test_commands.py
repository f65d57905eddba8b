"""Tests of the commands: their requests, output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, FakeClock

HOST = "--reservation resource_type=physical:host,min=1,max=1"
CREATED = f"Created a new lease:\n{samples.LEASE_ID}\n"


def bodies(blazar: Blazar, line: str) -> list[Any]:
    """Return the bodies of the requests that change something."""
    ran = blazar(line)
    assert ran.code == 0, ran.err
    return [request.body for request in ran.requests if request.method != "GET"]


def test_only_the_real_requests_are_sent(blazar: Blazar) -> None:
    ran = blazar("lease-show a -f value -c status")
    assert [(request.method, request.path) for request in ran.requests] == [
        ("GET", "/leases"),
        ("GET", f"/leases/{samples.LEASE_ID}"),
    ]
    headers = ran.requests[1].headers
    assert ran.requests[0].headers == headers | {"openstack-api-version": "reservation 1.1"}
    assert headers["accept"] == "application/json"
    assert headers["user-agent"] == "python-blazarclient"
    assert "openstack-api-version" not in headers


def test_an_id_is_not_looked_up(blazar: Blazar) -> None:
    assert len(blazar(f"lease-show {samples.LEASE_ID}").requests) == 1
    assert len(blazar("host-show 1").requests) == 1
    assert len(blazar(f"floatingip-show {samples.FLOATINGIP_ID}").requests) == 1


def test_create_sends_all_six_keys(blazar: Blazar) -> None:
    assert bodies(blazar, f"lease-create {HOST} x") == [
        {
            "name": "x",
            "start_date": "now",
            "end_date": "2030-01-08 08:30",
            "before_end_date": None,
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": 1,
                    "max": 1,
                    "hypervisor_properties": "",
                    "resource_properties": "",
                }
            ],
            "events": [],
        }
    ]


@pytest.mark.parametrize(
    ("options", "start", "end", "before_end"),
    [
        ("", "now", "2030-01-08 08:30", None),
        ("--duration 4h", "now", "2030-01-07 12:30", None),
        ("--start-date 'tomorrow 9:00'", "2030-01-08 09:00", "2030-01-09 09:00", None),
        ("--start-date 'tomorrow 9:00' --duration 90m", "2030-01-08 09:00", "2030-01-08 10:30", None),
        ("--start-date '2050-1-1 1:0' --end-date 2050-01-02", "2050-01-01 01:00", "2050-01-02 00:00", None),
        ("--start-date now --end-date 'friday 17:00'", "now", "2030-01-11 17:00", None),
        ("--end-date 2030-01-08T10:00+01:00", "now", "2030-01-08 09:00", None),
        (
            "--end-date '2030-01-08 10:00' --before-end-date '2030-01-08 9:00'",
            "now",
            "2030-01-08 10:00",
            "2030-01-08 09:00",
        ),
        (
            "--start-date 'tomorrow 9:00' --duration 1h --time-zone Europe/Berlin",
            "2030-01-08 08:00",
            "2030-01-08 09:00",
            None,
        ),
    ],
)
def test_times_of_a_new_lease(
    blazar: Blazar, options: str, start: str, end: str, before_end: str | None
) -> None:
    (body,) = bodies(blazar, f"lease-create x {HOST} {options}")
    assert (body["start_date"], body["end_date"], body["before_end_date"]) == (start, end, before_end)


def test_reservations_keep_their_order_physical_ones_first(blazar: Blazar) -> None:
    (body,) = bodies(
        blazar,
        "lease-create x --reservation resource_type=virtual:floatingip,network_id=n "
        "--physical-reservation min=1,max=2 --reservation resource_type=flavor:instance,flavor_id=f,amount=1",
    )
    assert [item["resource_type"] for item in body["reservations"]] == [
        "physical:host",
        "virtual:floatingip",
        "flavor:instance",
    ]


def test_a_requirement_with_quotes_commas_and_equal_signs_arrives_letter_by_letter(blazar: Blazar) -> None:
    requirement = '["and", ["==", "$a", "x,min=3"], ["!=", "$b", "it is \\"so\\""]]'
    argument = f"resource_type=physical:host,min=1,max=1,resource_properties={requirement}"
    import shlex

    (body,) = bodies(blazar, f"lease-create x --reservation {shlex.quote(argument)}")
    assert body["reservations"][0]["resource_properties"] == requirement
    assert json.loads(requirement)[2][2] == 'it is "so"'


def test_a_file_describes_a_lease_and_options_go_before_it(blazar: Blazar, tmp_path: Path) -> None:
    path = tmp_path / "lease.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "from file",
                "start": "tomorrow 9:00",
                "duration": "2h",
                "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1}],
            }
        )
    )
    (body,) = bodies(blazar, f"lease-create -F {path}")
    assert (body["name"], body["start_date"], body["end_date"]) == (
        "from file",
        "2030-01-08 09:00",
        "2030-01-08 11:00",
    )
    assert bodies(blazar, f"lease-create -f {path} -f value -c id") == [body]
    (body,) = bodies(blazar, f"lease-create other --file {path} --duration 1d {HOST}")
    assert (body["name"], body["end_date"], len(body["reservations"])) == ("other", "2030-01-09 09:00", 2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("x", "would reserve nothing"),
        (HOST, "no name"),
        (f"x {HOST} --start-date someday", "not a time"),
        (f"x {HOST} --duration long", "not a duration"),
        (f"x {HOST} --end-date '2030-01-07 08:00'", "is not after the start"),
        (f"x {HOST} --before-end-date '2031-01-01 09:00'", "is not between start and end"),
        (f"x {HOST} --event foo=bar", "unknown key 'foo'"),
        (f"x {HOST} --event event_type=notification", "needs also event_date"),
        (f"x {HOST} --time-zone Mars", "unknown time zone"),
        ("x --reservation resource_type=physical:host,min=1,mxa=1", "did you mean 'max'"),
        ("x -F nowhere.yaml", "nowhere.yaml: No such file"),
        ("x -f nowhere.yml", "nowhere.yml: No such file"),
        (
            "x -f yamml",
            "'yamml' is neither an output format (json, shell, table, value, yaml) nor a lease.yaml",
        ),
        (f"x {HOST} --duration 1h --end-date now", "not allowed with argument"),
    ],
)
def test_what_cannot_be_meant_ends_with_2_before_anything_is_sent(
    blazar: Blazar, options: str, reason: str
) -> None:
    ran = blazar(f"lease-create {options}")
    assert ran.code == 2
    assert reason in ran.err
    assert ran.requests == []
    assert ran.out == ""


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ("--name n", {"name": "n"}),
        ("--prolong-for 1h", {"end_date": "2050-01-01 12:00"}),
        ("--prolong_for 1h", {"end_date": "2050-01-01 12:00"}),
        ("--prolong-for 1h30m", {"end_date": "2050-01-01 12:30"}),
        ("--reduce-by 30s", {"end_date": "2050-01-01 10:59"}),
        ("--end-date '2050-1-2 1:0'", {"end_date": "2050-01-02 01:00"}),
        ("--end-date now", {"end_date": "now"}),
        (
            "--defer-by 30m --prolong-for 1h",
            {"start_date": "2050-01-01 10:30", "end_date": "2050-01-01 12:00"},
        ),
        ("--advance-by 1d", {"start_date": "2049-12-31 10:00"}),
        ("--start-date 'tomorrow 9:00'", {"start_date": "2030-01-08 09:00"}),
        ("--reservation id=r1,min=2,max=3", {"reservations": [{"id": "r1", "min": 2, "max": 3}]}),
    ],
)
def test_changes_of_a_lease(blazar: Blazar, options: str, changes: dict[str, Any]) -> None:
    assert bodies(blazar, f"lease-update a {options}") == [changes]


def test_nothing_to_change_is_said_and_nothing_is_sent(blazar: Blazar) -> None:
    ran = blazar("lease-update a")
    assert (ran.code, ran.out) == (0, "Updated lease: a\n")
    assert "Nothing to change" in ran.err
    assert [request.method for request in ran.requests] == ["GET"]


def test_extend_tells_the_new_end(blazar: Blazar, cloud: RecordingCloud) -> None:
    longer = samples.lease(end_date="2050-01-01T13:00:00.000000")
    cloud.answer("PUT", f"/leases/{samples.LEASE_ID}", 200, {"lease": longer})
    ran = blazar("lease-extend a 2h")
    assert ran.requests[-1].body == {"end_date": "2050-01-01 13:00"}
    assert ran.out.startswith("Extended lease: a, now until 2050-01-01 13:00 UTC, ")
    ran = blazar("lease-extend a --until '2050-01-01 14:00' --time-zone Europe/Berlin")
    assert ran.requests[-1].body == {"end_date": "2050-01-01 13:00"}
    assert "now until 2050-01-01 14:00 CET" in ran.out


def test_extend_never_shortens(blazar: Blazar) -> None:
    ran = blazar("lease-extend a --until '2050-01-01 10:30'")
    assert ran.code == 2
    assert "already lasts until 2050-01-01 11:00 UTC" in ran.err
    assert all(request.method == "GET" for request in ran.requests)


def test_create_waits_and_shows_the_lease_as_it_became(
    blazar: Blazar, cloud: RecordingCloud, clock: FakeClock
) -> None:
    starting = {"start_date": "2030-01-07T08:31:00.000000", "end_date": "2030-01-08T08:30:00.000000"}
    cloud.answer_in_turn(
        "GET",
        f"/leases/{samples.LEASE_ID}",
        (200, {"lease": samples.lease(**starting)}),
        (200, {"lease": samples.lease(**starting)}),
        (200, {"lease": samples.lease(**starting, status="STARTING")}),
        (200, {"lease": samples.lease(**starting, status="ACTIVE")}),
    )
    ran = blazar(f"lease-create a {HOST} --wait -c status -f value")
    assert (ran.code, ran.out) == (0, "Created a new lease:\nACTIVE\n")
    assert ran.err.splitlines() == [
        "Lease a is PENDING, waiting for ACTIVE: starts in 40s",
        "Lease a is STARTING, waiting for ACTIVE: starts in 36s",
        "Lease a is ACTIVE",
    ]
    assert clock.slept == [4.0, 3.6]


def test_waiting_in_vain_ends_with_3_and_shows_the_lease(blazar: Blazar, cloud: RecordingCloud) -> None:
    failed = samples.lease(status="ERROR", status_reason="host compute-0001 is gone")
    failed["reservations"][0] |= {"status": "error", "status_reason": "host compute-0001 is gone"}
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": failed})
    ran = blazar(f"lease-create a {HOST} --wait -c status -f value")
    assert (ran.code, ran.out) == (3, "Created a new lease:\nERROR\n")
    assert "will not be ACTIVE (host compute-0001 is gone). Delete it" in ran.err


@pytest.mark.parametrize("line", [f"lease-create a {HOST} --wait", "lease-wait a"])
@pytest.mark.parametrize("terminal", [False, True])
def test_an_interrupted_wait_tells_that_the_lease_goes_on(
    blazar: Blazar, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, line: str, terminal: bool
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupt)
    ran = blazar(line, terminal=terminal)
    assert ran.code == 130
    assert f"Lease {samples.LEASE_ID} is not affected: it goes on by itself." in ran.err
    assert ran.err.rstrip().endswith("Interrupted.")


def test_an_event_of_a_lease_is_sent_and_called_what_it_is(blazar: Blazar) -> None:
    event = "event_type=notification,event_date='2030-01-08 09:00'"
    ran = blazar(f'lease-create a {HOST} --event "{event}"')
    assert ran.code == 0
    assert ran.requests[-1].body["events"] == [
        {"event_type": "notification", "event_date": "2030-01-08 09:00"}
    ]
    assert "Events have no effect" in ran.err
    assert "Events" not in blazar(f"lease-create a {HOST}").err


def test_waiting_too_long_ends_with_4(blazar: Blazar, clock: FakeClock) -> None:
    ran = blazar("lease-wait a --wait-timeout 20s")
    assert ran.code == 4
    assert "is PENDING and not yet ACTIVE" in ran.err
    assert sum(clock.slept) == 20


def test_waiting_for_the_end_is_not_failed_by_the_end(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(status="TERMINATED")})
    assert blazar("lease-wait a --status terminated").out == "Lease a is TERMINATED\n"
    assert blazar("lease-wait a").code == 3


def test_delete_tries_all_and_tells_of_each(blazar: Blazar) -> None:
    ran = blazar("lease-delete a nope b")
    assert ran.code == 1
    assert ran.out == "Deleted lease: a\nDeleted lease: b\n"
    assert "nope: Unable to find resource with name 'nope'" in ran.err
    assert "1 of 3 could not be deleted" in ran.err


def test_names_that_are_not_there_or_there_twice(blazar: Blazar, cloud: RecordingCloud) -> None:
    ran = blazar("host-show compute-001")
    assert (ran.code, ran.out) == (1, "")
    assert "Unable to find resource with name 'compute-001': did you mean 'compute-0001'?" in ran.err
    assert "`blazar host-list`" in ran.err
    cloud.answer("GET", "/leases", 200, {"leases": [samples.lease(), samples.other_lease(name="a")]})
    ran = blazar("lease-delete a")
    assert ran.code == 1
    assert "more than one appropriate resources for the name 'a'" in ran.err
    assert "Use the id" in ran.err
    assert len(ran.requests) == 1


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "token was not accepted"),
        (403, "roles in this project do not allow it"),
        (404, "`blazar lease-list`"),
        (409, "See how it is now with `blazar lease-show`."),
        (503, "Try again in a minute"),
    ],
)
def test_errors_carry_the_services_words_and_advice(
    blazar: Blazar, cloud: RecordingCloud, status: int, advice: str
) -> None:
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", status, samples.error(status, "It is so."))
    ran = blazar(f"lease-show {samples.LEASE_ID}")
    assert ran.code == 1
    assert ran.err.startswith("ERROR: It is so.")
    assert advice in ran.err


@pytest.mark.parametrize("status", [400, 409])
def test_a_shortage_carries_advice_whatever_its_status(
    blazar: Blazar, cloud: RecordingCloud, status: int
) -> None:
    words = "Not enough hosts available: 6 hosts match, none of them are free."
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", status, samples.error(status, words))
    told = blazar(f"lease-show {samples.LEASE_ID}").err
    assert "`blazar availability-show`" in told
    assert "`blazar capacity-show`" in told


FLAVOR = "lease-create x --reservation resource_type=flavor:instance,flavor_id=no,amount=1"


@pytest.mark.parametrize(
    ("line", "path", "status", "words", "advice"),
    [
        (
            FLAVOR,
            "/leases",
            404,
            "Flavor no could not be found.",
            "See the flavors with `openstack flavor list`.",
        ),
        (f"lease-create x {HOST}", "/leases", 404, "Something is not found.", None),
        (f"lease-create x {HOST}", "/leases", 409, "Nova refused the request: no", None),
        (
            "lease-create x --reservation resource_type=virtual:floatingip,network_id=no,amount=1",
            "/leases",
            400,
            "Failed to find network no",
            "See the networks with `openstack network list --external`.",
        ),
        (
            "host-create no",
            "/os-hosts",
            404,
            "There is none.",
            "See the hosts of the cloud with `openstack hypervisor list`.",
        ),
        ("usage-show p", "/quotas/p/usage", 404, "There is none.", None),
    ],
)
def test_advice_is_about_what_was_not_found(
    blazar: Blazar, cloud: RecordingCloud, line: str, path: str, status: int, words: str, advice: str | None
) -> None:
    for method in ("POST", "GET"):
        cloud.answer(method, path, status, samples.error(status, words))
    assert blazar(line).err.splitlines() == [f"ERROR: {words}", *([advice] if advice else [])]


def test_a_server_error_names_the_request(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/leases", 500, samples.error(500, "Internal Server Error"))
    assert "(request id req-11111111-2222-3333-4444-555555555555)" in blazar("lease-list").err


def test_an_endpoint_that_is_not_there(blazar: Blazar) -> None:
    ran = blazar("--os-region-name Elsewhere lease-list")
    assert ran.code == 1
    assert "OS_REGION_NAME" in ran.err
    ran = blazar("--os-endpoint-override http://127.0.0.1:9/v1 lease-list")
    assert ran.code == 1
    assert "This address does not answer" in ran.err


def test_unknown_options_and_commands_are_refused(blazar: Blazar) -> None:
    assert blazar("lease-list --bogus").code == 2
    ran = blazar("lease-shw a")
    assert ran.code == 2
    assert "lease-show" in ran.out + ran.err


def test_lists_are_sorted_and_columns_chosen(blazar: Blazar) -> None:
    assert blazar("host-list -f value -c id").out == "2\n1\n"
    assert blazar("host-list -f value -c id --sort-by id").out == "1\n2\n"
    assert blazar("lease-list -f value -c name --sort-by start_date").out == "b\na\n"
    assert blazar("host-list -f value -c gpu -c id").out == "True 2\nTrue 1\n"
    assert blazar("lease-list --long -f csv").out.splitlines()[0] == (
        '"id","name","start_date","end_date","status","project_id"'
    )
    ran = blazar("lease-list --sort-by nmae")
    assert ran.code == 2
    assert "did you mean name?" in ran.err


def test_an_empty_list_has_no_columns(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/leases", 200, {"leases": []})
    assert json.loads(blazar("lease-list -f json").out) == []
    assert blazar("lease-list").out == "\n"


def test_native_output_is_for_programs(blazar: Blazar) -> None:
    ran = blazar(f"lease-create x {HOST} -f json --native")
    made = json.loads(ran.out)
    assert made["reservations"][0]["min"] == 1
    assert made["updated_at"] is None
    assert ran.err == "Created a new lease:\n"
    texts = json.loads(blazar("lease-show a -f json").out)
    assert json.loads(texts["reservations"])["min"] == 1
    assert texts["updated_at"] == ""


def test_times_are_shown_in_the_chosen_zone(blazar: Blazar, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = json.loads(blazar("lease-show a -f json --native --time-zone Europe/Berlin").out)
    assert shown["start_date"] == "2050-01-01T11:00+01:00"
    assert shown["events"][0]["time"] == "2050-01-01T11:00+01:00"
    assert shown["created_at"] == "2026-11-20T15:58:06+01:00"
    monkeypatch.setenv("BLAZAR_TIME_ZONE", "Asia/Tokyo")
    assert blazar("lease-show a -f value -c start_date").out == "2050-01-01T19:00+09:00\n"
    assert blazar("lease-show a -f value -c start_date --time-zone UTC").out == "2050-01-01T10:00+00:00\n"


def test_a_list_on_a_terminal_has_no_seconds_that_are_none(blazar: Blazar) -> None:
    assert "| 2050-01-01 10:00 | 2050-01-01 11:00 |" in blazar("lease-list", terminal=True).out
    assert "| 2050-01-01T10:00:00.000000 |" in blazar("lease-list").out
    assert "2050-01-01T10:00:00.000000" in blazar("lease-list -f csv", terminal=True).out


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


def test_help_and_version_need_no_cloud(blazar: Blazar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:9/v3")
    assert blazar("help lease-create").code == 0
    assert blazar("lease-create --help").code == 0
    assert blazar("--version").code == 0


def test_without_arguments_and_terminal_help_is_shown(blazar: Blazar) -> None:
    ran = blazar("")
    assert ran.code == 2
    assert "lease-create" in ran.out


ANSWERS = {
    "answers": [
        {
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T16:30:00.000000",
            "duration": 270,
            "changes": ["start"],
            "description": "starts 3 hours later",
            "reservations": [{"resource_type": "physical:host", "units": 1}],
            "lease": {"start_date": "2030-01-08 12:00", "end_date": "2030-01-08 16:30", "reservations": []},
        }
    ],
    "reason": "Not enough hosts available.",
    "cut_short": True,
}


def test_a_question_for_availability_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/availability", 200, {"availability": ANSWERS})
    ran = blazar(
        f"availability-show {HOST} --earliest-start 'tomorrow 9:00' --latest-start 2030-01-31 "
        "--duration 4h30m --min-duration 1h -f json"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.6"
    assert sent.body["start"] == {"earliest": "2030-01-08 09:00", "latest": "2030-01-31 00:00"}
    assert sent.body["duration"] == {"wanted": 270, "minimum": 60}
    assert [each["resource_type"] for each in sent.body["lease"]["reservations"]] == ["physical:host"]
    assert json.loads(ran.out) == [
        {
            "rank": 1,
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T16:30:00.000000",
            "duration": "4h 30m",
            "reservations": "1 physical:host",
            "description": "starts 3 hours later",
        }
    ]
    assert "Not as asked for: Not enough hosts available." in ran.err
    assert "The search was cut short" in ran.err


def test_a_question_without_reservations_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("availability-show")
    assert (ran.code, ran.requests) == (2, [])
    assert "there is nothing to look for" in ran.err


OFFER = {
    "id": "5e1f0000-0000-4000-8000-00000000000a",
    "user_id": "u",
    "project_id": "p",
    "start_date": "2030-01-08T09:00:00.000000",
    "end_date": "2030-01-08T13:00:00.000000",
    "expires_at": "2030-01-07T10:10:00.000000",
    "created_at": "2030-01-07 10:00:00",
    "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1}],
    "planned": [{"resource_type": "physical:host", "units": 1}],
}


def test_an_offer_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/offers", 201, {"offer": OFFER})
    ran = blazar(
        f"offer-create {HOST} --start-date 'tomorrow 9:00' --duration 4h --hold 10m -f json --native"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.4"
    body = {key: value for key, value in sent.body.items() if key != "reservations"}
    assert body == {
        "start_date": "2030-01-08 09:00",
        "end_date": "2030-01-08 13:00",
        "duration": None,
        "latest_end": None,
        "hold": 10,
    }
    assert [each["resource_type"] for each in sent.body["reservations"]] == ["physical:host"]
    assert json.loads(ran.out)["expires_at"] == OFFER["expires_at"]


def test_offers_are_listed_shown_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/offers", 200, {"offers": [OFFER]})
    cloud.answer("GET", f"/offers/{OFFER['id']}", 200, {"offer": OFFER})
    cloud.answer("DELETE", f"/offers/{OFFER['id']}", 204, None)
    listed = blazar("offer-list -f json")
    assert json.loads(listed.out)[0]["planned"] == "1 physical:host"
    shown = blazar(f"offer-show {OFFER['id']} -f value -c expires_at")
    assert shown.out == f"{OFFER['expires_at']}\n"
    deleted = blazar(f"offer-delete {OFFER['id']}")
    assert deleted.out == f"Deleted offer: {OFFER['id']}\n"
    for ran in (listed, shown, deleted):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.4"]


def test_a_lease_takes_what_an_offer_holds(blazar: Blazar) -> None:
    ran = blazar(f"lease-create --offer {OFFER['id']} --before-end-date 'tomorrow 12:00' x")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.4"
    assert sent.body == {"name": "x", "offer": OFFER["id"], "before_end_date": "2030-01-08 12:00"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--duration 4h", "--duration"),
        ("--start-date now", "--start-date"),
        ("--earliest", "--earliest"),
        ("--dry-run", "--dry-run"),
        (HOST, "--reservation"),
    ],
)
def test_what_an_offer_says_already_is_not_sent(blazar: Blazar, options: str, named: str) -> None:
    ran = blazar(f"lease-create --offer x {options} name")
    assert (ran.code, ran.requests) == (2, [])
    assert f"an offer has its times and its reservations: leave out {named}" in ran.err


def test_an_offer_of_nothing_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("offer-create")
    assert (ran.code, ran.requests) == (2, [])
    assert "there is nothing to hold" in ran.err


MAINTENANCE = {
    "id": "6d1f3c70-2f6f-4c5e-9d3b-8f1a1f0c2b7d",
    "name": "disks",
    "reason": None,
    "user_id": "admin",
    "hosts": ["1", "2"],
    "start_date": "2030-01-08T12:00:00.000000",
    "end_date": "2030-01-08T14:00:00.000000",
    "created_at": "2030-01-07 08:30:00",
}
IMPACT = {
    "moves": 1,
    "breaks": 1,
    "stays": 0,
    "leases": [
        {
            "lease_id": samples.LEASE_ID,
            "name": "training",
            "project_id": "demo",
            "user_id": "demo",
            "status": "PENDING",
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T13:00:00.000000",
            "effect": "moves",
            "reason": None,
            "hosts": ["1"],
            "moves": [{"reservation_id": "r", "from": ["1"], "to": ["3"]}],
        },
        {
            "lease_id": OFFER["id"],
            "name": None,
            "project_id": None,
            "user_id": None,
            "status": None,
            "start_date": "2030-01-08T12:00:00.000000",
            "end_date": "2030-01-08T13:00:00.000000",
            "effect": "breaks",
            "reason": "not_now",
            "hosts": [],
            "moves": [],
        },
    ],
}


def test_a_maintenance_is_made_and_its_impact_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/maintenances", 201, {"maintenance": MAINTENANCE, "impact": IMPACT})
    ran = blazar(
        "maintenance-create 1 compute-2 --start-date 'tomorrow 12:00' --duration 2h --name disks "
        "--reason 'ticket 7' --force -f json"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.8"
    assert sent.body == {
        "hosts": ["1", "compute-2"],
        "start_date": "2030-01-08 12:00",
        "end_date": "2030-01-08 14:00",
        "name": "disks",
        "reason": "ticket 7",
        "force": True,
    }
    first, second = json.loads(ran.out)
    assert (first["effect"], first["name"], first["hosts"], first["moves"]) == (
        "moves",
        "training",
        "1",
        "1 -> 3",
    )
    assert (second["effect"], second["reason"], second["name"]) == ("breaks", "not_now", "")
    note = "leases that move: 1, break: 1, stay: 0"
    assert ran.err == f"Created maintenance: {MAINTENANCE['id']} ({note})\n"


def test_a_dry_run_of_a_maintenance_changes_nothing(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/maintenances", 200, {"impact": IMPACT})
    ran = blazar("maintenance-create 1 --end-date 'tomorrow 14:00' --dry-run -f value -c lease_id")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert (sent.body["dry_run"], sent.body["start_date"], "name" in sent.body) == (True, "now", False)
    assert ran.out == f"{samples.LEASE_ID}\n{OFFER['id']}\n"
    assert ran.err.startswith("Nothing is changed: leases that move: 1")


def test_a_refused_maintenance_names_what_would_break(blazar: Blazar, cloud: RecordingCloud) -> None:
    refusal = {"error_message": "Leases would break (1)", "impact": IMPACT}
    cloud.answer("POST", "/maintenances", 409, refusal)
    ran = blazar("maintenance-create 1 --duration 2h")
    assert (ran.code, ran.out) == (1, "")
    assert f"breaks:  {OFFER['id']} (not_now)" in ran.err
    assert "training" not in ran.err
    assert "With --force the hosts are taken away all the same" in ran.err


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
    cloud.answer("PUT", "/os-hosts/1", 200, {"host": HOST_SHOWN, "impact": IMPACT})
    ran = blazar(f"host-update 1 {options}")
    assert ran.out.startswith("Updated host: 1 (leases that move: ")
    assert lasting(cloud) == [("PUT", "/os-hosts/1", {"force": False, **dates})]


@pytest.mark.parametrize(("option", "value"), [("--buffer", True), ("--no-buffer", False)])
def test_a_host_is_kept_as_a_buffer(blazar: Blazar, cloud: RecordingCloud, option: str, value: bool) -> None:
    cloud.answer("PUT", "/os-hosts/1", 200, {"host": {**HOST_SHOWN, "buffer": value}})
    assert blazar(f"host-update 1 {option}").out == "Updated host: 1\n"
    assert lasting(cloud) == [("PUT", "/os-hosts/1", {"buffer": value})]


def test_a_dry_run_changes_no_host(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("PUT", "/os-hosts/1", 200, {"impact": IMPACT})
    ran = blazar("host-update 1 --available-until 'tomorrow 12:00' --dry-run")
    assert ran.out.startswith("Nothing is changed: leases that move: ")
    body = {"available_until": "2030-01-08 12:00", "force": False, "dry_run": True}
    assert lasting(cloud) == [("PUT", "/os-hosts/1", body)]


def test_a_refused_time_of_a_host_names_what_would_break(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("PUT", "/os-hosts/1", 409, {**samples.error(409, "Leases would break."), "impact": IMPACT})
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


def test_maintenances_are_listed_shown_and_ended(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/maintenances/{MAINTENANCE['id']}"
    cloud.answer("GET", "/maintenances", 200, {"maintenances": [MAINTENANCE]})
    cloud.answer("GET", path, 200, {"maintenance": MAINTENANCE})
    cloud.answer("DELETE", path, 204, None)
    listed = blazar("maintenance-list -f json")
    assert json.loads(listed.out)[0]["hosts"] == "1 2"
    shown = blazar(f"maintenance-show {MAINTENANCE['id']} -f value -c name")
    assert shown.out == "disks\n"
    ended = blazar(f"maintenance-delete {MAINTENANCE['id']}")
    assert ended.out == f"Deleted maintenance: {MAINTENANCE['id']}\n"
    for ran in (listed, shown, ended):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.8"]


SUBSCRIPTION = {
    "id": "0b7d2c8e-5a41-4f6b-9e03-7c1d8a2f4b65",
    "name": "ops",
    "url": "https://receiver.example.com/leases",
    "events": ["started", "ended"],
    "status": "ACTIVE",
    "waiting": 0,
    "last_error": None,
    "created_at": "2030-01-01 10:00:00",
}


def test_a_subscription_is_made_with_its_secret(blazar: Blazar, cloud: RecordingCloud) -> None:
    made = {**SUBSCRIPTION, "secret": "whsec_eA=="}
    cloud.answer("POST", "/subscriptions", 201, {"subscription": made})
    ran = blazar(
        "subscription-create https://receiver.example.com/leases --event started --event ended --name ops "
        "--lease l1 --resource-type physical:host --all-projects -f value -c secret"
    )
    assert ran.out == "whsec_eA==\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.32"
    assert ran.requests[-1].body == {
        "url": "https://receiver.example.com/leases",
        "events": ["started", "ended"],
        "name": "ops",
        "lease_id": "l1",
        "resource_type": "physical:host",
        "all_projects": True,
    }


def test_a_subscription_to_capacity_has_a_condition(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/subscriptions", 201, {"subscription": SUBSCRIPTION})
    url = "https://receiver.example.com/leases"
    ran = blazar(
        f"subscription-create {url} --below 5 --days 3 --resource-type virtual:floatingip --quantity x"
    )
    assert ran.requests[-1].body == {
        "url": url,
        "capacity": {"below": 5, "days": 3, "quantity": "x", "resource_type": "virtual:floatingip"},
    }
    refused = blazar(f"subscription-create {url} --days 3")
    assert (refused.code != 0, refused.requests) == (True, [])
    assert "need --below" in refused.err


def test_subscriptions_are_listed_shown_changed_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/subscriptions/{SUBSCRIPTION['id']}"
    cloud.answer("GET", "/subscriptions", 200, {"subscriptions": [SUBSCRIPTION]})
    cloud.answer("GET", path, 200, {"subscription": SUBSCRIPTION})
    cloud.answer("PUT", path, 200, {"subscription": SUBSCRIPTION})
    cloud.answer("DELETE", path, 204, None)
    listed = blazar("subscription-list -f json")
    assert json.loads(listed.out)[0]["events"] == "started ended"
    shown = blazar(f"subscription-show {SUBSCRIPTION['id']} -f value -c status")
    assert shown.out == "ACTIVE\n"
    changed = blazar(f"subscription-set {SUBSCRIPTION['id']} --resume --renew-secret --event ended")
    assert changed.requests[-1].body == {"events": ["ended"], "resume": True, "renew_secret": True}
    deleted = blazar(f"subscription-delete {SUBSCRIPTION['id']}")
    assert deleted.out == f"Deleted subscription: {SUBSCRIPTION['id']}\n"


FEED = {
    "id": "f1",
    "name": "ours",
    "project_id": "p1",
    "user_id": "u1",
    "scope": "project",
    "watched_project_id": "p1",
    "watched_user_id": None,
    "lease_id": None,
    "created_at": "2030-01-01 10:00:00",
}


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ("", {"scope": "project"}),
        ("--name ours --project p2", {"scope": "project", "name": "ours", "project_id": "p2"}),
        ("--mine", {"scope": "user"}),
        ("--user u2", {"scope": "user", "user_id": "u2"}),
        ("--lease l1", {"scope": "lease", "lease_id": "l1"}),
    ],
)
def test_a_feed_is_made_with_its_address(
    blazar: Blazar, cloud: RecordingCloud, options: str, body: dict[str, str]
) -> None:
    url = "https://reservation.example.com/v1/feeds/secret.ics"
    cloud.answer("POST", "/feeds", 201, {"feed": {**FEED, "url": url}})
    ran = blazar(f"feed-create {options} -f value -c url")
    assert ran.out == f"{url}\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.17"
    assert ran.requests[-1].body == body


def test_feeds_are_listed_and_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    links = [{"rel": "next", "href": "http://inner/v1/feeds?marker=f1&user_id=u1"}]
    pages = {"feeds": [FEED], "feeds_links": links}, {"feeds": [{**FEED, "id": "f2"}]}
    cloud.answer_in_turn("GET", "/feeds", (200, pages[0]), (200, pages[1]))
    listed = blazar("feed-list --user u1 -f value -c id -c scope")
    assert listed.out == "f1 project\nf2 project\n"
    assert [each.query for each in listed.requests] == [
        (("user_id", "u1"),),
        (("marker", "f1"), ("user_id", "u1")),
    ]
    cloud.answer("DELETE", "/feeds/f1", 204, None)
    deleted = blazar("feed-delete f1")
    assert deleted.out == "Deleted feed: f1\n"
    assert deleted.requests[-1].headers["openstack-api-version"] == "reservation 1.17"


MAIL = {"enabled": True, "events": ["end_soon"], "chosen": True, "daily": False, "daily_hour": 6}


def test_what_you_are_told_by_mail_is_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/mail", 200, {"mail": MAIL})
    ran = blazar("mail-show -f value -c enabled -c events")
    assert ran.out == "True\nend_soon\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.32"


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ("--event end_soon --event ended", {"events": ["end_soon", "ended"]}),
        ("--none", {"events": []}),
        ("--usual", {"events": None}),
        ("--daily", {"daily": True}),
        ("--at-once --usual", {"events": None, "daily": False}),
    ],
)
def test_you_choose_what_you_are_told_by_mail(
    blazar: Blazar, cloud: RecordingCloud, options: str, body: dict[str, Any]
) -> None:
    cloud.answer("PUT", "/mail", 200, {"mail": MAIL})
    ran = blazar(f"mail-set {options} -f value -c daily")
    assert ran.out == "False\n"
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.32"
    assert ran.requests[-1].body == body


@pytest.mark.parametrize("options", ["", "--none --usual", "--daily --at-once"])
def test_a_choice_that_says_nothing_is_not_sent(blazar: Blazar, cloud: RecordingCloud, options: str) -> None:
    ran = blazar(f"mail-set {options}")
    assert (ran.code, ran.requests) == (2, [])


def test_a_lease_shows_what_of_it_is_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    told = {"used": 1, "left": 2, "looked_at": "2030-01-01T10:00:03.120000"}
    nothing = {"used": None, "left": None, "looked_at": None}
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3, "use": told},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "use": nothing},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c use")
    assert shown.out.splitlines() == [
        "1 of 3 x virtual:instance used, 2 left (at 2030-01-01 10:00 UTC)",
        "1 x physical:host: not known",
    ]
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.22"


def test_a_lease_shows_which_servers_it_takes(blazar: Blazar, cloud: RecordingCloud) -> None:
    reservations = [
        {"id": "r1", "resource_type": "virtual:instance", "units": 3},
        {"id": "r2", "resource_type": "physical:host", "units": 1, "match": "open"},
    ]
    cloud.answer(
        "GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=reservations)}
    )
    shown = blazar(f"lease-show {samples.LEASE_ID} -f value -c match")
    assert shown.out == "open\n"
    assert shown.requests[-1].headers["openstack-api-version"] == "reservation 1.29"


USAGE_ROW = {
    "project_id": "p1",
    "user_id": None,
    "resource_type": "physical:host",
    "leases": 3,
    "no_shows": 1,
    "promised_hours": 30.0,
    "used_hours": 12.5,
    "unused_hours": 17.0,
    "unknown_hours": 0.5,
}


def test_the_usage_of_a_window_is_reported(blazar: Blazar, cloud: RecordingCloud) -> None:
    window = {"start_date": "2030-01-01T00:00:00.000000", "end_date": "2030-01-08T00:00:00.000000"}
    cloud.answer("GET", "/usage", 200, {"usage": {**window, "rows": [USAGE_ROW]}})
    ran = blazar("usage-report -f csv")
    assert ran.out.splitlines() == [
        '"project_id","resource_type","leases","no_shows","promised_hours","used_hours","unused_hours",'
        '"unknown_hours"',
        '"p1","physical:host",3,1,30.0,12.5,17.0,0.5',
    ]
    assert (
        ran.err
        == "From 2030-01-01 00:00 to 2030-01-08 00:00; one hour of one host, server or address is 1.\n"
    )
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.21"
    assert ran.requests[-1].query == ()
    asked = (
        "--start-date 2030-01-01 --end-date 2030-01-08 --project p1 --user u1 --resource-type physical:host"
    )
    ran = blazar(f"usage-report {asked} --group-by user --group-by project -f value -c user_id -c leases")
    assert dict(ran.requests[-1].query) == {
        "start_date": "2030-01-01 00:00",
        "end_date": "2030-01-08 00:00",
        "project_id": "p1",
        "user_id": "u1",
        "resource_type": "physical:host",
        "group_by": "project,user",
    }
    assert ran.out == " 3\n"
    ran = blazar("usage-report --end-date 2030-01-08 --duration 7d --group-by none -f value")
    assert dict(ran.requests[-1].query) == {
        "start_date": "2030-01-01 00:00",
        "end_date": "2030-01-08 00:00",
        "group_by": "none",
    }
    assert ran.out == "physical:host 3 1 30.0 12.5 17.0 0.5\n"


def test_subscriptions_are_read_in_pages_and_at_once_from_an_older_service(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    rows = [{**SUBSCRIPTION, "name": name} for name in ("one", "two")]
    links = [{"rel": "next", "href": "http://inner/v1/subscriptions?marker=m1"}]
    first = {"subscriptions": rows[:1], "subscriptions_links": links}
    cloud.answer_in_turn("GET", "/subscriptions", (200, first), (200, {"subscriptions": rows[1:]}))
    listed = blazar("subscription-list -f value -c name")
    assert listed.out == "one\ntwo\n"
    assert [each.headers["openstack-api-version"] for each in listed.requests] == ["reservation 1.14"] * 2
    assert [each.query for each in listed.requests] == [(), (("marker", "m1"),)]
    refused = (406, {"error_message": "Version 1.14 is not supported by the API."})
    cloud.answer_in_turn("GET", "/subscriptions", refused, (200, {"subscriptions": rows}))
    older = blazar("subscription-list -f value -c name")
    assert older.out == "one\ntwo\n"
    assert older.requests[-1].headers["openstack-api-version"] == "reservation 1.11"


STREAM_PATH = f"/subscriptions/{SUBSCRIPTION['id']}/events"
STARTED = {
    "id": "msg_7",
    "event": "started",
    "occurred_at": "2030-01-02T09:00:03.120000",
    "lease": {"id": "l1", "name": "training"},
}
LOW = {
    "id": "msg_9",
    "event": "capacity_low",
    "occurred_at": "2030-01-02T10:00:00.000000",
    "capacity": {"minimum": 3, "below": 5, "quantity": "hosts"},
}


def told(*events: dict[str, Any], retry: int = 7000) -> tuple[int, str]:
    blocks = [f"id: {each['id']}\nevent: {each['event']}\ndata: {json.dumps(each)}\n\n" for each in events]
    return 200, f": blazar\nretry: {retry}\n\n" + "".join(blocks)


def test_a_stream_is_watched_and_followed_where_it_stopped(
    blazar: Blazar, cloud: RecordingCloud, clock: FakeClock
) -> None:
    cut_off = (200, f"data: {json.dumps(STARTED)}\n")
    away = (503, {"error_message": "away"})
    cloud.answer_in_turn("GET", STREAM_PATH, told(STARTED), cut_off, away, away, told(LOW, retry=0), told())
    began = clock.now()
    ran = blazar(f"subscription-watch {SUBSCRIPTION['id']} --count 2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "2030-01-02 09:00:03 started l1 training\n2030-01-02 10:00:00 capacity_low 3 hosts (told below 5)\n"
    )
    assert [each.headers.get("last-event-id") for each in ran.requests] == [None, *["msg_7"] * 4]
    assert {each.headers["openstack-api-version"] for each in ran.requests} == {"reservation 1.16"}
    assert {each.headers["accept"] for each in ran.requests} == {"text/event-stream"}
    assert (clock.now() - began).total_seconds() == 7 + 7 + 7 + 14


def test_a_stream_is_printed_as_lines_of_json(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", STREAM_PATH, *told(STARTED, LOW))
    watch = f"subscription-watch {SUBSCRIPTION['id']} --after msg_5 --count 2"
    ran = blazar(f"{watch} -f json")
    assert [json.loads(line) for line in ran.out.splitlines()] == [STARTED, LOW]
    assert ran.requests[-1].headers["last-event-id"] == "msg_5"
    zoned = blazar(f"{watch} --time-zone America/New_York")
    assert zoned.out.splitlines()[0] == "2030-01-02 04:00:03-05:00 started l1 training"
    cloud.answer("GET", STREAM_PATH, 404, {"error_message": "There is no subscription."})
    gone = blazar(watch)
    assert (gone.code, gone.out, len(gone.requests)) == (1, "", 1)
    assert "There is no subscription." in gone.err


def test_a_subscription_without_an_address_asks_for_its_version(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    cloud.answer("POST", "/subscriptions", 201, {"subscription": {**SUBSCRIPTION, "url": None}})
    ran = blazar("subscription-create --event started")
    assert (ran.requests[-1].body, ran.requests[-1].headers["openstack-api-version"]) == (
        {"events": ["started"]},
        "reservation 1.32",
    )


def test_a_maintenance_without_an_end_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("maintenance-create 1")
    assert (ran.code, ran.requests) == (2, [])


def test_a_lease_that_starts_as_early_as_can_be_asks_for_its_version(blazar: Blazar) -> None:
    ran = blazar(f"lease-create {HOST} --earliest --duration 4h --latest-end 2030-01-31 x")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.5"
    assert sent.headers["idempotency-key"]
    body = {key: sent.body[key] for key in ("start_date", "end_date", "duration", "latest_end")}
    assert body == {
        "start_date": "earliest",
        "end_date": None,
        "duration": 240,
        "latest_end": "2030-01-31 00:00",
    }
    assert sent.body["dry_run"] is False


@pytest.mark.parametrize(
    "options",
    [
        "--earliest --end-date 2030-01-31",
        "--earliest --before-end-date 2030-01-31",
        "--earliest --start-date now",
        "--latest-end 2030-01-31",
    ],
)
def test_times_that_need_a_known_start_are_refused(blazar: Blazar, options: str) -> None:
    ran = blazar(f"lease-create {HOST} {options} x")
    assert (ran.code, ran.requests) == (2, [])


def test_a_dry_run_makes_nothing(blazar: Blazar, cloud: RecordingCloud) -> None:
    shown = {"name": "x", "planned": [{"resource_type": "physical:host", "units": 1}]}
    cloud.answer("POST", "/leases", 200, {"lease": shown})
    ran = blazar(f"lease-create {HOST} --dry-run --wait x -f value -c name")
    assert (ran.code, ran.out) == (0, "Nothing was made. The lease would be:\nx\n")
    (sent,) = ran.requests
    assert sent.body["dry_run"] is True
    assert sent.headers["openstack-api-version"] == "reservation 1.3"


def test_a_dry_run_of_an_update_changes_nothing(blazar: Blazar, cloud: RecordingCloud) -> None:
    dates = {"start_date": "2030-01-08T12:00:00.000000", "end_date": "2030-01-09T12:00:00.000000"}
    cloud.answer("PUT", f"/leases/{samples.LEASE_ID}", 200, {"lease": dates})
    ran = blazar(f"lease-update {samples.LEASE_ID} --end-date '2030-01-09 12:00' --dry-run")
    assert ran.out == (
        "Nothing was changed. The lease would last from 2030-01-08 12:00 to 2030-01-09 12:00 UTC.\n"
    )
    assert ran.requests[-1].body == {"end_date": "2030-01-09 12:00", "dry_run": True}


def test_an_explanation_shows_what_each_part_leaves(blazar: Blazar, cloud: RecordingCloud) -> None:
    reason = {"reason": "shortage", "parts": [{"part": '["==", "$rack", "r1"]', "matched": 12}]}
    body = {"error_message": "Not enough hosts available: none.", "reasons": [reason]}
    cloud.answer("POST", "/leases", 409, body)
    ran = blazar(f"lease-create {HOST} --explain x")
    assert ran.code == 1
    versions = [sent.headers["openstack-api-version"] for sent in ran.requests]
    assert versions == ["reservation 1.5", "reservation 1.6"]
    assert ran.err.splitlines()[:3] == [
        "ERROR: Not enough hosts available: none.",
        "What each part of the requirement leaves by itself:",
        '    12  ["==", "$rack", "r1"]',
    ]


WAITING = {
    "id": samples.LEASE_ID,
    "name": "x",
    "status": "WAITING",
    "waiting": {
        "position": 2,
        "since": "2030-01-07T10:00:00.000000",
        "until": "2030-01-09T10:00:00.000000",
        "expected_start": None,
    },
}
PLACE = {
    "lease_id": samples.LEASE_ID,
    "name": "x",
    "start_date": "2030-01-10T10:00:00.000000",
    "end_date": "2030-01-11T10:00:00.000000",
    **WAITING["waiting"],
}


def test_a_lease_that_may_wait_asks_for_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/leases", 201, {"lease": WAITING})
    ran = blazar(f"lease-create {HOST} --duration 4h --or-wait-until 'in 2 hours' -c status -f value x")
    assert ran.code == 0, ran.err
    assert ran.out == "There is not enough now. The lease waits:\nWAITING\n"
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.7"
    assert sent.headers["idempotency-key"]
    assert sent.body["on_shortage"] == {"wait_until": "2030-01-07 10:30"}
    assert (sent.body["start_date"], sent.body["end_date"]) == ("now", "2030-01-07 12:30")


def test_one_that_need_not_wait_is_told_as_any_other(blazar: Blazar) -> None:
    ran = blazar(f"lease-create {HOST} --earliest --or-wait-until 'in 2 hours' x")
    assert ran.out.startswith("Created a new lease:")
    (sent,) = ran.requests
    assert (sent.body["start_date"], sent.body["duration"]) == ("earliest", 1440)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (f"{HOST} --dry-run --or-wait-until tomorrow", "a dry run lets nothing wait"),
        ("--offer y --or-wait-until tomorrow", "leave out --or-wait-until"),
        (f"{HOST} --or-wait-until whenever", "whenever"),
    ],
)
def test_what_cannot_wait_is_not_sent(blazar: Blazar, options: str, named: str) -> None:
    ran = blazar(f"lease-create {options} x")
    assert (ran.code, ran.requests) == (2, [])
    assert named in ran.err


def test_the_waitlist_is_listed_and_changed(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", "/waitlist", 200, {"waitlist": [PLACE]})
    cloud.answer("PUT", f"/leases/{samples.LEASE_ID}", 200, {"lease": WAITING})
    listed = blazar("waitlist-list -f json --time-zone Europe/Berlin")
    (row,) = json.loads(listed.out)
    assert (row["position"], row["lease_id"], row["until"]) == (2, samples.LEASE_ID, "2030-01-09T11:00+01:00")
    changed = blazar(f"waitlist-set {samples.LEASE_ID} --until 'in 2 days'")
    assert changed.out == f"Lease {samples.LEASE_ID} waits until 2030-01-09T10:00 UTC.\n"
    assert changed.requests[0].body == {"on_shortage": {"wait_until": "2030-01-09 08:30"}}
    for ran in (listed, changed):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.7"]


def test_only_what_waits_is_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/leases/{samples.LEASE_ID}"
    cloud.answer("GET", path, 200, {"lease": WAITING})
    cloud.tag = '"3"'
    cloud.answer("DELETE", path, 204, None)
    ran = blazar(f"waitlist-delete {samples.LEASE_ID}")
    assert ran.out == f"Deleted lease: {samples.LEASE_ID}\n", ran.err
    assert ran.requests[-1].headers["if-match"] == '"3"'
    cloud.answer("GET", path, 200, {"lease": {**WAITING, "status": "PENDING"}})
    ran = blazar(f"waitlist-delete {samples.LEASE_ID}")
    assert ran.code == 1
    assert "The lease does not wait: it is PENDING." in ran.err
    assert [each.method for each in ran.requests] == ["GET"]


CLAIM_BY = samples.lease(claim_by=120, claim_by_date="2050-01-01T12:00:00.000000")


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (f"lease-create {HOST} --claim-by 2h x", {"name": "x", "claim_by": 120}),
        (f"lease-create {HOST} --claim-by 'half an hour' --duration 4h x", {"claim_by": 30}),
        (f"lease-create {HOST} --claim-by never --dry-run x", {"claim_by": 0, "dry_run": True}),
        (f"lease-create {HOST} --claim-by default x", {"claim_by": None}),
        (f"lease-create {HOST} --claim-by 1d --or-wait-until 'in 2 hours' x", {"claim_by": 1440}),
        ("lease-create --offer y --claim-by 2h x", {"offer": "y", "claim_by": 120}),
        (f"lease-update --claim-by 2h {samples.LEASE_ID}", {"claim_by": 120}),
        (f"lease-update --claim-by never --name y {samples.LEASE_ID}", {"claim_by": 0, "name": "y"}),
        (f"lease-update --claim-by default --dry-run {samples.LEASE_ID}", {"claim_by": None}),
    ],
)
def test_the_time_in_which_a_lease_has_to_be_used_is_sent(blazar: Blazar, line: str, more: Any) -> None:
    ran = blazar(line)
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.9"
    assert sent.body | more == sent.body


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (f"lease-create {HOST} --priority low x", {"name": "x", "priority": "low"}),
        (f"lease-create {HOST} --priority high --claim-by 2h x", {"claim_by": 120, "priority": "high"}),
        (f"lease-create {HOST} --priority high --dry-run x", {"priority": "high", "dry_run": True}),
        (f"lease-create {HOST} --priority low --or-wait-until 'in 2 hours' x", {"priority": "low"}),
        (f"lease-create {HOST} --displace x", {"on_shortage": {"displace": True}}),
        (f"lease-create {HOST} --displace --dry-run x", {"on_shortage": {"displace": True}, "dry_run": True}),
        (
            f"lease-create {HOST} --displace --or-wait-until '2050-01-01 09:00' x",
            {"on_shortage": {"displace": True, "wait_until": "2050-01-01 09:00"}},
        ),
        (f"lease-update --priority high {samples.LEASE_ID}", {"priority": "high"}),
        (f"lease-update --priority low --name y {samples.LEASE_ID}", {"priority": "low", "name": "y"}),
        (f"lease-update --priority low --dry-run {samples.LEASE_ID}", {"priority": "low"}),
        (
            f"lease-update --priority low --claim-by 1h --remove-reservation r1 {samples.LEASE_ID}",
            {"priority": "low", "claim_by": 60, "reservations": [{"id": "r1", "remove": True}]},
        ),
    ],
)
def test_the_priority_of_a_lease_is_sent(blazar: Blazar, line: str, more: Any) -> None:
    ran = blazar(line)
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.13"
    assert sent.body | more == sent.body


def test_show_and_list_tell_the_priority(blazar: Blazar, cloud: RecordingCloud) -> None:
    lease = samples.lease(priority="low")
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": lease})
    ran = blazar(f"lease-show {samples.LEASE_ID} -f json -c priority")
    assert json.loads(ran.out) == {"priority": "low"}
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.13"
    cloud.answer("GET", "/leases", 200, {"leases": [lease]})
    ran = blazar("lease-list --priority low -f json -c id -c priority")
    assert json.loads(ran.out) == [{"id": samples.LEASE_ID, "priority": "low"}]
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.13"
    assert sent.query == (("priority", "low"),)
    cloud.answer("GET", "/leases", 200, {"leases": [{**lease, "claim_by": 120}]})
    ran = blazar("lease-list --priority low -f json -c id -c priority -c claim_by")
    assert json.loads(ran.out) == [{"id": samples.LEASE_ID, "priority": "low", "claim_by": 120}]
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.13"


def test_a_service_without_priorities_is_not_asked_for_all_leases(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    cloud.answer("GET", "/leases", 406, {"error_message": "Version 1.13 is not supported by the API."})
    ran = blazar("lease-list --priority low")
    assert (ran.code, len(ran.requests)) == (1, 1)
    assert "Version 1.13 is not supported by the API." in ran.err


ADDED = {"resource_type": "virtual:instance", "vcpus": 2, "memory_mb": 2048, "disk_gb": 10, "amount": 1}
ADD = "--add-reservation resource_type=virtual:instance,vcpus=2,memory_mb=2048,disk_gb=10,amount=1"


@pytest.mark.parametrize(
    ("line", "reservations", "more"),
    [
        (ADD, [ADDED], {}),
        ("--remove-reservation r1", [{"id": "r1", "remove": True}], {}),
        (
            f"--reservation id=r0,min=2 {ADD} --remove-reservation r1 --remove-reservation r2",
            [{"id": "r0", "min": 2}, ADDED, {"id": "r1", "remove": True}, {"id": "r2", "remove": True}],
            {},
        ),
        (f"{ADD} --name y --claim-by 2h", [ADDED], {"name": "y", "claim_by": 120}),
        (f"{ADD} --dry-run", [ADDED], {"dry_run": True}),
    ],
)
def test_reservations_are_added_and_removed(
    blazar: Blazar, line: str, reservations: Any, more: dict[str, Any]
) -> None:
    ran = blazar(f"lease-update {line} {samples.LEASE_ID}")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.12"
    defaults = {"affinity": "None", "resource_properties": ""}
    sent_ones = sent.body.pop("reservations")
    assert sent_ones == [{**defaults, **each} if each == ADDED else each for each in reservations]
    assert sent.body == more


def test_an_added_reservation_is_checked_before_it_is_sent(blazar: Blazar) -> None:
    ran = blazar(f"lease-update --add-reservation vcpus=2 {samples.LEASE_ID}")
    assert (ran.code, ran.requests) == (2, [])
    assert "resource_type is missing" in ran.err


@pytest.mark.parametrize("value", ["soon", "30s", "90s", "1mo"])
def test_what_is_no_number_of_minutes_is_not_sent(blazar: Blazar, value: str) -> None:
    ran = blazar(f"lease-create {HOST} --claim-by {value} x")
    assert (ran.code, ran.requests) == (2, [])
    assert value in ran.err


def test_without_it_other_versions_are_asked_for(blazar: Blazar) -> None:
    (created,) = blazar(f"lease-create {HOST} x").requests
    (changed,) = blazar(f"lease-update --name y {samples.LEASE_ID}").requests
    for sent in (created, changed):
        assert "openstack-api-version" not in sent.headers
        assert "claim_by" not in sent.body


def test_show_tells_until_when_a_lease_has_to_be_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": CLAIM_BY})
    line = f"lease-show {samples.LEASE_ID} -f json -c claim_by -c claim_by_date --time-zone Europe/Berlin"
    ran = blazar(line)
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.9"
    assert json.loads(ran.out) == {"claim_by": 120, "claim_by_date": "2050-01-01T13:00+01:00"}


def test_show_with_these_columns_needs_a_service_of_version_1_9(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    path = f"/leases/{samples.LEASE_ID}"
    cloud.answer("GET", path, 406, {"error_message": "Version 1.9 is not supported by the API."})
    ran = blazar(f"lease-show {samples.LEASE_ID} -c claim_by")
    assert (ran.code, len(ran.requests)) == (1, 1)
    assert "Version 1.9 is not supported by the API." in ran.err
