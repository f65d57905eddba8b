"""Images that the service makes for want of a trust: the server's project has them before the server goes."""

from __future__ import annotations

import pytest

from blazar.adapters.memory.cloud_state import MadeImage
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.server.marks import RESERVATION
from blazar.service.commands import ReservationChange
from blazar.service.ports import Image

from .test_crashes import dies_at_each_step
from .test_default_leases import changed, prepared
from .test_default_leases import look as look_around
from .test_hinted_leases import hinted, look, only
from .test_new_servers import new, with_image
from .test_server_leases import WEB, adopted, nothing_left, slow, status, web, with_server
from .world import World

WITH_IMAGE = {"on_end": ["create_image", "delete"]}


def running(world, **reservation):
    """A lease by a hint that runs, and has an image at its end."""
    hinted(world, start="now", reservation={**WITH_IMAGE, **reservation})
    world.adopting.round()
    look(world)
    world.cloud.state.changed[WEB] = world.clock.now()
    look(world)
    lease = only(world)
    assert (lease.trust_id, status(world, lease)) == (None, LeaseStatus.ACTIVE)
    return lease


@pytest.fixture
def world() -> World:
    return with_server(World())


def end(world, lease, minutes=2):
    world.advance_to(lease.interval.end)
    world.advance(minutes=minutes)


def refuse(world, called, failure=CloudRefused):
    """Let one kind of request to the cloud fail from now on."""

    def before(call):
        if call == called:
            raise failure(service="Glance", reason=f"no {call}")

    world.cloud.before = before


def allow(world):
    world.cloud.before = lambda call: None


def made(world):
    (image,) = world.cloud.state.made_images
    return image


def gone(world):
    return WEB not in world.cloud.state.servers


class TestByAHint:
    def test_its_project_has_the_image_when_the_server_goes(self, world):
        lease = running(world)
        end(world, lease)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert gone(world)
        assert (made(world).image.name, made(world).project_id) == (f"reserved_{WEB}", "demo")
        assert made(world).properties == {RESERVATION: lease.reservations[0].id}
        calls = world.cloud.calls
        assert calls.count("hand_over") == 1
        assert calls.index("hand_over") < calls.index("delete_server")
        nothing_left(world)

    def test_it_is_not_handed_over_before_it_is_complete(self, world):
        lease = running(world)
        slow(world)
        end(world, lease)
        assert (made(world).image.status, made(world).project_id) == ("saving", None)
        assert "an image of server" in world.lease(lease).status_reason
        world.cloud.settle(WEB)
        world.cloud.state.slow.clear()
        world.advance(minutes=1)
        assert gone(world)
        assert made(world).project_id == "demo"

    def test_where_glance_keeps_owners_it_is_shared(self, world):
        world.cloud.state.keeps_owners = True
        lease = running(world)
        end(world, lease)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert gone(world)
        assert (made(world).project_id, made(world).members) == (None, {"demo"})

    def test_it_is_handed_over_once_also_where_the_server_takes_its_time_to_go(self, world):
        world.cloud.state.keeps_owners = True
        lease = running(world, on_end=["create_image", "shelve", "delete"])
        world.advance_to(lease.interval.end)
        slow(world)
        world.advance(seconds=10)
        for _ in range(3):
            world.cloud.settle(WEB)
            world.advance(seconds=60)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert world.cloud.calls.count("hand_over") == 1

    def test_the_server_waits_until_the_image_is_handed_over(self, world):
        lease = running(world)
        refuse(world, "hand_over")
        end(world, lease)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATING, "ACTIVE")
        assert "no hand_over" in world.lease(lease).status_reason
        allow(world)
        world.advance(minutes=1)
        assert gone(world)
        assert made(world).project_id == "demo"

    @pytest.mark.parametrize("failure", [CloudRefused, CloudUnavailable])
    @pytest.mark.parametrize("called", ["hand_over", "images_with", "create_image"])
    def test_after_the_patience_it_is_shelved_in_place_of_being_deleted(self, world, called, failure):
        lease = running(world)
        refuse(world, called, failure)
        end(world, lease, minutes=13)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATING, "ACTIVE")
        world.advance(minutes=5)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATED, "SHELVED_OFFLOADED")
        assert [each.name for each in world.cloud.state.aggregates.values()] == ["freepool"]

    def test_one_that_its_user_has_shelved_meanwhile_waits_for_it_too(self, world):
        lease = running(world)
        refuse(world, "hand_over")
        end(world, lease)
        world.cloud.compute.shelve_server(WEB)
        world.advance(minutes=1)
        assert web(world).status == "SHELVED_OFFLOADED"
        assert status(world, lease) is LeaseStatus.TERMINATING
        allow(world)
        world.advance(minutes=1)
        assert gone(world)
        assert made(world).project_id == "demo"

    def test_an_image_of_a_stranger_is_not_taken_for_it(self, world):
        lease = running(world)
        theirs = {RESERVATION: lease.reservations[0].id}
        state = world.cloud.state
        state.made_images.append(MadeImage(Image("x", "bait", "active"), theirs, "alt"))
        end(world, lease)
        bait, image = state.made_images
        assert (bait.project_id, image.project_id, gone(world)) == ("alt", "demo", True)

    def test_one_that_boots_from_a_volume_is_shelved(self, world):
        lease = running(world)
        world.cloud.state.from_volume.add(WEB)
        end(world, lease)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATED, "SHELVED_OFFLOADED")
        assert not world.cloud.state.made_images

    def test_no_name_of_a_server_has_its_image_removed_as_that_of_a_shelved_one(self, world):
        lease = running(world)
        named = web(world).__class__(WEB, "old-shelved", web(world).host, "ACTIVE", "demo")
        world.cloud.state.servers[WEB] = named
        end(world, lease)
        assert made(world).image.name == "reserved_old"


class TestOthers:
    def test_of_a_default_lease(self):
        world = prepared()
        look_around(world)
        changed(world)
        look_around(world)
        lease = only(world)
        world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, WITH_IMAGE),))
        world.advance_to(lease.interval.end)
        world.advance(minutes=2)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert (gone(world), made(world).project_id) == (True, "demo")

    def test_where_the_trust_was_lost(self, world):
        lease = world.reserve(adopted(**WITH_IMAGE))
        world.advance(minutes=59)
        world.cloud.state.gone_users.add("demo-user")
        world.advance(minutes=3)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert (gone(world), made(world).project_id) == (True, "demo")
        assert world.cloud.state.snapshots_by == [None]

    def test_of_new_servers_whose_trust_was_lost(self):
        world = with_image(World())
        lease = world.reserve(new(amount=2, **WITH_IMAGE), end=60)
        world.advance(minutes=59)
        assert status(world, lease) is LeaseStatus.ACTIVE
        world.cloud.state.gone_users.add("demo-user")
        world.advance(minutes=5)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert not world.cloud.state.servers
        assert [image.project_id for image in world.cloud.state.made_images] == ["demo", "demo"]

    def test_where_the_trust_is_lost_after_the_image_was_begun(self, world):
        lease = world.reserve(adopted(**WITH_IMAGE))
        world.advance(minutes=59)
        slow(world)
        world.advance(minutes=2)
        assert made(world).project_id == "demo"
        world.cloud.state.gone_users.add("demo-user")
        world.cloud.settle(WEB)
        world.advance(minutes=2)
        assert (gone(world), status(world, lease)) == (True, LeaseStatus.TERMINATED)
        assert len(world.cloud.state.made_images) == 1
        assert "hand_over" not in world.cloud.calls


@pytest.mark.slow
@pytest.mark.parametrize("keeps_owners", [False, True])
def test_a_crash_at_any_step_of_the_end_leaves_one_image_in_its_project(keeps_owners):
    def prepare(world):
        world.cloud.state.keeps_owners = keeps_owners
        return running(with_server(world))

    for world in dies_at_each_step(prepare, lambda w, lease: end(w, lease)):
        end(world, world.subject)
        assert status(world, world.subject) is LeaseStatus.TERMINATED
        assert gone(world)
        assert made(world).project_id == (None if keeps_owners else "demo")
        assert made(world).members == ({"demo"} if keeps_owners else set())
        assert world.notifications().count("lease.event.end_lease") == 1
        nothing_left(world)
