"""Usage filters are asked before a lease is stored or changed, and told, at least once, what became of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from blazar.adapters.enforcement import MaxLeaseDurationFilter
from blazar.domain.errors import (
    BadAnswer,
    BlazarError,
    CloudRefused,
    CloudUnavailable,
    NotEnoughResources,
    OutcomeUnknown,
    TooLate,
    UsageRefused,
)
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine import reporting
from blazar.service.commands import NOW, CreateLease, ReservationChange
from blazar.service.context import Caller
from blazar.service.enforcement import MARGIN
from blazar.service.metrics import NoMetrics
from blazar.service.ports import Identity, Report, ReportType
from blazar.service.ports.enforcement import Documents, Proposal, UsageFilter

from .test_crashes import dies_at_each_step
from .world import CLAIM, DEMO, START, Crash, World, instances, whole_hosts

OTHER_PARAMETERS = {"min": 2, "max": 2}


class Ledger(UsageFilter):
    """A filter that remembers what it was asked and told."""

    def __init__(self, *wanted: ReportType) -> None:
        self.reports = frozenset(wanted)
        self.asked: list[Proposal] = []
        self.told: list[tuple[ReportType, str]] = []
        self.documents: list[Documents] = []
        self.before: Callable[[Proposal], None] = lambda proposal: None
        self.failure: Mapping[str, BlazarError] = {}
        """By lease id; ``""`` is any lease."""

    def check_create(self, proposal: Proposal) -> None:
        assert proposal.current is None
        self._check(proposal)

    def check_update(self, proposal: Proposal) -> None:
        assert proposal.current is not None
        self._check(proposal)

    def _check(self, proposal: Proposal) -> None:
        self.asked.append(proposal)
        self.before(proposal)

    def tell(self, report: Report, documents: Documents, identity: Identity) -> None:
        failure = self.failure.get(report.lease_id) or self.failure.get("")
        if failure:
            raise failure
        assert identity.endpoint()
        self.told.append((report.type, report.lease_id))
        self.documents.append(documents)


class Second(Ledger):
    """Another one."""


ALL = tuple(ReportType)


def refuse(proposal: Proposal) -> None:
    raise UsageRefused("Your project has spent it all.")


def world_of(*filters: UsageFilter, **more: Any) -> World:
    return World(filters=filters, **more)


def waiting(world: World) -> int:
    with world.database.read() as uow:
        return uow.reports.depth()


# asked


def test_a_new_lease_is_shown_as_it_is_to_be_stored() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create(min=2, max=2)
    (asked,) = ledger.asked
    assert asked.lease.id == lease.id
    assert {a.resource_id for a in asked.lease.allocations} == world.hosts_of(lease)
    shown = asked.documents()["lease"]
    (reservation,) = shown["reservations"]
    assert [a["hypervisor_hostname"] for a in reservation["allocations"]] == ["host1", "host2"]
    assert (shown["status"], shown["start_date"], shown["end_date"]) == (
        "CREATING",
        "2030-01-01T08:00:00",
        "2030-01-01T09:00:00",
    )
    assert shown["before_end_date"] == "2030-01-01T08:30:00"
    assert shown["resource_requests"] == {"VCPU": 16, "MEMORY_MB": 2 * 16384, "DISK_GB": 200}
    assert asked.takes_more


def test_two_reservations_of_a_kind_have_their_own_allocations() -> None:
    ledger = Ledger()
    world_of(ledger).reserve(whole_hosts(), whole_hosts(min=2, max=2))
    reservations = ledger.asked[0].documents()["lease"]["reservations"]
    assert [[a["id"] for a in r["allocations"]] for r in reservations] == [["1"], ["2", "3"]]


def test_instances_are_counted_by_their_amounts() -> None:
    ledger = Ledger()
    world_of(ledger).reserve(instances(amount=3, affinity=None, vcpus=2))
    shown = ledger.asked[0].documents()["lease"]
    assert shown["resource_requests"] == {"VCPU": 6, "MEMORY_MB": 3072, "DISK_GB": 30}
    (reservation,) = shown["reservations"]
    assert "affinity" not in reservation
    assert reservation["resource_properties"] is None


@pytest.mark.parametrize("is_prepared", [False, True], ids=["at once", "with a trust"])
def test_a_lease_that_is_refused_is_not_stored_and_nothing_is_made(is_prepared: bool) -> None:
    ledger = Ledger(*ALL)
    ledger.before = refuse
    world = world_of(ledger)
    with pytest.raises(UsageRefused, match="spent it all"):
        world.create(**({"before_end": "snapshot"} if is_prepared else {}))
    assert world.leases.list(None) == []
    assert "create_trust" not in world.cloud.calls
    world.advance(minutes=30)
    world.report()
    assert ledger.told == []


def test_a_prepared_lease_is_asked_about_with_its_warning() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    lease = world.create(before_end="snapshot")
    assert ledger.asked[0].documents()["lease"]["before_end_date"]
    world.report()
    assert ledger.told == [(ReportType.CREATED, lease.id)]


def test_no_filter_is_asked_inside_of_a_transaction() -> None:
    """A transaction inside of one is refused by the database in memory, and by SQLite."""
    ledger = Ledger()
    world = world_of(ledger)
    ledger.before = lambda proposal: world.database.transact(lambda uow: None)
    world.update(world.create(), end=world.in_minutes(90))
    assert len(ledger.asked) == 2


def test_what_is_stored_is_what_was_asked_about() -> None:
    """While the filter thinks, another manager takes the host: the filter is asked about the next one."""
    ledger = Ledger()
    world = world_of(ledger)
    others: list[Lease] = []

    def overtake(proposal: Proposal) -> None:
        if not others:
            others.append(proposal.lease)
            others.append(world.beside().create("faster"))

    ledger.before = overtake
    lease = world.create("slower")
    assert [sorted(a.resource_id for a in p.lease.allocations) for p in ledger.asked] == [["1"], ["1"], ["2"]]
    assert world.hosts_of(lease) == {"2"}
    assert world.hosts_of(others[1]) == {"1"}


def test_what_was_allowed_is_not_asked_about_again() -> None:
    ledger = Ledger()
    world = world_of(ledger, hosts=2)
    is_first = [True]

    def touch(proposal: Proposal) -> None:
        if is_first.pop():
            is_first.append(False)
            world.database.transact(lambda uow: uow.resources.touch(["1"], world.clock.now()))

    ledger.before = touch
    world.create(min=2, max=2)
    assert len(ledger.asked) == 1


def test_an_update_is_shown_with_what_it_changes() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create()
    change = ReservationChange(lease.reservations[0].id, OTHER_PARAMETERS)
    world.update(lease, end=world.in_minutes(120), reservations=(change,))
    asked = ledger.asked[-1]
    shown = asked.documents()
    assert (shown["current_lease"]["end_date"], shown["lease"]["end_date"]) == (
        "2030-01-01T09:00:00",
        "2030-01-01T10:00:00",
    )
    assert [len(shown[name]["reservations"][0]["allocations"]) for name in ("current_lease", "lease")] == [
        1,
        2,
    ]
    assert shown["lease"]["id"] == shown["current_lease"]["id"] == lease.id
    assert shown["lease"]["name"] == "lease"
    assert {shown[name]["status"] for name in shown} == {"UPDATING"}
    assert shown["lease"]["resource_requests"]["VCPU"] == 16
    assert asked.takes_more


def test_an_update_that_is_refused_changes_nothing() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    lease = world.create()
    ledger.before = refuse
    with pytest.raises(UsageRefused):
        world.update(lease, end=world.in_minutes(120))
    assert world.lease(lease) == lease


def test_an_update_that_is_refused_makes_nothing_in_the_cloud() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create(start=10)
    ledger.before = refuse
    change = ReservationChange(lease.reservations[0].id, {"before_end": "snapshot"})
    with pytest.raises(UsageRefused):
        world.update(lease, reservations=(change,))
    assert "create_trust" not in world.cloud.calls
    assert world.lease(lease) == lease


def test_a_prepared_update_is_asked_about_once() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create(start=10)
    change = ReservationChange(lease.reservations[0].id, {"before_end": "snapshot"})
    assert world.update(lease, reservations=(change,)).trust_id
    assert len(ledger.asked) == 2


def test_a_new_name_and_nothing_new_are_not_asked_about() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create()
    world.update(lease, name="other")
    world.update(lease, end=lease.interval.end)
    assert len(ledger.asked) == 1


@pytest.mark.parametrize(
    ("minutes", "takes_more"), [((10, 60), False), ((20, 50), False), ((10, 61), True), ((5, 40), True)]
)
def test_whether_a_change_takes_more(minutes: tuple[int, int], takes_more: bool) -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = world.create(start=10, warn_at=world.in_minutes(30))
    start, end = map(world.in_minutes, minutes)
    world.update(lease, start=start, end=end, before_end=world.in_minutes(31))
    assert ledger.asked[-1].takes_more is takes_more


def test_filters_are_asked_in_order_and_the_first_refusal_counts() -> None:
    first, second = Ledger(), Second()
    world = world_of(first, second)
    first.before = refuse
    with pytest.raises(UsageRefused):
        world.create()
    assert (len(first.asked), len(second.asked)) == (1, 0)


class Counts(NoMetrics):
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def usage_filter_asked(self, filter: str, call: str, outcome: str, seconds: float) -> None:
        self.asked.append((call, outcome))


NO_ANSWER = CloudUnavailable(service="The enforcement service", reason="away")
BAD_ANSWER = BadAnswer("denied")


@pytest.mark.parametrize("failure", [NO_ANSWER, BAD_ANSWER], ids=["no answer", "bad answer"])
@pytest.mark.parametrize("fails_open", [False, True], ids=["closed", "open"])
def test_a_filter_without_a_decision(failure: BlazarError, fails_open: bool) -> None:
    ledger, counts = Ledger(), Counts()
    world = world_of(ledger)
    lease = world.create()
    ledger.fails_open = fails_open
    world.leases.changes._enforcement._metrics = counts

    def fail(proposal: Proposal) -> None:
        raise failure

    ledger.before = fail
    world.update(lease, end=world.in_minutes(50))
    with contextlib.nullcontext() if fails_open else pytest.raises(type(failure)):
        world.update(lease, end=world.in_minutes(70))
    assert world.lease(lease).interval.end == world.in_minutes(70 if fails_open else 50)
    assert counts.asked == [("check_update", "failed")] * 2


def test_a_refusal_counts_also_where_a_filter_fails_open_or_a_lease_becomes_shorter() -> None:
    ledger, counts = Ledger(), Counts()
    world = world_of(ledger)
    lease = world.create()
    ledger.fails_open, ledger.before = True, refuse
    world.leases.changes._enforcement._metrics = counts
    with pytest.raises(UsageRefused):
        world.update(lease, end=world.in_minutes(50))
    assert counts.asked == [("check_update", "refused")]


def test_exempt_projects_are_neither_asked_about_nor_told_of() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger, exempt=["demo"])
    world.delete(world.create())
    world.advance(minutes=30)
    world.report()
    assert (ledger.asked, ledger.told) == ([], [])


def test_a_repeated_request_whose_answer_was_lost_is_not_refused() -> None:
    """The first attempt has spent what the second one would need."""
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    command = CreateLease("lease", NOW, world.in_minutes(60), None, (whole_hosts(),), "the-id")
    first = world.leases.create(command, DEMO)
    ledger.before = refuse
    assert world.leases.create(command, DEMO) == first
    world.advance(minutes=30)
    world.report()
    assert ledger.told == [(ReportType.CREATED, "the-id")]


def test_a_filter_that_takes_longer_than_the_caller_waits_stores_nothing() -> None:
    ledger, second = Ledger(), Second()
    world = world_of(ledger, second)
    caller = Caller("demo-user", "demo", ("member",), deadline=START + timedelta(seconds=9))
    ledger.before = lambda proposal: world.clock.pause(proposal.seconds_left() + 1)
    with pytest.raises(TooLate):
        world.reserve(whole_hosts(), caller=caller)
    assert world.leases.list(None) == []
    assert second.asked == []


# told


def test_each_change_is_told_in_order() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    lease = world.create()
    world.run_due()
    world.update(lease, name="not told")
    world.update(lease, end=world.in_minutes(90))
    world.advance(minutes=100)
    world.report()
    assert [each for each, _ in ledger.told] == [ReportType.CREATED, ReportType.UPDATED, ReportType.ENDED]
    created, updated, ended = ledger.documents
    assert (created["lease"]["status"], ended["lease"]["status"]) == ("PENDING", "TERMINATING")
    assert updated["current_lease"]["end_date"] == created["lease"]["end_date"]
    assert updated["lease"]["end_date"] == ended["lease"]["end_date"] == "2030-01-01T09:30:00"
    assert ended["lease"]["ended_at"].startswith("2030-01-01T09:30:00")
    assert ended["lease"]["reservations"][0]["allocations"][0]["hypervisor_hostname"] == "host1"
    assert ended["lease"]["resource_requests"]["VCPU"] == 8
    assert waiting(world) == 0


def test_a_filter_is_told_only_what_it_wants() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger, MaxLeaseDurationFilter())
    world.create()
    world.advance(minutes=61)
    world.report()
    assert [each for each, _ in ledger.told] == [ReportType.ENDED]


@pytest.mark.parametrize("start", [0, 10], ids=["active", "pending"])
def test_a_lease_that_is_deleted_before_its_end_has_ended_once(start: int) -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    lease = world.create(start=start)
    world.run_due()
    world.delete(lease)
    world.advance(minutes=100)
    world.report()
    assert world.leases.list(None) == []
    assert ledger.told == [(ReportType.ENDED, lease.id)]
    assert ledger.documents[0]["lease"]["status"] == "DELETING"


def test_a_lease_that_is_deleted_after_its_end_is_not_told_of_again() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    lease = world.create()
    world.advance(minutes=61)
    world.delete(lease)
    world.advance(minutes=10)
    world.report()
    assert len(ledger.told) == 1


def test_the_end_is_told_though_the_cloud_cannot_release_it() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    lease = world.create()
    world.run_due()

    def down(call: str) -> None:
        if call != "identity_endpoint":
            raise CloudUnavailable(service="Nova", reason="away")

    world.cloud.before = down
    world.advance(minutes=61)
    world.report()
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.delete(lease)
    world.cloud.before = lambda call: None
    world.advance(minutes=10)
    world.report()
    assert world.leases.list(None) == []
    assert len(ledger.told) == 1


def test_a_lease_that_was_allowed_and_not_stored_has_ended() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    caller = Caller("demo-user", "demo", ("member",), deadline=START + timedelta(seconds=9))
    ledger.before = lambda proposal: world.clock.move_to(START + timedelta(seconds=10))
    with pytest.raises(TooLate):
        world.reserve(whole_hosts(), caller=caller)
    world.advance(minutes=4)
    world.report()
    assert ledger.told == [], "another attempt of the same request may still store it"
    world.advance(minutes=2)
    world.report()
    assert ledger.told == [(ReportType.ENDED, ledger.asked[0].lease.id)]


def test_leases_that_did_not_come_to_be_are_not_told_for_ever() -> None:
    """A service is away, and people try again and again."""
    ledger = Ledger(*ALL)
    world = world_of(ledger)

    def fail(proposal: Proposal) -> None:
        raise NO_ANSWER

    ledger.before, ledger.failure = fail, {"": NO_ANSWER}
    for _ in range(30):
        with pytest.raises(CloudUnavailable):
            world.create()
    world.advance(minutes=59)
    with pytest.raises(CloudUnavailable):
        world.report()
    world.advance(minutes=5)
    world.report()
    with world.database.read() as uow:
        assert not uow.reports.is_any_due(ledger.name, world.in_minutes(60))


def test_a_lease_whose_preparation_failed_has_ended() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)

    def refuse_trusts(call: str) -> None:
        if call == "create_trust":
            raise CloudRefused(service="Keystone", reason="no")

    world.cloud.before = refuse_trusts
    with pytest.raises(CloudRefused):
        world.create(before_end="snapshot")
    world.report()
    assert ledger.told == [(ReportType.ENDED, ledger.asked[0].lease.id)]
    world.advance(minutes=30)
    world.report()
    assert len(ledger.told) == 1


def test_a_lease_for_which_there_is_no_room_is_not_asked_about() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger, hosts=1)
    with pytest.raises(NotEnoughResources):
        world.create(min=2, max=2)
    assert ledger.asked == []


def test_a_lease_that_is_stored_is_not_told_to_have_ended() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    world.create(end=600)
    world.advance(minutes=30)
    world.report()
    assert ledger.told == []
    with world.database.read() as uow:
        assert not uow.reports.is_any_due(ledger.name, world.in_minutes(60))


def test_a_filter_that_is_away_holds_up_neither_ends_nor_notifications_nor_others() -> None:
    dead, alive = Ledger(ReportType.ENDED), Second(ReportType.ENDED)
    world = world_of(dead, alive)
    leases = [world.create(str(n)) for n in range(3)]
    dead.failure = {"": CloudUnavailable(service="The enforcement service", reason="away")}
    world.advance(minutes=61)
    assert {world.lease(each).status for each in leases} == {LeaseStatus.TERMINATED}
    assert world.notifications().count("lease.event.end_lease") == 3
    for _ in range(3):
        with pytest.raises(CloudUnavailable):
            world.reporting[0].deliver()
    assert world.reporting[1].deliver() == 3
    assert len(alive.told) == 3
    dead.failure = {}
    world.advance(minutes=1)
    world.report()
    assert sorted(dead.told) == sorted(alive.told)
    assert waiting(world) == 0


def test_a_report_that_is_refused_is_put_off_and_others_are_told() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    refused, other = world.create("refused"), world.create("other")
    ledger.failure = {refused.id: CloudRefused(service="The enforcement service", reason="500")}
    world.advance(minutes=61)
    world.report()
    assert ledger.told == [(ReportType.ENDED, other.id)]
    attempts = 0
    for _ in range(1000):
        world.advance(minutes=1)
        with world.database.read() as uow:
            attempts += uow.reports.is_any_due(ledger.name, world.clock.now())
        world.report()
    assert attempts < 120, "it is tried every ten minutes"
    ledger.failure = {}
    world.advance(minutes=11)
    world.report()
    assert ledger.told[1:] == [(ReportType.ENDED, refused.id)]


def test_a_report_that_is_refused_for_a_week_is_given_up() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    world.create()
    ledger.failure = {"": CloudRefused(service="The enforcement service", reason="404")}
    world.advance(minutes=61)
    world.report()
    assert waiting(world) == 1
    world.clock.pause(reporting.TRIED_FOR.total_seconds())
    world.report()
    assert waiting(world) == 0


def test_a_report_without_an_answer_is_never_given_up() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    lease = world.create()
    world.advance(minutes=61)
    ledger.failure = {"": CloudUnavailable(service="The enforcement service", reason="away")}
    for _ in range(12):
        world.clock.pause(reporting.TRIED_FOR.total_seconds())
        with pytest.raises(CloudUnavailable):
            world.report()
    ledger.failure = {}
    world.advance(seconds=5)
    world.report()
    assert ledger.told == [(ReportType.ENDED, lease.id)], "it is told soon after the outage"


def test_two_managers_do_not_tell_the_same() -> None:
    ledger = Ledger(ReportType.ENDED)
    world = world_of(ledger)
    for n in range(2):
        world.create(str(n))
    world.advance(minutes=61)
    other, counts = reporting.Reporting(ledger, world.reporting[0]._dependencies), []
    tell = ledger.tell

    def tell_slowly(report: Report, documents: Documents, identity: Identity) -> None:
        counts.append(other.deliver())
        tell(report, documents, identity)

    ledger.tell = tell_slowly  # type: ignore[method-assign]
    world.report()
    assert (len(ledger.told), counts) == (2, [0, 0])


# crashes


@pytest.mark.slow
def test_a_crash_in_an_end_or_a_report_loses_no_report() -> None:
    def make() -> World:
        return world_of(Ledger(ReportType.ENDED))

    def end(world: World, lease: Any) -> None:
        world.advance(minutes=61)
        world.report()

    def begin(world: World) -> Lease:
        lease = world.create()
        world.run_due()
        return lease

    worlds = dies_at_each_step(begin, end, make)
    assert len(worlds) > 10
    for world in worlds:
        world.advance(minutes=90)
        world.report()
        (ledger,) = world.filters
        assert set(ledger.told) == {(ReportType.ENDED, world.subject.id)}
        assert len(ledger.told) <= 2
        assert waiting(world) == 0


@pytest.mark.slow
def test_a_crash_in_a_create_or_a_deletion_leaves_no_lease_that_counts_and_is_not_there() -> None:
    """What was allowed either is a lease, or is told to have ended."""

    def make() -> World:
        return world_of(Ledger(*ALL))

    def create_and_delete(world: World, _: Any) -> None:
        world.delete(world.create(before_end="snapshot"))
        world.advance(seconds=30)

    worlds = dies_at_each_step(lambda world: None, create_and_delete, make)
    assert len(worlds) > 10
    for world in worlds:
        world.advance(seconds=CLAIM.total_seconds())
        world.advance(minutes=2 * MARGIN.total_seconds() / 60)
        world.report()
        (ledger,) = world.filters
        counted = {p.lease.id for p in ledger.asked}
        ended = {lease_id for what, lease_id in ledger.told if what is ReportType.ENDED}
        over = {each.id for each in world.leases.list(None) if each.status is LeaseStatus.TERMINATED}
        there = {each.id for each in world.leases.list(None)} - over
        assert counted <= there | ended
        assert not there & ended
        assert waiting(world) == 0


def test_a_commit_whose_outcome_is_unknown_is_found_and_told_once() -> None:
    ledger = Ledger(*ALL)
    world = world_of(ledger)
    transactions = [0]

    def lose(phase: int) -> None:
        if transactions[0] == phase:
            raise OutcomeUnknown(service="database", reason="lost")

    def step() -> None:
        transactions[0] += 1
        lose(4)  # after the commit of the lease; the report that is expected came before

    world.database.step = step
    lease = world.create()
    world.database.step = lambda: None
    world.advance(minutes=30)
    world.report()
    assert ledger.told == [(ReportType.CREATED, lease.id)]
    with contextlib.suppress(Crash):
        world.delete(lease)
    world.report()
    assert ledger.told[1:] == [(ReportType.ENDED, lease.id)]
