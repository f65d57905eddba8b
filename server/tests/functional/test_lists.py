"""Is a long list of leases read and sent in parts, to the byte as at once, and never taken for whole when it
is not?"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

import pytest
from oslo_config import cfg

from blazar.api.app import make_app
from blazar.api.health import Health
from blazar.api.leases import PAGE, lease_pages
from blazar.domain.errors import BlazarError, CloudUnavailable, Internal
from blazar.domain.lease.lease import Lease
from blazar.rpc.codec import Codec, NotUnderstood
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.interface import CallOptions
from blazar.service.ports import ListPage

from .canned import LEASE, MADE, Canned, ShownKind
from .conftest import EXTENSIONS, INTERFACES, Send, edge, enforcer
from .personas import believe
from .test_calls import StoppedClock
from .test_wire import listening

COUNTS = [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 7]


def leases(count: int) -> list[Lease]:
    """Leases of which always three share a moment."""
    return [replace(LEASE, id=f"{n:08}", created_at=MADE + timedelta(seconds=n // 3)) for n in range(count)]


@dataclass
class Failing(Canned):
    """Answers so many pages of a list, then fails."""

    pages: int = 0

    def note(self, caller: Any = None, command: Any = None) -> None:
        super().note(caller, command)
        if isinstance(command, ListPage):
            self.pages -= 1
            if self.pages < 0:
                raise CloudUnavailable(service="blazar-manager", reason="away")


@pytest.mark.parametrize("count", COUNTS)
def test_the_bytes_are_those_of_one_document(conf: cfg.ConfigOpts, count: int) -> None:
    service = Canned(stored=leases(count))
    send = edge(service, conf)
    one = send("GET", f"/v1/leases/{LEASE.id}").json["lease"]
    found = send("GET", "/v1/leases")
    got = found.json["leases"]
    assert [lease["id"] for lease in got] == [lease.id for lease in service.stored]
    shown = [one | {"id": lease["id"], "created_at": lease["created_at"]} for lease in got]
    assert found.content == json.dumps({"leases": shown}).encode()
    assert ("content-length" in found.headers) == (count < PAGE)
    asked = [command for command in service.commands if isinstance(command, ListPage)]
    assert len(asked) == count // PAGE + 1
    assert all(page.limit == PAGE for page in asked)


def test_leases_that_the_caller_may_not_see_leave_no_gap(conf: cfg.ConfigOpts) -> None:
    hidden = [replace(lease, project_id="p2") for lease in leases(3 * PAGE)]
    hidden[0], hidden[-1] = (replace(lease, project_id="p1") for lease in (hidden[0], hidden[-1]))
    found = edge(Canned(stored=hidden), conf)("GET", "/v1/leases")
    assert [lease["id"] for lease in found.json["leases"]] == [hidden[0].id, hidden[-1].id]


@pytest.mark.parametrize("pages", [0, 1])
def test_a_failure_before_the_answer_begins_has_a_status(conf: cfg.ConfigOpts, pages: int) -> None:
    send = edge(Failing(stored=leases(3 * PAGE), pages=pages), conf)
    found = send("GET", "/v1/leases")
    assert found.status_code == 503
    assert "blazar-manager" in found.json["error_message"]


@pytest.mark.parametrize("pages", [2, 3, None])
def test_an_answer_that_is_cut_off_does_not_look_whole(
    conf: cfg.ConfigOpts, pages: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen at the socket of the built-in server: the connection ends without the last chunk."""
    stored = leases(4 * PAGE)
    service = Canned(stored=stored) if pages is None else Failing(stored=stored, pages=pages)
    app = make_app(
        service,
        {"physical:host": ShownKind()},  # type: ignore[dict-item]  # the edge only renders
        EXTENSIONS,
        enforcer(conf),
        conf=conf,
        authenticate=believe,
        health=lambda: Health(healthy=True),
    )
    with listening(app) as address:
        connection = http.client.HTTPConnection(*address, timeout=10)
        connection.request("GET", "/v1/leases", headers={"X-Auth-Token": "member"})
        answer = connection.getresponse()
        assert answer.status == 200
        if pages is None:
            assert [lease["id"] for lease in json.loads(answer.read())["leases"]] == [
                lease.id for lease in stored
            ]
            return
        # A reset is as good an end as a missing chunk: neither looks whole.
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as cut:
            answer.read()
        partial = cut.value.partial if isinstance(cut.value, http.client.IncompleteRead) else b""
        with pytest.raises(json.JSONDecodeError):
            json.loads(partial)
        connection.close()
    assert "is cut off" in caplog.text


class FormerLeases(Protocol):
    """The interface of a manager of the version before."""

    def list(self, project_id: str | None) -> Sequence[Lease]: ...


class Managers:
    """Takes the calls one after the other to managers with these codecs, and measures the answers."""

    def __init__(self, service: Canned, *codecs: Codec, unknown: type[BlazarError] = NotUnderstood) -> None:
        self._managers = [Dispatcher(service, codec, StoppedClock()) for codec in codecs]
        self._unknown = unknown
        self.largest = 0
        self.asked = 0

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        manager = self._managers[self.asked % len(self._managers)]
        self.asked += 1
        answer = json.loads(json.dumps(manager.call({}, noun, use_case, json.loads(json.dumps(arguments)))))
        if answer.get("error", {}).get("code") == NotUnderstood.code:
            answer["error"]["code"] = self._unknown.code
        self.largest = max(self.largest, len(answer.get("result", ())))
        return answer, False


TODAY = Codec(INTERFACES)
FORMER = Codec({"leases": FormerLeases})


def test_no_message_has_more_than_a_page() -> None:
    service = Canned(stored=leases(5 * PAGE + 1))
    managers = Managers(service, TODAY)
    pages = list(lease_pages(remote_service(managers, TODAY).leases, None))
    assert [lease for page in pages for lease in page] == service.stored
    assert managers.largest == PAGE


@pytest.mark.parametrize("unknown", [NotUnderstood, Internal])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("codecs", [(FORMER,), (FORMER, TODAY), (TODAY, FORMER), (TODAY, TODAY, FORMER)])
def test_managers_of_the_version_before_are_asked_for_all(
    codecs: Sequence[Codec], count: int, unknown: type[BlazarError]
) -> None:
    service = Canned(stored=leases(count))
    managers = Managers(service, *codecs, unknown=unknown)
    pages = lease_pages(remote_service(managers, TODAY).leases, None)
    assert [lease.id for page in pages for lease in page] == [lease.id for lease in service.stored]


def test_an_api_of_the_version_before_is_answered_with_all() -> None:
    service = Canned(stored=leases(2 * PAGE))
    remote: Any = remote_service(Managers(service, TODAY), FORMER)
    assert remote.leases.list(None) == service.stored
    assert remote.leases.list("absent") == []


def test_head_reads_no_more_than_the_headers_need(conf: cfg.ConfigOpts) -> None:
    service = Canned(stored=leases(5 * PAGE))
    send: Send = edge(service, conf)
    assert send("HEAD", "/v1/leases").content == b""
    assert len([command for command in service.commands if isinstance(command, ListPage)]) == 2
