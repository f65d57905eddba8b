"""Reserved segments: what users get, what they are told when they can't, and what they may do to the networks
meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.errors import CantUpdateParameter, MalformedParameter
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.kinds.network.errors import (
    InvalidSegments,
    NetworkSegmentAlreadyRegistered,
    NetworkSegmentInUse,
    NetworkSegmentNotFound,
    NetworkSegmentReserved,
    NotEnoughNetworkSegments,
)
from blazar.kinds.network.names import NetworkType
from blazar.kinds.network.segments import SegmentRange
from blazar.service.commands import AddedReservation, ReservationChange, ReservationsChange, UpdateLease
from blazar.service.pages import ResourcePage
from blazar.service.ports import NetworkPort, Segment
from blazar.service.ports.kind import Work

from .compared import Compared
from .world import DEMO, World, networks

ADDED = "5e1f0000-0000-4000-8000-000000000001"
PORTS = ("compute:nova", "", "network:router_interface")


@pytest.fixture
def world() -> World:
    world = World(hosts=1)
    world.register_segments()
    return world


def active(world, minutes=60, **fields):
    lease = world.reserve(networks(**fields), end=minutes)
    world.advance(seconds=5)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return world.lease(lease)


def only(lease):
    (reservation,) = lease.reservations
    return reservation


def there(world):
    """The networks on VLANs, by their number."""
    segments = ((each.segment, each) for each in world.cloud.state.networks.values())
    return {segment.segmentation_id: each for segment, each in segments if segment}


def attach(world, network_id, *owners):
    for owner in owners:
        made = NetworkPort(f"port-{world.cloud.state.next_id()}", network_id, owner, "device")
        world.cloud.state.ports[made.id] = made


def registered(world):
    return world.network_segments.list(ResourcePage(100))


class TestLife:
    def test_a_network_is_there_for_the_time_of_the_lease(self, world):
        lease = world.reserve(networks(), start=10, end=60)
        world.advance(minutes=9)
        assert not there(world)
        world.advance(minutes=2)
        reservation = only(world.lease(lease))
        assert reservation.status is ReservationStatus.ACTIVE
        (made,) = there(world).values()
        mark = f"reservation:{reservation.id}"
        assert (made.project_id, made.name, made.tags) == ("demo", lease.name, {"blazar", mark})
        assert world.kinds["network"].render(reservation)["network_ids"] == [made.id]
        world.advance(minutes=50)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not there(world)

    def test_several_have_the_numbers_of_their_segments(self, world):
        active(world, amount=3, network_name="lab")
        assert {number: each.name for number, each in there(world).items()} == {
            number: f"lab-{number}" for number in there(world)
        }
        assert len(there(world)) == 3

    def test_all_that_is_attached_goes_at_the_end(self, world):
        lease = active(world, amount=2)
        for made in there(world).values():
            attach(world, made.id, *PORTS)
        attach(world, "another", *PORTS)
        world.delete(lease)
        world.advance(seconds=5)
        assert not there(world)
        assert {each.network_id for each in world.cloud.state.ports.values()} == {"another"}

    def test_what_keeps_a_network_is_told_and_tried_again(self, world):
        """A port that is neither a user's nor an interface, on one network of two: the other one goes."""
        lease = active(world, amount=2)
        first, second = there(world).values()
        attach(world, first.id, "network:floatingip")
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATING
        assert list(there(world).values()) == [first]
        (event,) = (each for each in world.lease(lease).events if each.is_open)
        assert "Unable to complete operation on network" in event.reason
        assert second.id not in event.reason
        world.cloud.state.ports.clear()
        world.advance(seconds=40)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not there(world)

    def test_an_update_before_the_start_changes_everything(self, world):
        lease = world.reserve(networks(), start=10, end=60)
        change = {"amount": 2, "network_name": "other", "network_type": "vlan"}
        world.update(lease, reservations=(ReservationChange(only(lease).id, change),))
        world.advance(minutes=11)
        assert sorted(each.name for each in there(world).values()) == [
            f"other-{n}" for n in sorted(there(world))
        ]

    def test_an_active_reservation_gets_more_and_keeps_what_it_has(self, world):
        lease = active(world, amount=1)
        before = there(world)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 3}),))
        world.advance(seconds=5)
        assert before.items() <= there(world).items()
        assert len(there(world)) == 3

    @pytest.mark.parametrize(
        "change",
        [{"amount": 1}, {"network_name": "x"}, {"physical_network": "physnet1"}, {"network_type": "vlan"}],
    )
    def test_an_active_reservation_stays_as_it_is(self, world, change):
        lease = active(world, amount=2)
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, change),))

    def test_a_lease_is_prolonged(self, world):
        lease = active(world, minutes=30)
        world.update(lease, end=world.in_minutes(60))
        world.advance(minutes=45)
        assert len(there(world)) == 1

    def test_one_is_added_to_an_active_lease_and_removed_from_it(self, world):
        lease = active(world)
        (first,) = there(world).values()
        added = ReservationsChange(added=(AddedReservation(ADDED, networks()),))
        world.leases.update(lease.id, UpdateLease(), DEMO, membership=added)
        world.advance(seconds=5)
        assert len(there(world)) == 2
        removed = ReservationsChange(removed=(only(lease).id,))
        world.leases.update(lease.id, UpdateLease(), DEMO, membership=removed)
        world.advance(seconds=5)
        (second,) = there(world).values()
        assert second.id != first.id


class TestUsersMeanwhile:
    def test_a_network_that_its_user_has_changed_is_removed(self, world):
        lease = active(world)
        (made,) = there(world).values()
        world.cloud.state.networks[made.id] = replace(made, name="mine", description="", tags=frozenset())
        world.delete(lease)
        world.advance(seconds=5)
        assert not there(world)

    def test_a_network_that_its_user_has_deleted_stays_away(self, world):
        lease = active(world)
        (made,) = there(world).values()
        world.cloud.network.delete_network(made.id)
        world.update(lease, end=world.in_minutes(120))
        world.advance(minutes=70)
        assert not there(world)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"amount": 2}),))
        world.advance(seconds=5)
        assert len(there(world)) == 2, "what changes the reservation makes it anew"
        world.advance(minutes=60)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not there(world)

    def test_a_network_on_the_segment_that_is_another_s_is_left_alone(self, world):
        lease = world.reserve(networks(amount=4), start=10, end=60)
        other = world.cloud.network.create_network(Segment("vlan", "physnet1", 103), "x", "alt", "")
        world.advance(minutes=11)
        failed = world.lease(lease)
        assert failed.status is LeaseStatus.ERROR
        assert f"network {other.id} is on segment vlan 103 of physnet1" in failed.status_reason
        assert list(there(world).values()) == [other]

    def test_what_is_used(self, world):
        work_of = world.kinds["network"]
        active(world, amount=2)
        first, _ = there(world).values()
        attach(world, first.id, "network:dhcp")
        assert used(world, work_of) == 0
        attach(world, first.id, *PORTS)
        assert used(world, work_of) == 1


def used(world, kind):
    (lease,) = world.leases.list(None)
    return kind.used(Work(lease, only(lease), {}), world.cloud)


class TestRefusals:
    def test_of_more_than_are_free(self, world):
        world.reserve(networks(amount=3), end=60)
        with pytest.raises(NotEnoughNetworkSegments) as raised:
            world.reserve(networks(amount=2), start=30, end=90)
        assert raised.value.message == (
            "Not enough network segments available: 4 network segments match, 1 of them is free; "
            "first possible start 2030-01-01 09:00."
        )

    def test_of_a_type_or_physical_network_without_segments(self, world):
        for nothing in ({"network_type": "vxlan"}, {"physical_network": "physnet2"}):
            with pytest.raises(NotEnoughNetworkSegments, match="no network segment matches"):
                world.reserve(networks(**nothing))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"amount": 0},
            {"amount": "many"},
            {"amount": 1001},
            {"network_type": "flat"},
            {"network_type": ["vlan"]},
            {"physical_network": 7},
            {"physical_network": "x" * 65},
            {"network_name": "a\nb"},
            {"network_name": "x" * 201},
        ],
    )
    def test_of_what_is_malformed(self, world, wrong):
        with pytest.raises(MalformedParameter):
            world.reserve(networks(**wrong))

    def test_a_quota_counts_segments(self, world):
        kind = world.kinds["network"]
        assert kind.counted(only(world.reserve(networks(amount=3)))) == {"network_segments": 3}


class TestRegistration:
    def test_a_range_is_registered_once(self, world):
        assert sorted(each.name for each in registered(world)) == [
            f"vlan {number} of physnet1" for number in range(101, 105)
        ]
        overlapping = SegmentRange(NetworkType.VLAN, "physnet1", 104, 106)
        with pytest.raises(NetworkSegmentAlreadyRegistered, match="none was: vlan 104 of physnet1"):
            world.network_segments.register(overlapping)
        assert len(registered(world)) == 4
        world.network_segments.register(SegmentRange(NetworkType.VLAN, "physnet2", 104, 104))
        world.network_segments.register(SegmentRange(NetworkType.VXLAN, None, 104, 104))
        assert len(registered(world)) == 6

    def test_a_segment_with_a_network_is_not_registered(self, world):
        made = world.cloud.network.create_network(Segment("vlan", "physnet1", 202), "x", "alt", "")
        with pytest.raises(NetworkSegmentInUse, match=f"vlan 202 of physnet1 .network {made.id}"):
            world.network_segments.register(SegmentRange(NetworkType.VLAN, "physnet1", 201, 203))
        world.network_segments.register(SegmentRange(NetworkType.VLAN, "physnet1", 203, 204))

    @pytest.mark.parametrize(
        "wrong",
        [
            SegmentRange(NetworkType.VLAN, None, 1, 1),
            SegmentRange(NetworkType.VXLAN, "physnet1", 1, 1),
            SegmentRange(NetworkType.VLAN, "physnet1", 4000, 4095),
            SegmentRange(NetworkType.VLAN, "physnet1", 5, 4),
            SegmentRange(NetworkType.VXLAN, None, 1, 1001),
        ],
    )
    def test_of_what_is_no_range(self, world, wrong):
        with pytest.raises(InvalidSegments):
            world.network_segments.register(wrong)

    def test_a_reserved_segment_stays(self, world):
        lease = world.reserve(networks(amount=4), end=60)
        first = registered(world)[0]
        with pytest.raises(NetworkSegmentReserved):
            world.network_segments.unregister(first.id)
        world.delete(lease)
        world.network_segments.unregister(first.id)
        assert len(registered(world)) == 3
        volume_type = world.register_volumes()
        for call in (world.network_segments.get, world.network_segments.unregister):
            with pytest.raises(NetworkSegmentNotFound):
                call(first.id)
            with pytest.raises(NetworkSegmentNotFound):
                call(volume_type.id)


class TestComparison:
    def test_what_is_missing_is_made_anew(self):
        world = Compared(hosts=1)
        world.register_segments()
        lease = active(world, amount=2)
        assert list(world.compare()) == []
        first, second = there(world)
        world.cloud.network.delete_network(there(world)[first].id)
        world.cloud.network.set_network_tags(there(world)[second].id, ["mine"])
        found = {each.difference.subject for each in world.compare()}
        assert found == {
            f"network on vlan {first} of physnet1",
            f"tags of network on vlan {second} of physnet1",
        }
        list(world.repair())
        world.advance(seconds=5)
        assert list(world.compare()) == []
        assert there(world)[second].tags == {"blazar", "mine", f"reservation:{only(lease).id}"}

    def test_what_no_lease_has_is_removed(self):
        world = Compared(hosts=1)
        world.register_segments()
        mark = "reservation:5e1f0000-0000-4000-8000-000000000000"
        network = world.cloud.network
        for number, text in ((101, mark), (102, "reservation:mine"), (300, mark)):
            made = network.create_network(Segment("vlan", "physnet1", number), "x", "demo", text)
            attach(world, made.id, *PORTS)
        world.advance(minutes=10)
        assert len(list(world.compare())) == 1
        world.advance(minutes=10)
        list(world.repair())
        assert set(there(world)) == {102, 300}
