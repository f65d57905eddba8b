"""A create whose answer is lost is made again with the same key; a change may name what it has read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
from clientkit.recorder import RecordingCloud
from keystoneauth1 import exceptions as ksa_exceptions

from blazarclient import client, exception
from blazarclient.transport import Body, Response, Transport
from blazarclient.v1.repetition import create_lease

LEASE = {"lease": {"id": "l1", "name": "a"}}
LOST = exception.BlazarClientException("ERROR: gone", code=504)


class Clock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Line(Transport):
    """Answers in turn, or raises."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str | None, str | None]] = []

    def request(
        self,
        url: str,
        method: str,
        *,
        body: Body | None = None,
        version: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        assert (url, method, body) == ("/leases", "POST", BODY)
        self.sent.append((version, (headers or {}).get("Idempotency-Key")))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return requests.Response(), answer

    def project_id(self) -> str:
        raise NotImplementedError

    def _send(self, *_: Any) -> requests.Response:
        raise NotImplementedError


BODY: dict[str, Any] = {"name": "a"}


@pytest.mark.parametrize(
    "lost",
    [
        LOST,
        requests.ConnectionError(),
        requests.ReadTimeout(),
        ksa_exceptions.ConnectFailure(),
        ksa_exceptions.ConnectTimeout(),
        ksa_exceptions.UnknownConnectionError("reset", None),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lost_answer_is_asked_for_again(lost: Exception) -> None:
    line, clock = Line(lost, lost, LEASE), Clock()
    assert create_lease(line, BODY, 2, clock=clock) == LEASE
    assert {version for version, _ in line.sent} == {"1.5"}
    assert len({key for _, key in line.sent}) == 1
    assert len(line.sent) == 3
    assert clock.slept == [1.0, 1.0]
    with pytest.raises(type(lost)):
        create_lease(Line(lost, lost, lost), BODY, 2, clock=clock)


@pytest.mark.parametrize("code", [400, 403, 409, 422, 500, 503])
def test_what_was_answered_is_not_asked_again(code: int) -> None:
    line = Line(exception.BlazarClientException("ERROR: no", code=code))
    with pytest.raises(exception.BlazarClientException):
        create_lease(line, BODY, 2)
    assert len(line.sent) == 1


def test_an_older_service_is_asked_once_and_without_a_key() -> None:
    line = Line(exception.BlazarClientException("ERROR: version", code=406), LOST)
    with pytest.raises(exception.BlazarClientException, match="gone"):
        create_lease(line, BODY, 2)
    assert line.sent[1:] == [("1.3", None)]


def test_each_create_has_a_key_of_its_own_or_that_of_the_program() -> None:
    line = Line(LEASE, LEASE, LEASE, LEASE)
    create_lease(line, BODY, 2)
    create_lease(line, BODY, 2)
    create_lease(line, BODY, 0, "mine")
    create_lease(line, BODY, 0)
    assert len(set(line.sent)) == 4
    assert line.sent[2:] == [("1.5", "mine"), ("1.3", None)]


def test_a_change_may_name_what_was_read(cloud: RecordingCloud) -> None:
    library = client.Client(blazar_url=cloud.endpoint, auth_token="recorded-token")
    cloud.answer("PUT", "/leases/l1", 200, LEASE)
    cloud.answer("DELETE", "/leases/l1", 204)
    library.lease.update_unchanged("l1", '"3"', name="b")
    library.lease.delete_unchanged("l1", '"4"')
    library.lease.update("l1", name="b")
    library.lease.delete("l1")
    sent = [
        (each.headers.get("if-match"), each.headers.get("openstack-api-version")) for each in cloud.requests
    ]
    assert sent == [('"3"', "reservation 1.5"), ('"4"', "reservation 1.5"), (None, None), (None, None)]
