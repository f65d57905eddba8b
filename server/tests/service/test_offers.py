"""Offers hold what a lease needs: a claim in time always succeeds, and what has expired is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import uuid4

import pytest
from effort import examples
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from blazar.domain.errors import (
    BlazarError,
    CloudUnavailable,
    InvalidInput,
    NotEnoughResources,
    NotFound,
    OfferClaimed,
    OfferNotFound,
    OutcomeUnknown,
    QuotaExceeded,
    TooLate,
    UsageRefused,
)
from blazar.domain.failure import Failure, FailureReason
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.offer import Offer
from blazar.domain.time import Interval, floor_minute
from blazar.engine.expiring_offers import LOOK, PACE, Expiring
from blazar.kinds.registered_hosts.errors import CantAddExtraCapability, CantDeleteHost
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.commands import (
    NOW,
    AvailabilityQuestion,
    ByDuration,
    ClaimOffer,
    CreateLease,
    ReservationRequest,
)
from blazar.service.context import Caller
from blazar.service.leases.settings import LateBindingSettings
from blazar.service.offers import OfferSettings
from blazar.service.ports import ReportType
from blazar.service.quotas import QuotaSettings

from .failures import fail, flags
from .test_enforcement import ALL, Ledger, refuse
from .world import ALT, DEMO, World, instances, whole_hosts

MINUTE = timedelta(minutes=1)


def hold(
    world: World,
    *reservations: ReservationRequest,
    start: float = 60,
    end: float = 120,
    minutes: float | None = 15,
    caller: Caller = DEMO,
    id: str | None = None,
) -> Offer:
    """Hold a lease of these reservations, or of one host; all times are in minutes from now."""
    begin = world.in_minutes(start) if start else NOW
    command = CreateLease("", begin, world.in_minutes(end), None, reservations or (whole_hosts(),), id)
    return world.offers.create(command, None if minutes is None else minutes * MINUTE, caller)


def claim(world: World, offer: Offer, caller: Caller = DEMO, name: str = "mine", **more: Any) -> Lease:
    return world.offers.claim(offer.id, ClaimOffer(name, **more), caller)


def places(lease: Lease) -> list[tuple[str, str, Any]]:
    return sorted((a.id, a.resource_id, a.interval) for a in lease.allocations)


def test_no_other_lease_gets_what_is_held_and_a_claim_takes_it() -> None:
    world = World(2)
    offer = hold(world, whole_hosts(min=2, max=2))
    assert offer.expires_at == world.clock.now() + 15 * MINUTE
    assert world.offers.get(offer.id) == offer
    assert world.offers.list("demo") == [offer]
    assert (world.offers.list("alt"), world.leases.list(None)) == ([], [])
    assert world.notifications() == ["lease.offered"]
    with pytest.raises(NotEnoughResources, match="2 hosts match, none of them are free"):
        world.beside().create(start=60, end=120)
    world.advance(minutes=14)
    lease = claim(world.beside(), offer)
    assert (lease.id, lease.name, lease.status) == (offer.id, "mine", LeaseStatus.PENDING)
    assert lease.created_at == world.clock.now()
    assert places(lease) == places(offer.lease)
    assert world.lease(lease) == lease
    assert (world.offers.list("demo"), world.notifications()) == ([], ["lease.offered", "lease.create"])
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_an_expired_offer_that_cannot_be_removed_now_holds_up_no_plan() -> None:
    world = World(2)
    offer = hold(world)
    world.clock.move_to(offer.expires_at)
    failures = [CloudUnavailable(service="database", reason="away")]

    def step() -> None:
        if failures:
            raise failures.pop()

    world.database.step = step
    lease = world.create(start=60, end=120)
    assert not failures
    assert {a.resource_id for a in lease.allocations}.isdisjoint(offer.lease.resource_ids)
    assert len(world.create(start=60, end=120).allocations) == 1  # by now it is removed


@pytest.mark.parametrize("has_lane", [False, True])
def test_what_has_expired_is_free_though_no_manager_has_done_anything(has_lane: bool) -> None:
    world = World(1)
    offer = hold(world)
    other = world.beside()
    with pytest.raises(NotEnoughResources):
        other.create(start=60, end=120)
    world.clock.move_to(offer.expires_at - timedelta(microseconds=1))
    assert world.expiry.remove_some() == 0
    with pytest.raises(NotEnoughResources):
        other.create(start=60, end=106)
    world.clock.move_to(offer.expires_at)
    if has_lane:
        assert world.expiry.remove_some() == 1
        with world.database.read() as uow:
            assert uow.offers.get(offer.id) is None
    for ask in (lambda: world.offers.get(offer.id), lambda: claim(world, offer)):
        with pytest.raises(OfferNotFound, match="it has expired"):
            ask()
    assert world.offers.list("demo") == []
    lease = other.create(start=45, end=105)
    assert other.hosts_of(lease)
    with world.database.read() as uow:
        assert uow.offers.get(offer.id) is None


def test_a_claim_that_is_late_by_another_clock_takes_nothing_from_others() -> None:
    """A manager whose clock is ahead has given the host away; one whose clock is behind finds no offer."""
    world = World(1)
    offer, ahead = hold(world), world.beside()
    ahead.clock = type(world.clock)(offer.expires_at)
    ahead.restart()
    taken = ahead.create(start=45, end=105)
    with pytest.raises(OfferNotFound):
        claim(world, offer)
    assert [lease.id for lease in world.leases.list(None)] == [taken.id]


def test_what_an_offer_asks_for_is_not_changed() -> None:
    world = World(1)
    world.hosts.set_capabilities("1", {"rack": "r1", "colour": "red"})
    offer = hold(world, whole_hosts(resource_properties='["==", "$rack", "r1"]'))
    with pytest.raises(CantAddExtraCapability):
        world.hosts.set_capabilities("1", {"rack": "r2"})
    world.hosts.set_capabilities("1", {"colour": "blue"})
    world.offers.delete(offer.id, DEMO)
    world.hosts.set_capabilities("1", {"rack": "r2"})


def test_a_second_claim_is_refused_and_tells_why() -> None:
    world = World(1)
    offer = hold(world)
    lease = claim(world, offer)
    for again in (lambda: claim(world, offer), lambda: claim(world.beside(), offer, name="yours")):
        with pytest.raises(OfferClaimed, match=f"Offer {offer.id} has been claimed already"):
            again()
    world.delete(lease)
    with pytest.raises(OfferNotFound, match="There is no offer"):
        claim(world, offer)


def test_what_is_of_another_project_is_not_found() -> None:
    world = World(2)
    offer, claimed = hold(world), hold(world)
    claim(world, claimed)
    for each in (offer, claimed):
        with pytest.raises(OfferNotFound) as refused:
            claim(world, each, ALT)
        assert refused.value.fields == {"offer": each.id}
    assert claim(world, offer, replace(DEMO, user_id="another-user")).user_id == "another-user"


def test_a_deleted_offer_gives_back_what_it_holds() -> None:
    world = World(1)
    offer, other = hold(world), world.beside()
    with pytest.raises(NotEnoughResources):
        other.create(start=60, end=120)
    world.offers.delete(offer.id, DEMO)
    assert other.create(start=60, end=120).allocations
    for again in (lambda: world.offers.delete(offer.id, DEMO), lambda: claim(world, offer)):
        with pytest.raises(OfferNotFound):
            again()


def test_the_ids_of_offers_are_no_ids_of_leases() -> None:
    world = World(1)
    offer = hold(world)
    for ask in (
        lambda: world.lease(offer.lease),
        lambda: world.update(offer.lease, name="x"),
        lambda: world.delete(offer.lease),
    ):
        with pytest.raises(NotFound):
            ask()
    assert world.offers.get(offer.id) == offer


def test_offers_of_a_project_are_limited() -> None:
    world = World(4, offers=OfferSettings(most=2, longest=10 * MINUTE))
    first, _ = hold(world, minutes=None), hold(world, minutes=10)
    assert first.expires_at == world.clock.now() + 10 * MINUTE
    with pytest.raises(QuotaExceeded, match="for offers: the limit is 2, 2 are in use, and 1 are asked for"):
        hold(world.beside(), minutes=1)
    assert hold(world, minutes=10, caller=ALT)
    with pytest.raises(InvalidInput, match="at most 10 minutes"):
        hold(world, minutes=11)
    claim(world, first)
    third = hold(world, minutes=5)
    world.clock.move_to(third.expires_at)
    assert hold(world, minutes=1)
    assert hold(World(1), minutes=None).expires_at == world.clock.now() - 5 * MINUTE + 15 * MINUTE
    with pytest.raises(QuotaExceeded):
        hold(World(1, offers=OfferSettings(most=0)))


def test_no_offer_is_held_beyond_the_end_of_its_lease() -> None:
    world = World(1)
    offer = hold(world, start=0, end=10, minutes=15)
    assert offer.expires_at == offer.lease.interval.end == world.in_minutes(10)


def test_a_start_that_has_passed_is_made_up_for() -> None:
    world = World(1)
    offer = hold(world, start=0, end=60)
    world.advance(minutes=10)
    lease = claim(world, offer, before_end=world.in_minutes(20))
    assert (lease.interval, lease.next_due) == (offer.lease.interval, offer.lease.interval.start)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    with pytest.raises(InvalidInput, match="before_end_date must lie between"):
        claim(world, hold(world, start=60, end=90), before_end=world.in_minutes(20))


def test_a_hold_starts_as_early_as_a_lease() -> None:
    world = World(1)
    world.create(start=0, end=90)
    command = CreateLease("", NOW, NOW, None, (whole_hosts(),))
    offer = world.offers.create(command, None, DEMO, ByDuration(60 * MINUTE, earliest=True))
    assert offer.lease.interval.start == world.in_minutes(90)


def test_holds_count_as_leases_do() -> None:
    world = World(4, quota=QuotaSettings(limits={"leases": 2, "hosts": 3}))
    offer = hold(world, whole_hosts(min=2, max=2))
    with pytest.raises(QuotaExceeded, match="for hosts: the limit is 3, 2 are in use, and 2 are asked for"):
        world.create(min=2, max=2, start=60, end=120)
    with pytest.raises(QuotaExceeded, match="for hosts"):
        hold(world, whole_hosts(min=2, max=2))
    world.create(start=60, end=120)
    with pytest.raises(QuotaExceeded, match="for leases: the limit is 2, 2 are in use"):
        world.create(start=200, end=300)
    world.quotas.set("demo", {"hosts": 0, "leases": 0})
    assert claim(world, offer).quantities == {"hosts": 2}
    world.quotas.set("demo", {"hosts": 3, "leases": 3})
    expired = hold(world, whole_hosts(), start=300, end=360)
    world.clock.move_to(expired.expires_at)
    assert world.create(min=3, max=3, start=300 - 15, end=360 - 15)


def test_what_has_expired_is_no_answer_of_quotas() -> None:
    world = World(1, quota=QuotaSettings(limits={"hosts": 1}))
    offer = hold(world, start=120, end=180)
    question = AvailabilityQuestion((whole_hosts(),), world.in_minutes(120), 60 * MINUTE)
    (later,) = world.availability.ask(question, DEMO).answers
    assert later.interval.start == world.in_minutes(180)
    world.clock.move_to(offer.expires_at)
    (now,) = world.availability.ask(question, DEMO).answers
    assert now.interval == offer.lease.interval


def test_filters_decide_on_the_offer_and_are_told_as_of_a_lease() -> None:
    ledger = Ledger(*ALL)
    world = World(4, filters=[ledger])
    claimed, deleted, expired = hold(world), hold(world), hold(world)
    assert [each.lease.id for each in ledger.asked] == [claimed.id, deleted.id, expired.id]
    ledger.before = refuse
    with pytest.raises(UsageRefused):
        hold(world)
    world.report()
    assert ledger.told == []
    claim(world, claimed)
    world.offers.delete(deleted.id, DEMO)
    world.clock.move_to(expired.expires_at)
    assert world.expiry.remove_some() == 1
    world.clock.move_to(
        world.clock.now() + 60 * MINUTE
    )  # past what is told only of leases that were not stored
    world.report()
    assert sorted(ledger.told) == sorted(
        [
            (ReportType.CREATED, claimed.id),
            (ReportType.ENDED, deleted.id),
            (ReportType.ENDED, expired.id),
        ]
    )


def test_a_host_that_fails_meanwhile_is_replaced_after_the_claim() -> None:
    world = World(2)
    offer = hold(world)
    (failed,) = offer.lease.resource_ids
    fail(world, failed)
    world.look()
    lease = claim(world, offer)
    assert world.hosts_of(lease) == {failed}
    world.look()
    assert world.hosts_of(lease) == {"1", "2"} - {failed}


def test_a_host_that_fails_meanwhile_and_cannot_be_replaced_is_told_of() -> None:
    world = World(1)
    offer = hold(world)
    fail(world, "1")
    world.look()
    lease = claim(world, offer)
    world.look()
    assert flags(world, lease) == (True, [True], [False])


def test_a_host_is_not_taken_out_while_it_is_held() -> None:
    world = World(1)
    offer = hold(world)
    with pytest.raises(CantDeleteHost, match="reserved"):
        world.hosts.unregister("1")
    assert claim(world, offer).allocations
    other = World(1)
    expired = hold(other)
    other.clock.move_to(expired.expires_at)
    other.expiry.remove_some()
    other.hosts.unregister("1")


GROUP = instances(amount=2, affinity=False)


def test_what_a_lease_needs_in_the_cloud_is_made_at_the_claim() -> None:
    world = World(2)
    offer = hold(world, GROUP)
    assert world.cloud.state.groups == {}
    lease = claim(world, offer)
    assert lease.status is LeaseStatus.PENDING
    assert len(world.cloud.state.groups) == 1
    assert places(lease) == places(offer.lease)
    assert world.notifications() == ["lease.offered", "lease.create"]
    with pytest.raises(OfferClaimed):
        claim(world, offer)


def test_what_cannot_be_made_fails_the_claim_as_it_fails_a_create() -> None:
    world = World(2)
    offer = hold(world, GROUP)

    def fail_to_make(call: str) -> None:
        if call == "create_server_group":
            raise CloudUnavailable(service="Nova", reason="no")

    world.cloud.before = fail_to_make
    with pytest.raises(CloudUnavailable, match="Nova"):
        claim(world, offer)
    world.run_due()
    assert (world.leases.list(None), world.notifications()) == ([], ["lease.offered"])
    with pytest.raises(OfferNotFound):
        claim(world, offer)
    assert world.create(min=2, max=2, start=60, end=120)


def test_rights_that_the_claim_will_need_are_needed_for_the_offer() -> None:
    with pytest.raises(InvalidInput, match="needs a token"):
        hold(World(), GROUP, caller=replace(DEMO, token=None))


LOST = OutcomeUnknown(service="database", reason="the connection was lost")


@pytest.mark.slow
@pytest.mark.parametrize("reservation", [whole_hosts(), GROUP], ids=["hosts", "group"])
@pytest.mark.parametrize("at", range(1, 9))
def test_no_lost_connection_makes_two_or_none(reservation: ReservationRequest, at: int) -> None:
    """The database is lost at each step in turn: an odd one is before a commit, an even one after it."""
    world = World(2)
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1
        if taken == at:
            raise LOST

    offer_id, claim_id = str(uuid4()), str(uuid4())
    world.database.step = step
    offer = hold(world, reservation, id=offer_id)
    lease = claim(world, offer, id=claim_id)
    world.database.step = lambda: None
    assert lease.status is LeaseStatus.PENDING
    assert (lease.id, lease.name) == (offer_id, "mine")
    assert hold_again(world, reservation, offer_id) == "taken"
    assert claim(world, offer, id=claim_id) == lease
    assert world.notifications() == ["lease.offered", "lease.create"]
    assert [each.id for each in world.leases.list(None)] == [offer_id]
    world.run_due()
    assert world.lease(lease) == lease


def hold_again(world: World, reservation: ReservationRequest, offer_id: str) -> str:
    try:
        hold(world, reservation, id=offer_id)
    except BlazarError:
        return "taken"
    return "held"


def test_the_same_request_is_answered_with_the_same_offer() -> None:
    world, offer_id = World(1), str(uuid4())
    offer = hold(world, id=offer_id)
    assert hold(world.beside(), id=offer_id) == offer
    with pytest.raises(BlazarError):
        hold(world, id=offer_id, caller=ALT)


def test_a_caller_who_waits_no_longer_claims_nothing() -> None:
    world = World(1)
    offer = hold(world)
    with pytest.raises(TooLate):
        claim(world, offer, replace(DEMO, deadline=world.clock.now()))
    assert claim(world, offer)


def test_the_lane_removes_some_at_a_time() -> None:
    world = World(4, offers=OfferSettings(most=100))
    lane = Expiring(world.expiry)
    assert lane.round() == LOOK
    for n in range(25):
        hold(world, start=60 + n, end=61 + n, minutes=1 + n / 100)
    world.advance(minutes=5)
    assert [lane.round() for _ in range(3)] == [PACE, PACE, LOOK]
    with world.database.read() as uow:
        assert uow.offers.first_expiry() is None
    assert world.create(min=4, max=4, start=60, end=120)


# random histories, compared with brute force


@dataclass
class Held:
    """A promise that was made: what was held, until when, and what became of it."""

    offer: Offer
    caller: Caller
    is_claimed: bool = False
    is_deleted: bool = False


@dataclass(frozen=True)
class Act:
    """Something that a user, an operator or the time does, at one of two managers."""

    what: str
    manager: int
    which: int
    hosts: int
    start: int
    length: int


ACTS = st.builds(
    Act,
    st.sampled_from(
        ["hold", "hold", "hold", "claim", "claim", "create", "delete", "wait", "lane", "fail", "back", "out"]
    ),
    st.integers(0, 1),
    st.integers(0, 5),
    st.integers(1, 3),
    st.integers(20, 40),
    st.integers(5, 30),
)


Taken = tuple[tuple[str, Interval], ...]
"""Hosts, each with the time in which it is taken."""


class History:
    """Three hosts and two managers, and what they have promised."""

    def __init__(self) -> None:
        self.world = World(3, offers=OfferSettings(most=4))
        self.managers = (self.world, self.world.beside())
        self.held: list[Held] = []
        self.leases: list[Lease] = []
        self.gone: set[str] = set()
        self.failed: set[str] = set()

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    def open(self) -> list[Held]:
        return [h for h in self.held if not (h.is_claimed or h.is_deleted or h.offer.is_over(self.now))]

    def can_be_made(self, act: Act) -> bool:
        """Whether there is room once leases that begin after the lead are planned on other hosts, by brute
        force."""
        asked = Interval(*(self.world.in_minutes(n) for n in (act.start, act.start + act.length)))
        stored = [self.world.lease(lease) for lease in self.leases]
        since = floor_minute(self.now) + LateBindingSettings().lead
        movable = [lease for lease in stored if lease.interval.start >= since]
        fixed = [lease for lease in stored if lease.interval.start < since]
        fixed += [h.offer.lease for h in self.open()]
        usable = {"1", "2", "3"} - self.gone - self.failed

        def free(hosts: set[str], interval: Interval, taken: Taken) -> set[str]:
            return hosts - {host for host, when in taken if when.overlaps(interval)}

        def descend(number: int, taken: Taken) -> bool:
            if number == len(movable):
                return len(free(usable, asked, taken)) >= act.hosts
            when, has = movable[number].interval, set(movable[number].resource_ids)
            suitable = sorted(free(usable | has, when, taken))
            return any(
                descend(number + 1, (*taken, *((host, when) for host in hosts)))
                for hosts in combinations(suitable, len(has))
            )

        return descend(0, tuple((host, lease.interval) for lease in fixed for host in lease.resource_ids))

    def run(self, act: Act) -> None:
        event(act.what)
        getattr(self, act.what)(act, self.managers[act.manager])
        self.check()

    def hold(self, act: Act, manager: World) -> None:
        caller, is_enough = (DEMO, ALT)[act.which % 2], self.can_be_made(act)
        mine = sum(h.caller is caller for h in self.open())
        wanted = whole_hosts(min=act.hosts, max=act.hosts)
        try:
            offer = hold(
                manager,
                wanted,
                start=act.start,
                end=act.start + act.length,
                minutes=act.which // 2 + 1,
                caller=caller,
            )
        except QuotaExceeded:
            assert mine == 4
        except NotEnoughResources:
            assert not is_enough
        else:
            assert is_enough
            assert mine < 4
            self.held.append(Held(offer, caller))

    def claim(self, act: Act, manager: World) -> None:
        if not self.held:
            return
        chosen = self.held[act.which % len(self.held)]
        if chosen in self.open():
            event("claimed in time")
            lease = claim(manager, chosen.offer, chosen.caller)
            assert places(lease) == places(chosen.offer.lease)
            assert lease.interval == chosen.offer.lease.interval
            self.leases.append(lease)
            chosen.is_claimed = True
            return
        with pytest.raises(OfferClaimed if chosen.is_claimed else OfferNotFound):
            claim(manager, chosen.offer, chosen.caller)

    def create(self, act: Act, manager: World) -> None:
        is_enough = self.can_be_made(act)
        try:
            lease = manager.create(min=act.hosts, max=act.hosts, start=act.start, end=act.start + act.length)
        except NotEnoughResources:
            assert not is_enough
        else:
            assert is_enough
            self.leases.append(lease)

    def delete(self, act: Act, manager: World) -> None:
        if self.open():
            chosen = self.open()[act.which % len(self.open())]
            manager.offers.delete(chosen.offer.id, chosen.caller)
            chosen.is_deleted = True

    def wait(self, act: Act, manager: World) -> None:
        self.world.clock.move_to(self.now + act.which * MINUTE)

    def lane(self, act: Act, manager: World) -> None:
        manager.expiry.remove_some()

    def fail(self, act: Act, manager: World) -> None:
        self.failed = {str(1 + act.which % 3)}
        self._look()

    def back(self, act: Act, manager: World) -> None:
        self.failed = set()
        self._look()

    def _look(self) -> None:
        """Have the registrations say what has failed, as a monitor that knows at once, and heals nothing."""
        now = self.now

        def work(uow: Any) -> None:
            for host in uow.resources.list(POOL):
                failure = Failure(FailureReason.DOWN, now) if host.id in self.failed else None
                uow.resources.save(replace(host, failure=failure), now)

        self.world.database.transact(work)

    def out(self, act: Act, manager: World) -> None:
        """An operator takes a host out, where nothing is promised on it."""
        chosen = str(1 + act.which % 3)
        if chosen in self.gone:
            return
        promised = [self.world.lease(lease) for lease in self.leases]
        promised += [h.offer.lease for h in self.open()]
        is_promised = any(chosen in lease.resource_ids for lease in promised)
        manager.expiry.remove_some()
        try:
            manager.hosts.unregister(chosen)
        except CantDeleteHost:
            assert is_promised
        else:
            assert not is_promised
            self.gone.add(chosen)

    def check(self) -> None:
        """No host is promised twice at one instant, and each open offer is shown."""
        stored: list[Lease] = [self.world.lease(lease) for lease in self.leases]
        promised = [
            a for lease in (*stored, *(h.offer.lease for h in self.open())) for a in lease.allocations
        ]
        for n, one in enumerate(promised):
            for other in promised[n + 1 :]:
                assert one.resource_id != other.resource_id or not one.interval.overlaps(other.interval)
        for caller in (DEMO, ALT):
            shown: Sequence[Offer] = self.world.offers.list(str(caller.project_id))
            assert {o.id for o in shown} == {h.offer.id for h in self.open() if h.caller is caller}


MOVED = [
    Act("hold", 0, 0, hosts=2, start=26, length=5),
    Act("claim", 0, 0, hosts=1, start=20, length=5),
    Act("hold", 0, 0, hosts=2, start=20, length=5),
    Act("hold", 0, 0, hosts=1, start=20, length=6),
    Act("hold", 0, 0, hosts=1, start=25, length=5),
]
"""The claimed lease is planned on other hosts for the last offer."""


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@example(MOVED)
@given(st.lists(ACTS, min_size=5, max_size=25))
def test_an_offer_that_is_claimed_in_time_always_succeeds(acts: list[Act]) -> None:
    history = History()
    for act in acts:
        history.run(act)
    for held in history.open():
        history.leases.append(claim(history.world, held.offer, held.caller))
        held.is_claimed = True
    history.check()
