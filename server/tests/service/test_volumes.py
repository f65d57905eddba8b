"""Reserved volumes: what users get, what they are told when they can't, and what others may do to the quota
meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from blazar.domain.errors import (
    BlazarError,
    CantUpdateParameter,
    CloudRefused,
    InvalidInput,
    MalformedParameter,
    MissingParameter,
    NotEnoughResources,
)
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.domain.lease.utilization import units_of
from blazar.kinds.volume.errors import (
    CloudVolumeTypeNotFound,
    NotEnoughVolumeCapacity,
    VolumeTypeAlreadyRegistered,
    VolumeTypeNotFound,
    VolumeTypeReserved,
)
from blazar.kinds.volume.volume_types import OfferedVolumes
from blazar.service.commands import (
    NOW,
    ClaimByWish,
    CreateLease,
    ReservationChange,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.ports import Volume, VolumeType

from .compared import Compared
from .test_utilization import known, look
from .world import ALT, DEMO, FAST, World, volumes

SLOW = VolumeType("slow-id", "slow")


@pytest.fixture
def world() -> World:
    world = World(hosts=1)
    world.register_volumes()
    limit(world, fast=10)
    return world


def limit(world, project="demo", **by_type):
    """Set what a project has of volume types, in GB and in volumes alike."""
    limits = {f"{kind}_{name}": n for name, n in by_type.items() for kind in ("gigabytes", "volumes")}
    world.cloud.state.volume_quotas.setdefault(project, {}).update(limits)


def quota(world, project="demo"):
    """GB and volumes of the type, and of all."""
    found = world.cloud.storage.volume_quota(project)
    return tuple(found[name] for name in ("gigabytes_fast", "volumes_fast", "gigabytes", "volumes"))


def active(world, minutes=60, **fields):
    lease = world.reserve(volumes(**fields), end=minutes)
    world.advance(seconds=5)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return world.lease(lease)


def only(lease):
    (reservation,) = lease.reservations
    return reservation


class TestLife:
    def test_the_quota_is_raised_for_the_time_of_the_lease(self, world):
        lease = world.reserve(volumes(gigabytes=50, volumes=3), start=10, end=60)
        world.advance(minutes=9)
        assert quota(world) == (10, 10, 1000, 10)
        world.advance(minutes=2)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert only(world.lease(lease)).status is ReservationStatus.ACTIVE
        assert quota(world) == (60, 13, 1050, 13)
        assert quota(world, "alt") == (-1, -1, 1000, 10)
        world.advance(minutes=50)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert quota(world) == (10, 10, 1000, 10)

    def test_a_deletion_lowers_it_too(self, world):
        lease = active(world)
        world.delete(lease)
        world.advance(seconds=5)
        assert not world.leases.list(None)
        assert quota(world) == (10, 10, 1000, 10)

    def test_several_leases_add_up_and_each_takes_its_own_back(self, world):
        first, second = active(world, gigabytes=50), active(world, minutes=90, gigabytes=30, volumes=2)
        assert quota(world) == (90, 13, 1080, 13)
        world.delete(first)
        world.advance(seconds=5)
        assert quota(world) == (40, 12, 1030, 12)
        world.delete(second)
        world.advance(seconds=5)
        assert quota(world) == (10, 10, 1000, 10)

    def test_two_reservations_of_a_lease_add_up(self, world):
        lease = world.reserve(volumes(gigabytes=50), volumes(gigabytes=20), end=60)
        world.advance(seconds=5)
        assert quota(world) == (80, 12, 1070, 12)
        removed = ReservationsChange(removed=(lease.reservations[0].id,))
        world.leases.update(lease.id, UpdateLease(), DEMO, membership=removed)
        world.advance(seconds=5)
        assert quota(world) == (30, 11, 1020, 11)

    def test_types_share_the_limits_of_all(self, world):
        world.cloud.state.volume_types.append(SLOW)
        world.volume_types.register("slow", OfferedVolumes(100, 100))
        limit(world, slow=0)
        fast, _ = active(world), active(world, volume_type="slow", gigabytes=20)
        assert quota(world) == (60, 11, 1070, 12)
        assert world.cloud.storage.volume_quota("demo")["gigabytes_slow"] == 20
        world.delete(fast)
        world.advance(seconds=5)
        assert quota(world) == (10, 10, 1020, 11)

    def test_an_active_reservation_of_the_version_before_a_repair_stays(self, world):
        active(world)
        before = len(world.cloud.calls)
        world.reconcile_all()
        assert "set_volume_quota" not in world.cloud.calls[before:]
        assert quota(world) == (60, 11, 1050, 11)


class TestOthers:
    """What operators and other programs do to the quota."""

    def test_what_they_change_meanwhile_stays(self, world):
        first = active(world)
        limit(world, fast=100)
        second = active(world, gigabytes=30)
        assert quota(world)[:2] == (130, 101)
        limit(world, fast=200)
        for lease in (first, second):
            world.delete(lease)
        world.advance(seconds=5)
        assert quota(world)[:2] == (120, 198)

    def test_what_is_lowered_too_far_ends_at_nothing(self, world):
        lease = active(world)
        limit(world, fast=20)
        world.delete(lease)
        world.advance(seconds=5)
        assert quota(world)[:2] == (0, 19)

    def test_what_has_no_limit_gets_none(self, world):
        limit(world, fast=-1)
        lease = active(world)
        assert quota(world) == (-1, -1, 1050, 11)
        limit(world, fast=7)
        world.delete(lease)
        world.advance(seconds=5)
        assert quota(world) == (7, 7, 1000, 10)

    def test_a_limit_that_is_taken_away_stays_away(self, world):
        lease = active(world)
        limit(world, fast=-1)
        world.delete(lease)
        world.advance(seconds=5)
        assert quota(world)[:2] == (-1, -1)

    def test_a_type_may_get_another_name(self, world):
        lease = active(world)
        state = world.cloud.state
        state.volume_types[:] = [VolumeType(FAST.id, "faster")]
        old = state.volume_quotas["demo"]
        state.volume_quotas["demo"] = {name.replace("fast", "faster"): n for name, n in old.items()}
        world.delete(lease)
        world.advance(seconds=5)
        assert world.cloud.storage.volume_quota("demo")["gigabytes_faster"] == 10

    def test_a_type_that_is_gone_is_told_and_ends_all_the_same(self, world):
        lease, later = active(world), world.reserve(volumes(), start=10, end=60)
        world.cloud.state.volume_types.clear()
        world.cloud.state.volume_quotas["demo"] = {"gigabytes": 1050, "volumes": 11}
        world.advance(minutes=11)
        assert world.lease(later).status is LeaseStatus.ERROR
        assert world.lease(later).status_reason == "Volume type fast-id is gone."
        world.advance(minutes=50)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert world.lease(later).status is LeaseStatus.TERMINATED
        found = world.cloud.storage.volume_quota("demo")
        assert (found["gigabytes"], found["volumes"]) == (1000, 10)

    def test_a_quota_that_lacks_what_is_promised_is_found_and_repaired(self):
        world = Compared(hosts=1)
        world.register_volumes()
        limit(world, fast=10)
        active(world)
        active(world, gigabytes=30)
        assert list(world.compare()) == []
        limit(world, fast=70)
        found = {(each.difference.subject, each.difference.expected) for each in world.compare()}
        assert found == {("quota gigabytes_fast of project demo", "at least 80")}
        list(world.repair())
        world.advance(seconds=5)
        assert quota(world)[:2] == (80, 70)
        assert list(world.compare()) == []


def make_volume(world, gigabytes, status="available", name="fast"):
    """A volume of the project's, as its user makes it now."""
    world.clock.pause(1)
    made = Volume(f"v{world.cloud.state.next_id()}", name, gigabytes, status, world.clock.now())
    world.cloud.state.volumes.setdefault("demo", {})[made.id] = made
    return made.id


def kept(world):
    return set(world.cloud.state.volumes["demo"])


class TestEnd:
    """What becomes of volumes beyond the quota."""

    def ended(self, world, lease, seconds=10):
        world.delete(lease)
        world.advance(seconds=seconds)
        assert not world.leases.list(None)

    def ended_beside(self, world, lease):
        world.delete(lease)
        world.advance(seconds=10)
        assert lease.id not in {each.id for each in world.leases.list(None)}

    def test_they_are_kept_unless_it_is_asked_for(self, world):
        lease = active(world)
        volume = make_volume(world, 40)
        self.ended(world, lease)
        assert kept(world) == {volume}

    def test_what_is_kept_is_in_the_quota_for_cinder_takes_no_less(self, world):
        lease = active(world, gigabytes=50, volumes=3)
        make_volume(world, 40)
        self.ended(world, lease)
        assert quota(world) == (40, 10, 1000, 10)
        lease = active(world, gigabytes=20, volumes=2)
        assert quota(world) == (60, 12, 1020, 12)
        world.cloud.state.volumes["demo"].clear()
        self.ended(world, lease)
        assert quota(world) == (40, 10, 1000, 10)

    def test_a_volume_that_is_made_meanwhile_is_no_error(self, world):
        ends = active(world, gigabytes=50, volumes=5)
        make_volume(world, 20)
        left = [3]

        def meanwhile(call):
            if call == "set_volume_quota" and left[0]:
                left[0] -= 1
                make_volume(world, 5)

        world.cloud.before = meanwhile
        starts = world.reserve(volumes(gigabytes=4), end=60)
        self.ended_beside(world, ends)
        assert world.lease(starts).status is LeaseStatus.ACTIVE
        assert quota(world) == (35, 11, 1004, 11)

    def test_the_newest_are_deleted_until_the_quota_holds(self, world):
        old = make_volume(world, 10)
        lease = active(world, gigabytes=50, volumes=5, on_end="delete")
        first, second, third = (make_volume(world, size) for size in (8, 12, 30))
        other = make_volume(world, 99, name="standard")
        limit(world, fast=68)
        self.ended(world, lease)
        assert quota(world)[0] == 18
        assert kept(world) == {old, first, other}
        assert {second, third} & kept(world) == set()

    def test_no_more_than_was_reserved_and_nothing_older_is_deleted(self, world):
        old = make_volume(world, 30)
        lease = active(world, gigabytes=50, volumes=2, on_end="delete")
        limit(world, fast=1)
        made = [make_volume(world, size) for size in (10, 45, 5, 5, 5)]
        self.ended(world, lease)
        assert kept(world) == {old, *made[:3]}

    def test_what_is_used_stays_and_does_not_keep_the_lease_from_its_end(self, world):
        limit(world, fast=0)
        lease = active(world, gigabytes=50, volumes=2, on_end="delete")
        used, free = make_volume(world, 20, status="in-use"), make_volume(world, 10)
        self.ended(world, lease)
        assert (used in kept(world), free in kept(world)) == (True, False)

    def test_what_cannot_be_deleted_is_given_up_in_time(self, world):
        limit(world, fast=0)
        lease = active(world, on_end="delete")
        volume = make_volume(world, 20)

        def refuse(call):
            if call == "delete_volume":
                raise CloudRefused(service="Cinder", reason="it has snapshots")

        world.cloud.before = refuse
        world.delete(lease)
        world.advance(minutes=4)
        assert world.lease(lease).status_reason == "volumes are being deleted"
        world.advance(minutes=2)
        assert not world.leases.list(None)
        assert kept(world) == {volume}
        assert quota(world)[:2] == (20, 1)

    def test_nothing_is_deleted_without_a_limit_or_a_start(self, world):
        lease = world.reserve(volumes(on_end="delete"), start=10, end=60)
        volume = make_volume(world, 20)
        self.ended(world, lease)
        limit(world, fast=-1)
        lease = active(world, on_end="delete")
        more = make_volume(world, 50)
        self.ended(world, lease)
        assert kept(world) == {volume, more}

    def test_it_is_decided_while_the_lease_is_active_too(self, world):
        limit(world, fast=0)
        lease = active(world)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"on_end": "delete"}),))
        make_volume(world, 20)
        world.advance(seconds=5)
        self.ended(world, lease)
        assert not kept(world)


class TestUse:
    """How much of a reservation is used."""

    def used(self, world, lease):
        """Of gigabytes and of volumes, what is used and what is left; and of the one unit."""
        look(world)
        (found,) = known(world, lease)
        told = found.quantities_now
        names = ("volume_gigabytes", "volumes")
        return *((told[each].used, told[each].left) for each in names if each in told), found.used_now

    def test_what_the_project_has_beyond_its_own_quota_is_used(self, world):
        lease = active(world, gigabytes=50, volumes=3)
        make_volume(world, 10)
        assert self.used(world, lease) == ((0, 50), (0, 3), 0)
        make_volume(world, 30)
        assert self.used(world, lease) == ((30, 20), (0, 3), 1)
        for _ in range(10):
            make_volume(world, 5)
        assert self.used(world, lease) == ((50, 0), (2, 1), 1)
        assert units_of(only(world.lease(lease))) == 1

    def test_each_gigabyte_is_used_of_one_reservation_only(self, world):
        leases = [active(world, gigabytes=50), active(world, gigabytes=20)]
        make_volume(world, 40)
        found = [self.used(world, each)[0] for each in leases]
        assert sum(used for used, _ in found) == 30

    def test_of_a_type_without_limits_those_of_all_volumes_tell(self, world):
        limit(world, fast=-1)
        world.cloud.state.volume_quotas["demo"] |= {"gigabytes": 10, "volumes": -1}
        lease = active(world, gigabytes=50)
        make_volume(world, 30)
        assert self.used(world, lease) == ((20, 30), 1)
        world.cloud.state.volume_quotas["demo"] |= {"gigabytes": -1}
        assert self.used(world, lease) == (None,)

    def test_what_is_not_used_in_time_is_released(self, world):
        wish = ClaimByWish(timedelta(minutes=30))
        leases = [
            world.leases.create(
                CreateLease("ours", NOW, world.in_minutes(60), None, (volumes(gigabytes=each),)),
                DEMO,
                claim_by=wish,
            )
            for each in (50, 20)
        ]
        world.advance(seconds=5)
        make_volume(world, 10)
        world.advance(minutes=40)
        assert {world.lease(each).status for each in leases} == {LeaseStatus.TERMINATED}
        assert quota(world)[0] == 10


class TestRequests:
    def test_no_more_is_promised_than_there_is(self, world):
        world.reserve(volumes(gigabytes=700), start=10, end=60)
        with pytest.raises(NotEnoughVolumeCapacity, match="Not enough volume types available"):
            world.reserve(volumes(gigabytes=301), start=30, end=90, caller=ALT)
        with pytest.raises(NotEnoughResources):
            world.reserve(volumes(gigabytes=1, volumes=100), start=30, end=90, caller=ALT)
        world.reserve(volumes(gigabytes=300, volumes=99), start=30, end=90, caller=ALT)
        world.reserve(volumes(gigabytes=1000), start=90, end=95)

    def test_a_type_is_named_by_name_or_id_and_shown_by_id(self, world):
        for reference in (FAST.name, FAST.id):
            lease = world.reserve(volumes(volume_type=reference, volumes="2"), start=10)
            assert world.kinds["storage:volume"].render(only(lease)) == {
                "volume_type": FAST.id,
                "gigabytes": 50,
                "volumes": 2,
                "on_end": "keep",
            }

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"volume_type": "nope"}, CloudVolumeTypeNotFound),
            ({"volume_type": ["fast"]}, MalformedParameter),
            ({"volume_type": "x" * 256}, MalformedParameter),
            ({"volume_type": None}, MissingParameter),
            ({"gigabytes": ""}, MissingParameter),
            ({"gigabytes": 0}, MalformedParameter),
            ({"gigabytes": True}, MalformedParameter),
            ({"volumes": "many"}, MalformedParameter),
            ({"on_end": "snapshot"}, MalformedParameter),
            ({"on_end": ["delete"]}, MalformedParameter),
        ],
    )
    def test_bad_requests_are_refused(self, world, fields, error):
        with pytest.raises(error) as refused:
            world.reserve(volumes(**fields))
        assert isinstance(refused.value, InvalidInput)
        assert not world.leases.list(None)

    def test_a_type_that_is_not_registered_has_nothing(self, world):
        world.cloud.state.volume_types.append(SLOW)
        with pytest.raises(NotEnoughVolumeCapacity):
            world.reserve(volumes(volume_type="slow"))

    def test_the_size_is_changed_before_the_start_only(self, world):
        lease = world.reserve(volumes(), start=10, end=60)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"gigabytes": 1000}),))
        with pytest.raises(NotEnoughVolumeCapacity):
            world.reserve(volumes(gigabytes=1), start=10, end=60, caller=ALT)
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"volume_type": "slow"}),))
        world.advance(minutes=11)
        assert quota(world)[0] == 1010
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"gigabytes": 1}),))
        world.update(lease, end=NOW)
        world.advance(minutes=2)
        assert quota(world)[0] == 10

    def test_capacity_is_told_in_gigabytes_and_volumes(self, world):
        lease = world.reserve(volumes(gigabytes=300, volumes=4))
        kind = world.kinds["storage:volume"]
        assert kind.counted(only(lease)) == {"volume_gigabytes": 300, "volumes": 4}
        assert [each.name for each in kind.measures(("VOLUME", "VOLUME_GB"))] == list(kind.quantities)
        assert not kind.measures(())


class TestRegistration:
    def test_a_type_is_registered_once(self, world):
        with pytest.raises(VolumeTypeAlreadyRegistered):
            world.register_volumes()
        with pytest.raises(CloudVolumeTypeNotFound):
            world.volume_types.register("nope", OfferedVolumes(1, 1))
        assert [each.name for each in world.volume_types.list()] == ["fast"]

    def test_what_is_promised_can_always_be_had(self, world):
        world.reserve(volumes(gigabytes=300, volumes=2), start=10, end=60)
        world.reserve(volumes(gigabytes=200, volumes=9), start=60, end=90)
        world.reserve(volumes(gigabytes=100, volumes=1), start=30, end=70)
        for refused in (OfferedVolumes(399, 100), OfferedVolumes(1000, 9)):
            with pytest.raises(VolumeTypeReserved, match="400 GB; volumes: 10"):
                world.volume_types.change(FAST.id, refused)
        changed = world.volume_types.change(FAST.id, OfferedVolumes(400, 10))
        assert world.volume_types.get(FAST.id) == changed
        with pytest.raises(NotEnoughVolumeCapacity):
            world.reserve(volumes(gigabytes=1), start=30, end=40)
        world.volume_types.change(FAST.id, OfferedVolumes(500, 11))
        world.reserve(volumes(gigabytes=100), start=30, end=40)

    def test_a_type_is_removed_when_nothing_is_reserved(self, world):
        lease = world.reserve(volumes())
        with pytest.raises(VolumeTypeReserved, match="cannot be removed"):
            world.volume_types.unregister(FAST.id)
        world.delete(lease)
        world.advance(seconds=5)
        world.volume_types.unregister(FAST.id)
        for call in (world.volume_types.get, world.volume_types.unregister):
            with pytest.raises(VolumeTypeNotFound):
                call(FAST.id)
        with pytest.raises(BlazarError):
            world.volume_types.change(FAST.id, OfferedVolumes(1, 1))

    def test_others_have_their_own_quota(self, world):
        limit(world, "alt", fast=0)
        active(world)
        world.reserve(volumes(gigabytes=20), caller=ALT)
        world.advance(seconds=5)
        assert (quota(world)[0], quota(world, "alt")[0]) == (60, 20)
        assert DEMO.project_id != ALT.project_id
