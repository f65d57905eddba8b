"""A call and its answer, whatever carries them: arguments, results, errors, deadlines and repetition."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

import pytest
from oslo_context import context
from pydantic import ValidationError

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import BlazarError, CloudUnavailable, Internal, InvalidInput, NotFound, TooLate
from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.displacement import DisplacedLease
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.resource import Allocation, Usage
from blazar.domain.time import Interval
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.views import ResourceAllocations
from blazar.rpc import codec
from blazar.rpc.codec import CALLER as CALLER_WORD
from blazar.rpc.codec import WIRE_FIELDS, Codec, NotUnderstood, WireType
from blazar.rpc.deliveries import Deliveries
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.commands import NOW as NOW_DATE
from blazar.service.commands import (
    ClaimByWish,
    CreateLease,
    PriorityWish,
    RequestKey,
    ReservationRequest,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.health import ManagerHealth
from blazar.service.interface import CallOptions, options_of
from blazar.service.leases import DisplacingPreview

from .canned import LEASE, LEASE_ID, Canned
from .conftest import CORE, INTERFACES

CODEC = Codec(INTERFACES)
CODEC_OF_CALLER = WireType(Caller)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
CALLER = Caller("u1", "p1", ("member",), request_id="req-1", token="secret")


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def pause(self, seconds: float) -> None: ...


class Wire:
    """Carries calls within the test, as JSON; ``lost`` answers never arrive, and the call is made again."""

    def __init__(
        self,
        service: Any,
        lost: int = 0,
        deadline: datetime | None = None,
        sent: datetime | None = None,
        codec: Codec = CODEC,
    ) -> None:
        self._dispatcher = Dispatcher(service, codec, StoppedClock())
        self._lost = lost
        times = {"deadline": deadline, "sent": sent}
        self._context = {name: moment.isoformat() for name, moment in times.items() if moment}
        self.calls: list[CallOptions] = []
        self.words: list[dict[str, Any]] = []

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        self.calls.append(calling)
        words = json.loads(json.dumps(dict(arguments)))
        self.words.append(words)
        for _ in range(self._lost):
            self._dispatcher.call(self._context, noun, use_case, words)
        answer = self._dispatcher.call(self._context, noun, use_case, words)
        return json.loads(json.dumps(answer)), self._lost > 0


@pytest.fixture
def service() -> Canned:
    return Canned()


def test_arguments_and_results_arrive_as_they_were(service: Canned) -> None:
    remote = remote_service(Wire(service), CODEC)
    command = UpdateLease(name="other", end=NOW)
    assert remote.called_by(CALLER).leases.update(LEASE_ID, command, CALLER) == LEASE
    assert service.commands == [command]
    assert service.callers[0] == CALLER
    assert remote.health.read().outbox == 2


@pytest.mark.parametrize("failure", [NotFound(object="x"), InvalidInput("a sentence"), TooLate()])
def test_errors_arrive_as_the_same_class(service: Canned, failure: BlazarError) -> None:
    service.failure = failure
    with pytest.raises(type(failure)) as told:
        remote_service(Wire(service), CODEC).called_by(CALLER).leases.get(LEASE_ID)
    assert told.value.message == failure.message


def test_a_defect_is_told_without_its_words(service: Canned, caplog: pytest.LogCaptureFixture) -> None:
    service.failure = RuntimeError("a password")  # type: ignore[assignment]
    with pytest.raises(Internal) as told:
        remote_service(Wire(service), CODEC).called_by(CALLER).leases.get(LEASE_ID)
    assert "password" not in str(told.value)
    assert "a password" in caplog.text


def test_nothing_else_can_be_called(service: Canned) -> None:
    dispatcher = Dispatcher(service, CODEC, StoppedClock())
    for noun, use_case in (
        ("leases", "note"),
        ("leases", "__init__"),
        ("service", "note"),
        ("callers", "append"),
    ):
        assert dispatcher.call({}, noun, use_case, {})["error"]["code"] == NotUnderstood.code


def test_what_nobody_waits_for_any_more_is_not_begun(service: Canned) -> None:
    remote = remote_service(Wire(service, deadline=NOW), CODEC)
    with pytest.raises(TooLate):
        remote.called_by(CALLER).leases.delete(LEASE_ID, CALLER)
    assert not service.commands


class PausingClock(StoppedClock):
    def __init__(self) -> None:
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def twice(service: Canned, use_case: str, arguments: Mapping[str, Any], **more: str) -> tuple[Any, Any, Any]:
    """Deliver one message to two managers. Return both answers, and how long the second one waited."""
    database, clock = MemoryDatabase(), PausingClock()
    context = {"call": "one", "deadline": (NOW + timedelta(seconds=5)).isoformat()} | more
    words = {"lease_id": LEASE_ID, CALLER_WORD: CODEC_OF_CALLER.encode(CALLER), **arguments}
    first, second = (
        Dispatcher(service, CODEC, clock, deliveries=Deliveries(database, clock)).call(
            context, "leases", use_case, words
        )
        for _ in range(2)
    )
    return first, second, clock.pauses


@pytest.mark.parametrize(
    ("use_case", "arguments"), [("update", {"command": {"name": "new"}}), ("delete", {})]
)
def test_what_is_delivered_twice_is_done_once(
    service: Canned, use_case: str, arguments: Mapping[str, Any]
) -> None:
    """A second delivery may come after another change was answered, which it would undo. Its own answer must
    not come before the first one's."""
    first, second, pauses = twice(service, use_case, arguments)
    assert "result" in first
    assert second["error"]["code"] == TooLate.code
    assert pauses == [5.0]
    assert len(service.commands) == 1


def test_what_only_reads_is_done_as_often_as_it_comes(service: Canned) -> None:
    first, second, pauses = twice(service, "get", {})
    assert first == second
    assert not pauses


def test_calls_are_forgotten_when_nobody_waits_for_them(service: Canned) -> None:
    database, clock = MemoryDatabase(), PausingClock()
    database.transact(lambda uow: uow.calls.begin("old", NOW - timedelta(hours=2)))
    Deliveries(database, clock).require_first("new", None)
    Deliveries(database, clock).require_first("old", None)
    with pytest.raises(TooLate):
        Deliveries(database, clock).require_first("new", None)


def test_every_use_case_that_changes_something_is_done_once() -> None:
    changing = {
        f"{noun}.{name}"
        for noun, interface in INTERFACES.items()
        for name, use_case in vars(interface).items()
        if not name.startswith("_") and options_of(use_case).once
    }
    reading = {
        f"{noun}.{name}"
        for noun, interface in INTERFACES.items()
        for name in vars(interface)
        if name.startswith(("ask", "explain", "find", "get", "list", "preview", "properties", "read"))
    }
    every = {
        f"{noun}.{name}"
        for noun, interface in INTERFACES.items()
        for name in vars(interface)
        if not name.startswith("_")
    }
    assert changing | reading == every
    assert not changing & reading


def test_use_cases_know_until_when_they_are_waited_for(service: Canned) -> None:
    deadline = NOW + timedelta(seconds=5)
    remote_service(Wire(service, deadline=deadline), CODEC).called_by(CALLER).leases.update(
        LEASE_ID, UpdateLease(), CALLER
    )
    assert service.callers[0] == replace(CALLER, deadline=deadline)


def test_a_manager_whose_clock_is_behind_refuses_calls(service: Canned) -> None:
    """It would go on with them when its caller has long given up, and perhaps asked another manager."""
    remote_service(Wire(service, sent=NOW + timedelta(seconds=1.9)), CODEC).called_by(CALLER).leases.get(
        LEASE_ID
    )
    with pytest.raises(CloudUnavailable) as told:
        remote_service(Wire(service, sent=NOW + timedelta(seconds=20)), CODEC).called_by(CALLER).leases.get(
            LEASE_ID
        )
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
    remote_service(Wire(Forgetful(), lost=1), CODEC).called_by(CALLER).leases.delete(LEASE_ID, CALLER)
    gone = Forgetful()
    gone.commands.append("deleted")
    with pytest.raises(NotFound):
        remote_service(Wire(gone), CODEC).called_by(CALLER).leases.delete(LEASE_ID, CALLER)


def test_what_must_not_be_repeated_says_so(service: Canned) -> None:
    wire = Wire(service)
    remote = remote_service(wire, CODEC)
    remote.noun("hosts").register(RegisterHost("compute-1", {}))
    remote.noun("hosts").list(CALLER)
    remote.health.read()
    assert [calling.repeatable for calling in wire.calls] == [False, True, True]


class Lines(logging.Handler):
    """Keeps the log context of each line of the dispatcher."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(context.get_current().to_dict())

    def ids(self) -> list[tuple[str, str | None]]:
        return [(line["request_id"], line["resource_uuid"]) for line in self.seen]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    log, handler = logging.getLogger("blazar.rpc.dispatcher"), Lines()
    caplog.set_level(logging.INFO)
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def test_lines_of_a_call_carry_its_request_and_its_lease(service: Canned, lines: Lines) -> None:
    remote_service(Wire(service), CODEC).called_by(CALLER).leases.get(LEASE_ID)
    assert lines.ids() == [("req-1", LEASE_ID)]
    assert "secret" not in str(lines.seen)


@pytest.mark.parametrize(
    ("failure", "count"), [(NotFound(object="x"), 1), (TooLate(), 1), (RuntimeError("a defect"), 2)]
)
def test_lines_of_a_refused_call_carry_its_request_and_its_lease(
    service: Canned, lines: Lines, failure: BlazarError, count: int
) -> None:
    service.failure = failure
    with pytest.raises(BlazarError):
        remote_service(Wire(service), CODEC).called_by(CALLER).leases.get(LEASE_ID)
    assert lines.ids() == [("req-1", LEASE_ID)] * count


def test_lines_of_a_call_that_is_not_begun_carry_its_request(service: Canned, lines: Lines) -> None:
    late = Wire(service, sent=NOW + timedelta(seconds=20))
    with pytest.raises(CloudUnavailable):
        remote_service(late, CODEC).called_by(CALLER).leases.get(LEASE_ID)
    unknown = {"lease_id": LEASE_ID, "fields": [], "caller": FORMER_CALLER}
    Dispatcher(service, CODEC, StoppedClock()).call({}, "leases", "get", unknown)
    assert lines.ids() == [("req-1", None)] * 2


def test_a_call_leaves_no_request_behind(service: Canned, lines: Lines) -> None:
    """The thread's next call, without a caller, has a request id of its own."""
    remote = remote_service(Wire(service), CODEC)
    remote.called_by(CALLER).leases.get(LEASE_ID)
    remote.health.read()
    (_, second) = lines.ids()
    assert second[0] not in ("req-1", "-")
    assert second[1] is None


def test_a_noun_of_an_earlier_version_is_understood(service: Canned) -> None:
    """A blazar-api of before asks for the health by its former name while an upgrade is under way."""
    answer = Dispatcher(service, CODEC, StoppedClock()).call({}, "vitals", "read", {})
    assert (
        answer["result"]
        == Dispatcher(service, CODEC, StoppedClock()).call({}, "health", "read", {})["result"]
    )


FORMER_CALLER = {
    "user_id": "u1",
    "project_id": "p1",
    "roles": ["member"],
    "request_id": "req-1",
    "token": "secret",
}


@pytest.mark.parametrize(
    ("noun", "use_case", "arguments"),
    [
        ("leases", "get", {"lease_id": LEASE_ID}),
        ("leases", "list", {"project_id": None}),
        ("hosts", "list", {}),
        ("hosts", "properties", {"include_private": False}),
        ("floatingips", "list", {}),
        ("allocations", "list_for_hosts", {"lease_id": None}),
    ],
)
def test_a_caller_among_the_arguments_is_understood(
    service: Canned, noun: str, use_case: str, arguments: dict[str, Any]
) -> None:
    """A blazar-api of before gives its caller to every use case, with the token."""
    words = {**arguments, "caller": FORMER_CALLER}
    assert "result" in Dispatcher(service, CODEC, StoppedClock()).call({}, noun, use_case, words)


def test_every_call_of_a_request_has_its_caller(service: Canned) -> None:
    """A manager of before expects it among the arguments, whatever the use case does with it."""
    wire = Wire(service)
    remote = remote_service(wire, CODEC).called_by(CALLER)
    remote.leases.get(LEASE_ID)
    remote.leases.delete(LEASE_ID, CALLER)
    remote.noun("hosts").list(CALLER)
    remote.noun("floatingips").list()
    assert [words["caller"]["user_id"] for words in wire.words] == ["u1"] * 4


def test_the_token_goes_only_where_it_is_needed(service: Canned) -> None:
    wire = Wire(service)
    remote = remote_service(wire, CODEC).called_by(CALLER)
    remote.leases.update(LEASE_ID, UpdateLease(), CALLER)
    remote.leases.get(LEASE_ID)
    remote.leases.delete(LEASE_ID, CALLER)
    remote.noun("hosts").register(RegisterHost("compute-1", {}))
    assert ["secret" in str(words) for words in wire.words] == [True, False, False, False]


class Fleet:
    """Managers of several versions, which are asked in turn."""

    def __init__(self, service: Canned, *codecs: Codec) -> None:
        self._managers = [Dispatcher(service, codec, StoppedClock()) for codec in codecs]
        self.asked = 0

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        self.asked += 1
        return self._managers[self.asked % len(self._managers)].call({}, noun, use_case, arguments), False


OLD = Codec(CORE)
"""A manager of before the hosts."""


def test_a_manager_that_does_not_know_the_call_is_not_the_last_one_asked(service: Canned) -> None:
    fleet = Fleet(service, CODEC, OLD)
    remote_service(fleet, CODEC).noun("hosts").register(RegisterHost("compute-1", {}))
    assert fleet.asked == 2
    assert service.commands == [RegisterHost("compute-1", {})]


def test_a_call_that_no_manager_knows_is_unavailable(service: Canned) -> None:
    fleet = Fleet(service, OLD)
    with pytest.raises(CloudUnavailable, match=r"it does not know the call hosts\.list"):
        remote_service(fleet, CODEC).noun("hosts").list(CALLER)
    assert fleet.asked == 3


def test_an_unknown_argument_is_no_defect(service: Canned) -> None:
    answer = Dispatcher(service, CODEC, StoppedClock()).call(
        {}, "leases", "get", {"lease_id": "x", "fields": []}
    )
    assert answer["error"]["code"] == NotUnderstood.code
    assert not service.callers


class LaterLeases(Protocol):
    """The leases of a later version, which can be asked for in a colour."""

    def get(self, lease_id: str, colour: str = "none") -> Lease: ...


class Colourful(Canned):
    """A manager's leases of that version."""

    @property
    def leases(self) -> Any:
        return self

    def get(self, lease_id: str, colour: str = "none") -> Lease:
        return replace(LEASE, name=colour)


def test_an_argument_that_one_manager_does_not_know_is_tried_elsewhere() -> None:
    later = Codec({**INTERFACES, "leases": LaterLeases})
    fleet = Fleet(Colourful(), later, CODEC)
    got = cast(LaterLeases, remote_service(fleet, later).leases).get(LEASE_ID, colour="red")
    assert (got.name, fleet.asked) == ("red", 2)


RECORDED = json.loads(Path(__file__).with_name("calls_of_the_version_before.json").read_text())
"""Arguments and results as the program of commit bda7e93 encodes them: the version before the words of RPC
values were changed."""
BEGIN = datetime(2050, 1, 1, 10, tzinfo=UTC)
HOUR = Interval(BEGIN, BEGIN + timedelta(hours=1))
MADE = datetime(2026, 11, 20, 14, 58, 6, 496404, UTC)
ALLOCATION = Allocation(
    "al1", "r1", "l1", "1", HOUR, Usage({"VCPU": 2, "MEMORY_MB": 512}), slots=3, bound=True, created_at=MADE
)
RESERVATION = Reservation(
    id="r1",
    lease_id="l1",
    resource_id="res1",
    resource_type="virtual:instance",
    parameters={"amount": 3, "vcpus": 2, "cloud": "mine", "claim": "mine"},
    status=ReservationStatus.ACTIVE,
    cloud_state={"aggregate_id": 7, "server_group_id": "g1"},
    allocations=(ALLOCATION,),
    created_at=MADE,
)
ACTIVE_LEASE = Lease(
    id="l1",
    name="a",
    user_id="u1",
    project_id="p1",
    interval=HOUR,
    status=LeaseStatus.ACTIVE,
    reservations=(RESERVATION,),
    events=(
        Event("e1", "l1", EventType.START, BEGIN, EventStatus.DONE),
        Event("e2", "l1", EventType.CONVERGE, BEGIN),
    ),
    revision=4,
    created_at=MADE,
)
HOST_REQUEST = ReservationRequest("physical:host", {"min": 1, "max": 1})
ALLOCATIONS = [ResourceAllocations("1", (ALLOCATION,))]
HEALTH = ManagerHealth(event_lag_seconds=1.5, outbox=2, takes_changes=False)
RESULTS = [
    ("lease", "leases", "get", ACTIVE_LEASE),
    ("allocations", "allocations", "list_for_hosts", ALLOCATIONS),
    ("vitals", "health", "read", HEALTH),
]


@pytest.mark.parametrize(("name", "noun", "use_case", "value"), RESULTS)
def test_results_of_the_version_before_are_read(name: str, noun: str, use_case: str, value: object) -> None:
    assert CODEC.signature(noun, use_case).decode_result(RECORDED[name]) == value


@pytest.mark.parametrize(("name", "noun", "use_case", "value"), RESULTS)
def test_results_are_sent_as_the_version_before_reads_them(
    name: str, noun: str, use_case: str, value: object
) -> None:
    assert CODEC.signature(noun, use_case).encode_result(value) == RECORDED[name]


class ManagerBefore:
    """A manager of the version before: remembers each call, and answers with what is recorded of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        self.calls.append((noun, use_case, json.loads(json.dumps(dict(arguments)))))
        lease, health = RECORDED["lease"], RECORDED["vitals"]
        answers = {"create": lease, "update": lease, "list": [lease], "read": health}
        return {"result": answers[use_case]}, False


def test_calls_are_made_as_the_version_before_reads_them() -> None:
    manager = ManagerBefore()
    remote = remote_service(manager, CODEC)
    leases = remote.called_by(CALLER).leases
    create = CreateLease("a", NOW_DATE, BEGIN, reservations=(HOST_REQUEST,), id="l1")
    assert leases.create(create, CALLER) == ACTIVE_LEASE
    assert leases.update("l1", UpdateLease(name="b", end=BEGIN), CALLER) == ACTIVE_LEASE
    assert leases.list("p1") == [ACTIVE_LEASE]
    assert remote.health.read() == HEALTH
    # The token is left out where it is not needed, which the version before does not do.
    caller = {name: value for name, value in RECORDED["list"]["caller"].items() if name != "token"}
    assert manager.calls == [
        ("leases", "create", RECORDED["create"]),
        ("leases", "update", RECORDED["update"]),
        ("leases", "list", {**RECORDED["list"], "caller": caller}),
        ("vitals", "read", {}),
    ]


def test_what_a_newer_version_sends_is_read_as_far_as_it_is_known() -> None:
    """The next version may send fields by their present names, statuses and types of events of its own, and
    fields that are new."""
    sent = json.loads(json.dumps(RECORDED["lease"]))
    sent |= {"status": "PAUSED", "colour": "red"}
    [reservation] = sent["reservations"]
    reservation |= {"status": "paused", "cloud_state": reservation.pop("cloud"), "colour": "red"}
    [allocation] = reservation["allocations"]
    allocation |= {"usage": allocation.pop("claim"), "colour": "red"}
    sent["events"] += [{**sent["events"][0], "id": "e3", "event_type": "pause_lease"}]
    sent["events"] += [{**sent["events"][0], "id": "e4", "status": "PAUSED"}]
    expected = replace(
        ACTIVE_LEASE,
        status=LeaseStatus.UNKNOWN,
        reservations=(replace(RESERVATION, status=ReservationStatus.UNKNOWN),),
    )
    assert CODEC.signature("leases", "get").decode_result(sent) == expected
    assert CODEC.signature("leases", "list").decode_result([sent]) == [expected]


NAMES = [(cls, field) for cls, names in WIRE_FIELDS.items() for field in names]


@pytest.mark.parametrize(("cls", "field"), NAMES, ids=str)
def test_the_record_has_every_name_of_the_version_before(
    monkeypatch: pytest.MonkeyPatch, cls: type, field: str
) -> None:
    """A codec that forgets one of them sends what the version before does not read, and does not read what
    it sends."""
    kept = {each: dict(names) for each, names in WIRE_FIELDS.items()}
    del kept[cls][field]
    monkeypatch.setattr(codec, "WIRE_FIELDS", kept)
    forgetful = Codec(INTERFACES)
    sent = [forgetful.signature(noun, call).encode_result(value) for _, noun, call, value in RESULTS]
    assert sent != [RECORDED[name] for name, *_ in RESULTS]
    assert not all(reads(forgetful, *result) for result in RESULTS)


def reads(known: Codec, name: str, noun: str, use_case: str, value: object) -> bool:
    try:
        return bool(known.signature(noun, use_case).decode_result(RECORDED[name]) == value)
    except ValidationError:
        return False


def test_an_event_of_a_newer_version_is_read_only_because_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = {**RECORDED["lease"], "events": [{**RECORDED["lease"]["events"][0], "event_type": "pause_lease"}]}
    assert CODEC.signature("leases", "get").decode_result(sent) == replace(ACTIVE_LEASE, events=())
    monkeypatch.setattr(codec, "OMITTED_WHEN_UNKNOWN", frozenset())
    with pytest.raises(ValidationError, match="pause_lease"):
        Codec(INTERFACES).signature("leases", "get").decode_result(sent)


class LeasesOfTheVersionBefore(Protocol):
    """What a manager knows that has neither conditions nor keys."""

    def create(self, command: CreateLease, caller: Caller) -> Lease: ...
    def update(self, lease_id: str, command: UpdateLease, caller: Caller) -> Lease: ...
    def delete(self, lease_id: str, caller: Caller) -> None: ...


def test_a_manager_of_the_version_before_refuses_what_it_would_not_heed(service: Canned) -> None:
    """It must not carry out a change whatever the lease is like now, nor make a second lease."""
    wire = Wire(service, codec=Codec({"leases": LeasesOfTheVersionBefore}))
    leases = remote_service(wire, CODEC).called_by(CALLER).leases
    command = CreateLease("a", NOW_DATE, NOW)
    with pytest.raises(NotUnderstood, match="revisions"):
        leases.update(LEASE_ID, UpdateLease(name="b"), CALLER, revisions=(3,))
    with pytest.raises(NotUnderstood, match="revisions"):
        leases.delete(LEASE_ID, CALLER, revisions=())
    with pytest.raises(NotUnderstood, match="key"):
        leases.create(command, CALLER, key=RequestKey("k", "f"))
    wish = ClaimByWish(timedelta(hours=1))
    with pytest.raises(NotUnderstood, match="claim_by"):
        leases.create(command, CALLER, claim_by=wish)
    with pytest.raises(NotUnderstood, match="claim_by"):
        leases.update(LEASE_ID, UpdateLease(), CALLER, claim_by=wish)
    with pytest.raises(NotUnderstood, match="priority"):
        leases.create(command, CALLER, priority=PriorityWish(Priority.LOW))
    with pytest.raises(NotUnderstood, match="priority"):
        leases.update(LEASE_ID, UpdateLease(), CALLER, priority=PriorityWish(Priority.LOW))
    assert service.commands == []
    assert leases.create(command, CALLER) == LEASE
    assert leases.update(LEASE_ID, UpdateLease(name="b"), CALLER) == LEASE


def test_conditions_and_keys_arrive_as_they_were() -> None:
    signatures = {name: CODEC.signature("leases", name) for name in ("update", "create")}
    key = RequestKey("k '", "f" * 64)
    sent = signatures["update"].encode_arguments("l", UpdateLease(), CALLER, revisions=(7, 10**18))
    assert signatures["update"].decode_arguments(json.loads(json.dumps(sent)))["revisions"] == (7, 10**18)
    sent = signatures["create"].encode_arguments(CreateLease("a", NOW_DATE, NOW), CALLER, key=key)
    assert signatures["create"].decode_arguments(json.loads(json.dumps(sent)))["key"] == key


@pytest.mark.parametrize("after", [None, timedelta(0), timedelta(minutes=90)])
@pytest.mark.parametrize("may_be_later", [False, True])
@pytest.mark.parametrize("use_case", ["create", "preview_create", "update", "preview_update"])
def test_how_soon_a_lease_has_to_be_used_arrives_as_it_was(
    use_case: str, after: timedelta | None, may_be_later: bool
) -> None:
    signature, wish = CODEC.signature("leases", use_case), ClaimByWish(after, may_be_later)
    command = CreateLease("a", NOW_DATE, NOW) if "create" in use_case else UpdateLease()
    about = () if "create" in use_case else ("l",)
    sent = json.loads(json.dumps(signature.encode_arguments(*about, command, CALLER, claim_by=wish)))
    assert signature.decode_arguments(sent)["claim_by"] == wish


@pytest.mark.parametrize(
    "use_case", ["create", "preview_create", "preview_displacing", "update", "preview_update"]
)
@pytest.mark.parametrize(
    "wish", [PriorityWish(Priority.HIGH, True), PriorityWish(None, True), PriorityWish(Priority.LOW)]
)
def test_a_priority_arrives_as_it_was(use_case: str, wish: PriorityWish) -> None:
    signature = CODEC.signature("leases", use_case)
    is_update = "update" in use_case
    command = UpdateLease() if is_update else CreateLease("a", NOW_DATE, NOW)
    about = ("l",) if is_update else ()
    sent = json.loads(json.dumps(signature.encode_arguments(*about, command, CALLER, priority=wish)))
    assert signature.decode_arguments(sent)["priority"] == wish


def test_what_would_give_way_is_answered_as_it_is() -> None:
    signature = CODEC.signature("leases", "preview_displacing")
    waiting = replace(LEASE, status=LeaseStatus.WAITING, priority=Priority.LOW)
    found = DisplacingPreview(LEASE, (DisplacedLease(LEASE, waiting),))
    assert signature.decode_result(json.loads(json.dumps(signature.encode_result(found)))) == found


def test_a_lease_is_answered_with_the_time_in_which_it_has_to_be_used() -> None:
    signature = CODEC.signature("leases", "get")
    for claim_by in (None, ClaimBy(timedelta(minutes=5)), ClaimBy(timedelta(hours=2), NOW, NOW)):
        lease = replace(LEASE, claim_by=claim_by)
        assert signature.decode_result(json.loads(json.dumps(signature.encode_result(lease)))) == lease
