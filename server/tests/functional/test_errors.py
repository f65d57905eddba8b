"""What goes wrong behind the edge: every domain error has its status, and defects stay inside."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from blazar.api.errors import FIRST, SINCE, status_of
from blazar.domain import errors
from blazar.kinds.floatingip.errors import NotEnoughFloatingIPs
from blazar.kinds.host.errors import InvalidRange
from blazar.kinds.registered_hosts.errors import CantDeleteHost, HostNotFound, NoFreePool

from .canned import Canned
from .conftest import Send

CASES = [
    (
        errors.InvalidInput("End date must be later than start date."),
        400,
        "End date must be later than start date.",
    ),
    (errors.MissingParameter(param="min,max"), 400, "Missing parameter min,max"),
    (errors.MalformedParameter(param="min"), 400, "Malformed parameter min"),
    (
        InvalidRange(),
        400,
        "Invalid values for min/max of hosts. Max must be equal to or larger than min.",
    ),
    (errors.UnsupportedResourceType(resource_type="x"), 400, "The x resource type is not supported"),
    (errors.NotAuthorized(), 403, "Not authorized"),
    (errors.PolicyNotAuthorized(action="a:b"), 403, "Policy doesn't allow a:b to be performed"),
    (HostNotFound(host="c"), 404, "Host 'c' not found!"),
    (NoFreePool(), 404, "No Freepool found"),
    (errors.NotEnoughResources(noun="hosts", reason="2 match."), 400, "Not enough hosts available: 2 match."),
    (NotEnoughFloatingIPs(noun="floating IPs", reason="no."), 400, "Not enough floating IPs available: no."),
    (
        CantDeleteHost(host="1", reason="The host is reserved."),
        409,
        "Can't delete host 1. The host is reserved.",
    ),
    (errors.CantUpdateParameter(param="resource_type"), 409, "resource_type cannot be updated"),
    (errors.CloudRefused(service="Nova", reason="no."), 409, "Nova refused the request: no."),
]


@pytest.mark.parametrize(
    ("error", "status", "message"), CASES, ids=[type(error).__name__ for error, _, _ in CASES]
)
def test_errors_of_operations(
    send: Send, service: Canned, error: errors.BlazarError, status: int, message: str
) -> None:
    service.failure = error
    answer = send("GET", "/v1/leases")
    assert answer.status_code == status
    assert answer.json == {"error_code": status, "error_message": message, "error_name": status}
    assert next(iter(answer.json)) == "error_message"
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (errors.Busy(), "1"),
        (errors.Stale(), "1"),
        (errors.CloudUnavailable(service="Nova", reason="timeout"), "10"),
    ],
)
def test_errors_that_go_away(send: Send, service: Canned, error: errors.BlazarError, seconds: str) -> None:
    service.failure = error
    answer = send("GET", "/v1/leases")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, seconds)
    assert answer.json["error_message"].endswith("Please try again.") or isinstance(error, errors.Stale)
    assert send("GET", "/v1/leases", "admin").json["error_message"] == error.message


def test_only_administrators_are_told_why_a_service_is_away(send: Send, service: Canned) -> None:
    service.failure = errors.CloudUnavailable(service="Nova", reason="cannot connect to http://10.1.2.3:8774")
    assert send("GET", "/v1/leases").json["error_message"] == "Nova is not available. Please try again."
    assert "10.1.2.3" in send("GET", "/v1/leases", "admin").json["error_message"]


def _tree(root: type[errors.BlazarError]) -> Iterator[type[errors.BlazarError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


@pytest.mark.parametrize("cls", dict.fromkeys(_tree(errors.BlazarError)))
def test_every_error_has_a_status(cls: type[errors.BlazarError]) -> None:
    status = status_of(cls.__new__(cls), (1, 0))
    assert status in FIRST.values()
    never_answered = (errors.BlazarError, errors.Internal, errors.ClaimLost, errors.NotDelivered)
    assert (status == 500) == (cls in never_answered)


@pytest.mark.parametrize("cls", [errors.NotEnoughResources, NotEnoughFloatingIPs])
@pytest.mark.parametrize(("version", "status"), [((1, 0), 400), ((1, 1), 409), ((1, 7), 409), ((2, 0), 409)])
def test_a_shortage_has_its_status_from_the_version_asked_for(
    cls: type[errors.BlazarError], version: tuple[int, int], status: int
) -> None:
    assert status_of(cls(noun="hosts", reason="2 match."), version) == status


def test_versions_change_nothing_else() -> None:
    assert [cls for table in SINCE.values() for cls in table] == [errors.NotEnoughResources]


@pytest.mark.parametrize(
    "defect",
    [
        RuntimeError("secret of the house"),
        errors.Internal("secret of the house"),
        KeyError("secret of the house"),
    ],
)
def test_defects_are_logged_and_hidden(
    send: Send, service: Canned, caplog: pytest.LogCaptureFixture, defect: Exception
) -> None:
    service.failure = defect
    answer = send("GET", "/v1/leases")
    assert answer.status_code == 500
    request_id = answer.headers["x-openstack-request-id"]
    assert answer.json["error_name"] == "INTERNAL_SERVER_ERROR"
    assert answer.json["error_message"].startswith("Internal Server Error.")
    assert request_id in answer.json["error_message"]
    assert "secret" not in answer.text
    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(logged) == 1
    assert logged[0].exc_info is not None
    assert logged[0].exc_info[1] is defect


def test_the_next_request_is_served(send: Send, service: Canned) -> None:
    service.failure = RuntimeError("once")
    assert send("GET", "/v1/leases").status_code == 500
    service.failure = None
    assert send("GET", "/v1/leases").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/leases/absent", 404),
        ("GET", "/nope", 404),
        ("PATCH", "/v1/leases", 405),
        ("POST", "/v1/leases", 400),
    ],
    ids=["an absent lease", "an absent route", "a wrong method", "a bad body"],
)
def test_the_message_comes_first(send: Send, method: str, path: str, status: int) -> None:
    """There are clients that show the first value of an error's body."""
    answer = send(method, path, body=b"[]")
    assert answer.status_code == status
    assert next(iter(answer.json)) == "error_message"
