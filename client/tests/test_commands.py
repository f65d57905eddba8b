"""Tests of the commands: their requests, output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar, FakeClock, bodies

HOST = "--reservation resource_type=physical:host,min=1,max=1"


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


def test_help_and_version_need_no_cloud(blazar: Blazar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:9/v3")
    assert blazar("help lease-create").code == 0
    assert blazar("lease-create --help").code == 0
    assert blazar("--version").code == 0


def test_without_arguments_and_terminal_help_is_shown(blazar: Blazar) -> None:
    ran = blazar("")
    assert ran.code == 2
    assert "lease-create" in ran.out


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
