"""What operations cost: the service on SQLite and the sandbox cloud, in three sizes.

No thread of the service works by itself here and no time passes, so that the same is counted in each run and
on each machine. Events are worked on where the test says so, and while a request waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import requests
from falcon.testing import Result
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from new_databases import give_schema
from oslo_config import cfg

from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.notifications import LogNotifier
from blazar.adapters.openstack.cloud import connect
from blazar.adapters.openstack.session import pooled_http
from blazar.bootstrap.api import build_api
from blazar.bootstrap.database import build_database
from blazar.bootstrap.manager import Manager
from blazar.conf.manager import SHIPPED
from blazar.domain.lease.change import new_events
from blazar.domain.lease.event import Event, EventStatus
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.share import LeaseShare, ShareRight
from blazar.domain.resource import Allocation, Pool
from blazar.domain.subscription import LeaseEvent
from blazar.domain.time import Interval
from blazar.engine.claims import Claims
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.engine.relay import Relay
from blazar.plugins import load_plugins
from blazar.rpc.deliveries import Deliveries
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.calendars import Calendars
from blazar.service.enabled_kinds import require_kinds
from blazar.service.events import Events
from blazar.service.ports import Match, UnitOfWork
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .conftest import configured, sender
from .counting import Counters, CountingAdapter, CountingTransport, Tally, count_statements
from .sandboxed import PASSWORD, credentials, plain_session, section
from .wishes import HOST, INSTANCES

NOW = datetime(2030, 1, 1, 8, tzinfo=UTC)
BETWEEN = timedelta(minutes=6)
"""The time between two operations: longer than any memory of a calendar or of messages that are forgotten."""
CLAIM = timedelta(seconds=15)
DATES = "%Y-%m-%d %H:%M"
HOUR = timedelta(hours=1)
VERSION = {"OpenStack-API-Version": "reservation 1.3"}
STREAMS = {"OpenStack-API-Version": "reservation 1.16"}
MEMBERS = {"OpenStack-API-Version": "reservation 1.12"}
FEEDS = {"OpenStack-API-Version": "reservation 1.17"}
DELETIONS = {"OpenStack-API-Version": "reservation 1.18"}
SERIES = {"OpenStack-API-Version": "reservation 1.27"}
SHARES = {"OpenStack-API-Version": "reservation 1.34"}
SPLIT = {"OpenStack-API-Version": "reservation 1.40"}
SEGMENTS = {"OpenStack-API-Version": "reservation 1.28"}


@dataclass(frozen=True, slots=True)
class Size:
    """Hosts, leases that are over on each of the first eight hosts, leases ahead of each host, and the hosts
    of a large lease."""

    hosts: int
    over: int
    ahead: int
    lease: int


SIZES = (
    Size(hosts=8, over=5, ahead=5, lease=2),
    Size(hosts=8, over=200, ahead=5, lease=2),
    Size(hosts=24, over=5, ahead=12, lease=8),
)


class StoppedClock:
    """Time passes where the test says so. ``meanwhile`` is done in each pause."""

    def __init__(self) -> None:
        self.moment = NOW
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return (self.moment - NOW).total_seconds()

    def pause(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self.meanwhile()


class Site:
    """One size of the service and its cloud."""

    def __init__(self, directory: Path, size: Size) -> None:
        self.size = size
        self._random = Random(7)
        self.counters = Counters()
        self.clock = StoppedClock()
        self.cloud = SandboxServer(Cloud(hosts=size.hosts, password=PASSWORD)).start()
        self.http = plain_session()
        conf = self._configured(directory)
        self.database = build_database(conf)
        count_statements(self.database.engine, self.counters)
        give_schema(self.database.engine)
        plugins = load_plugins(conf)
        self.kinds = plugins.kinds
        self.service_cloud = connect(self._session("blazar", "service", pooled_http(1)))
        manager = Manager(conf, self.database, self.service_cloud, plugins, self.clock, LogNotifier())
        self._deliveries = Deliveries(self.database, self.clock)
        dispatcher = Dispatcher(manager.use_cases, manager.codec, self.clock, deliveries=self._deliveries)
        transport = CountingTransport(dispatcher, self.clock, self.counters)
        self._send = sender(build_api(conf, remote_service(transport, manager.codec), PrometheusMetrics()))
        self._tokens: dict[str, str] = {}
        self.events = Events(self.database, self.service_cloud, self.kinds, self.clock)
        self.claims = Claims(self.database, self.clock, CLAIM, monotonic=self.clock.seconds)
        self.loop = EventLoop(self.database, self.events, self.clock, EngineSettings())
        self.relay = Relay(self.database, LogNotifier(), self.clock)
        self.waitlist = manager.use_cases.waitlist
        self.other_manager = Calendars(self.database, self.clock)
        self.clock.meanwhile = self.work

    def _configured(self, directory: Path) -> cfg.ConfigOpts:
        own = credentials(self.cloud, "blazar", "service")
        token = {"interface": "public", "www_authenticate_uri": self.cloud.auth_url, **own}
        text = [
            section("manager", plugins=", ".join([*SHIPPED, "network.plugin"])),
            section("database", connection=f"sqlite:///{directory}/blazar.db"),
            section("cloud", interface="public", **own),
            section("keystone_authtoken", **token),
        ]
        return configured(directory, "".join(text))

    def _session(self, user: str, project: str, http: requests.Session) -> Session:
        http.mount("http://", CountingAdapter(self.counters))
        names = dict.fromkeys(("user_domain_id", "project_domain_id"), "default")
        auth = Password(
            auth_url=self.cloud.auth_url, username=user, password=PASSWORD, project_name=project, **names
        )
        return Session(session=http, auth=auth)

    def stop(self) -> None:
        self.database.close()
        self.http.close()
        self.cloud.stop()

    # requests

    def send(self, method: str, path: str, user: str = "demo", **more: Any) -> Result:
        """Send a request that must succeed."""
        if user not in self._tokens:
            self._tokens[user] = str(self._session(user, user, plain_session()).get_token())
        answer = self.ask(method, path, user, **more)
        assert answer.status_code < 300, answer.text
        return answer

    def ask(self, method: str, path: str, user: str = "demo", **more: Any) -> Result:
        """Send a request."""
        answer: Result = self._send(method, path, self._tokens[user], **more)
        self.counters.add(answer_bytes=len(answer.content))
        return answer

    def create(self, *reservations: Mapping[str, Any], start: timedelta = timedelta(days=1)) -> Any:
        dates = dates_of(self.clock.now() + start, timedelta(hours=2))
        body = {"name": "lease", **dates, "reservations": list(reservations)}
        return self.send("POST", "/v1/leases", json=body).json["lease"]

    # events

    def look(self) -> list[Event]:
        """Return what one look of the event loop finds."""
        self.loop._look()
        return [*self.loop._first.found, *self.loop._retries.found]

    def work(self) -> None:
        """Look once, and carry out what is due."""
        for each in self.look():
            held = self.claims.take(each, str(uuid4()))
            assert held is not None
            self.events.run(held)
            self.claims.drop(held)

    # operations

    @contextmanager
    def counted(self, at: datetime | None = None) -> Iterator[Tally]:
        """Count an operation some minutes after the one before, or at a time."""
        self.clock.moment = at or self.clock.moment + BETWEEN
        self._deliveries.require_first(str(uuid4()), None)  # forgets what is old, every five minutes
        with self.counters.during() as tally:
            yield tally

    def populate(self) -> None:
        """Register hosts, addresses and segments, and store leases of one host each."""
        hosts = [self._host(f"compute-{number:02d}") for number in range(1, self.size.hosts + 1)]
        for number in range(201, 205):
            body = {"floating_network_id": self.network, "floating_ip_address": f"203.0.113.{number}"}
            self.send("POST", "/v1/floatingips", "admin", json=body)
        vlans = {"network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 101}
        body = {**vlans, "last_segmentation_id": 104}
        self.send("POST", "/v1/networksegments", "admin", headers=SEGMENTS, json=body)
        over = [self._stored(each, -turn) for turn in range(1, self.size.over + 1) for each in hosts[:8]]
        ahead = [self._stored(each, turn) for turn in range(1, self.size.ahead + 1) for each in hosts]
        self.database.transact(lambda uow: [self._share(uow, each) for each in over + ahead])
        self.clock.moment += BETWEEN
        self.other_manager.load(Pool("host"))

    def _share(self, uow: UnitOfWork, lease: Lease) -> None:
        """Store a lease, and share it with another project."""
        stored = uow.leases.add(lease, NOW)
        other = LeaseShare(lease.id, self.cloud.cloud.project_id("alt"), ShareRight.READ, lease.user_id)
        uow.shares.add(other, stored, NOW)

    def left(self, lease_id: str) -> tuple[LeaseStatus, Sequence[Allocation]]:
        """Return the status of a lease, and what it has: nothing where it is over, as ``_stored`` says."""
        with self.database.read() as uow:
            found = uow.leases.get(lease_id)
            assert found is not None
            return found.status, (*found.allocations, *(a for r in found.reservations for a in r.surplus))

    @property
    def network(self) -> str:
        state = self.cloud.cloud
        return next(each.id for _, each in state.network.networks.items() if each.name == "public")

    def _host(self, name: str) -> str:
        return str(self.send("POST", "/v1/os-hosts", "admin", json={"name": name}).json["host"]["id"])

    def _stored(self, host: str, months: int) -> Lease:
        """Return a lease so many months ahead, or behind: its end has left it without allocations."""
        start = NOW + months * timedelta(days=30)
        lease_id, reservation_id, other_id, allocation_id = (self._id() for _ in range(4))
        interval, is_over = Interval(start, start + timedelta(hours=5)), months < 0
        allocation = Allocation(allocation_id, reservation_id, lease_id, host, interval)
        reservation = Reservation(
            reservation_id,
            lease_id,
            other_id,
            "physical:host",
            {**HOST, "before_end": "default"},
            ReservationStatus.DELETED if is_over else ReservationStatus.PENDING,
            allocations=() if is_over else (allocation,),
        )
        events = new_events(lease_id, interval, None, self._id)
        return Lease(
            lease_id,
            f"lease {months:+04d}",
            self.cloud.cloud.user_id("demo"),
            self.cloud.cloud.project_id("demo"),
            interval,
            LeaseStatus.TERMINATED if is_over else LeaseStatus.PENDING,
            reservations=(reservation,),
            events=tuple(replace(each, status=EventStatus.DONE) for each in events) if is_over else events,
        )

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))


KINDS: Mapping[str, Callable[[Site], Mapping[str, Any]]] = {
    "physical:host": lambda site: HOST,
    "virtual:instance": lambda site: INSTANCES,
    "flavor:instance": lambda site: {
        "resource_type": "flavor:instance", "flavor_id": "1", "amount": 1, "affinity": None,
    },
    "virtual:floatingip": lambda site: {
        "resource_type": "virtual:floatingip", "network_id": site.network, "amount": 1,
    },
    "network": lambda site: {"resource_type": "network", "amount": 1},
}  # fmt: skip


def hosts(number: int) -> Mapping[str, Any]:
    return {**HOST, "min": number, "max": number}


def operations(site: Site) -> Iterator[tuple[str, Tally]]:
    """Carry out all operations in turn. Those of a user go through API, broker, manager and database."""
    for kind, asked in KINDS.items():
        yield from _requests(site, kind, asked(site))
    size = site.size.lease
    for name, asked in [
        *((kind, of_site(site)) for kind, of_site in KINDS.items()),
        ("of many hosts", hosts(size)),
        ("of many instances", {**INSTANCES, "amount": size, "affinity": False}),
    ]:
        yield from life(site, name, asked)
    yield from _deleted(site)
    yield from _recurring(site)
    yield from _shared(site)
    yield from _split(site)
    yield from _reading(site)
    yield from _streamed(site)
    yield from _refused(site)
    yield from _maintained(site)
    yield from _by_itself(site)


def _requests(site: Site, kind: str, asked: Mapping[str, Any]) -> Iterator[tuple[str, Tally]]:
    warm = site.create(asked)
    site.send("DELETE", f"/v1/leases/{warm['id']}")
    with site.counted() as tally:
        lease = site.create(asked)
    yield f"create: {kind}", tally
    path = f"/v1/leases/{lease['id']}"
    with site.counted() as tally:
        site.send("GET", path)
    yield f"show: {kind}", tally
    with site.counted() as tally:
        site.send("PUT", path, json={"end_date": f"{at(lease['end_date']) + HOUR:{DATES}}"})
    yield f"prolong: {kind}", tally
    with site.counted() as tally:
        added = site.send("PUT", path, headers=MEMBERS, json={"reservations": [asked]})
    yield f"add: {kind}", tally
    gone = {"id": added.json["lease"]["reservations"][1]["id"], "remove": True}
    with site.counted() as tally:
        site.send("PUT", path, headers=MEMBERS, json={"reservations": [gone]})
    yield f"remove: {kind}", tally
    with site.counted() as tally:
        site.send("DELETE", path)
    yield f"delete: {kind}", tally


def _deleted(site: Site) -> Iterator[tuple[str, Tally]]:
    """Delete two leases by what they have in common, among all that are over."""
    for _ in range(2):
        site.create(HOST, start=timedelta(days=20))
    start = site.clock.now() + timedelta(days=20)
    at_once = {"starts_after": f"{start:{DATES}}", "starts_before": f"{start + timedelta(minutes=1):{DATES}}"}
    with site.counted() as tally:
        found = site.send("DELETE", "/v1/leases", headers=DELETIONS, params=at_once)
    assert [each["outcome"] for each in found.json["leases"]] == ["deleted", "deleted"]
    yield "delete: two by their start", tally


def _recurring(site: Site) -> Iterator[tuple[str, Tally]]:
    """Make a series of five leases, skip one, and delete the others."""
    dates = dates_of(site.clock.now() + timedelta(days=1), timedelta(minutes=30))
    recurrence = {"rule": "FREQ=DAILY;COUNT=5", "time_zone": "UTC"}
    body = {"name": "series", **dates, "reservations": [HOST], "recurrence": recurrence}
    with site.counted() as tally:
        made = site.send("POST", "/v1/series", headers=SERIES, json=body).json["series"]
    yield "series: create five leases", tally
    path = f"/v1/series/{made['id']}"
    with site.counted() as tally:
        skipped = {"except": [made["occurrences"][1]["date"]]}
        site.send("PUT", path, headers=SERIES, json=skipped)
    yield "series: skip one of five", tally
    with site.counted() as tally:
        site.send("DELETE", path, headers=SERIES)
    yield "series: delete the others", tally


def life(site: Site, name: str, asked: Mapping[str, Any]) -> Iterator[tuple[str, Tally]]:
    """Let a lease start and end."""
    lease = site.create(asked, start=timedelta(hours=1))
    with site.counted(at(lease["start_date"])) as tally:
        site.work()
    yield f"start: {name}", tally
    assert site.send("GET", f"/v1/leases/{lease['id']}").json["lease"]["status"] == "ACTIVE"
    site.clock.moment = at(lease["end_date"]) - timedelta(minutes=30)
    site.work()  # the warning of the end
    with site.counted(at(lease["end_date"])) as tally:
        site.work()
    yield f"end: {name}", tally
    assert site.left(lease["id"]) == (LeaseStatus.TERMINATED, ())


def _shared(site: Site) -> Iterator[tuple[str, Tally]]:
    """Share a lease with a project with which as many are shared as there are, and have it read there."""
    lease = site.create(HOST, start=timedelta(days=21))
    path, other = f"/v1/leases/{lease['id']}", site.cloud.cloud.project_id("alt")
    site.send("GET", path.rpartition("/")[0], "alt")  # its token is known then
    share, page = f"{path}/shares/{other}", {"shared": "true", "sort": "created_at:desc", "limit": "10"}
    for name, user, method, of, more in [
        ("share: put", "demo", "PUT", share, {"json": {"right": "change"}}),
        ("share: list", "demo", "GET", f"{path}/shares", {}),
        ("share: show the lease", "alt", "GET", path, {}),
        ("share: change the lease", "alt", "PUT", path, {"json": {"name": "ours"}}),
        ("share: list of a page", "alt", "GET", "/v1/leases", {"params": page}),
        ("share: delete", "demo", "DELETE", share, {}),
    ]:
        with site.counted() as tally:
            site.send(method, of, user, headers=SHARES, **more)
        yield name, tally
    with site.counted() as tally:
        assert site.ask("GET", path, "alt", headers=SHARES).status_code == 404
    yield "show: of another project", tally
    site.send("DELETE", path)


def _split(site: Site) -> Iterator[tuple[str, Tally]]:
    """Make another lease of one of two hosts."""
    lease = site.create({**HOST, "min": 2, "max": 2}, start=timedelta(days=22))
    path, going = f"/v1/leases/{lease['id']}", [{"id": lease["reservations"][0]["id"], "units": 1}]
    body = {"name": "part", "reservations": going}
    with site.counted() as tally:
        part = site.send("POST", f"{path}/split", headers=SPLIT, json=body).json["lease"]
    yield "split: one of two hosts", tally
    for each in (path, f"/v1/leases/{part['id']}"):
        site.send("DELETE", each)


def _reading(site: Site) -> Iterator[tuple[str, Tally]]:
    week = dates_of(site.clock.now() + timedelta(days=1), timedelta(days=7))
    availability = {
        "lease": {"reservations": [HOST]},
        "start": {"earliest": week["start_date"]},
        "duration": {"wanted": 120},
    }
    for name, user, method, path, more in [
        ("list of a page", "demo", "GET", "/v1/leases", {"params": {"limit": "10"}}),
        ("list of all hosts", "admin", "GET", "/v1/os-hosts", {}),
        ("allocation of one host", "admin", "GET", "/v1/os-hosts/1/allocation", {}),
        ("capacity of a week", "demo", "GET", "/v1/capacity", {"params": week}),
        ("availability of one host", "demo", "POST", "/v1/availability", {"json": availability}),
    ]:
        site.send(method, path, user, headers=VERSION, **more)
        with site.counted() as tally:
            site.send(method, path, user, headers=VERSION, **more)
        yield name, tally
    yield from _fed(site)


def _fed(site: Site) -> Iterator[tuple[str, Tally]]:
    """Read a calendar feed, and then ask whether it has changed."""
    made = site.send("POST", "/v1/feeds", json={}, headers=FEEDS).json["feed"]
    path = f"/v1/feeds/{made['url'].rpartition('/')[2]}"
    site.send("GET", path)
    with site.counted() as tally:
        answer = site.send("GET", path)
    yield "feed", tally
    with site.counted() as tally:
        same = site.ask("GET", path, headers={"If-None-Match": answer.headers["etag"]})
    assert same.status_code == 304
    yield "feed, nothing has changed", tally
    site.send("DELETE", f"/v1/feeds/{made['id']}", headers=FEEDS)
    refused = []
    for address in (path, f"/v1/feeds/{'x' * 43}.ics", "/v1/feeds/x.ics"):
        with site.counted() as tally:
            assert site.ask("GET", address).status_code == 404
        refused.append(
            [tally.counts[each] for each in ("messages", "statements", "rows_read", "answer_bytes")]
        )
    assert refused[0] == refused[1] == refused[2], refused
    yield "feed, revoked or unknown", tally


def _streamed(site: Site) -> Iterator[tuple[str, Tally]]:
    """Ask a stream for what is new. As many events are kept as leases are over."""
    made = site.send("POST", "/v1/subscriptions", json={}, headers=STREAMS).json["subscription"]
    kept = Match(made["id"], LeaseEvent.ENDED, {"event": "ended"})
    site.database.transact(lambda uow: uow.subscriptions.put([kept] * site.size.over, NOW))
    path = f"/v1/subscriptions/{made['id']}/events"
    name = ""
    while found := site.send("GET", path, headers={**STREAMS, "Last-Event-ID": name}).text.split("id: ")[1:]:
        name = found[-1].partition("\n")[0]
    with site.counted() as tally:
        assert "id: " not in site.send("GET", path, headers={**STREAMS, "Last-Event-ID": name}).text
    yield "events of a stream, nothing new", tally
    site.send("DELETE", f"/v1/subscriptions/{made['id']}", headers=STREAMS)


def _refused(site: Site) -> Iterator[tuple[str, Tally]]:
    """Refuse a lease of all hosts, each of which has a lease at that time."""
    body = {
        "name": "lease",
        **dates_of(NOW + timedelta(days=30), timedelta(hours=2)),
        "reservations": [hosts(site.size.hosts)],
    }
    for name, version in (("create, refused", "1.5"), ("create, refused and explained", "1.6")):
        headers = {"OpenStack-API-Version": f"reservation {version}"}
        for _ in range(2):
            with site.counted() as tally:
                refusal = site.ask("POST", "/v1/leases", json=body, headers=headers)
            assert refusal.status_code == 409, refusal.text
        assert ("blocking" in refusal.json) == (version == "1.6")
        yield name, tally


def _maintained(site: Site) -> Iterator[tuple[str, Tally]]:
    """Take a host away, which a lease then leaves, and give it back."""
    headers = {"OpenStack-API-Version": "reservation 1.8"}
    found: dict[str, Tally] = {}
    for _ in range(2):  # the second time the calendar is resident
        lease = site.create(HOST, start=timedelta(days=3))
        (has,) = site.left(lease["id"])[1]
        dates = {name: f"{at(lease[name]):{DATES}}" for name in ("start_date", "end_date")}
        body = {"hosts": [has.resource_id], **dates}
        with site.counted() as found["maintenance: create"]:
            made = site.send("POST", "/v1/maintenances", "admin", json=body, headers=headers).json
        assert (made["impact"]["moves"], len(site.left(lease["id"])[1])) == (1, 1)
        path = f"/v1/maintenances/{made['maintenance']['id']}"
        with site.counted() as found["maintenance: delete"]:
            site.send("DELETE", path, "admin", headers=headers)
        site.send("DELETE", f"/v1/leases/{lease['id']}")
    yield from found.items()


def _by_itself(site: Site) -> Iterator[tuple[str, Tally]]:
    site.look()
    with site.counted() as tally:
        assert site.look() == []
    yield "look for events, nothing due", tally
    with site.counted() as tally:
        assert site.waitlist.state().line == ()
    yield "look at the waitlist, nothing waits", tally
    with site.counted() as tally:
        require_kinds(site.database, site.kinds)
        Calendars(site.database, site.clock).load(Pool("host"))
    yield "start of a manager", tally
    while site.relay.deliver():
        pass
    site.other_manager.refresh()
    site.clock.moment += BETWEEN
    site.other_manager.refresh()
    site.create(HOST)
    with site.counters.during() as tally:
        site.other_manager.refresh()
    yield "refresh after a commit of another manager", tally
    with site.counted() as tally:
        assert site.relay.deliver() == 1
    yield "delivery of a notification", tally


def dates_of(start: datetime, length: timedelta) -> Mapping[str, str]:
    return {"start_date": start.strftime(DATES), "end_date": (start + length).strftime(DATES)}


def at(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def measured(directory: Path, size: Size) -> Mapping[str, Tally]:
    site = Site(directory, size)
    try:
        site.populate()
        return dict(operations(site))
    finally:
        site.stop()
