"""Calls and notifications over RabbitMQ, and what becomes of them without it."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp
import pytest
from free_ports import free_port
from labtests.relay import Relay
from new_databases import give_schema
from sqlalchemy import make_url

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.notifications import LogNotifier, MessagingNotifier, chosen_notifier
from blazar.broker import oslo_messaging
from blazar.domain.errors import CloudUnavailable, NotFound, TooLate
from blazar.engine.relay import Relay as OutboxRelay
from blazar.rpc.messaging import CallServer
from blazar.service.commands import UpdateLease
from blazar.service.context import Caller
from blazar.service.health import ThreadState
from blazar.service.ports import Notification

from .bus import RABBITMQ, Bus
from .canned import LEASE, LEASE_ID, Canned
from .sandboxed import until

CALLER = Caller("u1", "p1", ("member",))
NOTICE = Notification(
    1, "lease.create", {"lease_id": LEASE_ID, "name": "🙂"}, datetime(2030, 1, 1, tzinfo=UTC)
)
NewBus = Callable[..., Bus]
# oslo.messaging leaves its sockets to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def new_bus(tmp_path: Path) -> Iterator[NewBus]:
    buses: list[Bus] = []

    def make(**settings: Any) -> Bus:
        buses.append(Bus(tmp_path, **settings))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()
    gc.collect()  # here, where the sockets are expected


class Begun:
    """The ids of the calls that were begun."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def require_first(self, call_id: str, deadline: datetime | None) -> None:
        assert deadline is not None
        self.ids.append(call_id)


@pytest.mark.servers
def test_every_message_that_changes_something_has_an_id(new_bus: NewBus) -> None:
    bus, begun = new_bus(), Begun()
    bus.listen(Canned(), begun)
    leases = bus.client().called_by(CALLER).leases
    for _ in range(2):
        leases.update(LEASE_ID, UpdateLease(), CALLER)
    leases.get(LEASE_ID)
    assert len(set(begun.ids)) == len(begun.ids) == 2


@pytest.mark.servers
def test_any_manager_that_listens_answers(new_bus: NewBus) -> None:
    bus, services = new_bus(), [Canned(), Canned()]
    for service in services:
        bus.listen(service)
    client = bus.client()
    for _ in range(20):
        assert client.called_by(CALLER).leases.get(LEASE_ID) == LEASE
    with pytest.raises(NotFound):
        client.called_by(CALLER).leases.get("nope")
    counts = [len(service.callers) for service in services]
    assert sum(counts) == 21
    assert min(counts) > 0


class Mute(Canned):
    """Does what it is asked, and answers when the caller has given up; as a manager that dies with the
    call."""

    def note(self, caller: Caller | None = None, command: Any = None) -> None:
        super().note(caller, command)
        time.sleep(5)


@pytest.mark.servers
def test_a_call_that_a_manager_took_with_it_is_made_again(new_bus: NewBus) -> None:
    bus, mute = new_bus(timeout=12), Mute()
    bus.listen(mute)
    answer: list[Any] = []
    asking = threading.Thread(
        target=lambda: answer.append(bus.client().called_by(CALLER).leases.get(LEASE_ID))
    )
    asking.start()
    while not mute.callers:
        time.sleep(0.01)
    for server in bus._servers:
        server.stop()
    bus._servers.clear()
    bus.listen(Canned())
    asking.join(30)
    assert answer == [LEASE]
    assert len(mute.callers) == 1


@pytest.mark.servers
def test_nobody_listens(new_bus: NewBus) -> None:
    bus, began = new_bus(timeout=3), time.monotonic()
    with pytest.raises(CloudUnavailable) as told:
        bus.client().called_by(CALLER).leases.get(LEASE_ID)
    assert told.value.fields == {"service": "blazar-manager", "reason": "no manager takes calls"}
    assert time.monotonic() - began < 10


@pytest.mark.servers
def test_a_call_waits_for_the_first_manager_that_starts(new_bus: NewBus) -> None:
    bus, service, answer = new_bus(timeout=60), Canned(), list[Any]()
    client, began = bus.client(), time.monotonic()
    asking = threading.Thread(target=lambda: answer.append(client.called_by(CALLER).leases.get(LEASE_ID)))
    asking.start()
    asking.join(1)
    assert asking.is_alive()
    bus.listen(service)
    asking.join(30)
    assert answer == [LEASE]
    assert len(service.callers) == 1
    assert time.monotonic() - began < 9, "before the first attempt would have ended in vain"


# oslo.messaging goes on trying for as long as the process lives, and logs it: not among tests that read what
# is logged.
@pytest.mark.servers
def test_a_broker_that_is_not_there(new_bus: NewBus) -> None:
    bus, began = new_bus(url=f"rabbit://guest:guest@127.0.0.1:{free_port()}/", timeout=3), time.monotonic()
    client = bus.client()
    for _ in range(3):
        with pytest.raises(CloudUnavailable) as told:
            client.called_by(CALLER).leases.get(LEASE_ID)
        assert told.value.fields["service"] == "the message broker"
    assert time.monotonic() - began < 20


@pytest.mark.servers
def test_calls_are_taken_as_soon_as_the_broker_does_not_refuse_any_more(
    new_bus: NewBus, caplog: pytest.LogCaptureFixture
) -> None:
    """An exchange of that name, and of another kind, stands for all that an operator has to mend first."""
    bus = new_bus()
    with amqp.Connection(**at_the_broker()) as connection:
        channel = connection.channel()
        channel.exchange_declare(bus.name, "fanout", durable=True, auto_delete=False)
        calls = CallServer(lambda: bus.server(Canned()), pause=0.2)
        with caplog.at_level(logging.INFO, "blazar.rpc.messaging"):
            calls.start()
            try:
                assert until(lambda: "the broker refuses" in caplog.text)
                time.sleep(1)
                channel.exchange_delete(bus.name)
                assert until(lambda: "The manager takes calls" in caplog.text)
                assert bus.client().called_by(CALLER).leases.get(LEASE_ID) == LEASE
            finally:
                calls.stop()
    assert caplog.text.count("the broker refuses") == 1
    assert not [each for each in caplog.records if each.exc_info and each.name.startswith("blazar")]


def at_the_broker() -> dict[str, Any]:
    """Return where the broker of the tests is, as the library of AMQP wants it."""
    url = make_url(RABBITMQ)
    place = f"{url.host}:{url.port or 5672}"
    virtual_host = unquote(url.database or "/")
    return {"host": place, "userid": url.username, "password": url.password, "virtual_host": virtual_host}


class OtherClock(SystemClock):
    """By so many seconds ahead of everybody else's."""

    def __init__(self, ahead: float) -> None:
        self._ahead = timedelta(seconds=ahead)

    def now(self) -> datetime:
        return super().now() + self._ahead


@pytest.mark.servers
@pytest.mark.parametrize(("ahead", "told"), [(20, CloudUnavailable), (-20, TooLate)], ids=["ahead", "behind"])
def test_a_caller_by_another_clock_is_refused(new_bus: NewBus, ahead: float, told: type[Exception]) -> None:
    bus, service = new_bus(), Canned()
    bus.listen(service)
    with pytest.raises(told):
        bus.client(OtherClock(ahead)).called_by(CALLER).leases.get(LEASE_ID)
    assert not service.callers
    assert bus.client(OtherClock(0)).called_by(CALLER).leases.get(LEASE_ID) == LEASE


# -----------------------------------------------------------------------------------------------
# notifications


class Listening:
    """An endpoint as consumers of notifications have it."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self.was_heard = threading.Event()

    def info(
        self, ctxt: Any, publisher_id: str, event_type: str, payload: dict[str, Any], metadata: Any
    ) -> None:
        self.heard.append((publisher_id, event_type, payload))
        self.was_heard.set()


@pytest.mark.servers
def test_consumers_hear_notifications(new_bus: NewBus) -> None:
    bus, endpoint = new_bus(), Listening()
    notifier = chosen_notifier(bus.conf)
    transport = oslo_messaging.get_notification_transport(bus.conf)
    target = oslo_messaging.Target(topic=bus.name)
    listener = oslo_messaging.get_notification_listener(transport, [target], [endpoint])
    listener.start()
    notifier.send(NOTICE)
    assert endpoint.was_heard.wait(20)
    listener.stop()
    listener.wait()
    transport.cleanup()
    assert endpoint.heard == [("blazar.lease", "lease.create", NOTICE.payload)]


def test_a_notification_that_was_not_delivered_is_told(new_bus: NewBus) -> None:
    bus = new_bus(url=f"rabbit://guest:guest@127.0.0.1:{free_port()}/")
    notifier = chosen_notifier(bus.conf)
    assert isinstance(notifier, MessagingNotifier)
    with pytest.raises(CloudUnavailable) as told:
        notifier.send(NOTICE)
    assert told.value.fields["service"] == "the message broker"


@pytest.mark.servers
def test_notifications_of_an_outage_come_in_their_order(new_bus: NewBus, tmp_path: Path) -> None:
    """They were committed while the broker was away, one of them when it went."""
    way = Relay(urlsplit(RABBITMQ).port or 5672)
    way.start()
    bus = new_bus(url=RABBITMQ.replace(str(urlsplit(RABBITMQ).port or 5672), str(way.port)))
    endpoint = Listening()
    transport = oslo_messaging.get_notification_transport(bus.conf, RABBITMQ)
    listener = oslo_messaging.get_notification_listener(
        transport, [oslo_messaging.Target(topic=bus.name)], [endpoint]
    )
    listener.start()
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    give_schema(database.engine)
    notifier = chosen_notifier(bus.conf)
    assert isinstance(notifier, MessagingNotifier)
    relay = OutboxRelay(database, notifier, SystemClock(), interval=timedelta(seconds=0.1))
    relay.start()

    def commit(*numbers: int) -> None:
        for number in numbers:
            told = {"number": number}
            database.transact(lambda u, told=told: u.outbox.put("lease.update", told, NOTICE.created_at))

    def heard() -> list[int]:
        return list(dict.fromkeys(payload["number"] for _, _, payload in endpoint.heard))

    try:
        commit(1, 2)
        assert until(lambda: heard() == [1, 2])
        way.stop()
        commit(*range(3, 9))
        assert not until(lambda: len(heard()) > 2, 3)
        assert relay.health().state is ThreadState.OK
        way.start()
        assert until(lambda: heard() == [*range(1, 9)])
    finally:
        relay.stop()
        listener.stop()
        listener.wait()
        transport.cleanup()
        notifier._transport.cleanup()
        way.stop()
        database.close()


def test_without_a_driver_notifications_go_to_the_log(new_bus: NewBus) -> None:
    bus = new_bus()
    chosen_notifier(bus.conf)
    bus.conf.set_override("driver", [], group="oslo_messaging_notifications")
    assert isinstance(chosen_notifier(bus.conf), LogNotifier)
