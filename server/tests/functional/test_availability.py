"""Questions for availability over HTTP, with everything real but the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .canned import Canned
from .conftest import configured, edge
from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.3"}
PATH = "/v1/availability"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    body = {
        "name": "one",
        "start_date": "2050-01-01 10:00",
        "end_date": "2050-01-01 12:00",
        "reservations": [HOST],
    }
    assert at.send("POST", "/v1/leases", "demo", json=body).status_code == 201
    yield at
    at.stop()


def question(*reservations: dict[str, Any], start: Any = None, duration: Any = None) -> dict[str, Any]:
    return {
        "lease": {"reservations": list(reservations)},
        "start": {"earliest": "2050-01-01 11:00", **(start or {})},
        "duration": {"wanted": 120, **(duration or {})},
    }


def ask(at: Sandboxed, body: Any, user: str = "demo", headers: Any = VERSION) -> Any:
    return at.send("POST", PATH, user, json=body, headers=headers)


def test_a_question_is_answered_with_leases_that_can_be_made(at: Sandboxed) -> None:
    before = at.stored()
    both = {**HOST, "min": 2, "max": 2}
    answer = ask(at, question(both, duration={"minimum": 30}))
    assert answer.status_code == 200
    assert answer.headers["openstack-api-version"] == "reservation 1.3"
    found = answer.json["availability"]
    assert found == {
        "answers": [
            {
                "start_date": "2050-01-01T12:00:00.000000",
                "end_date": "2050-01-01T14:00:00.000000",
                "duration": 120,
                "changes": ["start"],
                "description": "starts 1 hour later",
                "reservations": [{"resource_type": "physical:host", "units": 2}],
                "lease": {
                    "start_date": "2050-01-01 12:00",
                    "end_date": "2050-01-01 14:00",
                    "reservations": [both],
                },
            },
            {
                "start_date": "2050-01-01T11:00:00.000000",
                "end_date": "2050-01-01T13:00:00.000000",
                "duration": 120,
                "changes": ["amount"],
                "description": "physical:host: 1 instead of 2",
                "reservations": [{"resource_type": "physical:host", "units": 1}],
                "lease": {
                    "start_date": "2050-01-01 11:00",
                    "end_date": "2050-01-01 13:00",
                    "reservations": [HOST],
                },
            },
        ],
        "reason": "Not enough hosts available: 2 hosts match, 1 of them is free.",
        "cut_short": False,
    }
    assert at.stored() == before
    for each in found["answers"]:
        made = at.send("POST", "/v1/leases", "demo", json={"name": "answer", **each["lease"]})
        assert made.status_code == 201
        at.send("DELETE", f"/v1/leases/{made.json['lease']['id']}", "demo")


def test_several_kinds_are_asked_for_together(at: Sandboxed) -> None:
    found = ask(at, question(HOST, {**INSTANCES, "amount": 2})).json["availability"]
    assert [each["units"] for each in found["answers"][0]["reservations"]] == [1, 2]
    assert found["answers"][0]["lease"]["start_date"] == "2050-01-01 12:00"


def test_it_is_not_there_before_1_3(at: Sandboxed) -> None:
    for headers in ({}, {"OpenStack-API-Version": "reservation 1.2"}):
        assert ask(at, question(HOST), headers=headers).status_code == 404
    assert ask(at, question(HOST), "viewer").status_code == 403


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "Missing parameter duration, lease, start"),
        (question(), "Malformed parameter lease.reservations"),
        (question(HOST, duration={"wanted": 0}), "A duration is a number of minutes from 1 to"),
        (question(HOST, duration={"wanted": True}), "A duration is a number of minutes"),
        (question(HOST, duration={"wanted": "1h"}), "A duration is a number of minutes"),
        (question(HOST, duration={"minimum": 121}), "shortest duration must not be longer"),
        (question(HOST, start={"latest": "2050-01-01 10:59"}), "latest start must not be before"),
        (question(HOST, start={"earliest": "soon"}), "soon is an invalid date"),
        (question(HOST, start={"earliest": "2020-01-01 10:00"}), "Start date must be later"),
        ({**question(HOST), "lease": []}, "Malformed parameter lease"),
        ({**question(HOST), "start": 7}, "Malformed parameter start"),
        (question({**HOST, "min": 9}), "range|Malformed|min"),
        (question({"resource_type": "physical:car"}), "not supported"),
    ],
)
def test_bad_questions_are_refused(at: Sandboxed, body: Any, told: str) -> None:
    answer = ask(at, body)
    assert answer.status_code == 400, answer.text
    assert any(part in answer.json["error_message"] for part in told.split("|"))


def test_where_shortages_are_not_told_only_administrators_may_ask(tmp_path: Path) -> None:
    send = edge(Canned(), configured(tmp_path, "[api]\nshortage_details = admin\n"))
    refusal = send("POST", PATH, json=question(HOST), headers=VERSION)
    assert refusal.status_code == 403
    assert "blazar:availability:post" in refusal.json["error_message"]
