"""What users can do with leases, and what they are told when they can't."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import (
    BlazarError,
    CantUpdateParameter,
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    MalformedParameter,
    MalformedRequirements,
    MissingParameter,
    NotEnoughResources,
    NotFound,
    UnsupportedResourceType,
)
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.domain.resource import Pool
from blazar.kinds.host.errors import InvalidRange
from blazar.service.commands import NOW, CreateLease, ReservationChange, ReservationRequest, UpdateLease

from .world import DEMO, World, host


@pytest.fixture
def world() -> World:
    return World()


def change(lease, **parameters):
    return (ReservationChange(lease.reservations[0].id, parameters),)


def test_a_lease_that_starts_now_is_pending_until_its_start_event_is_carried_out(world):
    lease = world.create()
    assert lease.status is LeaseStatus.PENDING
    world.run_due()
    active = world.lease(lease)
    assert active.status is LeaseStatus.ACTIVE
    assert active.reservations[0].status is ReservationStatus.ACTIVE
    assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {"host1"}
    assert world.in_freepool() == {"host2", "host3", "host4"}


def test_at_its_end_the_servers_are_gone_and_the_host_is_back(world):
    lease = world.create()
    world.run_due()
    world.cloud.boot("server", "host1")
    world.advance(minutes=61)
    over = world.lease(lease)
    assert over.status is LeaseStatus.TERMINATED
    assert over.reservations[0].status is ReservationStatus.DELETED
    assert set(world.event_statuses(lease).values()) == {"DONE"}
    assert world.in_freepool() == {"host1", "host2", "host3", "host4"}
    assert not world.cloud.state.servers
    assert world.cloud.compute.find_aggregate(lease.reservations[0].id) is None


def test_each_step_is_told_once(world):
    lease = world.create(end=120)
    world.advance(minutes=121)
    world.delete(lease)
    assert world.notifications() == [
        "lease.create",
        "lease.event.start_lease",
        "lease.event.before_end_lease",
        "lease.event.end_lease",
        "lease.delete",
    ]


def test_as_many_hosts_as_can_be_had_up_to_the_maximum(world):
    world.create(max=1)
    assert len(world.create(min=1, max=10).allocations) == 3


def test_a_shortage_tells_how_many_match_are_free_and_when_it_fits(world):
    world.create(min=3, max=3, end=60)
    with pytest.raises(NotEnoughResources) as refused:
        world.create(min=2, max=2)
    assert "4 hosts match" in refused.value.message
    assert "1 " in refused.value.message
    assert "2030-01-01 09:00" in refused.value.message
    assert len(world.leases.list(None)) == 1


def test_neighbours_in_time_share_a_host(world):
    first = world.create(min=4, max=4, end=60)
    second = world.create(min=4, max=4, start=60, end=120)
    world.advance(minutes=61)
    assert world.lease(first).status is LeaseStatus.TERMINATED
    assert world.lease(second).status is LeaseStatus.ACTIVE


def test_a_start_waits_until_the_one_before_has_left_the_host(world):
    first = world.create(min=4, max=4, end=60)
    second = world.create(min=4, max=4, start=60, end=120)
    world.run_due()
    world.cloud.state.undying.add("stubborn")
    world.cloud.boot("stubborn", "host1")
    world.advance(minutes=62)
    assert world.lease(first).status is LeaseStatus.TERMINATING
    assert "servers on host host1" in (world.lease(first).status_reason or "")
    assert world.lease(second).status is LeaseStatus.PENDING
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert world.lease(first).status is LeaseStatus.TERMINATED
    assert world.lease(second).status is LeaseStatus.ACTIVE


def test_a_server_that_does_not_go_away_delays_nobody_on_other_hosts(world):
    stuck = world.create(end=60)
    behind_it = world.create(start=60, end=120)
    other = world.create(start=60, end=120, min=3, max=3)
    assert world.hosts_of(stuck) == world.hosts_of(behind_it)
    world.run_due()
    world.cloud.state.undying.add("stubborn")
    world.cloud.boot("stubborn", "host1")
    world.advance(minutes=60, seconds=1)
    assert world.lease(stuck).status is LeaseStatus.TERMINATING
    assert world.lease(behind_it).status is LeaseStatus.PENDING
    assert world.lease(other).status is LeaseStatus.ACTIVE


def test_cleaning_time_is_kept_between_leases():
    world = World(hosts=1, cleaning=timedelta(minutes=10))
    world.create(end=60)
    with pytest.raises(NotEnoughResources):
        world.create(start=65, end=120)
    world.create(start=70, end=120)


class TestALongerCleaningTime:
    """The operator makes the cleaning time longer than the pause between two leases that there are
    already."""

    @pytest.fixture
    def world(self):
        return World(hosts=1)

    @pytest.fixture
    def leases(self, world):
        first, second = world.create(end=60), world.create(start=60, end=120)
        world.selection = replace(world.selection, cleaning=timedelta(minutes=10))
        world.restart()
        return first, second

    def test_leaves_the_leases_changeable(self, world, leases):
        first, second = leases
        wanted = '[">=", "$vcpus", "1"]'
        for lease in leases:
            assert world.update(lease, reservations=change(lease, hypervisor_properties=wanted))
        assert world.update(second, start=world.in_minutes(65)).interval.start == world.in_minutes(65)
        assert world.update(second, end=world.in_minutes(130)).interval.end == world.in_minutes(130)
        world.run_due()
        assert world.update(first, reservations=change(first, hypervisor_properties="")).id == first.id
        assert world.update(first, end=world.in_minutes(55)).interval.end == world.in_minutes(55)

    def test_is_kept_around_what_is_new(self, world, leases):
        first, second = leases
        with pytest.raises(NotEnoughResources):
            world.update(first, end=world.in_minutes(61))
        world.update(second, start=world.in_minutes(80))
        with pytest.raises(NotEnoughResources):
            world.update(first, end=world.in_minutes(75))
        assert world.update(first, end=world.in_minutes(70)).interval.end == world.in_minutes(70)
        with pytest.raises(NotEnoughResources):
            world.update(second, start=world.in_minutes(75))
        later = world.update(second, start=world.in_minutes(200), end=world.in_minutes(260))
        assert later.interval.start == world.in_minutes(200)
        with pytest.raises(NotEnoughResources):
            world.create(start=265, end=300)

    def test_a_lease_that_moves_away_keeps_it_where_it_arrives(self, world, leases):
        _, second = leases
        world.create(start=200, end=300)
        with pytest.raises(NotEnoughResources):
            world.update(second, start=world.in_minutes(305), end=world.in_minutes(360))
        with pytest.raises(NotEnoughResources):
            world.update(second, end=world.in_minutes(195))

    def test_is_kept_on_hosts_that_come_with_a_growth(self):
        world = World(hosts=2)
        first, second = world.create(max=2, min=2, end=60), world.create(start=60, end=120)
        world.selection = replace(world.selection, cleaning=timedelta(minutes=10))
        world.restart()
        with pytest.raises(NotEnoughResources):
            world.update(second, reservations=change(second, min=2, max=2))
        world.delete(first)
        assert len(world.update(second, reservations=change(second, min=2, max=2)).allocations) == 2


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"start": -1}, InvalidInput, "Start date must be later than current date"),
        ({"start": 10, "end": 10}, InvalidInput, "End date must be later than start date."),
        ({"start": 10, "end": 5}, InvalidInput, "End date must be later than start date."),
        ({"end": 60 * 24 * 365 * 200}, InvalidInput, "End date is too far in the future"),
        ({"min": 0}, MalformedParameter, "min (must be from 1"),
        ({"min": -1}, MalformedParameter, "min (must be from 1"),
        ({"min": 1, "max": 10**12}, MalformedParameter, "max (must be from 1"),
        ({"min": None}, MalformedParameter, "min (must be an integer)"),
        ({"min": "foo", "max": "bar"}, MalformedParameter, "min (must be an integer)"),
        ({"min": ""}, MalformedParameter, "min (must be an integer)"),
        ({"min": True}, MalformedParameter, "min (must be an integer)"),
        ({"min": 1.5}, MalformedParameter, "min (must be an integer)"),
        ({"min": 2, "max": 1}, InvalidRange, "Max must be equal to or larger than min"),
        ({"hypervisor_properties": "nonsense"}, MalformedRequirements, "Malformed requirements"),
        ({"hypervisor_properties": {}}, MalformedParameter, "hypervisor_properties"),
        ({"resource_properties": '["==", "$x"]'}, MalformedRequirements, "Malformed requirements"),
        ({"resource_properties": "[" * 1000 + "]" * 1000}, MalformedRequirements, "Malformed requirements"),
        ({"before_end": "email"}, MalformedParameter, "before_end"),
        ({"hypervisor_properties": '["==", "$nothing", "1"]'}, NotEnoughResources, "nothing"),
        ({"hypervisor_properties": '["==", "$__class__", "1"]'}, NotEnoughResources, "__class__"),
    ],
)
def test_mistakes_get_a_sentence_and_store_nothing(world, fields, error, sentence):
    parameters = {name: value for name, value in fields.items() if name not in ("start", "end")}
    dates = {name: value for name, value in fields.items() if name in ("start", "end")}
    with pytest.raises(error) as refused:
        world.create(**dates, **parameters)
    assert sentence in refused.value.message
    assert not world.leases.list(None)
    assert not [a for view in world.allocations.list_for_hosts() for a in view.allocations]


def test_numbers_may_be_sent_as_text(world):
    lease = world.create(min="1", max="2")
    assert (lease.reservations[0].parameters["min"], lease.reservations[0].parameters["max"]) == (1, 2)


def test_a_missing_parameter_is_named(world):
    request = ReservationRequest(
        "physical:host", {"min": 1, "resource_properties": "", "hypervisor_properties": ""}
    )
    with pytest.raises(MissingParameter, match="Missing parameter max"):
        world.leases.create(CreateLease("x", NOW, world.in_minutes(5), None, (request,)), DEMO)


def test_an_unknown_kind_is_refused(world):
    with pytest.raises(UnsupportedResourceType, match="The virtual:moon resource type is not supported"):
        world.leases.create(
            CreateLease("x", NOW, world.in_minutes(5), None, (ReservationRequest("virtual:moon", {}),)), DEMO
        )


def test_a_lease_of_several_reservations_is_planned_as_one(world):
    def ask(*sizes):
        requests = tuple(ReservationRequest("physical:host", host(min=n, max=n)) for n in sizes)
        return world.leases.create(CreateLease("x", NOW, world.in_minutes(60), None, requests), DEMO)

    with pytest.raises(NotEnoughResources):
        ask(3, 2)
    assert not world.leases.list(None)
    lease = ask(1, 3)
    assert len({a.resource_id for a in lease.allocations}) == 4


def test_a_lease_without_reservations_lives_and_ends(world):
    lease = world.leases.create(CreateLease("empty", NOW, world.in_minutes(5)), DEMO)
    world.run_due()
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.advance(minutes=6)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


class TestWarnings:
    def test_an_hour_before_the_end_by_default(self, world):
        assert world.create(end=120).before_end_date == world.in_minutes(60)

    @pytest.mark.parametrize(
        ("length", "at"), [(1, 0), (2, 1), (30, 15), (45, 22), (60, 30), (61, 1), (90, 30)]
    )
    def test_half_way_where_the_lease_is_not_longer_than_that(self, world, length, at):
        lease = world.create(start=30, end=30 + length)
        assert lease.before_end_date == world.in_minutes(30 + at)

    def test_half_way_where_the_lease_becomes_too_short_for_its_distance(self, world):
        lease = world.create(start=30, end=150)
        assert world.update(lease, end=world.in_minutes(70)).before_end_date == world.in_minutes(50)
        assert world.update(lease, end=world.in_minutes(150)).before_end_date == world.in_minutes(130)

    def test_when_the_user_says(self, world):
        assert world.create(end=120, warn_at=world.in_minutes(100)).before_end_date == world.in_minutes(100)

    @pytest.mark.parametrize("minutes", [-5, 0, 120, 121])
    def test_only_within_the_lease(self, world, minutes):
        with pytest.raises(InvalidInput, match="out of lease limits"):
            world.create(end=120, warn_at=world.in_minutes(minutes))

    def test_keeps_its_distance_when_the_end_moves(self, world):
        lease = world.create(end=120, warn_at=world.in_minutes(110))
        assert world.update(lease, end=world.in_minutes(240)).before_end_date == world.in_minutes(230)

    def test_is_given_again_when_the_end_moves_away(self, world):
        lease = world.create(end=120)
        world.advance(minutes=61)
        assert world.event_statuses(lease)["before_end_lease"] == "DONE"
        world.update(lease, end=world.in_minutes(240))
        assert world.event_statuses(lease)["before_end_lease"] == "UNDONE"
        assert "lease.event.before_end_lease.stop" in world.notifications()

    def test_is_not_repeated_for_a_time_that_has_passed(self, world):
        lease = world.create(end=120)
        world.advance(minutes=90)
        world.update(lease, end=world.in_minutes(40))
        assert world.event_statuses(lease)["before_end_lease"] == "DONE"

    def test_makes_snapshots_where_that_was_asked_for(self, world):
        world.create(end=120)
        lease = world.create(end=120, before_end="snapshot")
        world.run_due()
        world.cloud.boot("mine", "host2")
        world.advance(minutes=61)
        assert world.hosts_of(lease) == {"2"}
        assert world.cloud.state.images == ["reserved_mine"]


class TestUpdates:
    def test_renaming_touches_nothing_else(self, world):
        lease = world.create()
        world.advance(minutes=61)
        assert world.update(lease, name="new").name == "new"
        assert world.lease(lease).status is LeaseStatus.TERMINATED

    def test_an_empty_update_changes_nothing(self, world):
        lease = world.create(start=10)
        assert world.leases.update(lease.id, UpdateLease(), DEMO) == world.lease(lease)

    def test_extending_an_active_lease_keeps_its_host(self, world):
        lease = world.create(end=60)
        world.run_due()
        extended = world.update(lease, end=world.in_minutes(180))
        assert extended.status is LeaseStatus.ACTIVE
        assert extended.allocations[0].interval == extended.interval
        world.advance(minutes=100)
        assert world.lease(lease).status is LeaseStatus.ACTIVE

    def test_an_extension_into_the_next_lease_is_refused_and_changes_nothing(self, world):
        lease = world.create(end=60)
        world.create(min=4, max=4, start=60, end=120)
        world.run_due()
        before = world.lease(lease)
        with pytest.raises(NotEnoughResources):
            world.update(lease, end=world.in_minutes(90))
        assert world.lease(lease) == before

    def test_a_pending_lease_moves_to_another_host_where_its_own_is_taken(self, world):
        blocker = world.create(start=60, end=120)
        lease = world.create(start=120, end=180)
        assert world.hosts_of(blocker) == world.hosts_of(lease)
        moved = world.update(lease, start=world.in_minutes(90))
        assert world.hosts_of(moved).isdisjoint(world.hosts_of(blocker))

    def test_growing_an_active_reservation_brings_more_hosts_in(self, world):
        lease = world.create()
        world.run_due()
        world.advance(minutes=5)
        grown = world.update(lease, reservations=change(lease, min=3, max=3))
        assert grown.status is LeaseStatus.ACTIVE
        world.run_due()
        assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {"host1", "host2", "host3"}
        assert world.in_freepool() == {"host4"}
        assert all(a.bound for a in world.lease(lease).allocations)

    def test_growing_waits_for_a_host_that_is_still_being_emptied(self, world):
        lease = world.create(end=120, max=1)
        other = world.create(end=60, min=3, max=3)
        world.run_due()
        world.cloud.state.undying.add("stubborn")
        world.cloud.boot("stubborn", "host2")
        world.advance(minutes=61)
        world.update(lease, reservations=change(lease, min=4, max=4))
        world.advance(seconds=10)
        assert set(world.cloud.hosts_in(lease.reservations[0].id)) == {"host1"}
        world.cloud.state.undying.clear()
        world.advance(seconds=45)  # the end looks every 30 s at most, and the growth every 10 s
        assert world.lease(other).status is LeaseStatus.TERMINATED
        assert len(world.cloud.hosts_in(lease.reservations[0].id)) == 4

    def test_shrinking_a_pending_reservation_on_a_full_cloud(self, world):
        lease = world.create(start=10, min=4, max=4)
        shrunk = world.update(lease, reservations=change(lease, min=2, max=2))
        assert len(shrunk.allocations) == 2
        world.create(start=10, min=2, max=2)

    def test_an_active_reservation_keeps_the_hosts_it_has(self, world):
        lease = world.create(min=2, max=2)
        world.run_due()
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=change(lease, min=1, max=1))
        with pytest.raises(NotEnoughResources):
            world.update(lease, reservations=change(lease, hypervisor_properties='[">", "$vcpus", "1000"]'))
        assert world.lease(lease).status is LeaseStatus.ACTIVE

    def test_a_property_that_it_begins_to_rely_on_cannot_be_taken_away_at_the_same_moment(self, world):
        world.hosts.set_capabilities("1", {"gpu": "A100"})
        lease = world.create(start=10)
        assert world.hosts_of(lease) == {"1"}

        def take_it_away():
            world.database.step = lambda: None
            world.hosts.set_capabilities("1", {"gpu": None})

        world.database.step = take_it_away  # after the plan, before the commit
        with pytest.raises(NotEnoughResources):
            world.update(lease, reservations=change(lease, resource_properties='["==", "$gpu", "A100"]'))
        assert world.lease(lease).reservations[0].parameters["resource_properties"] == ""

    def test_a_change_that_keeps_its_hosts_raises_their_generations(self, world):
        """So that who looks at the lease to see what it relies on, and then changes a host, is Stale."""
        lease = world.create(start=10)
        with world.database.read() as uow:
            before = uow.resources.generations(Pool("host"))
        world.update(lease, reservations=change(lease, hypervisor_properties='[">=", "$vcpus", "1"]'))
        with world.database.read() as uow:
            assert uow.resources.generations(Pool("host")) == {**before, "1": before["1"] + 1}

    def test_ending_now(self, world):
        lease = world.create()
        world.advance(minutes=10)
        world.update(lease, end=NOW)
        world.run_due()
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert world.in_freepool() == {"host1", "host2", "host3", "host4"}

    def test_ending_now_in_the_first_minute_is_ending_with_it(self, world):
        lease = world.create()
        world.run_due()
        assert world.update(lease, end=NOW).interval.end == world.in_minutes(1)
        world.advance(minutes=1)
        assert world.lease(lease).status is LeaseStatus.TERMINATED

    def test_ending_now_in_the_minute_of_a_growth_is_ending_with_it(self, world):
        lease = world.create(max=1, end=120)
        world.run_due()
        world.advance(minutes=10, seconds=20)
        world.update(lease, reservations=change(lease, min=2, max=2))
        ended = world.update(lease, end=NOW)
        assert ended.interval.end == world.in_minutes(1)
        assert {a.interval.end for a in ended.allocations} == {world.in_minutes(1)}
        world.advance(minutes=2)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert world.in_freepool() == {"host1", "host2", "host3", "host4"}

    @pytest.mark.parametrize("seconds", [0, 30, 90, 3600])
    @pytest.mark.parametrize("is_carried_out", [False, True])
    def test_ending_now_may_be_repeated(self, world, seconds, is_carried_out):
        lease = world.create()
        world.advance(minutes=10)
        ended = world.update(lease, end=NOW)
        if is_carried_out:
            world.run_due()
        world.clock.pause(seconds)
        assert world.update(lease, end=NOW).interval == ended.interval
        assert world.update(lease, end=NOW, name="over").name == "over"
        assert world.notifications().count("lease.update") == 1

    def test_ending_now_while_the_end_is_carried_out_changes_nothing(self, world):
        lease = world.create(min=1, max=1)
        world.run_due()
        world.cloud.state.undying.add("stubborn")
        world.cloud.boot("stubborn", "host1")
        world.advance(minutes=60, seconds=1)
        assert world.update(lease, end=NOW) == world.lease(lease)
        assert world.lease(lease).status is LeaseStatus.TERMINATING

    def test_a_lease_that_is_over_does_not_take_other_changes_with_its_end(self, world):
        lease = world.create()
        world.advance(minutes=61)
        with pytest.raises(InvalidInput, match="Terminated leases can only be renamed"):
            world.update(lease, end=NOW, reservations=change(lease, min=2, max=2))

    def test_a_lease_that_has_not_started_cannot_end_now(self, world):
        lease = world.create(start=1)
        with pytest.raises(InvalidInput, match="End date must be later"):
            world.update(lease, end=NOW)

    def test_shortening_never_needs_a_plan(self, world):
        lease = world.create(end=120)
        world.run_due()
        shorter = world.update(lease, end=world.in_minutes(30))
        assert shorter.allocations[0].interval.end == world.in_minutes(30)
        world.create(start=30, end=60, min=4, max=4)

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"start": 5}, "Cannot modify the start date of already started leases"),
            ({"end": -1}, "End date must be later than current and start date"),
            ({"before_end": 500}, "out of lease limits"),
        ],
    )
    def test_refused_dates_leave_an_active_lease_active(self, world, changes, sentence):
        lease = world.create()
        world.advance(minutes=2)
        before = world.lease(lease)
        with pytest.raises(InvalidInput, match=sentence):
            world.update(lease, **{name: world.in_minutes(minutes) for name, minutes in changes.items()})
        assert world.lease(lease) == before

    def test_an_active_lease_cannot_move_its_start_even_in_its_first_minute(self, world):
        lease = world.create()
        world.run_due()
        with pytest.raises(InvalidInput, match="already started"):
            world.update(lease, start=world.in_minutes(30))

    def test_a_lease_that_is_over_can_only_be_renamed(self, world):
        lease = world.create()
        world.advance(minutes=61)
        with pytest.raises(InvalidInput, match="Terminated leases can only be renamed"):
            world.update(lease, end=world.in_minutes(60))

    def test_a_lease_in_transition_cannot_be_updated(self, world):
        lease = world.create()
        world.run_due()
        world.cloud.state.undying.add("stubborn")
        world.cloud.boot("stubborn", "host1")
        world.advance(minutes=60, seconds=1)
        with pytest.raises(InvalidStatus, match="TERMINATING"):
            world.update(lease, end=world.in_minutes(60))

    def test_reservations_of_others_are_not_touched(self, world):
        lease, other = world.create(start=10), world.create(start=10)
        with pytest.raises(InvalidInput, match="Please enter valid reservation IDs"):
            world.update(lease, reservations=change(other, max=2))

    def test_the_resource_type_stays(self, world):
        lease = world.create(start=10)
        wanted = ReservationChange(lease.reservations[0].id, {}, "virtual:instance")
        with pytest.raises(CantUpdateParameter, match="resource_type cannot be updated"):
            world.update(lease, reservations=(wanted,))


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("gone", ["host", "aggregate"])
def test_hosts_that_somebody_took_out_of_the_aggregate_come_back_to_the_freepool(world, gone, deleted):
    lease = world.create(min=2, max=2)
    world.run_due()
    aggregate = world.cloud.compute.find_aggregate(lease.reservations[0].id)
    astray = aggregate.hosts[:1] if gone == "host" else aggregate.hosts
    for name in astray:
        world.cloud.boot(f"server on {name}", name)
    left = tuple(name for name in aggregate.hosts if name not in astray)
    world.cloud.state.aggregates[aggregate.id] = replace(aggregate, hosts=left)
    if not left:
        world.cloud.compute.delete_aggregate(aggregate.id)
    if deleted:
        world.delete(lease)
    world.advance(minutes=61)
    assert world.in_freepool() == {"host1", "host2", "host3", "host4"}
    assert not world.cloud.state.servers


def test_a_deleted_lease_of_the_future_takes_no_host_from_the_present_one(world):
    present, future = world.create(min=4, max=4), world.create(start=60, end=120, min=4, max=4)
    world.run_due()
    world.delete(future)
    world.run_due()
    assert world.in_freepool() == set()
    assert len(world.cloud.hosts_in(present.reservations[0].id)) == 4


class TestDeletion:
    def test_before_the_start(self, world):
        lease = world.create(start=10)
        world.delete(lease)
        with pytest.raises(NotFound, match=lease.id):
            world.lease(lease)
        assert len(world.create(min=4, max=4).allocations) == 4

    def test_while_active(self, world):
        lease = world.create(min=2, max=2)
        world.run_due()
        world.cloud.boot("server", "host1")
        world.delete(lease)
        assert world.lease(lease).status is LeaseStatus.DELETING
        world.advance(seconds=5)
        with pytest.raises(NotFound):
            world.lease(lease)
        assert world.in_freepool() == {"host1", "host2", "host3", "host4"}
        assert not world.cloud.state.servers

    def test_its_hosts_are_not_given_away_before_they_are_free(self, world):
        lease = world.create(min=4, max=4)
        world.run_due()
        world.cloud.state.undying.add("stubborn")
        world.cloud.boot("stubborn", "host3")
        world.delete(lease)
        world.advance(seconds=30)
        with pytest.raises(NotEnoughResources):
            world.create()
        world.cloud.state.undying.clear()
        world.advance(seconds=30)
        world.create(min=4, max=4)

    def test_twice(self, world):
        lease = world.create()
        world.run_due()
        world.cloud.state.undying.add("stubborn")
        world.cloud.boot("stubborn", "host1")
        world.delete(lease)
        world.advance(seconds=1)
        world.delete(lease)
        assert world.lease(lease).status is LeaseStatus.DELETING

    def test_after_the_end(self, world):
        lease = world.create()
        world.advance(minutes=61)
        world.delete(lease)
        with pytest.raises(NotFound):
            world.delete(lease)


def test_a_manager_that_slept_through_a_lease_catches_up(world):
    late, missed = world.create(start=10, end=600), world.create(start=10, end=20)
    world.clock.move_to(world.in_minutes(30))
    world.restart()
    world.run_due()
    assert world.lease(late).status is LeaseStatus.ACTIVE
    assert world.lease(missed).status is LeaseStatus.TERMINATED
    start = world.lease(missed).event(EventType.START)
    assert start is not None
    assert start.reason == "The lease ended before it could be started."


def test_a_restart_puts_missing_cloud_objects_of_active_leases_back(world):
    lease = world.create()
    world.run_due()
    world.cloud.boot("mine", "host1")
    aggregate = world.cloud.compute.find_aggregate(lease.reservations[0].id)
    world.cloud.state.aggregates.pop(aggregate.id)
    world.restart()
    assert world.reconcile_all() == 1
    world.run_due()
    assert world.cloud.hosts_in(lease.reservations[0].id) == ("host1",)
    assert "mine" in world.cloud.state.servers
    assert world.lease(lease).status is LeaseStatus.ACTIVE


@pytest.mark.parametrize("failure", [CloudRefused, CloudUnavailable])
def test_a_lease_is_ended_while_keystone_does_not_tell_of_its_trust(failure: type[BlazarError]) -> None:
    world = World()
    lease = world.create(before_end="snapshot")
    world.run_due()

    def silent(call: str) -> None:
        if call == "is_trust_valid":
            raise failure(service="Keystone", reason="it does not tell")

    world.cloud.before = silent
    ended = world.update(lease, end=NOW)
    assert (ended.interval.end, ended.trust_id) == (world.in_minutes(1), lease.trust_id)
    assert lease.trust_id is not None
