"""Who gives way to a lease of a higher class, against brute force: as few as can be, the right ones, and none
where none has to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import ALT, DEMO, World, whole_hosts

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.displacement import in_order
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.planning.displacement import least
from blazar.service.commands import CreateLease, PriorityWish
from blazar.service.leases import DisplacementSettings, LateBindingSettings

SORTS = 3


@dataclass(frozen=True)
class Giver:
    """A candidate: what becomes free without it, of each sort, and whether it has to wait then."""

    frees: tuple[int, ...]
    waits: bool
    is_stuck: bool


@dataclass(frozen=True)
class Given:
    chosen: tuple[int, ...]
    waiting: int


givers = st.builds(
    Giver, st.tuples(*[st.integers(0, 2)] * SORTS), st.booleans(), st.sampled_from((False,) * 7 + (True,))
)


class Puzzle:
    def __init__(self, candidates: Sequence[Giver], need: Sequence[int]) -> None:
        self.candidates = candidates
        self.need = need

    def fits(self, chosen: Sequence[int]) -> bool:
        return all(
            sum(self.candidates[n].frees[sort] for n in chosen) >= need for sort, need in enumerate(self.need)
        )

    def outcome(self, chosen: Sequence[int]) -> Given | None:
        if not self.fits(chosen) or any(self.candidates[n].is_stuck for n in chosen):
            return None
        return Given(tuple(chosen), sum(self.candidates[n].waits for n in chosen))

    def solutions(self) -> list[Given]:
        numbers = range(len(self.candidates))
        found = (
            self.outcome(chosen)
            for size in range(1, len(numbers) + 1)
            for chosen in combinations(numbers, size)
            if self.fits(chosen)
        )
        return [each for each in found if each is not None]


needs = st.tuples(*[st.integers(0, 4)] * SORTS).filter(any)


@settings(max_examples=examples(300))
@given(st.lists(givers, max_size=7), needs)
def test_the_best_choice_of_all_is_found(candidates: list[Giver], need: tuple[int, ...]) -> None:
    puzzle = Puzzle(candidates, need)
    found = least(range(len(candidates)), puzzle.fits, puzzle.outcome, most=10**6)
    best = min(
        puzzle.solutions(), key=lambda each: (len(each.chosen), each.waiting, each.chosen[::-1]), default=None
    )
    if best is not None and any(each.is_stuck for each in candidates):
        # Where some can neither move nor wait, a larger choice is not looked for.
        assert found is None or puzzle.fits(found.chosen)
        return
    event(f"{len(best.chosen) if best else 'no'} of {len(candidates)}")
    assert found == best


@settings(max_examples=examples(200))
@given(st.lists(givers, max_size=9), needs, st.integers(0, 5))
def test_however_few_are_tried_none_is_superfluous(
    candidates: list[Giver], need: tuple[int, ...], most: int
) -> None:
    puzzle = Puzzle([Giver(each.frees, each.waits, False) for each in candidates], need)
    found = least(range(len(candidates)), puzzle.fits, puzzle.outcome, most)
    assert (found is None) == (not puzzle.fits(range(len(candidates))))
    if found is not None:
        assert puzzle.fits(found.chosen)
        for gone in found.chosen:
            assert not puzzle.fits([n for n in found.chosen if n != gone])


HOSTS = 4
HOUR = 60


@dataclass(frozen=True)
class Wish:
    """A lease of so many hosts, in hours from now."""

    start: int
    length: int
    hosts: int
    priority: Priority


wishes = st.builds(
    Wish, st.integers(0, 6), st.integers(1, 4), st.sampled_from((1, 1, 2)), st.sampled_from(list(Priority))
)


def ask(world: World, wish: Wish, displaces: bool) -> Lease:
    command = CreateLease(
        "lease",
        world.in_minutes(wish.start * HOUR),
        world.in_minutes((wish.start + wish.length) * HOUR),
        None,
        (whole_hosts(min=wish.hosts, max=wish.hosts),),
    )
    caller = DEMO if displaces else ALT
    return world.leases.create(command, caller, priority=PriorityWish(wish.priority, displaces))


def free_without(leases: Sequence[Lease], gone: Sequence[Lease], asked: Wish, world: World) -> int:
    """Return how many hosts are free in the time of the wish when some leases are gone."""
    start = world.in_minutes(asked.start * HOUR)
    end = start + timedelta(minutes=asked.length * HOUR)
    taken = {
        resource_id
        for lease in leases
        if lease not in gone and lease.interval.start < end and start < lease.interval.end
        for resource_id in lease.resource_ids
    }
    return HOSTS - len(taken)


@settings(max_examples=examples(60))
@given(st.lists(wishes, max_size=8), wishes)
def test_whole_hosts_are_displaced_as_brute_force_would(before: list[Wish], asked: Wish) -> None:
    notice = DisplacementSettings(notice=timedelta(minutes=60))
    world = World(hosts=HOSTS, displacement=notice, late_binding=LateBindingSettings(is_on=False))
    for wish in before:
        try:
            ask(world, wish, displaces=False)
        except NotEnoughResources:
            continue
    world.run_due()
    old = {lease.id: world.lease(lease) for lease in world.leases.list(None)}
    lower = [
        lease
        for lease in old.values()
        if lease.status is LeaseStatus.PENDING
        and lease.priority.rank < asked.priority.rank
        and lease.interval.start >= world.in_minutes(60)
    ]
    wanted = asked.hosts
    sizes = [
        size
        for size in range(len(lower) + 1)
        for gone in combinations(lower, size)
        if free_without([*old.values()], gone, asked, world) >= wanted
    ]
    try:
        new = ask(world, asked, displaces=True)
    except NotEnoughResources:
        assert sizes == []
        assert {id_: world.leases.get(id_) for id_ in old} == old
        event("refused")
        return
    assert sizes
    assert len(new.allocations) == wanted
    after = {id_: world.leases.get(id_) for id_ in old}
    displaced = [lease for id_, lease in after.items() if lease != old[id_]]
    event(f"{len(displaced)} displaced")
    assert len(displaced) == min(sizes)
    assert {lease.id for lease in displaced} <= {lease.id for lease in lower}
    for lease in displaced:
        was = old[lease.id]
        assert (lease.interval, lease.name, lease.priority) == (was.interval, was.name, was.priority)
        if lease.status is LeaseStatus.WAITING:
            assert not lease.allocations
        else:
            assert lease.status is LeaseStatus.PENDING
            assert len(lease.allocations) == len(was.allocations)
    stored = [lease for lease in (*after.values(), new) if lease.status is not LeaseStatus.WAITING]
    for one, other in combinations(stored, 2):
        if one.interval.overlaps(other.interval):
            assert set(one.resource_ids).isdisjoint(other.resource_ids)
    # Of one class and equally many hosts, the later one goes.
    singles = [
        each for each in in_order(lower) if free_without([*old.values()], [each], asked, world) >= wanted
    ]
    if len(displaced) == 1:
        waits = displaced[0].status is LeaseStatus.WAITING
        assert displaced[0].id in {each.id for each in singles}
        if waits:
            assert displaced[0].id == singles[0].id
