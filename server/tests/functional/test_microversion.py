"""The microversion header: what is accepted, what is refused, what is said in return."""

from __future__ import annotations

import pytest

from blazar.api.microversion import MAXIMUM, text

from .conftest import Send

HEADER = "OpenStack-API-Version"


@pytest.mark.parametrize(
    "asked",
    [
        None,
        "",
        "reservation 1.0",
        "reservation latest",
        "compute 2.79",
        "1.5",
        "compute 2.1, reservation 1.0",
    ],
)
def test_served_as_1_0(send: Send, asked: str | None) -> None:
    answer = send("GET", "/v1/leases", headers={HEADER: asked} if asked is not None else {})
    assert answer.status_code == 200
    assert answer.headers["openstack-api-version"] == "reservation 1.0"
    assert answer.headers["vary"] == HEADER


@pytest.mark.parametrize("minor", range(1, MAXIMUM[1] + 1))
def test_later_versions_are_answered_as_such(send: Send, minor: int) -> None:
    answer = send("GET", "/v1/leases", headers={HEADER: f"reservation 1.{minor}"})
    assert (answer.status_code, answer.headers["openstack-api-version"]) == (200, f"reservation 1.{minor}")


@pytest.mark.parametrize("asked", [f"1.{MAXIMUM[1] + 1}", "2.0", "9999999.1"])
def test_out_of_range_is_406(send: Send, asked: str) -> None:
    answer = send("GET", "/v1/leases", headers={HEADER: f"reservation {asked}"})
    assert answer.status_code == 406
    assert next(iter(answer.json)) == "error_message"
    assert answer.json == {
        "error": 406,
        "error_message": f"Version {asked} is not supported by the API. Minimum is 1.0 and maximum is "
        f"{text(MAXIMUM)}.",
    }
    assert "openstack-api-version" not in answer.headers


@pytest.mark.parametrize("asked", ["1.a", "1", "100", "1.1.4", "1.03", "01.1", "1. 1", "LATEST", "1.0 x"])
def test_malformed_is_400(send: Send, asked: str) -> None:
    answer = send("GET", "/v1/leases", headers={HEADER: f"reservation {asked}"})
    assert answer.status_code == 400
    assert answer.json == {
        "error": 400,
        "error_message": f"API Version String {asked} is of invalid format. Must be of format "
        "MajorNum.MinorNum.",
    }


def test_handled_errors_carry_the_version(send: Send) -> None:
    answer = send("GET", "/v1/leases/nope")
    assert answer.status_code == 404
    assert answer.headers["openstack-api-version"] == "reservation 1.0"


def test_unknown_routes_do_not_look_at_the_version(send: Send) -> None:
    answer = send("GET", "/v1/nope", headers={HEADER: "reservation 9.9"})
    assert answer.status_code == 404
    assert "openstack-api-version" not in answer.headers
