"""One site: managers and a blazar-api on one database, one cloud and one broker.

This is the only module that constructs parts of the service: when a constructor changes, it changes here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any

from blazar import conf as options
from blazar.adapters.memory.cloud import FREEPOOL, MemoryCloud
from blazar.bootstrap.manager import Manager
from blazar.conf.manager import SHIPPED
from blazar.domain.errors import CloudUnavailable
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Maintenance
from blazar.domain.lease.offer import Offer
from blazar.domain.resource import Registration
from blazar.domain.series import Series
from blazar.kinds.network.names import NetworkType
from blazar.kinds.network.segments import SegmentRange
from blazar.plugins import load_plugins
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.context import Caller
from blazar.service.health import ThreadHealth, ThreadState
from blazar.service.interface import Service
from blazar.service.ports import Flavor, Subnet

from .broker import Broker, SimulatedTransport
from .cloud import Servers, SimulatedCloud
from .database import Server, SimulatedDatabase
from .scheduler import Crash, Process
from .threads import Event, shared_codec
from .troubles import Trouble
from .world import SimulatedClock, World, unforeseen

HOSTS = ("host1", "host2", "host3", "host4", "host5", "host6")
MANAGERS = ("manager1", "manager2")
ADDRESSES = tuple(f"203.0.113.{number}" for number in (101, 102, 103))
PUBLIC = "public"
PHYSICAL = "physnet1"
SEGMENTS = (
    SegmentRange(NetworkType.VLAN, PHYSICAL, 101, 103),
    SegmentRange(NetworkType.VXLAN, None, 5001, 5001),
)
"""What operators register of the networks' segments."""
USERS = ("demo", "alt", "third")
CAPACITY = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 100}
LIMITED = "limited"
"""The project that all users share in the runs that have quotas."""
QUOTAS = {"hosts": 3, "instances": 6, "floating_ips": 2, "network_segments": 2}
"""The limits of that project."""
MOST_LEASES = (2, 2, 5)
"""What its limit of leases is drawn from: the fewer there may be, the more requests meet at the limit."""
SHARE_OF_QUOTAS = 0.3
"""The share of the runs that have quotas."""
NOTICE_MINUTES = 2
"""How long before a lease starts preemptible servers are told, in the seeds that have notices."""
SPARE = Flavor("spare", "spare", 1, 512, 1, extra_specs={"blazar:preemptible": "true"})
KEPT = Flavor("kept", "kept", 1, 512, 1, extra_specs={"blazar:preemptible": "shelve"})
MOVED = Flavor("moved", "moved", 1, 512, 1, extra_specs={"blazar:preemptible": "migrate"})
PREEMPTIBLE = (SPARE, KEPT, MOVED)
LENT = "lent"
"""The aggregate of the hosts that reservations lend."""
SKEW = 0.45
"""Seconds by which each clock is ahead or behind at the most."""
CONF = {
    ("manager", "plugins"): [*SHIPPED, "instance.server.plugin", "network.plugin"],
    ("manager", "minutes_before_end_lease"): 1,
    ("manager", "event_workers"): 4,
    ("manager", "delete_wait"): 3,
    ("manager", "reconcile_seconds"): 60,
    ("manager", "displacement_notice_minutes"): 1,
    ("manager", "late_binding_lead_minutes"): 1,
    ("physical:host", "enable_polling_monitor"): True,
    ("physical:host", "polling_interval"): 15,
    ("physical:host", "down_seconds_before_moving"): 20,
    ("physical:host", "recovery_seconds"): 10,
    ("physical:host", "max_failed_percent"): 40,
}
FAILED_AT_ONCE = 2
"""So many of the hosts may fail at once; more are not believed."""


class Site:
    """All of it. ``start`` begins the processes; the supervisor starts again what has crashed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.database = Server(world)
        self.cloud = MemoryCloud(HOSTS)
        self.servers = Servers(world, self.cloud)
        self.strays: dict[str, datetime] = {}
        """Servers that belong to no lease, and when they were booted."""
        self.adopted: set[str] = set()
        """Servers of users that are to be reserved."""
        self.attached: dict[str, str] = {}
        """The networks to which users attached ports, by port."""
        self.failed_until: dict[str, datetime] = {}
        """When hosts were last down or disabled."""
        self.broker = Broker(world)
        self.heard: dict[str, Callable[[], None]] = {}
        """What a manager does when Nova announces something, by the manager's name."""
        self.changed: Callable[[str, tuple[Any, ...]], None] = lambda method, args: None
        self.guests = 0
        """How many servers have come to hosts that are lent."""
        self.on_their_way: Counter[str] = Counter()
        """How many of them are let onto each host and are not there yet."""
        self.let_in: Callable[[str], None] = lambda host: None
        """Is told of each host onto which one of them is let."""
        self.managers: dict[str, Process] = {}
        self.threads: dict[str, Callable[[], Sequence[ThreadHealth]]] = {}
        """What the health of each manager that listens says of its threads."""
        self._conf = _conf()
        # The other seeds are the same as without late binding.
        self._conf.set_override("late_binding", Random(f"{world.seed}/late").random() < 0.5, "manager")
        notice = NOTICE_MINUTES if has_notices(Random(f"{world.seed}/notices")) else 0
        self._conf.set_override("preemptible_notice_minutes", notice, "nova")
        lending = Random(f"{world.seed}/lending")
        self.is_lending = has_lending(lending)
        """Whether reservations may lend hosts that they do not use."""
        self.lent_after_minutes = lending.choice((0, 1))
        self._conf.set_override("lend_idle_hosts", self.is_lending, "nova")
        self._conf.set_override("lend_after_minutes", self.lent_after_minutes, "nova")
        self._conf.set_override("end_preemptibles", bool(notice) or self.is_lending, "nova")
        self._skews = {name: world.dice.uniform(-SKEW, SKEW) for name in (*MANAGERS, *USERS, "operator")}
        draw = Random(f"{world.seed}/quotas")
        has_quotas = draw.random() < SHARE_OF_QUOTAS
        self.quotas: Mapping[str, int] = {}
        if has_quotas:
            self.quotas = {"leases": draw.choice(MOST_LEASES), **QUOTAS}
            self.database.committed.limits[LIMITED] = self.quotas
        self.callers = {name: _caller(name, LIMITED if has_quotas else name) for name in USERS}
        for caller in self.callers.values():
            self.cloud.add_token(str(caller.token), caller.user_id, caller.project_id, caller.roles)
        self.cloud.add_flavor(Flavor("small", "m1.small", 2, 2048, 10))
        for flavor in PREEMPTIBLE if self.is_lending else (SPARE,):
            self.cloud.add_flavor(flavor)
        subnet = Subnet("subnet", "203.0.113.0/24", "203.0.113.1", (("203.0.113.10", "203.0.113.99"),))
        self.cloud.add_network(PUBLIC, subnet)
        self.outside = Process("site")

    # processes

    def start(self) -> None:
        for name in MANAGERS:
            self.begin(name)
        self.world.scheduler.died = self._died
        self.world.scheduler.spawn("supervisor", self.outside, self._supervise)
        for trouble in self.world.weather.of_kind("freeze"):
            self.world.scheduler.after(trouble.begin, lambda t=trouble: self._freeze(t))
        for trouble in self.world.weather.of_kind("thread ends"):
            self.world.scheduler.after(trouble.begin, lambda t=trouble: self._end_thread(t))

    def begin(self, name: str) -> None:
        """Start a manager's process."""
        process = self.managers[name] = Process(name)
        self.threads.pop(name, None)
        self.world.scheduler.spawn("main", process, lambda: self._serve(process))

    def restart(self) -> None:
        """Kill all managers; the supervisor starts them again."""
        self.world.tell("restart", "all managers", actor="site")
        for process in self.managers.values():
            self.world.scheduler.kill(process)

    def service(self, name: str, caller: Caller) -> Service:
        """Return all use cases, as the blazar-api of ``name`` calls them over the broker."""
        process = Process(name)
        clock = SimulatedClock(self.world, process, self._skews[name])
        transport = SimulatedTransport(self.broker, process, clock)
        return remote_service(transport, shared_codec(load_plugins(self._conf).interfaces)).called_by(caller)

    def _serve(self, process: Process) -> None:
        world = self.world
        clock = SimulatedClock(world, process, self._skews[process.name])
        cloud = SimulatedCloud(
            world, process, self.cloud, self.servers, lambda method, args: self.changed(method, args)
        )
        database = SimulatedDatabase(self.database, process)
        plugins = load_plugins(self._conf)
        manager = Manager(
            self._conf,
            database,
            cloud,
            plugins,
            clock,
            _Notifier(world, process),
            announcements=_Announcements(self, process),
        )
        try:
            manager.start()
        except Exception as failure:  # noqa: BLE001 - the edge of the process: it ends, and is started again
            world.tell("start", f"fails: {failure}")
            world.scheduler.kill(process)
            raise Crash from None
        self.threads[process.name] = manager.use_cases.health.threads
        self.broker.listen(
            process, Dispatcher(manager.use_cases, manager.codec, clock, deliveries=manager.deliveries).call
        )
        world.tell("start", "listens")
        Event(world.scheduler).wait()

    def _supervise(self) -> None:
        while True:
            self.world.scheduler.sleep(1)
            for name, process in list(self.managers.items()):
                self._look_at_health(process)
                if process.dead:
                    self.world.scheduler.sleep(self.world.dice.choice((0, 2, 20)))
                    self.begin(name)

    def _look_at_health(self, process: Process) -> None:
        """End a manager whose health says that a thread is dead; it is started again."""
        if process.dead or process.name not in self.threads:
            return
        health = {thread.name: thread.state for thread in self.threads[process.name]()}
        dead = self.world.scheduler.ended(process) & health.keys()
        if any(health[name] is not ThreadState.DEAD for name in dead):
            self.world.scheduler.fail("health tells of dead threads", f"{process.name} lacks {sorted(dead)}")
        if ThreadState.DEAD in health.values():
            self.world.tell("health", f"{sorted(dead)} dead: the manager is ended", actor=process.name)
            self.world.scheduler.kill(process)

    def _freeze(self, trouble: Trouble) -> None:
        process = self.managers.get(trouble.process)
        if process is not None and not process.dead:
            self.world.weather.strikes["freeze"] += 1
            self.world.tell("SIGSTOP", f"{trouble.length:.1f} s", actor=trouble.process)
            process.frozen_until = self.world.scheduler.now + round(trouble.length * 1_000_000)

    def _end_thread(self, trouble: Trouble) -> None:
        process = self.managers.get(trouble.process)
        if process is not None and not process.dead and process.name in self.threads:
            names = [thread.name for thread in self.threads[process.name]()]
            name = self.world.weather.random_of(trouble).choice(names)
            self.world.weather.strikes[trouble.kind] += 1
            self.world.tell("the thread ends", name, actor=trouble.process)
            self.world.scheduler.end(process, name)

    def _died(self, task: Any, failure: BaseException) -> None:
        self.world.tell("the thread ends", f"{type(failure).__name__}: {failure}", actor=str(task))
        if task.process in self.managers.values():
            self.world.scheduler.fail(
                "no thread dies", f"{task} ended with {type(failure).__name__}: {failure}"
            )
        elif task.process is self.outside or task.process.name in USERS:
            raise failure

    # hosts

    def set_service(self, host: str, is_up: bool = True, is_enabled: bool = True) -> None:
        """Let a host fail, or come back. Nova announces it to one of the managers, or to none."""
        if not self.is_whole(host):
            self.failed_until[host] = self.world.now()
        self.cloud.set_service(host, is_up, is_enabled)
        self.world.tell(f"{host} is {'up' if is_up else 'down'}{'' if is_enabled else ', disabled'}", "")
        listening = sorted(name for name in self.heard if not self.managers[name].dead)
        if listening and self.world.dice.random() < 0.7:
            self.heard[self.world.dice.choice(listening)]()

    def is_whole(self, host: str) -> bool:
        """Return whether a host is up and enabled."""
        found = next(each for each in self.cloud.state.hypervisors.values() if each.service_name == host)
        return found.is_up and found.is_enabled

    # what can be seen of the site from outside

    def leases(self) -> Mapping[str, Lease]:
        """What is committed, by id."""
        return self.database.committed.leases

    def offers(self) -> Mapping[str, Offer]:
        """What is held, by id."""
        return self.database.committed.offers

    def maintenances(self) -> Mapping[str, Maintenance]:
        """What is taken away, by id."""
        return self.database.committed.maintenances

    def series(self) -> Mapping[str, Series]:
        """What recurs, by id."""
        return {series_id: held.series for series_id, held in self.database.committed.series.items()}

    def registrations(self) -> Mapping[str, Registration]:
        return self.database.committed.registrations

    def host_of(self, resource_id: str) -> str:
        """Return the compute service host of a registered host."""
        registration = self.registrations().get(resource_id)
        return str(registration.facts["service_name"]) if registration else f"unregistered {resource_id}"

    def members(self, aggregate: str) -> frozenset[str]:
        return frozenset(self.cloud.hosts_in(aggregate))

    def is_quiet(self) -> bool:
        """Return whether no manager is at work in the cloud."""
        changing = ("event", "retry", "reconcile", "rpc-register", "rpc-unregister")
        return not self.database.committed.claims and not self.world.scheduler.is_any_alive(changing)

    def in_freepool(self) -> frozenset[str]:
        return self.members(FREEPOOL)


class _Notifier:
    """The Notifier port: it takes its time."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def send(self, notification: Any) -> None:
        self._world.step(self._process, 0.002)
        trouble = self._world.weather.strike("notifier", self._process)
        if trouble is not None:
            self._world.tell("notification", trouble.kind)
            if trouble.kind == "broker away":
                raise CloudUnavailable(service="broker", reason="connection refused")
            raise unforeseen(self._world.weather.random_of(trouble), "the channel is closed")


class _Announcements:
    """The Announcements port of one process."""

    def __init__(self, site: Site, process: Process) -> None:
        self._site = site
        self._process = process

    def listen(self, heard: Callable[[], None]) -> None:
        self._site.heard[self._process.name] = heard

    def stop(self) -> None:
        del self._site.heard[self._process.name]


def has_notices(random: Random) -> bool:
    """Return whether a seed has notices to preemptible servers; it is the first draw."""
    return random.random() < 0.5


def has_lending(random: Random) -> bool:
    """Return whether reservations of a seed lend hosts; it is the first draw."""
    return random.random() < 0.5


def _caller(name: str, project: str) -> Caller:
    return Caller(f"{name}-user", project, ("member", "reader"), token=f"{name}-token")


ADMIN = Caller("admin-user", "admin", ("admin",), is_admin=True)


def _conf() -> Any:
    if not _loaded:
        conf = options.load(files=[])
        for (group, name), value in CONF.items():
            conf.set_override(name, value, group)
        _loaded.append(conf)
    return _loaded[0]


_loaded: list[Any] = []
