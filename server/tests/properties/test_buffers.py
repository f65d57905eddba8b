"""The buffer, against brute force: no request gets a host that is kept, and each that is refused lacks
what is free; what loses a host gets one that is kept only where no other is free."""

from __future__ import annotations

from dataclasses import dataclass

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import ADMIN, World

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Effect
from blazar.service.commands import CreateMaintenance

HOUR = 60
IDS = ("1", "2", "3", "4")


@dataclass(frozen=True)
class Wish:
    """A lease of so many hosts, in hours from now."""

    start: int
    length: int
    hosts: int


@dataclass(frozen=True)
class Keep:
    """A host becomes one of the buffer, or leaves it."""

    host: str
    is_buffer: bool


@dataclass(frozen=True)
class Away:
    """A host is taken away for an hour at that hour from now."""

    host: str
    start: int


wishes = st.builds(Wish, st.integers(1, 8), st.integers(1, 4), st.sampled_from((1, 1, 2)))
steps = st.lists(
    wishes
    | st.builds(Keep, st.sampled_from(IDS), st.booleans())
    | st.builds(Away, st.sampled_from(IDS), st.integers(1, 10)),
    min_size=1,
    max_size=12,
)


class Promises:
    """Which host is occupied when, and which are kept, apart from the calendar."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.leases: list[tuple[int, int, Lease]] = []
        self.away: list[tuple[str, int, int]] = []
        self.kept: set[str] = set()

    def is_free(self, host: str, start: int, end: int) -> bool:
        taken = [(a, b) for a, b, lease in self.leases if host in self.world.hosts_of(lease)] + [
            (a, b) for each, a, b in self.away if each == host
        ]
        return not any(a < end and start < b for a, b in taken)

    def is_away(self, host: str, start: int, end: int) -> bool:
        return any(each == host and a < end and start < b for each, a, b in self.away)

    def free(self, start: int, end: int) -> set[str]:
        return {host for host in IDS if self.is_free(host, start, end)}


@settings(max_examples=examples(400), deadline=None)
@given(st.sets(st.sampled_from(IDS), max_size=2), st.lists(wishes, min_size=1, max_size=4), steps)
def test_no_request_gets_what_is_kept_and_what_is_moved_gets_it_last(
    kept: set[str], first: list[Wish], then: list[Wish | Keep | Away]
) -> None:
    world = World(hosts=len(IDS))
    known = Promises(world)
    for step in [*(Keep(host, True) for host in sorted(kept)), *first, *then]:
        match step:
            case Wish():
                _reserve(known, step)
            case Keep(host, is_buffer):
                world.buffers.set(host, is_buffer, ADMIN)
                (known.kept.add if is_buffer else known.kept.discard)(host)
                assert set(world.buffers.list()) == known.kept
            case Away():
                _take_away(known, step)


def _reserve(known: Promises, wish: Wish) -> None:
    world, start, end = known.world, wish.start, wish.start + wish.length
    free = known.free(start, end) - known.kept
    before = {each.id: world.hosts_of(each) for _, _, each in known.leases}
    try:
        lease = world.create(start=start * HOUR, end=end * HOUR, min=wish.hosts, max=wish.hosts)
    except NotEnoughResources:
        event("refused")
        assert len(free) < wish.hosts
        return
    event("promised")
    # To make room, others may have been planned elsewhere: on hosts that are not kept either.
    for a, b, other in known.leases:
        came = world.hosts_of(other) - before[other.id]
        assert not came & known.kept
        assert not any(known.is_away(host, a, b) for host in came)
    assert world.hosts_of(lease) <= known.free(start, end) - known.kept
    known.leases.append((start, end, lease))


def _take_away(known: Promises, away: Away) -> None:
    world, start, end = known.world, away.start, away.start + 1
    if not all(each != away.host or b <= start or end <= a for each, a, b in known.away):
        return
    command = CreateMaintenance(
        (away.host,), world.in_minutes(start * HOUR), world.in_minutes(end * HOUR), "x"
    )
    (hit,) = [
        [
            (a, b, lease)
            for a, b, lease in known.leases
            if away.host in world.hosts_of(lease) and a < end and start < b
        ]
    ]
    free = [known.free(a, b) - {away.host} for a, b, _ in hit]
    in_buffer = {lease.id for _, _, lease in hit if world.hosts_of(lease) & known.kept}
    decision = world.maintenances.create(command, ADMIN)
    effects = {impact.lease_id: impact for impact in decision.impacts if impact.effect is not Effect.STAYS}
    assert effects.keys() == {lease.id for _, _, lease in hit}
    # Leases on one host do not overlap, so what one of them gets is not missed by another.
    for (_, _, lease), others in zip(hit, free, strict=True):
        assert (effects[lease.id].effect is Effect.MOVES) == bool(others)
        for move in effects[lease.id].moves:
            assert set(move.taken) <= others
            if others - known.kept:
                event("moved beside the buffer")
                if lease.id in in_buffer:
                    event("moved beside the buffer, of which it has a host")
                assert not set(move.taken) & known.kept
            else:
                event("moved to the buffer")
    if decision.maintenance is not None:
        known.away.append((away.host, start, end))
