"""Leases that are unused: they are warned of, closed, looked at again, and released."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from effort import crash_steps

from blazar.adapters.mail import templates
from blazar.adapters.metrics import PrometheusMetrics
from blazar.domain.errors import (
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    NotAuthorized,
)
from blazar.domain.lease.event import UNCLAIMED, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.unclaimed import released_from
from blazar.domain.subscription import LeaseEvent
from blazar.domain.time import MINUTE
from blazar.service.commands import (
    NOW,
    AddedReservation,
    ByDuration,
    ClaimByWish,
    ClaimOffer,
    CreateLease,
    ReservationChange,
    ReservationRequest,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.events import Events
from blazar.service.leases import ClaimBySettings
from blazar.service.mail_texts import MailTexts
from blazar.service.mails import MailPlan
from blazar.service.webhooks import match

from .failures import fail
from .world import ALT, DEMO, START, Crash, Steps, World, floating_ips, instances, servers, whole_hosts

HOUR = 60 * MINUTE
KINDS: dict[str, ReservationRequest] = {
    "hosts": whole_hosts(min=2, max=2),
    "instances": instances(amount=2),
    "flavor": servers(amount=2),
    "floating IPs": floating_ips(amount=2),
}
EACH = pytest.mark.parametrize("request_", KINDS.values(), ids=KINDS.keys())
COMPUTE = [name for name in KINDS if name != "floating IPs"]
WARNED, RELEASED = "lease.unclaimed_warning", "lease.unclaimed"


def claimed(
    world: World, *requests: ReservationRequest, after: timedelta | None = HOUR, start: float = 0
) -> Lease:
    """A lease of ten hours that has to be used within ``after``."""
    begin = world.in_minutes(start) if start else NOW
    command = CreateLease("claimed", begin, world.in_minutes(start + 600), None, requests)
    return world.leases.create(command, DEMO, claim_by=ClaimByWish(after))


def wanted(world: World, lease: Lease, after: timedelta | None, may_be_later: bool = False) -> Lease:
    wish = ClaimByWish(after, may_be_later)
    return world.leases.update(lease.id, UpdateLease(), DEMO, claim_by=wish)


def watching(world: World, lease: Lease) -> list[tuple[EventType, float]]:
    """The events of the lease that look whether it is used: minutes from the beginning."""
    return [
        (e.event_type, (e.time - START) / MINUTE)
        for e in world.lease(lease).events
        if e.event_type in UNCLAIMED
    ]


def with_default(world: World, *exempt: str, **minutes: int) -> None:
    names = {"hosts": "physical:host", "floatingips": "virtual:floatingip"}
    after = {names[name]: each * MINUTE for name, each in minutes.items()}
    settings = ClaimBySettings(after, frozenset(exempt))
    world.leases.settings = replace(world.leases.settings, claim_by=settings)


def use(world: World, lease: Lease) -> bool:
    """Begin to use the lease as its user would; false where the cloud does not let them."""
    reservation = world.lease(lease).reservations[0]
    match reservation.resource_type:
        case "physical:host":
            found = [a for a in world.cloud.state.aggregates.values() if a.name == reservation.id]
            if not found or not found[0].hosts or found[0].metadata["blazar:owner"] != "demo":
                return False
            world.cloud.boot("mine", found[0].hosts[-1])
        case "virtual:floatingip":
            known = sorted(world.cloud.state.floating_ips.values(), key=lambda each: each.address)
            if not known:
                return False
            world.cloud.state.floating_ips[known[-1].id] = replace(known[-1], port_id="port")
        case _:
            try:
                world.cloud.boot_reserved("mine", reservation.id)
            except CloudRefused:
                return False
    return True


def is_served(world: World, lease: Lease) -> bool:
    """Whether the lease is active, and others can begin to use it besides."""
    return world.lease(lease).status is LeaseStatus.ACTIVE and use(world, lease)


@EACH
def test_what_nobody_uses_is_warned_of_and_released(request_: ReservationRequest) -> None:
    world = World(floating_ips=4)
    lease = claimed(world, request_)
    assert watching(world, lease) == []
    world.advance(minutes=44)
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 45)]
    world.advance(minutes=15)
    assert watching(world, lease) == [(EventType.CLOSE_UNCLAIMED, 60)]
    assert WARNED in world.notifications()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.advance(minutes=1)
    assert [kind for kind, _ in watching(world, lease)] == [EventType.END_UNCLAIMED]
    assert RELEASED not in world.notifications()
    world.advance(minutes=2)
    over = world.lease(lease)
    assert over.status is LeaseStatus.TERMINATED
    assert over.status_reason == "It was not used within 60 minutes, so it was released at 2030-01-01 09:01."
    assert over.interval.end == START + 61 * MINUTE
    assert over.allocations == ()
    assert all(not each.is_open for each in over.events)
    assert world.notifications().count(RELEASED) == 1
    told = world.notifications()
    assert told[told.index(RELEASED) - 1] == "lease.update"
    assert told[-1] == "lease.event.end_lease"
    # What was released can be had by others at once.
    world.reserve(request_, caller=ALT)


def test_its_user_is_told_by_mail_until_when_it_is_kept() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=46)
    plan, now = MailPlan(True, frozenset({LeaseEvent.UNCLAIMED_WARNING})), world.clock.now()
    with world.database.read() as uow:
        told = list(uow.outbox.peek(1000))
    world.database.transact(lambda u: match(u, told, now, plan))
    batch = world.database.transact(lambda u: u.mails.take(lease.user_id, "t", now + HOUR, now + 2 * HOUR))
    assert batch is not None
    mail = MailTexts(templates(None)).write(batch)
    assert mail.subject == f"Lease {lease.name} is released unless it is used"
    assert f"It has to be used by {START + HOUR:%Y-%m-%d %H:%M} UTC." in mail.body


@EACH
@pytest.mark.parametrize("minutes", [10, 50, 60.5], ids=["in time", "after the warning", "at the last look"])
def test_what_somebody_uses_stays(request_: ReservationRequest, minutes: float) -> None:
    world = World(floating_ips=4)
    lease = claimed(world, request_)
    world.advance(minutes=minutes)
    used = use(world, lease)
    assert used == (minutes < 60 or request_.resource_type == "virtual:floatingip")
    world.advance(minutes=120)
    if used:
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert watching(world, lease) == []
        assert is_served(world, lease)
        assert (WARNED in world.notifications()) == (minutes > 45)
    else:
        assert world.lease(lease).status is LeaseStatus.TERMINATED


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMPUTE)
def test_no_server_is_lost_whenever_it_is_booted(kind: str) -> None:
    """The user boots just before the n-th call to the cloud from the warning on: what the cloud lets them
    boot is never taken from them."""
    seen = set()
    for n in range(1, 200):
        world = World()
        lease = claimed(world, KINDS[kind])
        world.advance(minutes=44)
        before, booted = len(world.cloud.calls), []

        def boot(
            call: str,
            world: World = world,
            lease: Lease = lease,
            at: int = before + n,
            b: list[bool] = booted,
        ) -> None:
            if len(world.cloud.calls) == at and not b:
                b.append(use(world, lease))

        world.cloud.before = boot
        world.advance(minutes=120)
        if not booted:
            break
        stays = world.lease(lease).status is LeaseStatus.ACTIVE
        assert stays == booted[0], f"at call {n}"
        if stays:
            assert "mine" in world.cloud.state.servers
            world.cloud.state.servers.clear()
            assert is_served(world, lease)
        seen.add(booted[0])
    assert seen == {True, False}


@pytest.mark.parametrize("kind", COMPUTE)
def test_a_server_that_shows_late_is_seen(kind: str) -> None:
    """It was begun before the lease was closed, and is seen by the cloud only some seconds after that."""
    world = World()
    lease = claimed(world, KINDS[kind])
    world.advance(minutes=59.9)
    assert use(world, lease)
    late = world.cloud.state.servers.pop("mine")
    world.advance(seconds=30)
    assert [each for each, _ in watching(world, lease)] == [EventType.END_UNCLAIMED]
    world.cloud.state.servers["mine"] = late
    world.advance(minutes=120)
    assert "mine" in world.cloud.state.servers
    world.cloud.state.servers.clear()
    assert is_served(world, lease)


@pytest.mark.slow
def test_nothing_is_released_while_the_cloud_does_not_answer() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=30)

    def away(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="it is away")

    world.cloud.before = away
    world.advance(minutes=90)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert WARNED not in world.notifications()
    calls = len(world.cloud.calls)
    world.advance(minutes=10)
    assert 0 < len(world.cloud.calls) - calls < 600
    world.cloud.before = lambda call: None
    world.advance(minutes=1)
    # The warning is late, and leaves as much time as one in time.
    assert WARNED in world.notifications()
    ((kind, minutes),) = watching(world, lease)
    assert (kind, minutes) == (EventType.CLOSE_UNCLAIMED, 145)
    assert released_from(world.lease(lease)) == START + 145 * MINUTE
    world.advance(minutes=20)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_a_refusal_of_the_cloud_releases_nothing() -> None:
    world = World()
    lease = claimed(world, KINDS["flavor"])
    world.advance(minutes=59)

    def refuse(call: str) -> None:
        if call == "revoke_flavor":
            raise CloudRefused(service="Nova", reason="no")

    world.cloud.before = refuse
    world.advance(minutes=30)
    assert is_served(world, lease)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_at_any_step_leads_to_a_release(kind: str) -> None:
    for n in crash_steps(200):
        world = World(floating_ips=4)
        lease = claimed(world, KINDS[kind])
        world.advance(minutes=44)
        counted = Steps(crash_at=n)
        world.cloud.before = lambda call, s=counted: s.step()  # type: ignore[misc]
        world.database.step = counted.step
        try:
            world.advance(minutes=120)
        except Crash:
            world.restart()
            world.advance(minutes=120)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert world.notifications().count(RELEASED) == 1
        assert world.notifications().count(WARNED) == 1
        if counted.taken < n:
            assert counted.taken > 10
            return
    raise AssertionError("the story has no end")


def test_a_comparison_with_the_cloud_does_not_open_what_was_closed() -> None:
    world = World()
    lease = claimed(world, KINDS["flavor"])
    world.advance(minutes=60.5)
    assert not use(world, lease)
    world.reconcile_all()
    assert not use(world, lease)


def test_what_is_opened_by_a_change_is_closed_again() -> None:
    world = World()
    lease = claimed(world, KINDS["instances"])
    world.advance(minutes=60.5)
    reservation = lease.reservations[0]
    world.update(lease, reservations=(ReservationChange(reservation.id, {"amount": 3}),))
    world.run_due()
    assert use(world, lease)
    world.cloud.state.servers.clear()
    world.advance(minutes=0.6)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert not use(world, lease)
    world.advance(minutes=2)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


@pytest.mark.parametrize("minutes", [45, 60, 61], ids=["warning", "close", "end"])
def test_a_lease_that_is_changed_during_a_look_is_looked_at_again(minutes: float) -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=minutes - 0.1)
    renamed: list[Lease] = []

    def rename(call: str) -> None:
        if call == "servers_on" and not renamed:
            renamed.append(world.update(lease, name="another"))

    world.cloud.before = rename
    world.advance(minutes=30)
    assert renamed
    over = world.lease(lease)
    assert (over.name, over.status) == ("another", LeaseStatus.TERMINATED)


def test_a_lease_that_is_deleted_during_a_look_is_gone() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=44)
    gone: list[bool] = []

    def delete(call: str) -> None:
        if call == "servers_on" and not gone:
            gone.append(True)
            world.delete(lease)

    world.cloud.before = delete
    world.advance(minutes=30)
    assert world.leases.list("demo") == []


def test_one_used_reservation_keeps_the_lease() -> None:
    world = World(floating_ips=2)
    lease = claimed(world, KINDS["floating IPs"], whole_hosts())
    world.advance(minutes=10)
    assert use(world, lease)
    world.advance(minutes=120)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_servers_of_others_use_nothing() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=10)
    (host, *_) = world.cloud.hosts_in(lease.reservations[0].id)
    world.cloud.boot("theirs", host, "another")
    world.advance(minutes=120)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_what_has_lost_hosts_is_kept() -> None:
    world = World(hosts=2)
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=10)
    fail(world, "1")
    for _ in range(10):
        world.look()
    assert world.lease(lease).reservations[0].missing_resources
    world.advance(minutes=120)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_a_late_start_leaves_as_much_time() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"], start=10)
    assert released_from(lease) == START + 70 * MINUTE

    def away(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="it is away")

    world.advance(minutes=9)
    world.cloud.before = away
    world.advance(minutes=21)
    world.cloud.before = lambda call: None
    world.advance(minutes=1)
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 75)]
    assert released_from(world.lease(lease)) == START + 90 * MINUTE


def test_an_earlier_or_later_start_moves_the_deadline() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"], start=100)
    world.update(lease, start=world.in_minutes(30))
    world.advance(minutes=31)
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 75)]
    assert released_from(world.lease(lease)) == START + 90 * MINUTE
    world.update(lease, end=world.in_minutes(900))
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 75)]


def test_a_short_time_is_warned_of_half_way() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"], after=10 * MINUTE)
    world.advance(minutes=1)
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 5)]
    world.advance(minutes=5)
    assert watching(world, lease) == [(EventType.CLOSE_UNCLAIMED, 10)]


def test_a_lease_that_ends_before_is_over_as_any_other() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"], after=11 * HOUR)
    world.advance(minutes=601)
    over = world.lease(lease)
    assert (over.status, over.status_reason) == (LeaseStatus.TERMINATED, None)
    assert watching(world, lease) == []


# whose value counts


@pytest.mark.parametrize("hold", [False, True], ids=["created", "claimed offer"])
def test_the_operator_sets_a_default_by_kind(hold: bool) -> None:
    world = World(floating_ips=4)
    with_default(world, hosts=120, floatingips=30)

    def create(command: CreateLease, wish: ClaimByWish, caller: Caller) -> Lease:
        if not hold:
            return world.leases.create(command, caller, claim_by=wish)
        offer = world.offers.create(command, MINUTE, caller)
        try:
            return world.offers.claim(offer.id, ClaimOffer("lease"), caller, wish)
        except NotAuthorized:
            world.offers.delete(offer.id, caller)
            raise

    def made(
        *requests: ReservationRequest, after: timedelta | None = None, caller: Caller = DEMO
    ) -> timedelta | None:
        command = CreateLease("lease", NOW, world.in_minutes(600), None, requests)
        lease = create(command, ClaimByWish(after), caller)
        world.leases.delete(lease.id, caller)
        world.run_due()
        return lease.claim_by.after if lease.claim_by else None

    assert made(KINDS["hosts"]) == 2 * HOUR
    assert made(KINDS["floating IPs"]) == HOUR / 2
    assert made(KINDS["floating IPs"], KINDS["hosts"]) == 2 * HOUR
    assert made(KINDS["flavor"]) is None
    assert made(KINDS["flavor"], KINDS["hosts"]) is None
    assert made(KINDS["hosts"], after=HOUR) == HOUR
    for after in (3 * HOUR, timedelta(0)):
        with pytest.raises(NotAuthorized, match="from 1 to 120 minutes"):
            made(KINDS["hosts"], after=after)
    with_default(world, "demo", hosts=120)
    assert made(KINDS["hosts"]) is None
    assert made(KINDS["hosts"], after=3 * HOUR) == 3 * HOUR
    assert made(KINDS["hosts"], caller=ALT) == 2 * HOUR


def test_without_a_wish_the_default_counts_too() -> None:
    world = World()
    with_default(world, hosts=60)
    lease = world.create(end=600)
    assert lease.claim_by is not None
    assert world.leases.preview_create(
        CreateLease("dry", NOW, world.in_minutes(600), None, (whole_hosts(),)), ALT
    ).claim_by
    world.advance(minutes=70)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_who_waits_in_line_has_it_when_promoted() -> None:
    world = World(hosts=2)
    other = world.create(min=2, max=2, end=60)
    by_duration = ByDuration(10 * HOUR)
    command = CreateLease("patient", NOW, NOW, None, (KINDS["hosts"],))
    lease = world.leases.create(
        command, DEMO, by_duration, wait_until=world.in_minutes(90), claim_by=ClaimByWish(HOUR)
    )
    assert lease.status is LeaseStatus.WAITING
    with pytest.raises(InvalidStatus):
        wanted(world, lease, 2 * HOUR)
    world.advance(minutes=1)
    world.delete(other)
    world.run_due()
    for _ in world.waitlist.walk():
        pass
    world.run_due()
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 46)]


# changes


def test_it_can_be_changed_before_the_start() -> None:
    world = World()
    with_default(world, hosts=120)
    lease = claimed(world, KINDS["hosts"], start=30)
    with pytest.raises(NotAuthorized):
        wanted(world, lease, timedelta(0))
    assert wanted(world, lease, timedelta(0), may_be_later=True).claim_by is None
    again = wanted(world, lease, None).claim_by
    assert again is not None
    assert again.after == 2 * HOUR
    assert world.notifications() == ["lease.create", "lease.update", "lease.update"]


def test_it_can_be_changed_while_it_is_active() -> None:
    world = World()
    lease = claimed(world, KINDS["flavor"])
    world.advance(minutes=50)
    changed = wanted(world, lease, 2 * HOUR)
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 105)]
    assert wanted(world, lease, 2 * HOUR).revision == changed.revision
    world.advance(minutes=70.5)
    assert not use(world, lease)
    wanted(world, lease, timedelta(0))
    world.run_due()
    assert watching(world, lease) == []
    assert is_served(world, lease)


def test_it_cannot_be_changed_when_the_lease_is_over() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=120)
    with pytest.raises(InvalidInput, match="only be renamed"):
        wanted(world, lease, HOUR * 2)


def test_managers_that_start_bring_nothing_forward() -> None:
    world = World()
    lease = claimed(world, KINDS["hosts"])
    world.advance(minutes=1)
    world.events.bring_forward()
    assert watching(world, lease) == [(EventType.WARN_UNCLAIMED, 45)]
    world.advance(minutes=50)
    world.events.bring_forward()
    assert watching(world, lease) == [(EventType.CLOSE_UNCLAIMED, 60)]


def test_a_lease_with_a_look_ahead_is_compared_with_the_cloud() -> None:
    world = World()
    lease = claimed(world, KINDS["flavor"])
    world.advance(minutes=1)
    assert world.lease(lease).is_settled
    world.cloud.compute.revoke_flavor(lease.reservations[0].id, "demo")
    world.reconcile_all()
    assert use(world, lease)


def add(world: World, lease: Lease, request: ReservationRequest, **more: Any) -> timedelta | None:
    """Add a reservation; return how soon the lease has to be used then."""
    membership = ReservationsChange((AddedReservation(str(uuid4()), request),))
    world.leases.update(lease.id, UpdateLease(), DEMO, membership=membership, **more)
    claim_by = world.lease(lease).claim_by
    return claim_by.after if claim_by else None


@pytest.mark.parametrize("start", [0, 30], ids=["active", "pending"])
def test_what_is_added_has_a_default_of_its_own(start: float) -> None:
    world = World(floating_ips=8)
    with_default(world, hosts=120, floatingips=30)

    def made(**wish: Any) -> Lease:
        begin = world.in_minutes(start) if start else NOW
        ips = (floating_ips(amount=1),)
        lease = world.leases.create(
            CreateLease("lease", begin, world.in_minutes(900), None, ips), DEMO, **wish
        )
        world.run_due()
        return world.lease(lease)

    lease = made()
    assert add(world, lease, floating_ips(amount=1)) == HOUR / 2
    assert add(world, lease, whole_hosts()) == 2 * HOUR
    assert [e for e, _ in watching(world, lease)] == ([] if start else [EventType.WARN_UNCLAIMED])
    assert [at for _, at in watching(world, lease)] == ([] if start else [105])
    assert add(world, lease, instances(amount=1)) is None, "one of its kinds is never released"
    assert watching(world, lease) == []
    short = made(claim_by=ClaimByWish(10 * MINUTE))
    assert add(world, short, whole_hosts()) == 10 * MINUTE, "what its user has asked for stays"
    assert add(world, made(), whole_hosts(), claim_by=ClaimByWish(20 * MINUTE)) == 20 * MINUTE


def test_what_was_used_is_not_looked_at_again_for_what_is_added() -> None:
    world = World(floating_ips=1)
    with_default(world, hosts=120, floatingips=30)
    lease = world.create(end=900)
    world.run_due()
    assert use(world, lease)
    world.advance(minutes=110)
    assert watching(world, lease) == []
    with_default(world, hosts=120, floatingips=180)
    assert add(world, lease, floating_ips(amount=1)) == 3 * HOUR
    assert watching(world, lease) == []


def test_releases_are_counted() -> None:
    world = World()
    metrics = PrometheusMetrics()
    world.events = Events(world.database, world.cloud, world.kinds, world.clock, metrics=metrics)
    claimed(world, KINDS["hosts"])
    used = claimed(world, KINDS["hosts"])
    world.run_due()
    assert use(world, used)
    world.advance(minutes=70)
    assert "blazar_unused_leases_released_total 1.0" in metrics.exposition()[1].decode()


def test_a_release_in_the_last_minute_of_a_lease_is_told() -> None:
    world = World()
    command = CreateLease("short", NOW, world.in_minutes(62), None, (KINDS["hosts"],))
    lease = world.leases.create(command, DEMO, claim_by=ClaimByWish(HOUR))
    world.advance(minutes=61.5)
    assert world.lease(lease).interval.end == START + 61 * MINUTE
    assert world.notifications().count(RELEASED) == 1
    world = World()
    command = CreateLease("shorter", NOW, world.in_minutes(61), None, (KINDS["hosts"],))
    lease = world.leases.create(command, DEMO, claim_by=ClaimByWish(HOUR))
    world.advance(minutes=62)
    over = world.lease(lease)
    assert (over.status, over.status_reason) == (LeaseStatus.TERMINATED, None)
    assert world.notifications().count(RELEASED) == 0


def test_the_notifications_tell_until_when_and_why() -> None:
    world = World()
    claimed(world, KINDS["hosts"])
    world.advance(minutes=70)
    with world.database.read() as uow:
        told = {each.event_type: each.payload for each in uow.outbox.peek(100)}
    assert told[WARNED]["claim_by_date"] == "2030-01-01T09:00:00.000000"
    assert (told[WARNED]["status"], told[RELEASED]["status"]) == ("ACTIVE", "ACTIVE")
    assert told[RELEASED]["end_date"] == "2030-01-01T09:01:00.000000"
    assert told[RELEASED]["status_reason"].startswith("It was not used within 60 minutes")
    assert told["lease.event.end_lease"]["status_reason"] == told[RELEASED]["status_reason"]
    assert "claim_by_date" not in told["lease.event.end_lease"]
