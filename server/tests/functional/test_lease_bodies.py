"""What a lease request may say: what the service is told, and how every mistake is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from blazar.service.commands import (
    NOW,
    UNSET,
    CreateLease,
    ReservationChange,
    ReservationRequest,
    UpdateLease,
)

from .canned import LEASE_ID, Canned
from .conftest import Send

GOOD: dict[str, Any] = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}
ELEVEN = datetime(2050, 1, 1, 11, tzinfo=UTC)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def test_what_the_official_client_sends(send: Send, service: Canned) -> None:
    reservation = {"resource_type": "physical:host", "min": 1, "max": 2, "hypervisor_properties": ""}
    body = {**GOOD, "reservations": [reservation], "events": [], "before_end_date": None}
    assert send("POST", "/v1/leases", json=body).status_code == 201
    assert service.commands == [
        CreateLease(
            "a",
            NOW,
            ELEVEN,
            None,
            (ReservationRequest("physical:host", {"min": 1, "max": 2, "hypervisor_properties": ""}),),
        )
    ]


def test_unknown_keys_are_never_passed_on(send: Send, service: Canned) -> None:
    foreign = {
        "id": "mine",
        "user_id": "u9",
        "project_id": "p9",
        "status": "ACTIVE",
        "degraded": True,
        "trust_id": "t",
        "created_at": "x",
        "model_config": 1,
        "command": 1,
    }
    assert send("POST", "/v1/leases", json={**GOOD, **foreign}).status_code == 201
    assert send("PUT", f"/v1/leases/{LEASE_ID}", json=foreign).status_code == 200
    assert service.commands == [CreateLease("a", NOW, ELEVEN), UpdateLease()]


@pytest.mark.parametrize("events", [None, [], [{"event_type": "start_lease", "status": "UNDONE"}], [1, "x"]])
def test_events_of_the_clients_making_are_ignored(send: Send, service: Canned, events: Any) -> None:
    assert send("POST", "/v1/leases", json={**GOOD, "events": events}).status_code == 201
    assert service.commands == [CreateLease("a", NOW, ELEVEN)]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2050-01-01 10:00", utc(2050, 1, 1, 10)),
        ("2050-1-1 9:5", utc(2050, 1, 1, 9, 5)),
        ("2050-01-01T10:00", utc(2050, 1, 1, 10)),
        ("2050-01-01T10:00:30", utc(2050, 1, 1, 10, 0, 30)),
        ("2050-01-01T10:00:00.000000", utc(2050, 1, 1, 10)),
        ("2050-01-01T10:00Z", utc(2050, 1, 1, 10)),
        ("2050-01-01t10:00:00z", utc(2050, 1, 1, 10)),
        ("2050-01-01T10:00:00+02:00", utc(2050, 1, 1, 8)),
        ("2050-01-01T10:00:00-0330", utc(2050, 1, 1, 13, 30)),
        ("2050-01-01 10:00:00+01", utc(2050, 1, 1, 9)),
        ("9999-12-31 23:59", utc(9999, 12, 31, 23, 59)),
    ],
)
def test_dates_that_are_understood(send: Send, service: Canned, text: str, moment: datetime) -> None:
    body = {**GOOD, "start_date": text, "before_end_date": text}
    assert send("POST", "/v1/leases", json=body).status_code == 201
    assert (service.commands[0].start, service.commands[0].before_end) == (moment, moment)
    assert service.commands[0].start.tzinfo is UTC


@pytest.mark.parametrize("field", ["start_date", "end_date", "before_end_date"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Bogus-date 13:13", "Bogus-date 13:13"),
        ("2050-01-01", "2050-01-01"),
        ("2050-13-01 10:00", "2050-13-01 10:00"),
        ("2050-02-30T10:00", "2050-02-30T10:00"),
        ("2050-01-01 24:00", "2050-01-01 24:00"),
        ("20500101T1000", "20500101T1000"),
        ("9999-12-31T23:59-12:00", "9999-12-31T23:59-12:00"),
        ("0001-01-01T00:00+12:00", "0001-01-01T00:00+12:00"),
        ("10000-01-01 10:00", "10000-01-01 10:00"),
        ("2050-01-01T10:00+99:99", "2050-01-01T10:00+99:99"),
        ("NOW", "NOW"),
        (5, "5"),
        (2.5e9, "2500000000.0"),
        (True, "True"),
        (["now"], "['now']"),
        ({"now": 1}, "{'now': 1}"),
        ("x" * 1000, "x" * 40 + "..."),
    ],
)
def test_dates_that_are_not(send: Send, service: Canned, field: str, value: Any, shown: str) -> None:
    refusal = {
        "error_code": 400,
        "error_message": f"{shown} is an invalid date. Required format: %Y-%m-%d %H:%M",
        "error_name": 400,
    }
    for method, path in [("POST", "/v1/leases"), ("PUT", f"/v1/leases/{LEASE_ID}")]:
        answer = send(method, path, json={**GOOD, field: value})
        assert (answer.status_code, answer.json) == (400, refusal)
    assert not service.commands


@pytest.mark.parametrize("field", ["start_date", "end_date"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_lease_has_a_start_and_an_end(send: Send, field: str, value: Any) -> None:
    answer = send("POST", "/v1/leases", json={**GOOD, field: value})
    assert answer.status_code == 400
    assert "is an invalid date" in answer.json["error_message"]


@pytest.mark.parametrize("value", [None, ""])
def test_no_before_end_date_is_no_wish(send: Send, service: Canned, value: Any) -> None:
    assert send("POST", "/v1/leases", json={**GOOD, "before_end_date": value}).status_code == 201
    assert send("PUT", f"/v1/leases/{LEASE_ID}", json={"before_end_date": value}).status_code == 200
    assert service.commands == [CreateLease("a", NOW, ELEVEN), UpdateLease()]


def test_now_is_no_before_end_date(send: Send) -> None:
    answer = send("POST", "/v1/leases", json={**GOOD, "before_end_date": "now"})
    assert answer.json["error_message"].startswith("now is an invalid date.")


@pytest.mark.parametrize(
    "name", ["x", " x ", "x" * 80, "שלום עולם", "\u200fab", "a\u200db", "Größe/день", "名前", "a'b\"c", "￿"]
)
def test_names_that_are_accepted(send: Send, service: Canned, name: str) -> None:
    assert send("POST", "/v1/leases", json={**GOOD, "name": name}).status_code == 201
    assert send("PUT", f"/v1/leases/{LEASE_ID}", json={"name": name}).status_code == 200
    assert [command.name for command in service.commands] == [name, name]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "The name must have between 1 and 80 characters."),
        (" ", "The name must have a character that can be seen."),
        ("\u200b\u2060\ufeff\u00a0\u3164", "The name must have a character that can be seen."),
        ("a\u202egnp.exe", "The name must not contain characters that override the direction of text."),
        ("\u2066a\u2069", "The name must not contain characters that override the direction of text."),
        ("x" * 81, "The name must have between 1 and 80 characters."),
        (None, "The name must be a string."),
        (5, "The name must be a string."),
        (["a"], "The name must be a string."),
        ({}, "The name must be a string."),
        ("party \U0001f389", "beyond the Basic Multilingual Plane"),
        ("a\nb", "must not contain control characters"),
        ("a\x7fb", "must not contain control characters"),
        ("a\x85b", "must not contain control characters"),
    ],
)
def test_names_that_are_not(send: Send, service: Canned, name: Any, sentence: str) -> None:
    for method, path in [("POST", "/v1/leases"), ("PUT", f"/v1/leases/{LEASE_ID}")]:
        answer = send(method, path, json={**GOOD, "name": name})
        assert answer.status_code == 400
        assert sentence in answer.json["error_message"]
    assert not service.commands


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Missing parameter end_date, name, start_date"),
        ({"name": "a"}, "Missing parameter end_date, start_date"),
        ({"name": "a", "start_date": "Bogus"}, "Missing parameter end_date"),
        ({**GOOD, "reservations": [{"min": 1}]}, "Missing parameter resource_type"),
        ({**GOOD, "start_date": "Bogus", "reservations": [{}]}, "Missing parameter resource_type"),
    ],
)
def test_what_is_missing_is_told_first(send: Send, body: Any, message: str) -> None:
    assert send("POST", "/v1/leases", json=body).json == {
        "error_code": 400,
        "error_message": message,
        "error_name": 400,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reservations", None),
        ("reservations", "physical:host"),
        ("reservations", {"resource_type": "physical:host"}),
        ("reservations", 1),
        ("reservations", ["physical:host"]),
        ("reservations", [None]),
        ("reservations", [[]]),
        ("reservations", [{"resource_type": None, "id": 5}]),
        ("reservations", [{"resource_type": 5, "id": 5}]),
        ("reservations", [{"resource_type": "x" * 65, "id": "x" * 65}]),
        ("reservations", [{"resource_type": "physical:host", "id": str(n)} for n in range(65)]),
        ("events", "now"),
        ("events", {"event_type": "start_lease"}),
        ("events", 0),
        ("events", False),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/leases"), ("PUT", f"/v1/leases/{LEASE_ID}")])
def test_lists_that_are_none(
    send: Send, service: Canned, method: str, path: str, field: str, value: Any
) -> None:
    answer = send(method, path, json={**GOOD, field: value})
    assert answer.status_code == 400
    assert len(answer.json["error_message"]) < 300
    assert not service.commands


def test_an_update_tells_only_what_was_sent(send: Send, service: Canned) -> None:
    for body in [
        {},
        {"start_date": "2050-01-01 10:30"},
        {"name": "b", "end_date": "now"},
        {"reservations": [{"min": 1, "id": "aaa"}], "before_end_date": "2050-01-01 11:00"},
        {"reservations": [{"id": "aaa", "resource_type": "physical:host"}]},
        {"reservations": []},
    ]:
        assert send("PUT", f"/v1/leases/{LEASE_ID}", json=body).status_code == 200
    assert service.commands == [
        UpdateLease(),
        UpdateLease(start=utc(2050, 1, 1, 10, 30)),
        UpdateLease(name="b", end=NOW),
        UpdateLease(before_end=ELEVEN, reservations=(ReservationChange("aaa", {"min": 1}),)),
        UpdateLease(reservations=(ReservationChange("aaa", {}, "physical:host"),)),
        UpdateLease(),
    ]
    assert service.commands[0].name is UNSET


def test_an_update_names_the_reservation(send: Send) -> None:
    answer = send("PUT", f"/v1/leases/{LEASE_ID}", json={"reservations": [{"min": 1}]})
    assert answer.json["error_message"] == "Missing parameter reservation ID"


def test_an_update_names_each_reservation_once(send: Send) -> None:
    answer = send("PUT", f"/v1/leases/{LEASE_ID}", json={"reservations": [{"id": "a"}, {"id": "a"}]})
    assert answer.json["error_message"] == "Each reservation can be changed only once in a request."


def test_every_creation_has_an_id_by_which_it_can_be_asked_for_twice(send: Send, service: Canned) -> None:
    body = {
        "name": "a",
        "start_date": "now",
        "end_date": "2050-12-26 11:00",
        "reservations": [],
        "events": [],
    }
    for _ in range(2):
        assert send("POST", "/v1/leases", json=body).status_code == 201
    first, second = (command.id for command in service.commands)
    assert first
    assert second
    assert first != second
