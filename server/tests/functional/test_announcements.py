"""What Nova announces over the broker reaches the monitor, and nothing that is announced, or gets lost, does
harm."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import kombu
import pytest
from free_ports import free_port
from labtests.relay import Relay
from oslo_config import cfg
from sqlalchemy import select

from blazar import broker
from blazar import conf as options
from blazar.adapters.announcements import NovaAnnouncements, chosen_announcements
from blazar.adapters.db import tables
from blazar.broker import oslo_messaging
from blazar.domain.errors import CloudUnavailable
from blazar.engine.listening import Listening
from blazar.service.health import ThreadState

from .bus import RABBITMQ
from .sandboxed import Sandboxed, until

MEMORY = "fake://"
UPDATE = {
    "nova_object.name": "ServiceStatusPayload",
    "nova_object.data": {"host": "compute-01", "binary": "nova-compute", "forced_down": True},
}
# oslo.messaging leaves its sockets to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


PORT = urlsplit(RABBITMQ).port or 5672


def at_port(port: int) -> str:
    """Return the address of the broker with another port."""
    return RABBITMQ.replace(f":{PORT}", f":{port}")


class Nova:
    """A Nova of this test alone: an exchange and a topic on a broker, and a service that listens there."""

    def __init__(self, directory: Path, url: str, **own: Any) -> None:
        self.name = f"blazar-test-{uuid4().hex[:12]}"
        self._path = directory / f"{self.name}.conf"
        self.url = url
        settings = {"notification_topics": self.name, "notification_exchange": f"{self.name}-nova", **own}
        self.conf = self._loaded(
            "[physical:host]\nenable_notification_monitor = true\n"
            + "".join(f"{name} = {value}\n" for name, value in settings.items())
        )
        self.count = 0
        self.announcements = chosen_announcements(self.conf)

    def _loaded(self, more: str, url: str = "") -> cfg.ConfigOpts:
        self._path.write_text(
            f"[DEFAULT]\ntransport_url = {url or self.url}\ncontrol_exchange = {self.name}-nova\n"
            "[oslo_messaging_rabbit]\namqp_auto_delete = true\nheartbeat_timeout_threshold = 0\n" + more
        )
        return options.load(files=[str(self._path)])

    def heard(self) -> None:
        self.count += 1

    def listen(self) -> None:
        assert self.announcements is not None
        self.announcements.listen(self.heard)

    def tell(self, event_type: str, payload: Any = UPDATE, priority: str = "info", url: str = "") -> None:
        """Send a notification as Nova does."""
        conf = self._loaded("", url)
        transport = broker.notification_transport(conf)
        notifier = oslo_messaging.Notifier(
            transport, "nova-compute:compute-01", driver="messagingv2", topics=[self.name], retry=1
        )
        getattr(notifier, priority)({}, event_type, payload)
        if not self.url.startswith(MEMORY):
            transport.cleanup()

    def close(self) -> None:
        if self.announcements is not None:
            self.announcements.stop()


NewNova = Callable[..., Nova]


@pytest.fixture
def new_nova(tmp_path: Path) -> Iterator[NewNova]:
    made: list[Nova] = []

    def make(url: str, **own: Any) -> Nova:
        made.append(Nova(tmp_path, url, **own))
        return made[-1]

    yield make
    for nova in made:
        nova.close()
    gc.collect()  # here, where the sockets are expected


@pytest.fixture(params=[MEMORY, pytest.param(RABBITMQ, marks=pytest.mark.servers)], ids=["memory", "rabbit"])
def nova(request: pytest.FixtureRequest, new_nova: NewNova) -> Nova:
    found = new_nova(request.param)
    found.listen()
    return found


@pytest.mark.parametrize(
    ("event_type", "priority"),
    [("service.create", "info"), ("service.update", "warn"), ("service.delete", "error")],
)
def test_a_changed_service_is_heard(nova: Nova, event_type: str, priority: str) -> None:
    nova.tell(event_type, priority=priority)
    assert until(lambda: nova.count == 1, 10)


def test_other_notifications_are_taken_and_not_heard(nova: Nova) -> None:
    for other in ("instance.update", "service.updated", "compute_task.rebuild_server.error", ""):
        nova.tell(other)
    nova.tell("service.update")
    assert until(lambda: nova.count > 0, 10)
    assert nova.count == 1


@pytest.mark.parametrize("payload", [{}, [], "forged", None, {"nova_object.data": {"forced_down": "no"}}])
def test_what_is_told_is_not_read(nova: Nova, payload: Any) -> None:
    nova.tell("service.update", payload)
    assert until(lambda: nova.count == 1, 10)


@pytest.mark.servers
def test_what_is_no_notification_is_taken_away(new_nova: NewNova) -> None:
    """Nothing that is sent stays in the queue, or ends the listener."""
    nova = new_nova(RABBITMQ)
    nova.listen()
    url = urlsplit(RABBITMQ)
    forged: list[Any] = ["no JSON", b"\xff", [1], {"event_type": 5}, {"oslo.message": "x"}, "{" * 1000]
    with kombu.Connection(f"amqp://{url.netloc}{url.path}") as connection, connection.channel() as channel:
        exchange = kombu.Exchange(
            f"{nova.name}-nova", type="topic", durable=False, auto_delete=True, channel=channel
        )
        producer = kombu.Producer(channel, exchange)
        for each in forged:
            producer.publish(each, routing_key=f"{nova.name}.info")
        nova.tell("service.update")
        assert until(lambda: nova.count == 1, 10)
        queue = kombu.Queue(f"{nova.name}.info", channel=channel)
        assert until(lambda: queue.queue_declare(passive=True).message_count == 0, 10)


@pytest.mark.servers
def test_a_broker_that_comes_late_and_goes_away(new_nova: NewNova) -> None:
    """The thread says so, and is well all the time: polling goes on."""
    relay = Relay(PORT)
    relay.port = free_port()
    nova = new_nova(at_port(relay.port))
    with pytest.raises(CloudUnavailable):
        nova.listen()
    assert nova.announcements is not None
    listening = Listening(nova.announcements, nova.heard)
    listening.start()
    try:
        assert listening.health().state is ThreadState.OK
        relay.start()

        def is_heard() -> bool:
            before = nova.count
            nova.tell("service.update", url=RABBITMQ)
            return until(lambda: nova.count > before, 1)

        assert until(is_heard, 40)
        relay.stop()
        assert not is_heard()
        relay.start()
        assert until(is_heard, 40)
        assert listening.health().state is ThreadState.OK
    finally:
        listening.stop()
        relay.stop()


# oslo.messaging goes on trying for as long as the process lives, and logs it.
@pytest.mark.servers
def test_a_manager_ends_while_the_broker_is_away(new_nova: NewNova) -> None:
    nova = new_nova(at_port(free_port()))
    assert nova.announcements is not None
    listening = Listening(nova.announcements, nova.heard)
    listening.start()
    ending = threading.Thread(target=listening.stop)
    ending.start()
    ending.join(15)
    assert not ending.is_alive()


@pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
def test_a_host_that_is_announced_is_looked_at(new_nova: NewNova, tmp_path: Path) -> None:
    """The whole way: the monitor by itself would look in ten minutes."""
    nova = new_nova(MEMORY, enable_notification_monitor="false")
    own = {
        "enable_notification_monitor": True,
        "notification_topics": nova.name,
        "notification_exchange": f"{nova.name}-nova",
        "notification_transport_url": MEMORY,
        "polling_interval": 600,
    }
    sandboxed = Sandboxed(tmp_path, hosts=2, monitoring=own)

    def is_reservable() -> bool:
        (host,) = sandboxed.send("GET", "/v1/os-hosts", "admin").json["hosts"]
        return bool(host["reservable"])

    def has_looked() -> bool:
        with sandboxed.database.engine.connect() as connection:
            return connection.scalar(select(tables.duties.c.done_at)) is not None

    try:
        assert until(has_looked)
        body = {"name": "compute-01"}
        assert sandboxed.send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201
        threads = sandboxed.send("GET", "/healthcheck", "demo").json["details"]["threads"]
        assert threads["listening"] == "OK"
        sandboxed.set_power("compute-01", is_on=False)
        assert not until(lambda: not is_reservable(), 2)
        nova.tell("service.update")
        assert until(lambda: not is_reservable())
    finally:
        sandboxed.stop()


def test_without_the_option_there_is_nothing_to_hear(new_nova: NewNova) -> None:
    nova = new_nova(MEMORY, enable_notification_monitor="false")
    assert nova.announcements is None


def test_own_notifications_are_left_to_their_receivers(
    new_nova: NewNova, caplog: pytest.LogCaptureFixture
) -> None:
    """A queue has the name of its topic, whatever the exchange."""
    nova = new_nova(MEMORY, notification_topics="notifications,versioned_notifications")
    assert isinstance(nova.announcements, NovaAnnouncements)
    assert "sends its own" not in caplog.text
    nova.conf.set_override("driver", ["messagingv2"], group="oslo_messaging_notifications")
    found = chosen_announcements(nova.conf)
    assert isinstance(found, NovaAnnouncements)
    assert [target.topic for target in found._targets] == ["versioned_notifications"]
    assert "sends its own notifications to topic notifications" in caplog.text
    nova.conf.set_override("notification_topics", ["notifications"], group="physical:host")
    assert chosen_announcements(nova.conf) is None
    nova.conf.set_override("notification_transport_url", MEMORY, group="physical:host")
    assert chosen_announcements(nova.conf) is not None, "that is another broker"


def test_nova_may_have_a_broker_of_its_own(new_nova: NewNova) -> None:
    nova = new_nova(MEMORY)
    nova.conf.set_override("transport_url", at_port(free_port()))
    nova.conf.set_override("notification_transport_url", MEMORY, group="physical:host")
    nova.announcements = chosen_announcements(nova.conf)
    nova.listen()
    nova.tell("service.update")
    assert until(lambda: nova.count == 1, 10)
