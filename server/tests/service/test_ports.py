"""Reserved ports: what users get, what they are told when they can't, and what others may do to the quota
meanwhile."""

from __future__ import annotations

import pytest

from blazar.domain.errors import (
    CantUpdateParameter,
    CloudRefused,
    InvalidInput,
    MalformedParameter,
    MissingParameter,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.port.errors import NotEnoughPorts, PortPoolNotFound, PortPoolReserved
from blazar.service.commands import (
    ReservationChange,
    ReservationsChange,
    SplitLease,
    SplitReservation,
    UpdateLease,
)
from blazar.service.ports import NetworkPort

from .compared import Compared
from .test_utilization import known, look
from .world import ALT, DEMO, World, ports


@pytest.fixture
def world() -> World:
    world = World(hosts=1)
    world.register_ports()
    limit(world, 10)
    return world


def limit(world, number, project="demo"):
    world.cloud.state.port_quotas[project] = number


def quota(world, project="demo"):
    return world.cloud.network.port_limit(project)


def make_ports(world, count=1, **fields):
    """Ports of the project's, as its user makes them now, one after the other."""
    made = []
    for _ in range(count):
        world.clock.pause(1)
        port_id = f"p{world.cloud.state.next_id()}"
        told = {"project_id": "demo", "created_at": world.clock.now(), **fields}
        world.cloud.state.ports[port_id] = NetworkPort(port_id, "net", **told)
        made.append(port_id)
    return made


def kept(world):
    return set(world.cloud.state.ports)


def active(world, *args, minutes=60, **fields):
    lease = world.reserve(ports(*args, **fields), end=minutes)
    world.advance(seconds=5)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return world.lease(lease)


def ended(world, lease, seconds=10):
    world.delete(lease)
    world.advance(seconds=seconds)
    assert lease.id not in {each.id for each in world.leases.list(None)}


def only(lease):
    (reservation,) = lease.reservations
    return reservation


class TestLife:
    def test_the_quota_is_raised_for_the_time_of_the_lease(self, world):
        lease = world.reserve(ports(20), start=10, end=60)
        world.advance(minutes=9)
        assert quota(world) == 10
        world.advance(minutes=2)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert (quota(world), quota(world, "alt")) == (30, 500)
        world.advance(minutes=50)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert quota(world) == 10

    def test_several_leases_add_up_and_each_takes_its_own_back(self, world):
        first, second = active(world, 20), active(world, 5)
        assert quota(world) == 35
        ended(world, first)
        assert quota(world) == 15
        ended(world, second)
        assert quota(world) == 10

    def test_two_reservations_of_a_lease_add_up(self, world):
        lease = world.reserve(ports(20), ports(5), end=60)
        world.advance(seconds=5)
        assert quota(world) == 35
        removed = ReservationsChange(removed=(lease.reservations[0].id,))
        world.leases.update(lease.id, UpdateLease(), DEMO, membership=removed)
        world.advance(seconds=5)
        assert quota(world) == 15

    def test_an_active_reservation_gets_more_and_no_less(self, world):
        lease = active(world, 20)
        more = ReservationChange(only(lease).id, {"amount": 50})
        world.update(lease, reservations=(more,))
        world.advance(seconds=5)
        assert quota(world) == 60
        assert only(world.lease(lease)).parameters["amount"] == 50
        with pytest.raises(CantUpdateParameter, match="to less"):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 49}),))
        with pytest.raises(NotEnoughPorts):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 1001}),))
        ended(world, lease)
        assert quota(world) == 10

    def test_a_lease_is_split_before_its_start(self, world):
        lease = world.reserve(ports(20), start=10, end=60)
        part = world.leases.split(lease.id, SplitLease("part", (SplitReservation(only(lease).id, 5),)), DEMO)
        assert [only(world.lease(each)).parameters["amount"] for each in (lease, part)] == [15, 5]
        world.advance(minutes=11)
        assert quota(world) == 30
        ended(world, part)
        assert quota(world) == 25

    def test_a_reservation_is_changed_before_its_start(self, world):
        lease = world.reserve(ports(20), start=10, end=60)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 7}),))
        world.advance(minutes=11)
        assert quota(world) == 17


class TestOthers:
    """What operators and other programs do to the quota."""

    def test_what_they_change_meanwhile_stays(self, world):
        first = active(world, 20)
        limit(world, 100)
        second = active(world, 30)
        assert quota(world) == 130
        limit(world, 200)
        ended(world, first)
        ended(world, second)
        assert quota(world) == 150

    def test_what_is_lowered_too_far_ends_at_nothing(self, world):
        lease = active(world, 20)
        limit(world, 5)
        ended(world, lease)
        assert quota(world) == 0

    def test_what_has_no_limit_gets_none(self, world):
        limit(world, -1)
        lease = active(world, 20)
        assert quota(world) == -1
        limit(world, 7)
        ended(world, lease)
        assert quota(world) == 7

    def test_a_limit_that_is_taken_away_stays_away(self, world):
        lease = active(world, 20)
        limit(world, -1)
        ended(world, lease)
        assert quota(world) == -1

    def test_a_quota_that_lacks_what_is_promised_is_found_and_repaired(self):
        world = Compared(hosts=1)
        world.register_ports()
        limit(world, 10)
        active(world, 20)
        active(world, 5)
        assert list(world.compare()) == []
        limit(world, 24)
        found = {(each.difference.subject, each.difference.expected) for each in world.compare()}
        assert found == {("quota port of project demo", "at least 25")}
        list(world.repair())
        world.advance(seconds=5)
        assert quota(world) == 25
        assert list(world.compare()) == []


class TestEnd:
    """What becomes of ports beyond the quota."""

    def test_they_are_kept_and_the_quota_is_lowered_all_the_same(self, world):
        lease = active(world, 20)
        made = make_ports(world, 25)
        ended(world, lease)
        assert kept(world) == {*made}
        assert quota(world) == 10

    def test_a_neutron_that_takes_no_less_than_is_used_is_lowered_as_far_as_that(self, world):
        lease = active(world, 20)
        world.cloud.state.checks_port_quotas = True
        make_ports(world, 25)
        ended(world, lease)
        assert quota(world) == 25

    def test_the_newest_are_deleted_until_the_quota_holds(self, world):
        old = make_ports(world, 4)
        lease = active(world, 20, on_end="delete")
        first, *_ = make_ports(world, 12)
        limit(world, 25)
        ended(world, lease)
        assert quota(world) == 5
        assert kept(world) == {*old, first}

    def test_no_more_than_was_reserved_and_nothing_older_is_deleted(self, world):
        old = make_ports(world, 9)
        lease = active(world, 3, on_end="delete")
        made = make_ports(world, 6)
        limit(world, 1)
        ended(world, lease)
        assert kept(world) == {*old, *made[:3]}

    @pytest.mark.parametrize(
        "fields",
        [{"device_id": "vm", "owner": "compute:nova"}, {"owner": "network:dhcp"}, {"device_id": "x"}],
    )
    def test_what_is_in_use_stays(self, world, fields):
        limit(world, 0)
        lease = active(world, 20, on_end="delete")
        used, free = make_ports(world, 2, **fields), make_ports(world, 2)
        ended(world, lease)
        assert kept(world) == {*used}
        assert not {*free} & kept(world)

    def test_a_port_of_which_neutron_does_not_tell_when_it_was_made_stays(self, world):
        limit(world, 0)
        lease = active(world, 20, on_end="delete")
        made = make_ports(world, created_at=None)
        ended(world, lease)
        assert kept(world) == {*made}

    def test_what_cannot_be_deleted_is_given_up_in_time(self, world):
        limit(world, 0)
        lease = active(world, 20, on_end="delete")
        made = make_ports(world)

        def refuse(call):
            if call == "delete_port":
                raise CloudRefused(service="Neutron", reason="no")

        world.cloud.before = refuse
        world.delete(lease)
        world.advance(minutes=4)
        assert world.lease(lease).status_reason == "ports are being deleted"
        world.advance(minutes=2)
        assert not world.leases.list(None)
        assert kept(world) == {*made}
        assert quota(world) == 0

    def test_nothing_is_deleted_without_a_limit_or_a_start(self, world):
        lease = world.reserve(ports(on_end="delete"), start=10, end=60)
        made = make_ports(world, 20)
        ended(world, lease)
        limit(world, -1)
        lease = active(world, on_end="delete")
        made += make_ports(world, 20)
        ended(world, lease)
        assert kept(world) == {*made}

    def test_it_is_decided_while_the_lease_is_active_too(self, world):
        limit(world, 0)
        lease = active(world)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"on_end": "delete"}),))
        make_ports(world)
        world.advance(seconds=5)
        ended(world, lease)
        assert not kept(world)


class TestUse:
    """How much of a reservation is used."""

    def used(self, world, lease):
        look(world)
        (found,) = known(world, lease)
        return found.used_now, found.units

    def test_what_the_project_has_beyond_its_own_quota_is_used(self, world):
        lease = active(world, 20)
        make_ports(world, 10)
        assert self.used(world, lease) == (0, 20)
        make_ports(world, 3)
        assert self.used(world, lease) == (3, 20)
        make_ports(world, 40)
        assert self.used(world, lease) == (20, 20)

    def test_each_port_is_used_of_one_reservation_only(self, world):
        leases = [active(world, 20), active(world, 5)]
        make_ports(world, 18)
        found = sorted(self.used(world, each) for each in leases)
        assert sum(used for used, _ in found) == 8

    def test_of_ports_without_a_limit_nothing_is_known(self, world):
        limit(world, -1)
        lease = active(world, 20)
        make_ports(world, 3)
        assert self.used(world, lease) == (None, 20)


class TestRequests:
    def test_no_more_is_promised_than_there_is(self, world):
        world.reserve(ports(700), start=10, end=60)
        with pytest.raises(NotEnoughPorts, match="Not enough ports available"):
            world.reserve(ports(301), start=30, end=90, caller=ALT)
        world.reserve(ports(300), start=30, end=90, caller=ALT)
        world.reserve(ports(1000), start=90, end=95)

    def test_what_was_asked_for_is_shown(self, world):
        lease = world.reserve(ports("20"), start=10)
        kind = world.kinds["network:port"]
        assert kind.render(only(lease)) == {"amount": 20, "on_end": "keep"}
        assert kind.counted(only(lease)) == {"ports": 20}
        assert [each.name for each in kind.measures(("PORT",))] == ["ports"]
        assert not kind.measures(())
        assert kind.with_units(kind.asked(only(lease)), 0) == {}
        assert kind.with_units(kind.asked(only(lease)), 3) == {"amount": 3}

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"amount": None}, MissingParameter),
            ({"amount": ""}, MissingParameter),
            ({"amount": 0}, MalformedParameter),
            ({"amount": True}, MalformedParameter),
            ({"amount": "many"}, MalformedParameter),
            ({"amount": 10**9 + 1}, MalformedParameter),
            ({"on_end": "snapshot"}, MalformedParameter),
            ({"on_end": ["delete"]}, MalformedParameter),
        ],
    )
    def test_bad_requests_are_refused(self, world, fields, error):
        with pytest.raises(error) as refused:
            world.reserve(ports(**fields))
        assert isinstance(refused.value, InvalidInput)
        assert not world.leases.list(None)

    def test_without_a_pool_there_are_none(self):
        world = World(hosts=1)
        with pytest.raises(NotEnoughPorts):
            world.reserve(ports(1))


class TestPool:
    def test_it_is_set_and_changed_and_removed(self):
        world = World(hosts=0)
        for call in (world.port_pool.get, world.port_pool.remove):
            with pytest.raises(PortPoolNotFound):
                call()
        made = world.port_pool.set(5)
        assert made.inventory["PORT"].capacity == 5
        assert world.port_pool.set(6).created_at == made.created_at
        assert world.port_pool.get().inventory["PORT"].capacity == 6
        world.port_pool.remove()
        with pytest.raises(PortPoolNotFound):
            world.port_pool.get()

    def test_what_is_promised_can_always_be_had(self, world):
        world.reserve(ports(300), start=10, end=60)
        world.reserve(ports(200), start=60, end=90)
        world.reserve(ports(100), start=30, end=70)
        with pytest.raises(PortPoolReserved, match="400"):
            world.port_pool.set(399)
        with pytest.raises(PortPoolReserved, match="400"):
            world.port_pool.remove()
        world.port_pool.set(400)
        with pytest.raises(NotEnoughPorts):
            world.reserve(ports(1), start=30, end=40)
        world.port_pool.set(401)
        world.reserve(ports(1), start=30, end=40)
