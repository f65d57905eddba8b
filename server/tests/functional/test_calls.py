"""A call and its answer, whatever carries them: arguments, results, errors, deadlines and repetition."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from oslo_context import context

from blazar.domain.errors import BlazarError, CloudUnavailable, Internal, InvalidInput, NotFound
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.commands import RegisterHost, UpdateLease
from blazar.service.context import Caller, TooLate
from blazar.service.interface import CALLING, Calling

from .canned import LEASE, LEASE_ID, Canned

NOW = datetime(2030, 1, 1, tzinfo=UTC)
CALLER = Caller("u1", "p1", ("member",), request_id="req-1", token="secret")


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def pause(self, seconds: float) -> None: ...


class Wire:
    """Carries calls within the test, as JSON; ``lost`` answers never arrive, and the call is made again."""

    def __init__(
        self, service: Any, lost: int = 0, deadline: datetime | None = None, sent: datetime | None = None
    ) -> None:
        self._dispatcher = Dispatcher(service, StoppedClock())
        self._lost = lost
        times = {"deadline": deadline, "sent": sent}
        self._context = {name: moment.isoformat() for name, moment in times.items() if moment}
        self.calls: list[Calling] = []

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: Calling
    ) -> tuple[Mapping[str, Any], bool]:
        self.calls.append(calling)
        words = json.loads(json.dumps(dict(arguments)))
        for _ in range(self._lost):
            self._dispatcher.call(self._context, noun, use_case, words)
        answer = self._dispatcher.call(self._context, noun, use_case, words)
        return json.loads(json.dumps(answer)), self._lost > 0


@pytest.fixture
def service() -> Canned:
    return Canned()


def test_arguments_and_results_arrive_as_they_were(service: Canned) -> None:
    remote = remote_service(Wire(service))
    command = UpdateLease(name="other", end=NOW)
    assert remote.leases.update(LEASE_ID, command, CALLER) == LEASE
    assert service.commands == [command]
    assert service.callers[0] == CALLER
    assert remote.vitals.read().outbox == 2


@pytest.mark.parametrize("failure", [NotFound(object="x"), InvalidInput("a sentence"), TooLate()])
def test_errors_arrive_as_the_same_class(service: Canned, failure: BlazarError) -> None:
    service.failure = failure
    with pytest.raises(type(failure)) as told:
        remote_service(Wire(service)).leases.get(LEASE_ID, CALLER)
    assert told.value.message == failure.message


def test_a_defect_is_told_without_its_words(service: Canned, caplog: pytest.LogCaptureFixture) -> None:
    service.failure = RuntimeError("a password")  # type: ignore[assignment]
    with pytest.raises(Internal) as told:
        remote_service(Wire(service)).leases.get(LEASE_ID, CALLER)
    assert "password" not in str(told.value)
    assert "a password" in caplog.text


def test_nothing_else_can_be_called(service: Canned) -> None:
    dispatcher = Dispatcher(service, StoppedClock())
    for noun, use_case in (("leases", "note"), ("leases", "__init__"), ("service", "note"), ("callers", "append")):
        assert dispatcher.call({}, noun, use_case, {})["error"]["code"] == Internal.code


def test_what_nobody_waits_for_any_more_is_not_begun(service: Canned) -> None:
    remote = remote_service(Wire(service, deadline=NOW))
    with pytest.raises(TooLate):
        remote.leases.delete(LEASE_ID, CALLER)
    assert not service.commands


def test_use_cases_know_until_when_they_are_waited_for(service: Canned) -> None:
    deadline = NOW + timedelta(seconds=5)
    remote_service(Wire(service, deadline=deadline)).leases.get(LEASE_ID, CALLER)
    assert service.callers == [replace(CALLER, deadline=deadline)]


def test_a_manager_whose_clock_is_behind_refuses_calls(service: Canned) -> None:
    """It would go on with them when its caller has long given up, and perhaps asked somebody else."""
    remote_service(Wire(service, sent=NOW + timedelta(seconds=1.9))).leases.get(LEASE_ID, CALLER)
    with pytest.raises(CloudUnavailable) as told:
        remote_service(Wire(service, sent=NOW + timedelta(seconds=20))).leases.get(LEASE_ID, CALLER)
    assert told.value.fields == {"service": "blazar-manager", "reason": "its clock is 20.0 seconds behind"}
    assert len(service.callers) == 1


class Forgetful(Canned):
    """Has the lease until it is deleted."""

    @property
    def leases(self) -> Any:
        return self

    def delete(self, lease_id: str, caller: Caller) -> None:
        if self.commands:
            raise NotFound(object=lease_id)
        self.commands.append("deleted")


def test_a_deletion_whose_answer_was_lost_has_been_done() -> None:
    remote_service(Wire(Forgetful(), lost=1)).leases.delete(LEASE_ID, CALLER)
    gone = Forgetful()
    gone.commands.append("deleted")
    with pytest.raises(NotFound):
        remote_service(Wire(gone)).leases.delete(LEASE_ID, CALLER)


def test_what_must_not_be_repeated_says_so(service: Canned) -> None:
    wire = Wire(service)
    remote = remote_service(wire)
    remote.hosts.register(RegisterHost("compute-1", {}), CALLER)
    remote.hosts.list(CALLER)
    remote.vitals.read()
    assert [calling.repeatable for calling in wire.calls] == [False, True, True]
    assert "HostsInterface.register" not in CALLING


def test_lines_of_a_call_carry_its_request_and_its_lease(service: Canned, caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    class Looking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(context.get_current().to_dict())

    log = logging.getLogger("blazar.rpc.dispatcher")
    handler = Looking()
    caplog.set_level(logging.INFO)
    log.addHandler(handler)
    try:
        remote_service(Wire(service)).leases.get(LEASE_ID, CALLER)
    finally:
        log.removeHandler(handler)
    assert [(line["request_id"], line["resource_uuid"]) for line in seen] == [("req-1", LEASE_ID)]
    assert "secret" not in str(seen)
