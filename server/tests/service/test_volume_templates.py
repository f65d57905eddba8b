"""Volumes that are made at the start of their lease: what users get, what they may do with them meanwhile,
and what becomes of them at the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import (
    CantUpdateParameter,
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    MalformedParameter,
    MissingParameter,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.volume.errors import VolumeSourceNotFound, VolumesTooSmall
from blazar.service.commands import ReservationChange
from blazar.service.ports import Image, VolumeSnapshot

from .test_volumes import limit, make_volume, only, quota
from .world import ALT, World, volumes

IMAGE = "44444444-4444-4444-8444-444444444444"
SNAPSHOT = "66666666-6666-4666-8666-666666666666"
WEB = "11111111-1111-4111-8111-111111111111"
DB = "22222222-2222-4222-8222-222222222222"
ABSENT = "99999999-9999-4999-8999-999999999999"


@pytest.fixture
def world() -> World:
    return with_types(World(hosts=1))


def with_types(world: World) -> World:
    world.register_volumes()
    limit(world, fast=0)
    world.cloud.state.public_images[IMAGE] = Image(IMAGE, "dummy", "active")
    for server in (WEB, DB):
        world.cloud.boot(server, "host1")
    return world


def made(**fields):
    return volumes(**{"gigabytes": 100, "volumes": 2, "volume_name": "data", **fields})


def theirs(world, project="demo"):
    """The project's volumes by name."""
    found = world.cloud.state.volumes.get(project, {}).values()
    return {each.name: each for each in found}


def change(world, volume, **changes):
    world.cloud.state.volumes["demo"][volume.id] = replace(volume, **changes)


def as_user(world):
    return world.cloud.as_user("demo-token")


def shown(world, lease):
    return world.kinds["storage:volume"].render_later(only(world.lease(lease)))


def listed(world, lease):
    return [(each["id"], each["status"]) for each in shown(world, lease)["made_volumes"]]


def active(world, **fields):
    lease = world.reserve(made(**fields), end=60)
    world.advance(seconds=30)
    assert world.lease(lease).status is LeaseStatus.ACTIVE, world.lease(lease).status_reason
    return lease


def ended(world, lease, seconds=30):
    world.delete(lease)
    world.advance(seconds=seconds)
    assert not world.leases.list(None)
    return theirs(world)


def asked(world, *calls):
    return [each for each in world.cloud.calls if each in calls]


class TestStart:
    def test_they_are_made_at_the_start_in_the_user_s_project(self, world):
        lease = world.reserve(made(), start=10, end=60)
        world.advance(minutes=9)
        assert not theirs(world)
        assert listed(world, lease) == []
        world.advance(minutes=2)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert [(each.name, each.gigabytes) for each in theirs(world).values()] == [
            ("data-1", 50),
            ("data-2", 50),
        ]
        assert [each.metadata for each in theirs(world).values()] == [
            {"blazar_reservation_id": only(lease).id, "blazar_index": number} for number in ("1", "2")
        ]
        assert quota(world)[:2] == (100, 2)
        assert listed(world, lease) == [(each.id, "available") for each in theirs(world).values()]

    def test_one_has_the_name_itself(self, world):
        active(world, volumes=1)
        assert [(each.name, each.gigabytes) for each in theirs(world).values()] == [("data", 100)]

    def test_their_size_is_chosen(self, world):
        lease = active(world, volume_size=30)
        assert {each.gigabytes for each in theirs(world).values()} == {30}
        assert quota(world)[:2] == (100, 2)
        assert shown(world, lease)["volume_size"] == 30

    def test_what_they_are_made_from_is_told_to_cinder(self, world):
        limit(world, fast=1)
        snapshot = VolumeSnapshot(SNAPSHOT, make_volume(world, 0), 50, "available")
        world.cloud.state.volume_snapshots[SNAPSHOT] = snapshot
        active(world, volumes=1, image_id=IMAGE)
        active(world, volumes=1, snapshot_id=SNAPSHOT)
        sources = [(each.image_id, each.snapshot_id) for each in world.cloud.state.new_volumes.values()]
        assert sources == [(IMAGE, None), (None, SNAPSHOT)]

    def test_a_start_waits_until_they_are_available(self, world):
        world.cloud.state.slow_volumes = True
        lease = world.reserve(made(), end=60)
        world.advance(seconds=60)
        waiting = world.lease(lease)
        assert waiting.status is LeaseStatus.STARTING
        assert waiting.status_reason == "volume data-1 is being made"
        assert {status for _, status in listed(world, lease)} == {"creating"}
        world.cloud.settle_volumes()
        world.advance(seconds=60)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert asked(world, "create_volume") == ["create_volume"] * 2

    def test_one_that_fails_is_made_again(self, world):
        world.cloud.state.volume_failures = ["no backend has room"] * 3
        lease = active(world)
        assert {each.status for each in theirs(world).values()} == {"available"}
        assert len(theirs(world)) == len(listed(world, lease)) == 2
        assert len(world.cloud.state.new_volumes) == 5

    def test_one_that_fails_again_and_again_is_the_reason_of_an_error(self, world):
        world.cloud.state.volume_failures = ["no backend has room"] * 99
        lease = world.reserve(made(), end=60)
        world.advance(minutes=10)
        failed = world.lease(lease)
        assert failed.status is LeaseStatus.ERROR
        assert failed.status_reason == "volume data-1 was not made: no backend has room"
        assert asked(world, "create_volume") == ["create_volume"] * 6
        assert not theirs(world)
        assert not ended(world, lease)
        assert quota(world) == (0, 0, 1000, 10)

    @pytest.mark.parametrize("is_refused", [True, False])
    def test_a_failure_counts_also_where_cinder_does_not_say_why(self, world, is_refused):
        def refuse(call):
            if call == "volume_fault" and is_refused:
                raise CloudRefused(service="Cinder", reason="not for you")

        world.cloud.state.volume_failures = [""] * 2
        world.cloud.before = refuse
        lease = world.reserve(made(), end=60)
        while "was not made" not in (world.lease(lease).status_reason or ""):
            world.advance(seconds=0.1)
        reason = world.lease(lease).status_reason
        assert ("not for you" if is_refused else "Cinder does not say why") in reason
        world.advance(minutes=1)
        assert world.lease(lease).status is LeaseStatus.ACTIVE

    def test_what_cinder_refuses_is_told(self, world):
        def others_are_faster(call):
            if call == "create_volume":
                limit(world, fast=0)

        world.cloud.before = others_are_faster
        lease = world.reserve(made(), end=60)
        world.advance(minutes=1)
        assert world.lease(lease).status is LeaseStatus.ERROR
        assert world.lease(lease).status_reason.startswith("volume data-1 cannot be made: ")
        assert "exceeds allowed gigabytes_fast quota" in world.lease(lease).status_reason

    def test_a_refusal_is_tried_again_and_what_was_deleted_meanwhile_is_not_made_anew(self, world):
        world.start_retry = timedelta(minutes=10)
        world.restart()
        left = [3]

        def refuse_the_second(call):
            if call == "create_volume":
                left[0] -= 1
                if left[0] == 1:
                    raise CloudRefused(service="Cinder", reason="over quota")

        world.cloud.before = refuse_the_second
        lease = world.reserve(made(), end=60)
        world.run_due()
        world.run_due()
        while not theirs(world):
            world.advance(seconds=0.1)
        assert "data-2 cannot be made: Cinder refused" in world.lease(lease).status_reason
        as_user(world).storage.delete_volume(theirs(world)["data-1"].id)
        world.advance(minutes=8)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert list(theirs(world)) == ["data-2"]

    def test_a_trust_that_is_gone_is_told(self, world):
        lease = world.reserve(made(), start=10, end=60)
        world.cloud.state.trusts.clear()
        world.advance(minutes=11)
        assert world.lease(lease).status is LeaseStatus.ERROR
        assert "volume data-1 was not made: the trust by which" in world.lease(lease).status_reason

    def test_the_later_of_two_requests_under_way_goes(self, world):
        world.cloud.state.slow_volumes = True
        lease = world.reserve(made(volumes=1), end=60)
        world.advance(seconds=5)
        limit(world, fast=200)
        (first,) = theirs(world).values()
        late = replace(first, id="late", created_at=first.created_at + timedelta(seconds=1))
        world.cloud.state.volumes["demo"][late.id] = late
        for _ in range(3):
            world.cloud.settle_volumes()
            world.advance(seconds=60)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert list(world.cloud.state.volumes["demo"]) == [first.id]

    def test_leases_of_others_have_their_own(self, world):
        limit(world, "alt", fast=0)
        active(world)
        world.reserve(made(), end=60, caller=ALT)
        world.advance(seconds=30)
        assert len(theirs(world)) == len(theirs(world, "alt")) == 2


class TestAttaching:
    def test_they_are_attached(self, world):
        lease = active(world, server_id=WEB)
        assert {each.attached_to for each in theirs(world).values()} == {(WEB,)}
        assert {status for _, status in listed(world, lease)} == {"in-use"}

    def test_nova_is_asked_once_for_each(self, world):
        world.cloud.state.slow_volumes = True
        lease = world.reserve(made(server_id=WEB), end=60)
        for _ in range(5):
            world.advance(seconds=60)
            world.cloud.settle_volumes()
        world.advance(seconds=60)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert asked(world, "attach_volume") == ["attach_volume"] * 2

    def test_what_its_user_attaches_elsewhere_meanwhile_stays_there(self, world):
        def faster(call):
            if call == "attach_volume":
                world.cloud.before = lambda call: None
                as_user(world).compute.attach_volume(DB, theirs(world)["data-2"].id)

        world.start_retry = timedelta(minutes=10)
        world.restart()
        world.cloud.before = faster
        lease = world.reserve(made(server_id=WEB), end=60)
        world.advance(minutes=5)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert [each.attached_to for each in theirs(world).values()] == [(WEB,), (DB,)]

    def test_what_does_not_stay_attached_is_given_up(self, world):
        world.cloud.state.attaching_fails = True
        lease = world.reserve(made(server_id=WEB), end=60)
        world.advance(minutes=10)
        assert world.lease(lease).status is LeaseStatus.ERROR
        assert world.lease(lease).status_reason == f"volume data-1 was not attached to server {WEB}"
        assert asked(world, "attach_volume") == ["attach_volume"] * 6

    def test_a_server_that_is_gone_is_told(self, world):
        lease = world.reserve(made(server_id=WEB), start=10, end=60)
        del world.cloud.state.servers[WEB]
        world.advance(minutes=11)
        assert world.lease(lease).status is LeaseStatus.ERROR
        assert f"Instance {WEB} could not be found" in world.lease(lease).status_reason
        assert len(theirs(world)) == 2


class TestMeanwhile:
    """What users do with volumes of an active lease is theirs to do."""

    def test_one_that_is_deleted_is_not_made_anew(self, world):
        lease = active(world)
        gone, stays = theirs(world).values()
        as_user(world).storage.delete_volume(gone.id)
        world.reconcile_all()
        world.advance(minutes=1)
        assert list(theirs(world)) == [stays.name]
        assert listed(world, lease) == [(gone.id, None), (stays.id, "available")]
        assert world.lease(lease).status is LeaseStatus.ACTIVE

    def test_one_that_is_deleted_during_the_start_is_not_made_anew(self, world):
        world.cloud.state.slow_volumes = True
        lease = world.reserve(made(), end=60)
        world.advance(seconds=5)
        gone, stays = theirs(world).values()
        world.cloud.state.slow_volumes = False
        world.cloud.settle_volumes()
        as_user(world).storage.delete_volume(gone.id)
        world.advance(minutes=1)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert list(theirs(world)) == [stays.name]

    def test_one_that_is_extended_or_detached_stays_so(self, world):
        lease = active(world, server_id=WEB)
        larger, loose = theirs(world).values()
        change(world, larger, gigabytes=70)
        as_user(world).compute.detach_volume(WEB, loose.id)
        world.reconcile_all()
        world.advance(minutes=1)
        assert theirs(world)["data-1"].gigabytes == 70
        assert theirs(world)["data-2"].attached_to == ()
        assert [status for _, status in listed(world, lease)] == ["in-use", "available"]

    def test_one_without_its_mark_is_its_user_s_alone(self, world):
        lease = active(world, on_end="delete")
        kept, _ = theirs(world).values()
        change(world, kept, metadata={})
        world.reconcile_all()
        world.advance(minutes=1)
        assert len(theirs(world)) == 2
        assert list(ended(world, lease)) == [kept.name]
        assert quota(world)[:2] == (50, 1)


class TestEnd:
    def test_they_are_kept_unless_it_is_asked_for(self, world):
        lease = active(world)
        assert len(ended(world, lease)) == 2
        assert quota(world) == (100, 2, 1000, 10)

    def test_they_are_deleted(self, world):
        lease = active(world, on_end="delete")
        own = make_volume(world, 0)
        assert [each.id for each in ended(world, lease).values()] == [own]
        assert quota(world) == (0, 1, 1000, 10)

    def test_the_quota_is_lowered_before_anything_is_deleted(self, world):
        lease = active(world, on_end="delete")
        world.cloud.state.slow_volumes = True
        as_user(world).storage.delete_volume(theirs(world)["data-1"].id)
        world.cloud.settle_volumes()
        world.delete(lease)
        world.advance(seconds=30)
        assert world.lease(lease).status_reason == "volumes are being deleted"
        assert quota(world)[:2] == (50, 1)
        world.cloud.settle_volumes()
        world.advance(minutes=2)
        assert not world.leases.list(None)
        assert quota(world) == (0, 0, 1000, 10)

    def test_what_is_attached_is_deleted_only_where_it_is_detached_too(self, world):
        lease = active(world, server_id=WEB, on_end="delete")
        world.delete(lease)
        world.advance(minutes=2)
        assert world.lease(lease).status_reason == ("volume data-2 is not deleted, for its status is in-use")
        world.advance(minutes=5)
        assert not world.leases.list(None)
        assert len(theirs(world)) == 2
        assert quota(world)[:2] == (100, 2)

    @pytest.mark.parametrize("on_end", ["detach,delete", ["delete", "detach"]])
    def test_what_is_attached_anywhere_is_detached_and_deleted(self, world, on_end):
        lease = active(world, server_id=WEB, on_end=on_end)
        as_user(world).compute.detach_volume(WEB, theirs(world)["data-2"].id)
        as_user(world).compute.attach_volume(DB, theirs(world)["data-2"].id)
        world.cloud.calls.clear()
        assert not ended(world, lease)
        assert asked(world, "detach_volume", "delete_volume") == [
            *["detach_volume"] * 2,
            *["delete_volume"] * 2,
        ]
        assert quota(world) == (0, 0, 1000, 10)

    def test_they_are_detached_and_kept(self, world):
        lease = active(world, server_id=WEB, on_end="detach")
        left = ended(world, lease)
        assert {(each.status, each.attached_to) for each in left.values()} == {("available", ())}

    def test_each_has_a_snapshot_before_the_quota_is_lowered(self, world):
        lease = active(world, server_id=WEB, on_end="detach, snapshot")
        assert shown(world, lease)  # the answers before 1.39 have it as well
        assert world.kinds["storage:volume"].render(only(world.lease(lease)))["on_end"] == "snapshot,detach"
        world.cloud.calls.clear()
        left = ended(world, lease)
        calls = asked(world, "create_snapshot", "set_volume_quota", "detach_volume")
        assert calls[:2] == ["create_snapshot"] * 2
        assert calls[-2:] == ["detach_volume"] * 2
        assert sorted(each.volume_id for each in world.cloud.state.volume_snapshots.values()) == sorted(
            each.id for each in left.values()
        )

    def test_a_snapshot_that_fails_keeps_no_lease_from_its_end(self, world):
        world.cloud.state.snapshot_fails = True
        lease = active(world, on_end="snapshot")
        assert len(ended(world, lease)) == 2
        assert asked(world, "create_snapshot") == ["create_snapshot"] * 2

    @pytest.mark.parametrize("failure", [CloudRefused, CloudUnavailable])
    @pytest.mark.parametrize("failing", ["create_snapshot", "snapshots_of", "volumes_with"])
    def test_a_snapshot_that_is_not_to_be_had_is_given_up_in_time(self, world, failing, failure):
        lease = active(world, on_end="snapshot")

        def fail(call):
            if call == failing:
                raise failure(service="Cinder", reason="exceeds allowed gigabytes_fast quota")

        world.cloud.before = fail
        world.delete(lease)
        world.advance(minutes=4)
        assert "exceeds allowed" in world.lease(lease).status_reason
        world.advance(minutes=5)
        assert not world.leases.list(None)
        assert len(theirs(world)) == 2

    def test_what_is_not_detached_is_given_up_in_time(self, world):
        lease = active(world, server_id=WEB, on_end="detach,delete")
        world.cloud.state.stuck_volumes = True
        world.delete(lease)
        world.advance(minutes=4)
        assert world.lease(lease).status_reason == "volumes are being detached"
        world.advance(minutes=10)
        assert not world.leases.list(None)
        assert len(theirs(world)) == 2

    def test_without_a_trust_the_service_detaches_and_deletes(self, world):
        lease = active(world, server_id=WEB, on_end="detach,delete")
        world.cloud.state.trusts.clear()
        assert not ended(world, lease)

    def test_without_a_trust_there_are_no_snapshots(self, world):
        lease = active(world, on_end="snapshot")
        world.cloud.state.trusts.clear()
        assert len(ended(world, lease)) == 2
        assert not world.cloud.state.volume_snapshots

    def test_an_end_before_the_start_does_nothing(self, world):
        lease = world.reserve(made(on_end="snapshot,detach"), start=10, end=60)
        world.cloud.calls.clear()
        ended(world, lease)
        assert not asked(world, "volumes_with", "set_volume_quota")

    def test_a_failed_start_ends_as_asked_for(self, world):
        world.cloud.state.attaching_fails = True
        lease = world.reserve(made(server_id=WEB, on_end="delete"), end=60)
        world.advance(minutes=10)
        assert world.lease(lease).status is LeaseStatus.ERROR
        assert not ended(world, lease)

    def test_it_is_decided_while_the_lease_is_active_too(self, world):
        lease = active(world)
        reservation = only(world.lease(lease))
        world.update(lease, reservations=(ReservationChange(reservation.id, {"on_end": ["delete"]}),))
        world.advance(seconds=5)
        assert not ended(world, lease)


class TestRequests:
    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"volume_name": None, "volume_size": 10}, MissingParameter),
            ({"volume_name": None, "server_id": WEB}, MissingParameter),
            ({"volume_name": " "}, MalformedParameter),
            ({"volume_name": "x" * 251}, MalformedParameter),
            ({"volume_size": 51}, MalformedParameter),
            ({"volume_size": 0}, MalformedParameter),
            ({"gigabytes": 1}, MalformedParameter),
            ({"gigabytes": 1000, "volumes": 101}, MalformedParameter),
            ({"image_id": "dummy"}, MalformedParameter),
            ({"image_id": IMAGE, "snapshot_id": SNAPSHOT}, MalformedParameter),
            ({"server_id": [WEB]}, MalformedParameter),
            ({"on_end": "snapshot,delete"}, MalformedParameter),
            ({"on_end": "keep,delete"}, MalformedParameter),
            ({"on_end": "stop"}, MalformedParameter),
            ({"on_end": {"delete": True}}, MalformedParameter),
            ({"on_end": [1]}, MalformedParameter),
            ({"on_end": []}, MalformedParameter),
        ],
    )
    def test_bad_requests_are_refused(self, world, fields, error):
        with pytest.raises(error) as refused:
            world.reserve(made(**fields))
        assert isinstance(refused.value, InvalidInput)
        assert not world.leases.list(None)

    @pytest.mark.parametrize(
        ("fields", "what"),
        [
            ({"image_id": ABSENT}, "Image"),
            ({"snapshot_id": ABSENT}, "Snapshot"),
            ({"server_id": ABSENT}, "Server"),
        ],
    )
    def test_what_the_user_does_not_see_is_refused(self, world, fields, what):
        with pytest.raises(VolumeSourceNotFound, match=f"{what} {ABSENT} could not be found"):
            world.reserve(made(**fields))

    def test_the_server_of_another_project_is_none(self, world):
        with pytest.raises(VolumeSourceNotFound, match=WEB):
            world.reserve(made(server_id=WEB), caller=ALT)

    def test_a_snapshot_has_to_fit(self, world):
        snapshot = VolumeSnapshot(SNAPSHOT, make_volume(world, 0), 51, "available")
        world.cloud.state.volume_snapshots[SNAPSHOT] = snapshot
        with pytest.raises(VolumesTooSmall, match=r"50 GB are too small for snapshot .* which has 51 GB"):
            world.reserve(made(snapshot_id=SNAPSHOT))
        lease = world.reserve(made(snapshot_id=SNAPSHOT, gigabytes=102), start=10)
        with pytest.raises(VolumesTooSmall):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"gigabytes": 100}),))

    def test_what_they_are_made_from_is_looked_at_once(self, world):
        lease = world.reserve(made(server_id=WEB), start=10, end=60)
        del world.cloud.state.servers[WEB]
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"on_end": "delete"}),))

    def test_the_template_is_not_changed_but_for_its_size(self, world):
        lease = world.reserve(made(), start=10, end=60)
        for wrong in ({"volume_name": "other"}, {"volume_size": 10}, {"image_id": IMAGE}):
            with pytest.raises(CantUpdateParameter, match=next(iter(wrong))):
                world.update(lease, reservations=(ReservationChange(only(lease).id, wrong),))
        changes = {"gigabytes": 90, "volumes": 3}
        world.update(lease, reservations=(ReservationChange(only(lease).id, changes),))
        world.advance(minutes=11)
        assert [each.gigabytes for each in theirs(world).values()] == [30, 30, 30]

    def test_a_reservation_without_them_gets_none_later(self, world):
        lease = world.reserve(volumes(), start=10, end=60)
        with pytest.raises(CantUpdateParameter, match="volume_name"):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"volume_name": "data"}),))
        assert lease.trust_id is None
        assert shown(world, lease) == {}

    def test_what_is_shown(self, world):
        lease = world.reserve(made(server_id=WEB, on_end=["detach", "snapshot"]), start=10)
        assert world.kinds["storage:volume"].render(only(lease)) == {
            "volume_type": "fast-id",
            "gigabytes": 100,
            "volumes": 2,
            "on_end": "snapshot,detach",
        }
        assert shown(world, lease) == {
            "volume_name": "data",
            "volume_size": 50,
            "image_id": None,
            "snapshot_id": None,
            "server_id": WEB,
            "made_volumes": [],
        }
