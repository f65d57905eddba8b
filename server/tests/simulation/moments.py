"""Actions that are worth nothing but at the right moment: while an event is carried out, while hosts cannot
be emptied, at the end of the lease before.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.commands import NOW, CreateLease, ReservationChange, ReservationRequest, UpdateLease

from .kinds import KINDS
from .scheduler import SECOND
from .site import MANAGERS, Site
from .troubles import Trouble

if TYPE_CHECKING:
    from .people import Action, Operator, User

HOSTS, INSTANCES = "physical:host", "virtual:instance"
LONGEST = 100.0
"""Seconds that are waited for a moment."""
OF_USERS = (
    "change what is under way",
    "grow onto busy hosts",
    "move a warning at work",
    "follow closely",
    "have other things made",
    "lose a host for a while",
)
OF_OPERATORS = ("take a host away and crash",)


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that wait for their moments."""
    found = list(actions)
    if not found or random.random() < 0.5:
        return found
    for _ in range(random.choice((1, 2, 4))):
        place = random.randrange(len(found))
        verbs = OF_OPERATORS if found[place].who == "operator" else OF_USERS
        found[place] = replace(found[place], verb=random.choice(verbs), seed=random.getrandbits(32))
    return found


def troubled(
    random: Random, troubles: Sequence[Trouble], until: float, without: Sequence[str]
) -> list[Trouble]:
    """Return the troubles with one that lasts, of those that matter at few calls only."""
    kind, begin = random.choice(("commit unknown", "commit unknown", "cloud refuses")), random.uniform(0, 60)
    if kind in without or random.random() < 0.5:
        return list(troubles)
    length = 20.0 if kind == "cloud refuses" else until - begin
    odds = random.choice((0.2, 0.5)) if kind == "commit unknown" else 0.8
    manager = random.choice(MANAGERS)
    return [*troubles, Trouble(len(troubles), kind, begin, length, odds, manager, 0)]


def verbs_of(user: User) -> Mapping[str, Callable[[Random], None]]:
    moments = _Moments(user)
    return dict(
        zip(
            OF_USERS,
            (
                moments.change_under_way,
                moments.grow,
                moments.move_warning,
                moments.follow,
                moments.make_others,
                moments.lose,
            ),
            strict=True,
        )
    )


class _Moments:
    def __init__(self, user: User) -> None:
        self._user = user
        self._site = user.site
        self._world = user.world

    # what users do

    def change_under_way(self, random: Random) -> None:
        """Change a lease at the moment at which one of its events is carried out."""
        if self._waited_for(lambda each: _working(each) is not None):
            self._world.scheduler.sleep(random.choice((0, 0.1, 0.5)))
            verb = random.choice((self._user.resize, self._user.move_warning, self._user.move_end))
            verb(random)

    def grow(self, random: Random) -> None:
        """Grow onto hosts that cannot be emptied for a while, use what is there already, and be warned."""
        if HOSTS not in self._user.kinds:
            return self.change_under_way(random)
        lease = self._active(HOSTS, 4, {**KINDS[HOSTS].parameters(random), **_one_host()})
        if lease is None:
            return None
        for host in sorted(self._site.in_freepool())[: random.choice((1, 2, 5))]:
            leave(self._site, host, random.uniform(35, 110))
        number = len(lease.reservations[0].allocations) + random.choice((1, 2, 3))
        self._change(lease, {"min": number, "max": number})
        for _ in range(random.choice((0, 2, 4))):
            self._world.scheduler.sleep(random.uniform(0.1, 6))
            self._user.boot(random)
        soon = self._world.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
        if soon < lease.interval.end:
            self._user.update(lease, UpdateLease(before_end=soon))
        return None

    def move_warning(self, random: Random) -> None:
        """Move a warning while the images of the servers are made."""
        kind = random.choice([each for each in self._user.kinds if each in (HOSTS, INSTANCES)] or [None])
        if kind is None:
            return self.change_under_way(random)
        parameters = {**KINDS[kind].parameters(random), "before_end": "snapshot", "resource_properties": ""}
        lease = self._active(kind, 4, {**parameters, **(_one_host() if kind == HOSTS else {})})
        if lease is None:
            return None
        for _ in range(2):
            self._user.boot(random)
        soon = self._world.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
        if soon >= lease.interval.end - timedelta(minutes=1):
            return None
        self._user.update(lease, UpdateLease(before_end=soon))
        if self._waited_for(lambda each: each.id == lease.id and _working(each) is EventType.BEFORE_END):
            self._user.update(lease, UpdateLease(before_end=lease.interval.end - timedelta(minutes=1)))
        return None

    def follow(self, random: Random) -> None:
        """Have a lease follow another one of servers on the same full hosts, whose servers do not go."""
        if INSTANCES not in self._user.kinds:
            return self.change_under_way(random)
        wish = {**KINDS[INSTANCES].parameters(random), "vcpus": 8, "amount": random.choice((1, 4, 6))}
        wish |= {"affinity": None, "before_end": "", "resource_properties": ""}
        first = self._active(INSTANCES, 2, wish)
        if first is None:
            return None
        for _ in range(3):
            self._user.boot(random)
        self._keep(first, (first.interval.end - self._world.now()).total_seconds() + random.uniform(2, 40))
        after = first.interval.end
        second = self._create(INSTANCES, wish, after, after + timedelta(minutes=2))
        if second and self._waited_for(lambda e: e.id == second and e.status is LeaseStatus.ACTIVE, 120):
            self._user.boot(random)
        return None

    def make_others(self, random: Random) -> None:
        """Change a lease ahead such that other server groups and trusts are made for it, again and again."""
        kind = random.choice([each for each in self._user.kinds if each in (HOSTS, INSTANCES)] or [None])
        if kind is None:
            return self.change_under_way(random)
        start = self._world.now().replace(second=0, microsecond=0) + timedelta(minutes=2)
        wish = {**KINDS[kind].parameters(random), "resource_properties": "", "before_end": "snapshot"}
        wish |= _one_host() if kind == HOSTS else {"amount": 1, "affinity": True}
        lease_id = self._create(kind, wish, start, start + timedelta(minutes=random.choice((2, 30))))
        for number in range(4):
            lease = self._site.leases().get(lease_id) if lease_id else None
            if lease is None:
                return None
            self._change(
                lease,
                {"before_end": ("", "snapshot")[number % 2]}
                if kind == HOSTS
                else {"affinity": bool(number % 2)},
            )
        return None

    def lose(self, random: Random) -> None:
        """Have a host fail under servers that do not go, and be back soon enough for a lease that needs all
        hosts."""
        if INSTANCES not in self._user.kinds:
            return self.change_under_way(random)
        wish = {**KINDS[INSTANCES].parameters(random), "vcpus": 8, "amount": 1}
        wish |= {"affinity": None, "before_end": "", "resource_properties": ""}
        first = self._active(INSTANCES, 8, wish)
        if first is None:
            return None
        self._user.boot(random)
        (had,) = first.reservations[0].allocations
        host = self._site.host_of(had.resource_id)
        self._keep(first, random.uniform(150, 250))
        self._site.set_service(host, is_up=False)
        self._waited_for(lambda e: e.id == first.id and had.resource_id not in e.resource_ids)
        self._site.set_service(host)
        self._world.scheduler.sleep(random.uniform(20, 50))
        for _ in range(6):
            second = self._active(INSTANCES, 4, wish)
            if second is not None:
                self._user.boot(random)
        return None

    # how they do it

    def _keep(self, lease: Lease, seconds: float) -> None:
        """Have the servers of the lease refuse to go for some seconds."""
        until = self._world.scheduler.now + round(seconds * SECOND)
        for server_id, server in self._user.rules.booted.items():
            if server.lease_id == lease.id:
                self._site.servers.stubborn_until[server_id] = until

    def _active(self, kind: str, minutes: int, parameters: Mapping[str, Any]) -> Lease | None:
        """Create a lease of one reservation from now on; return it when it is active."""
        end = self._world.now().replace(second=0, microsecond=0) + timedelta(minutes=minutes)
        lease_id = self._create(kind, parameters, NOW, end)
        if lease_id is None:
            return None
        return self._waited_for(lambda each: each.id == lease_id and each.status is LeaseStatus.ACTIVE)

    def _create(self, kind: str, parameters: Mapping[str, Any], start: Any, end: Any) -> str | None:
        lease_id = str(UUID(int=self._user.ids.getrandbits(128), version=4))
        request = ReservationRequest(kind, parameters)
        self._user.create_as(CreateLease("lease", start, end, None, (request,), lease_id))
        known = self._user.known.get(lease_id)
        return lease_id if known is not None and known.lease is not None else None

    def _change(self, lease: Lease, parameters: Mapping[str, Any]) -> None:
        self._user.update(
            lease, UpdateLease(reservations=(ReservationChange(lease.reservations[0].id, parameters),))
        )

    def _waited_for(self, is_right: Callable[[Lease], bool], longest: float = LONGEST) -> Lease | None:
        """Return the first lease of the user that is as it should be; None where none is for a while."""
        ends = self._world.scheduler.now + round(longest * SECOND)
        while self._world.scheduler.now < ends:
            stored = self._site.leases()
            for lease_id, known in self._user.known.items():
                if known.lease is not None and lease_id in stored and is_right(stored[lease_id]):
                    return stored[lease_id]
            self._world.scheduler.sleep(0.07)
        return None


def _one_host() -> Mapping[str, Any]:
    return {"min": 1, "max": 1, "resource_properties": ""}


def _working(lease: Lease) -> EventType | None:
    """Return which event of the lease is being carried out."""
    return next((e.event_type for e in lease.events if e.status is EventStatus.IN_PROGRESS), None)


# what operators do


def take_away_and_crash(operator: Operator, number: int, random: Random) -> None:
    """Take a host away, and have all managers die while that is done."""
    operator.world.scheduler.after(random.uniform(0.02, 0.8), operator.site.restart)
    operator.take_away(number, random)


def leave(site: Site, host: str, seconds: float) -> str:
    """Have a server of no lease on a host, which does not go for some seconds. Return its id."""
    server_id = f"stray{len(site.servers.stubborn_until)}"
    site.cloud.boot(server_id, host, "strangers")
    site.servers.stubborn_until[server_id] = site.world.scheduler.now + round(seconds * SECOND)
    site.strays[server_id] = site.world.now()
    site.world.tell(f"boot {server_id}", f"on {host}; it stays for {seconds:.0f} s")
    return server_id
