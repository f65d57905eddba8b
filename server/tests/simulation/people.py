"""Users and operators: what they do is a list of actions that the seed draws in advance, so that each can be
left out.

A user remembers what was acknowledged. What was refused must have had no effect; of what was not answered the
user learns after the deadline whether it was done, and then it stays so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import (
    BlazarError,
    InvalidStatus,
    NotFound,
)
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.series import Series
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import HostAlreadyRegistered
from blazar.service.commands import (
    NOW,
    CreateLease,
    RequestKey,
    ReservationChange,
    UpdateLease,
)

from . import (
    lending,
    lifetimes,
    maintenances,
    members,
    moments,
    networks,
    notices,
    offers,
    priorities,
    series,
    servers,
    sharing,
    splitting,
    stacks,
    waiting,
)
from .broker import PATIENCE, UNSURE
from .kinds import KINDS, Networks, overused
from .rules import SKEWED, Rules
from .scheduler import SECOND, Process
from .site import ADDRESSES, ADMIN, HOSTS, PUBLIC, USERS, Site
from .world import World

VERBS = {
    "create": 6,
    "resize": 5,
    "resize twice": 3,
    "move the end": 4,
    "move the warning": 2,
    "move the start": 1,
    "rename": 1,
    "end now": 1,
    "delete": 2,
    "boot": 6,
    "kill a server": 1,
}
"""What users do, and how often."""
OPERATORS = {
    "take a host away and back": 2,
    "set a property": 3,
    "leave a server on a host": 2,
    "make the freepool anew": 1,
    "let hosts fail": 4,
}
STRAY = "stray"
"""How the names of servers begin that belong to no lease."""
UNSTORED = {"lend": False}
"""Parameters that are not stored where they have these values."""
AT_THE_MINUTE = -1.0
"""A pause up to the next full minute, when leases start and end, and when all others come as well."""


@dataclass(frozen=True)
class Action:
    """One action: ``pause`` seconds after the one before of the same person; ``seed`` decides what is left
    open."""

    number: int
    who: str
    pause: float
    verb: str
    seed: int

    def __str__(self) -> str:
        when = "at the next minute" if self.pause == AT_THE_MINUTE else f"after {self.pause:.1f} s"
        return f"{self.who}: {self.verb} ({when}, number {self.number})"


def draw(random: Random, until: float, kinds: Iterable[str]) -> list[Action]:
    """Draw the actions of all people of one run."""
    found: list[Action] = []
    for who in (*USERS, "operator"):
        time = 0.0
        while True:
            pause = random.choice((0.05, 1.0, 8.0, 30.0)) * random.random() * (2 if who == "operator" else 1)
            if random.random() < 0.4:
                pause = AT_THE_MINUTE
            time += 60 - time % 60 if pause == AT_THE_MINUTE else pause
            if time > until:
                break
            verbs = OPERATORS if who == "operator" else VERBS
            verb = random.choices(list(verbs), list(verbs.values()))[0]
            if who != "operator" and pause == AT_THE_MINUTE and random.random() < 0.5:
                verb = "create"  # many do so at once
            found.append(Action(len(found), who, pause, verb, random.getrandbits(32)))
            time += 1  # what an action takes itself
    return found


@dataclass(frozen=True)
class Known:
    """A lease as its user knows it; None in ``lease`` means that it is deleted."""

    lease: Lease | None


class User:
    """One user, with leases of the user's own."""

    def __init__(self, name: str, site: Site, rules: Rules, kinds: Sequence[str]) -> None:
        self.name = name
        self.site = site
        self.world = site.world
        self.rules = rules
        self.known: dict[str, Known] = {}
        self.kinds = kinds
        self.caller = site.callers[name]
        service = site.service(name, self.caller)
        self.leases, self.offers = service.leases, service.noun("offers")
        self.series = service.noun("series")
        self.shares = service.noun("shares")
        self.known_series: dict[str, Series | None] = {}
        """The series as their user knows them; None for those that are deleted."""
        self.ids = Random(f"{self.world.seed}/{name}")
        self._verbs: Mapping[str, Callable[[Random], None]] = {
            "create": self.create,
            "resize": self.resize,
            "resize twice": self.resize_twice,
            "move the end": self.move_end,
            "move the warning": self.move_warning,
            "move the start": self.move_start,
            "rename": self.rename,
            "end now": self.end_now,
            "delete": self.delete,
            "boot": self.boot,
            "kill a server": self.kill_server,
            offers.HOLD: partial(offers.hold_and_decide, self),
            waiting.WAIT: partial(waiting.create_that_may_wait, self),
            priorities.DISPLACE: partial(priorities.create_that_may_displace, self),
            members.EXCHANGE: partial(members.exchange, self),
            servers.RESERVE: partial(servers.reserve, self),
            notices.RESERVE: partial(notices.reserve, self),
            series.MAKE: partial(series.make, self),
            series.CHANGE: partial(series.change, self),
            sharing.SHARE: partial(sharing.share, self),
            splitting.SPLIT: partial(splitting.split, self),
            stacks.START: partial(stacks.create, self),
            lending.LEND: partial(lending.lend, self),
            lending.CHANGE: partial(lending.change, self),
            **moments.verbs_of(self),
        }

    def act(self, actions: Sequence[Action]) -> None:
        for action in actions:
            rest(self.world, action)
            self._verbs[action.verb](Random(action.seed))

    # actions

    def create(self, random: Random) -> None:
        lease_id = self.new_id()
        kinds = random.sample(self.kinds, min(len(self.kinds), random.choice((1, 1, 1, 2))))
        start = random.choice(
            (0, 0, 0, 1, 2, self._minutes_to_an_end(random), self._minutes_to_an_end(random))
        )
        end = max(start, 1) + random.choice((1, 1, 2, 3, 5, 30))
        command = CreateLease(
            "lease",
            self.in_minutes(start) if start else NOW,
            self.in_minutes(end),
            None,
            tuple(KINDS[kind].request(random) for kind in kinds),
            lease_id,
        )
        self.create_as(command)

    def create_as(self, command: CreateLease) -> None:
        kinds = " ".join(request.resource_type for request in command.reservations)
        start, end = ("now" if each == NOW else _short(each) for each in (command.start, command.end))
        key = RequestKey(str(command.id), "")
        self.ask(
            str(command.id),
            f"create {kinds} from {start} to {end}",
            lambda: self.leases.create(command, self.caller, key=key),
        )
        known = self.known.get(str(command.id), Known(None))
        if known.lease is not None and self.ids.random() < 0.3:
            self._create_again(replace(command, id=self.new_id()), key, known.lease.id)

    def _create_again(self, command: CreateLease, key: RequestKey, lease_id: str) -> None:
        """Make a request again whose lease is there: it is the answer, and there is no second one."""
        what, rule = f"create {lease_id[:4]} again", "a key has one lease"
        try:
            found = self.leases.create(command, self.caller, key=key)
        except UNSURE as failure:
            self.world.tell(what, f"not known: {failure}")
        except BlazarError as refusal:
            self.rules.fail(rule, f"{what} is refused: {refusal}")
        else:
            self.world.tell(what, "done")
            if found.id != lease_id:
                self.rules.fail(rule, f"{what} made {found.id}")
        if self.site.leases().get(str(command.id)) is not None:
            self.rules.fail(rule, f"{what} made {command.id}")

    def new_id(self) -> str:
        return str(UUID(int=self.ids.getrandbits(128), version=4))

    def resize(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            reservation = random.choice(lease.reservations)
            change = KINDS[reservation.resource_type].change(random, reservation)
            self.update(lease, UpdateLease(reservations=(ReservationChange(reservation.id, change),)))
            if random.random() < 0.5:
                self.world.scheduler.sleep(8 * random.random())
                self.boot(random)

    def resize_twice(self, random: Random) -> None:
        """Two changes of one lease within a moment."""
        seed = random.random()
        self.resize(Random(seed))
        self.world.scheduler.sleep(random.choice((0, 0.1, 1, 4)))
        lease = self.some_lease(Random(seed))
        if lease is not None:
            reservation = lease.reservations[0]
            change = KINDS[reservation.resource_type].change(random, reservation)
            self.update(lease, UpdateLease(reservations=(ReservationChange(reservation.id, change),)))

    def move_end(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            minutes = random.choice((-2, -1, 1, 1, 2, 4))
            self.update(lease, UpdateLease(end=lease.interval.end + timedelta(minutes=minutes)))

    def move_warning(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            before = lease.interval.end - timedelta(minutes=random.choice((1, 2)))
            self.update(lease, UpdateLease(before_end=before))

    def move_start(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            minutes = random.choice((-1, 1))
            self.update(lease, UpdateLease(start=lease.interval.start + timedelta(minutes=minutes)))

    def rename(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            self.update(lease, UpdateLease(name=f"name{random.randrange(100)}"))

    def end_now(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            has_begun = lease.interval.start <= self.world.now() - SKEWED
            self.update(lease, UpdateLease(end=NOW), must_be_done=has_begun)

    def delete(self, random: Random) -> None:
        lease = self.some_lease(random)
        if lease is not None:
            self.delete_lease(lease.id)

    def delete_lease(self, lease_id: str) -> None:
        self.ask(lease_id, f"delete {lease_id[:4]}", lambda: self.leases.delete(lease_id, self.caller))

    def boot(self, random: Random) -> None:
        for lease_id in list(self.known):
            lease = self.site.leases().get(lease_id)
            if lease is not None and lease.status is LeaseStatus.ACTIVE:
                for reservation in lease.reservations:
                    for _ in range(random.choice((1, 1, 3))):
                        self._boot_in(lease, reservation)

    def _boot_in(self, lease: Lease, reservation: Reservation) -> None:
        server_id = f"{self.name}{len(self.rules.booted) + 1}"
        host = self.rules.boot(lease, reservation, server_id)
        if host is not None:
            self.world.tell(f"boot {server_id} in {reservation.id[:4]}", f"on {host}")
            self._require_room(lease, host)

    def kill_server(self, random: Random) -> None:
        mine = sorted(s for s in self.site.cloud.state.servers if s.startswith(self.name))
        if mine:
            server_id = random.choice(mine)
            self.world.tell(f"kill {server_id}", "gone")
            self.site.cloud.state.servers.pop(server_id)
            self.site.cloud.state.flavor_of.pop(server_id, None)
            self.site.cloud.state.server_metadata.pop(server_id, None)

    # what was asked, and what came of it

    def update(self, lease: Lease, command: UpdateLease, must_be_done: bool = False) -> None:
        fields = [f"{name}={_short(value)}" for name, value in _set(command)]
        self.ask(
            lease.id,
            f"update {lease.id[:4]} {' '.join(fields)}",
            lambda: self.leases.update(lease.id, command, self.caller),
            lambda found: is_as_asked(found, command),
            must_be_done,
        )

    def ask(
        self,
        lease_id: str,
        what: str,
        call: Callable[[], Lease | None],
        is_right: Callable[[Lease], bool] = lambda lease: True,
        must_be_done: bool = False,
    ) -> None:
        known = self.known.get(lease_id, Known(None))
        number = len(self.world.trace) + 1
        self.world.tell(what, "asked")
        try:
            result = call()
        except UNSURE as failure:
            self.world.tell(f"{what} (asked in line {number})", f"not known: {failure}")
            self.learn(lease_id)
        except BlazarError as refusal:
            self.world.tell(f"{what} (asked in line {number})", f"refused: {refusal}")
            if (
                must_be_done
                and not self._is_over(lease_id)
                and not isinstance(refusal, NotFound | InvalidStatus)
            ):
                self.rules.fail("a lease that has begun can be ended", f"{what}: {refusal}")
            if isinstance(refusal, NotFound) and known.lease is not None:
                self.learn(lease_id)
            self.require_known(lease_id, "what is refused has no effect")
        else:
            self.world.tell(f"{what} (asked in line {number})", "done")
            self.known[lease_id] = Known(result)
            if result is not None and not is_right(result):
                self.rules.fail(
                    "what is acknowledged is there", f"the answer is not what was asked: {asked_for(result)}"
                )
            self.require_known(lease_id, "what is acknowledged is there")

    def _is_over(self, lease_id: str) -> bool:
        """Return whether the lease has ended by itself, which may be just before a user ends it."""
        lease = self.site.leases().get(lease_id)
        return lease is not None and lease.status is LeaseStatus.TERMINATED

    def learn(self, lease_id: str) -> None:
        """Wait until the request can have no effect any more, and then for what it has begun."""
        self.world.scheduler.sleep(PATIENCE + 10)
        self.see(lease_id)

    def see(self, lease_id: str) -> None:
        """Remember what the lease is now."""
        while (lease := self.site.leases().get(lease_id)) and lease.status is LeaseStatus.CREATING:
            self.world.scheduler.sleep(1)
        is_gone = lease is None or lease.status is LeaseStatus.DELETING
        self.known[lease_id] = Known(None if is_gone else lease)

    def require_all_known(self) -> None:
        for lease_id in self.known:
            self.require_known(lease_id, "what is acknowledged is there")
        for series_id in self.known_series:
            series.require_known(self, series_id, "what is acknowledged is there")

    def require_known(self, lease_id: str, rule: str) -> None:
        known = self.known.get(lease_id)
        stored = self.site.leases().get(lease_id)
        if stored is not None and stored.status is LeaseStatus.DELETING:
            stored = None
        if stored is not None and stored.status is LeaseStatus.CREATING and known is None:
            return  # it is being given up
        expected = known.lease if known else None
        if asked_for(stored) != asked_for(expected):
            self.rules.fail(rule, f"lease {lease_id} is {asked_for(stored)} instead of {asked_for(expected)}")

    def _require_room(self, lease: Lease, host: str) -> None:
        over = overused(self.site, host)
        if over:
            on_host = (s.id for s in self.site.cloud.state.servers.values() if s.host == host)
            there = {booted.lease_id for i in on_host if (booted := self.rules.booted.get(i))}
            self.rules.fail(
                "a running lease has room for its servers",
                f"{host} lacks {over} for lease {lease.id}, for servers of {sorted(there)} are on it",
            )

    def some_lease(self, random: Random) -> Lease | None:
        leases = [known.lease for known in self.known.values() if known.lease is not None]
        going_on = [lease for lease in leases if lease.interval.end > self.world.now()]
        leases = leases if random.random() < 0.1 else going_on
        return random.choice(leases[-4:]) if leases else None

    def _minutes_to_an_end(self, random: Random) -> int:
        """When a lease ends: there is room then, as a refusal would say."""
        now = self.world.now()
        ends = sorted(
            {lease.interval.end for lease in self.site.leases().values() if lease.interval.end > now}
        )
        return int((random.choice(ends) - self.in_minutes(0)).total_seconds() // 60) if ends else 0

    def in_minutes(self, minutes: int) -> datetime:
        return self.world.now().replace(second=0, microsecond=0) + timedelta(minutes=minutes)


class Operator:
    """Takes hosts and addresses into care, describes hosts, and takes them away."""

    def __init__(self, site: Site, kinds: Sequence[str]) -> None:
        self.site = site
        self.world = site.world
        self.kinds = kinds
        self.process = Process("operator")
        service = site.service("operator", ADMIN)
        self.maintenances = service.noun("maintenances")
        self.lifetimes = service.noun("lifetimes")
        self.segments = service.noun("network_segments")
        self._hosts, self._floating_ips = service.noun("hosts"), service.noun("floatingips")
        self._verbs: Mapping[str, Callable[[int, Random], None]] = {
            "take a host away and back": self.take_away,
            "set a property": self._set_property,
            "leave a server on a host": self._leave_server,
            "make the freepool anew": self._make_freepool_anew,
            "let hosts fail": self._let_fail,
            maintenances.MAINTAIN: lambda number, random: maintenances.maintain(self, random),
            lifetimes.BOUND: lambda number, random: lifetimes.bind(self, number, random),
            notices.BOOT: lambda number, random: notices.boot(self, random),
            lending.BOOT: lambda number, random: lending.boot(self, random),
            networks.TAKE_AWAY: lambda number, random: networks.take_away(self, random),
            "take a host away and crash": partial(moments.take_away_and_crash, self),
        }

    def set_up(self) -> None:
        for host in HOSTS:
            self.insist(f"register {host}", lambda h=host: self._register(h))
        for address in ADDRESSES:
            self.insist(
                f"register {address}",
                lambda a=address: self._floating_ips.register(RegisterFloatingIP(PUBLIC, a)),
            )
        self._register_segments()

    def act(self, actions: Sequence[Action]) -> None:
        for action in actions:
            rest(self.world, action)
            random = Random(action.seed)
            self._verbs[action.verb](random.randrange(len(HOSTS)), random)

    def finish(self) -> None:
        """Bring every host back: nothing stands in the way any more, for servers of no lease are moved
        away."""
        for _ in range(20):
            if maintenances.give_all_back(self):
                break
            self.world.scheduler.sleep(5)
        for host in HOSTS:
            self.site.set_service(host)
            self._move_strays_from(host)
            self.insist(f"register {host}", lambda h=host: self._register(h))
        self._register_segments()

    def take_away(self, number: int, random: Random) -> None:
        host_id = str(number + 1)
        if self.tried(f"unregister {HOSTS[number]}", lambda: self._hosts.unregister(host_id)):
            self.world.scheduler.sleep(20 * random.random())
        self.tried(f"register {HOSTS[number]}", lambda: self._register(HOSTS[number]))

    def _leave_server(self, number: int, random: Random) -> None:
        """Servers of no lease, on hosts of the freepool, that do not go at once."""
        for host in random.sample(HOSTS, random.choice((1, 1, 3))):
            seconds = 120 * random.random()
            if host in self.site.in_freepool():
                moments.leave(self.site, host, seconds)

    def _let_fail(self, number: int, random: Random) -> None:
        """Hosts that are down or disabled for a while, at the same moment. Some of them come and go."""
        is_up = random.random() < 0.3
        for host in random.sample(HOSTS, random.choice((1, 1, 1, 2, 3, len(HOSTS)))):
            moment = 0.0
            for _ in range(random.choice((1, 1, 4))):
                self._at(moment, host, is_up, not is_up)
                moment += random.choice((2, 20, 90)) * random.random()
                self._at(moment, host, is_up=True, is_enabled=True)
                moment += 20 * random.random()

    def _at(self, delay: float, host: str, is_up: bool, is_enabled: bool) -> None:
        def happen() -> None:
            if not self.world.weather.is_over:
                self.site.set_service(host, is_up, is_enabled)

        self.world.scheduler.after(delay, happen)

    def _make_freepool_anew(self, number: int, random: Random) -> None:
        """An aggregate of the same name with the same hosts, and another id. Operators do it when nothing is
        under way."""
        for _ in range(20):
            if self.site.is_quiet():
                state = self.site.cloud.state
                old = next(a for a in state.aggregates.values() if a.name == FREEPOOL)
                del state.aggregates[old.id]
                new = replace(old, id=state.next_id())
                state.aggregates[new.id] = new
                self.world.tell("make the freepool anew", f"{old.id} is {new.id}")
                return
            self.world.scheduler.sleep(0.5)

    def _move_strays_from(self, host: str) -> None:
        servers = self.site.cloud.state.servers
        for server in [s for s in servers.values() if s.host == host and s.id.startswith(STRAY)]:
            self.world.tell(f"move {server.id}", f"away from {host}")
            servers.pop(server.id)
            self.site.cloud.state.flavor_of.pop(server.id, None)
            self.site.cloud.state.server_metadata.pop(server.id, None)

    def _register(self, host: str) -> None:
        with contextlib.suppress(HostAlreadyRegistered):
            self._hosts.register(RegisterHost(host, {"ssd": "yes"} if host != "host1" else {}))

    def _register_segments(self) -> None:
        if Networks.resource_type in self.kinds:
            networks.register_all(self)

    def _set_property(self, number: int, random: Random) -> None:
        value = random.choice(("yes", "no", None))
        self.tried(
            f"set ssd of {HOSTS[number]} to {value}",
            lambda: self._hosts.set_capabilities(str(number + 1), {"ssd": value}),
        )

    def tried(self, what: str, call: Callable[[], Any]) -> bool:
        self.world.tell(what, "asked")
        try:
            call()
        except BlazarError as failure:
            self.world.tell(what, f"{type(failure).__name__}: {failure}")
            return False
        self.world.tell(what, "done")
        return True

    def insist(self, what: str, call: Callable[[], Any]) -> None:
        for _ in range(20):
            if self.tried(what, call):
                return
            self.world.scheduler.sleep(5)


def rest(world: World, action: Action) -> None:
    """Wait as the action says."""
    seconds = action.pause
    if seconds == AT_THE_MINUTE:
        seconds = (
            60
            - (world.scheduler.now / SECOND) % 60
            + Random(action.seed).choice((-0.3, 0.05, 0.05, 0.05, 0.4, 1.5))
        )
    world.scheduler.sleep(max(seconds, 0))


def is_as_asked(lease: Lease, command: UpdateLease) -> bool:
    """Whether the lease has what the update asked for."""
    wanted = dict(_set(command))
    changes = wanted.pop("reservations", ())
    has = {"name": lease.name, "start": lease.interval.start, "end": lease.interval.end}
    asked = [(change, lease.reservation(change.id)) for change in changes]
    return all(has.get(name, value) == value for name, value in wanted.items() if value is not NOW) and all(
        found is not None and dict(change.parameters).items() <= {**UNSTORED, **found.parameters}.items()
        for change, found in asked
    )


def asked_for(lease: Lease | None) -> Any:
    """What of a lease is its user's: all that no one else may change."""
    if lease is None:
        return "gone"
    parameters = [
        sorted((k, v) for k, v in r.parameters.items() if k != "flavor") for r in lease.reservations
    ]
    return lease.name, lease.interval.start, lease.interval.end, parameters


def _set(command: UpdateLease) -> Iterable[tuple[str, Any]]:
    for name in ("name", "start", "end", "before_end", "reservations"):
        value = getattr(command, name)
        if value != getattr(UpdateLease(), name):
            yield name, value


def _short(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%H:%M}"
    if isinstance(value, tuple):
        return " ".join(str(dict(change.parameters)) for change in value)
    return str(value)
