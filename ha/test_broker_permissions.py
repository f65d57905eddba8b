"""The permissions at the broker that the pages give: the service works with them, its receivers hear, and no
other account reaches a manager."""

from __future__ import annotations

import gc
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import amqp
import pytest
import requests
from free_ports import free_port

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .accounts import HARDENING, NOVA, OURS, READER, Accounts
from .clients import RESERVATION, in_minutes
from .programs import BIN, HOST, Program, eventually, new_folder
from .sandbox import PASSWORD, Sandbox

with warnings.catch_warnings():
    # Not ours to mend: oslo.messaging imports a deprecated module of oslo.utils.
    warnings.filterwarnings("ignore", "eventletutils module is deprecated", DeprecationWarning)
    from blazar import broker
    from blazar import conf as options
    from blazar.adapters.db import SqlDatabase
    from blazar.adapters.db.schema import upgrade
    from blazar.broker import oslo_messaging

CALLS = "blazar.manager"
"""The queue of the managers, and the key of all calls to them."""
QUEUE = "notifications-reader"
KEY = "notifications.info"
ANNOUNCED = "versioned_notifications.info"
PLAIN, TOPICS, WITH_OSLO, OF_NOVA, TOPICS_OF_NOVA = HARDENING
"""The commands of the page: of a receiver, of one that is built on oslo.messaging, and at Nova's broker."""
# oslo.messaging leaves its sockets to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@dataclass(frozen=True)
class Running:
    """The service with its accounts, and an administrator who calls it."""

    accounts: Accounts
    sandbox: Sandbox
    user: requests.Session
    api: str
    folder: Path

    def create(self, name: str) -> None:
        """Create a lease, which a manager plans and starts."""
        dates = {"start_date": "now", "end_date": in_minutes(60)}
        body = {"name": name, **dates, "reservations": [{**RESERVATION, "min": 1, "max": 1}], "events": []}
        made = self.user.post(f"{self.api}/leases", json=body, timeout=30)
        assert made.status_code == 201, made.text
        place = f"{self.api}/leases/{made.json()['lease']['id']}"

        def is_active() -> bool:
            return bool(self.user.get(place, timeout=10).json()["lease"]["status"] == "ACTIVE")

        eventually("its start", is_active)
        assert self.user.delete(place, timeout=30).status_code == 204

    def is_reservable(self, name: str) -> bool:
        hosts = self.user.get(f"{self.api}/os-hosts", timeout=10).json()["hosts"]
        return any(host["reservable"] for host in hosts if host["hypervisor_hostname"] == name)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    folder, accounts = new_folder("broker permissions"), Accounts()
    port = free_port()
    with ExitStack() as stack:
        stack.callback(gc.collect)  # here, where the sockets are expected
        stack.callback(accounts.remove)
        accounts.make()
        for command in (PLAIN, TOPICS, OF_NOVA, TOPICS_OF_NOVA):
            accounts.do(command)
        cloud = stack.enter_context(SandboxServer(Cloud(hosts=2, password=PASSWORD)))
        conf = folder / "blazar.conf"
        conf.write_text(configuration(accounts, cloud.url, folder, port))
        database = SqlDatabase(database_of(folder))
        upgrade(database.engine)
        database.close()
        for name in ("blazar-manager", "blazar-api"):
            program = Program(name, [BIN / name, "--config-file", conf], folder)
            stack.callback(program.kill)
            program.start()
        sandbox, url = Sandbox(cloud.url), f"http://{HOST}:{port}"
        found = Running(accounts, sandbox, sandbox.user("admin"), f"{url}/v1", folder)
        eventually("health", lambda: requests.get(f"{url}/healthcheck", timeout=20).ok, 60)
        for name in ("compute-01", "compute-02"):
            answer = found.user.post(f"{found.api}/os-hosts", json={"name": name}, timeout=30)
            assert answer.status_code == 201, answer.text
        yield found


def database_of(folder: Path) -> str:
    return f"sqlite:///{folder}/blazar.db"


def configuration(accounts: Accounts, cloud: str, folder: Path, port: int) -> str:
    credentials = f"""auth_type = password
auth_url = {cloud}/v3
username = blazar
password = {PASSWORD}
project_name = service
user_domain_id = default
project_domain_id = default
interface = public"""
    return f"""
[DEFAULT]
host = {HOST}
port = {port}
transport_url = {accounts.url(OURS, OURS).render_as_string(hide_password=False)}
[oslo_messaging_notifications]
driver = messagingv2
[physical:host]
enable_notification_monitor = true
notification_transport_url = {accounts.url(OURS, NOVA).render_as_string(hide_password=False)}
polling_interval = 600
[manager]
metrics_port = {free_port()}
[database]
connection = {database_of(folder)}
[cloud]
{credentials}
[keystone_authtoken]
{credentials}
www_authenticate_uri = {cloud}/v3
service_token_roles_required = true
"""


def test_a_lease_is_created_and_its_receiver_hears_so(running: Running) -> None:
    with running.accounts.connect(READER, OURS) as connection:
        channel = connection.channel()
        channel.queue_declare(QUEUE, auto_delete=False)
        channel.queue_bind(QUEUE, "openstack", KEY)
        running.create("heard")

        def heard() -> bool:
            message = channel.basic_get(QUEUE, no_ack=True)
            body = json.loads(json.loads(message.body)["oslo.message"])
            return bool(body["event_type"] == "lease.create" and body["payload"]["name"] == "heard")

        eventually("the notification", heard)


Action = Callable[[amqp.Channel], Any]


def calls(exchange: str, key: str) -> Action:
    return lambda channel: channel.basic_publish(amqp.Message("{}"), exchange=exchange, routing_key=key)


def takes(queue: str) -> Action:
    return lambda channel: channel.basic_get(queue)


def empties(queue: str) -> Action:
    return lambda channel: channel.queue_purge(queue)


def copies(queue: str, exchange: str, key: str) -> Action:
    """Have what passes through an exchange come to a queue of one's own."""

    def act(channel: amqp.Channel) -> None:
        channel.queue_declare(queue, auto_delete=False)
        channel.queue_bind(queue, exchange, key)
        channel.queue_unbind(queue, exchange, key)

    return act


def passes_on(queue: str, exchange: str, key: str) -> Action:
    """Have a queue of one's own send what is not wanted in it any more to an exchange."""

    def act(channel: amqp.Channel) -> None:
        channel.queue_delete(queue)
        to = {"x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": key}
        channel.queue_declare(queue, auto_delete=False, arguments=to)
        channel.queue_delete(queue)

    return act


def deletes(exchange: str) -> Action:
    """Refused in any case while a queue is bound, though not for the same reason."""
    return lambda channel: channel.exchange_delete(exchange, if_unused=True)


REACHES_A_MANAGER: dict[str, Action] = {
    "a call": calls("openstack", CALLS),
    "a message into its queue": calls("", CALLS),
    "a message that its own queue passes on": passes_on(QUEUE, "openstack", CALLS),
    "a call to all managers": calls(f"{CALLS}_fanout", ""),
    "a call that is taken away": takes(CALLS),
    "calls that are thrown away": empties(CALLS),
    "copies of calls": copies(QUEUE, "openstack", CALLS),
    "copies of all": copies(QUEUE, "openstack", "#"),
    "copies of calls to all managers": copies(QUEUE, f"{CALLS}_fanout", ""),
}
REACHES_NOVA: dict[str, Action] = {
    "a call": calls("nova", "compute"),
    "a forged announcement": calls("nova", ANNOUNCED),
    "a message into a queue": calls("", "compute"),
    "a call that is taken away": takes("compute"),
    "copies of calls": copies(ANNOUNCED, "nova", "compute"),
    "copies of all": copies(ANNOUNCED, "nova", "#"),
    "an exchange of its own": lambda channel: channel.exchange_declare("own", "topic"),
}


def is_refused(running: Running, user: str, virtual_host: str, action: Action) -> bool:
    """Tell whether the broker says that the user has not the permission. Other objections do not count."""
    with running.accounts.connect(user, virtual_host) as connection:
        try:
            action(connection.channel())
        except amqp.AccessRefused:
            return True
        except amqp.ChannelError:
            return False
    return False


@pytest.mark.parametrize("name", REACHES_A_MANAGER)
def test_a_receiver_reaches_no_manager(running: Running, name: str) -> None:
    action = REACHES_A_MANAGER[name]
    assert is_refused(running, READER, OURS, action)
    assert not is_refused(running, OURS, OURS, action), "the service's own account may"


def test_a_receiver_cannot_delete_the_exchange_as_a_manager_can_that_of_nova(running: Running) -> None:
    """The page warns of the second."""
    assert is_refused(running, READER, OURS, deletes("openstack"))
    assert not is_refused(running, OURS, NOVA, deletes("nova"))


@pytest.mark.parametrize("name", REACHES_NOVA)
def test_a_manager_does_nothing_in_nova_but_listen(running: Running, name: str) -> None:
    action = REACHES_NOVA[name]
    assert is_refused(running, OURS, NOVA, action)
    assert not is_refused(running, NOVA, NOVA, action), "Nova's own account may"


@pytest.mark.parametrize(("user", "virtual_host"), [(NOVA, OURS), (READER, NOVA)])
def test_an_account_of_another_service_does_not_even_come_in(
    running: Running, user: str, virtual_host: str
) -> None:
    with pytest.raises(amqp.NotAllowed), running.accounts.connect(user, virtual_host):
        pass


def test_a_host_that_nova_announces_is_looked_at(running: Running) -> None:
    """By itself the monitor looks every ten minutes."""
    running.sandbox.sandbox("PUT", "/hosts/compute-02", json={"silent": True})
    transport = transport_of(running, NOVA, NOVA, "control_exchange = nova")
    told = {"driver": "messagingv2", "topics": ["versioned_notifications"], "retry": 1}
    notifier = oslo_messaging.Notifier(transport, "nova-compute:compute-02", **told)
    assert running.is_reservable("compute-02")

    def is_seen() -> bool:
        notifier.info({}, "service.update", {})
        return not running.is_reservable("compute-02")

    eventually("the host seen as down", is_seen)
    transport.cleanup()


def transport_of(running: Running, user: str, virtual_host: str, more: str = "") -> Any:
    """Return oslo.messaging's transport of notifications for a program of this user."""
    path = running.folder / f"{user}.conf"
    url = running.accounts.url(user, virtual_host).render_as_string(hide_password=False)
    alone = "[oslo_messaging_rabbit]\nheartbeat_timeout_threshold = 0\n"
    path.write_text(f"[DEFAULT]\ntransport_url = {url}\n{more}\n{alone}")
    return broker.notification_transport(options.load(files=[str(path)]))


class Listening:
    """An endpoint as receivers on oslo.messaging have it."""

    def __init__(self) -> None:
        self.was_heard = threading.Event()

    def info(self, context: Any, publisher: str, event_type: str, payload: Any, metadata: Any) -> None:
        if (event_type, payload["name"]) == ("lease.create", "heard with oslo.messaging"):
            self.was_heard.set()


def test_a_receiver_on_oslo_messaging_needs_one_permission_more(running: Running) -> None:
    """Last, for the reader keeps the permission."""
    endpoint, transport = Listening(), transport_of(running, READER, OURS)

    def listener() -> Any:
        target = oslo_messaging.Target(topic="notifications")
        return oslo_messaging.get_notification_listener(transport, [target], [endpoint], pool=QUEUE)

    with pytest.raises((oslo_messaging.MessagingException, amqp.AMQPError)) as refused:
        listener().start()
    assert "access to exchange 'openstack'" in str(refused.value)
    running.accounts.do(WITH_OSLO)
    listening = listener()
    listening.start()
    running.create("heard with oslo.messaging")
    assert endpoint.was_heard.wait(20)
    listening.stop()
    listening.wait()
    transport.cleanup()
    reached = {name for name, act in REACHES_A_MANAGER.items() if not is_refused(running, READER, OURS, act)}
    assert not reached
    assert not is_refused(running, READER, OURS, deletes("openstack")), "as the page warns"
