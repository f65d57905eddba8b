"""The lifetimes of hosts, against brute force: what is promised lies within them, what is refused fits into
none, and a date is refused exactly where a lease would break."""

from __future__ import annotations

from dataclasses import dataclass

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import ADMIN, World

from blazar.domain.errors import InvalidInput, NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Effect
from blazar.domain.time import Interval
from blazar.service.commands import SetLifetime

HOUR = 60
HOSTS = 3
IDS = [str(n + 1) for n in range(HOSTS)]


@dataclass(frozen=True)
class Wish:
    """A lease of so many hosts, in hours from now."""

    start: int
    length: int
    hosts: int


@dataclass(frozen=True)
class Dates:
    """When a host is there, in hours from now; None where it is there already, and where it stays."""

    host: str
    begin: int | None
    end: int | None


wishes = st.builds(Wish, st.integers(1, 8), st.integers(1, 4), st.sampled_from((1, 1, 2)))
hours = st.none() | st.integers(1, 10)
dates = st.builds(Dates, st.sampled_from(IDS), hours, hours)


class Promises:
    """Which lease has which host when, and when each host is there, kept apart from the calendar."""

    def __init__(self) -> None:
        self.there: dict[str, tuple[int | None, int | None]] = dict.fromkeys(IDS, (None, None))
        self.taken: dict[str, list[tuple[int, int, Lease]]] = {host: [] for host in IDS}

    def is_there(self, host: str, start: int, end: int) -> bool:
        begin, until = self.there[host]
        return (begin is None or begin <= start) and (until is None or end <= until)

    def free(self, start: int, end: int) -> list[str]:
        return [
            host
            for host in IDS
            if self.is_there(host, start, end)
            and not any(other < end and start < until for other, until, _ in self.taken[host])
        ]

    def look(self, world: World) -> None:
        """Look anew which hosts the leases have: to make room, some may have been planned elsewhere."""
        rows = {row[2].id: row for rows in self.taken.values() for row in rows}
        self.taken = {host: [] for host in IDS}
        for start, end, lease in rows.values():
            for host in world.hosts_of(lease):
                assert host in self.free(start, end)
                self.taken[host].append((start, end, lease))


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(wishes | dates, max_size=14))
def test_what_is_promised_lies_within_the_lifetimes_of_its_hosts(steps: list[Wish | Dates]) -> None:
    world, known = World(hosts=HOSTS), Promises()
    for step in steps:
        if isinstance(step, Wish):
            _reserve(world, known, step)
        else:
            _change(world, known, step)


def _reserve(world: World, known: Promises, wish: Wish) -> None:
    start, end = wish.start, wish.start + wish.length
    try:
        lease = world.create(start=start * HOUR, end=end * HOUR, min=wish.hosts, max=wish.hosts)
    except NotEnoughResources:
        event("refused")
        assert len(known.free(start, end)) < wish.hosts
        return
    event("promised")
    known.look(world)
    got = world.hosts_of(lease)
    assert len(got) == wish.hosts
    assert got <= set(known.free(start, end))
    for host in got:
        known.taken[host].append((start, end, lease))


def _change(world: World, known: Promises, dates: Dates) -> None:
    begin, end = (None if at is None else world.in_minutes(at * HOUR) for at in (dates.begin, dates.end))
    command = SetLifetime(dates.host, begin, end)
    if dates.begin is not None and dates.end is not None and dates.end <= dates.begin:
        try:
            world.lifetimes.set(command, ADMIN)
        except InvalidInput:
            return
        raise AssertionError("a host is gone before it has come")
    before = known.there[dates.host]
    known.there[dates.host] = (dates.begin, dates.end)
    lost = [
        (start, until, lease)
        for start, until, lease in known.taken[dates.host]
        if not known.is_there(dates.host, start, until)
    ]
    decision = world.lifetimes.set(command, ADMIN)
    touched = {impact.lease_id for impact in decision.impacts if impact.effect is not Effect.STAYS}
    assert touched == {lease.id for _, _, lease in lost}
    if decision.lifetime is None:
        event("broken")
        known.there[dates.host] = before
        for start, until, lease in lost:
            assert world.hosts_of(lease) >= {dates.host}
            assert lease.interval == Interval(world.in_minutes(start * HOUR), world.in_minutes(until * HOUR))
        assert any(impact.effect is Effect.BREAKS for impact in decision.impacts)
        return
    event("moved" if lost else "set")
    for start, until, lease in lost:
        known.taken[dates.host].remove((start, until, lease))
        (new,) = world.hosts_of(lease) - {
            host for host in IDS if any(each is lease for _, _, each in known.taken[host])
        }
        assert new in known.free(start, until), "what moves moves to a host that is there and free"
        known.taken[new].append((start, until, lease))
