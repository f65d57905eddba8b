"""Images of shelved servers are removed when the servers are gone, and no others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.memory.cloud_state import MadeImage
from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import LeaseStatus
from blazar.engine.sweeping import Sweeping
from blazar.kinds.preemptibles import PREEMPTED
from blazar.kinds.shelving import Shelving
from blazar.kinds.slots import SlotSettings
from blazar.service.metrics import NoMetrics
from blazar.service.ports import Image
from blazar.service.shelved_images import MOST_UNREADABLE, ShelvedImages

from .test_preemptibles import KEPT, boot
from .world import World, instances, whole_hosts

HERE, ELSEWHERE = "host-1", "host-2"
HOUR = timedelta(hours=1)


class Counted(NoMetrics):
    def __init__(self) -> None:
        self.removed = 0

    def images_removed(self, number: int) -> None:
        self.removed += number


@pytest.fixture
def world():
    world = World()
    world.cloud.add_flavor(KEPT)
    return world


@pytest.fixture
def metrics():
    return Counted()


@pytest.fixture
def images(world, metrics):
    return ShelvedImages(world.cloud, metrics)


def free() -> None:
    """Let every request pass."""


def sweeping(world, images):
    return Sweeping(world.database, images, world.clock, HOUR, monotonic=lambda: 0.0)


def shelved(world, *names, cloud=None):
    """Have the servers shelved as the service does it."""
    cloud = cloud or world.cloud
    for name in names:
        cloud.boot(name, HERE)
        servers = [each for each in cloud.compute.servers_on(HERE) if each.id == name]
        Shelving(PREEMPTED).make_way(servers, HERE, cloud)


def gone(world, *names, cloud=None):
    for name in [*names]:
        del (cloud or world.cloud).state.servers[name]


def left(cloud: MemoryCloud) -> list[str]:
    return [made.image.name for made in cloud.state.shelved_images]


def test_the_image_of_a_server_that_is_gone_is_removed(world, images, metrics):
    shelved(world, "a", "b", "c")
    assert images.sweep(free) == 0
    gone(world, "a", "c")
    assert images.sweep(free) == 2
    assert left(world.cloud) == ["b-shelved"]
    assert metrics.removed == 2
    assert images.sweep(free) == 0


def test_a_server_that_is_back_keeps_its_image(world, images):
    shelved(world, "a")
    world.cloud.boot("a", HERE)
    assert images.sweep(free) == 0
    assert left(world.cloud) == ["a-shelved"]


def test_what_others_made_stays_whatever_it_is_called(world, images):
    world.cloud.add_token("user", "u1", "demo")
    for name in ("of-a-user", "by-hand", "copied"):
        world.cloud.boot(name, HERE)
    world.cloud.as_user("user").compute.shelve_server("of-a-user")
    world.cloud.compute.shelve_server("by-hand")  # with the service's credentials, and not by the service
    copied = {"image_type": "snapshot", "instance_uuid": "copied", "blazar_shelved": "only"}
    world.cloud.state.shelved_images.append(MadeImage(Image("i", "copied-shelved", "active"), copied, "demo"))
    gone(world, "of-a-user", "by-hand", "copied")
    assert images.sweep(free) == 0
    assert left(world.cloud) == ["of-a-user-shelved", "by-hand-shelved", "copied-shelved"]


def test_what_a_crash_left_unmarked_is_marked_when_it_is_asked_again(world, images):
    world.cloud.boot("a", HERE)
    world.cloud.state.slow.add("a")
    world.cloud.compute.shelve_server("a")  # and the manager ends
    assert not any(made.is_marked for made in world.cloud.state.shelved_images)
    (server,) = world.cloud.compute.servers_on(HERE)
    Shelving(PREEMPTED).make_way([server], HERE, world.cloud)
    gone(world, "a")
    assert images.sweep(free) == 1


@pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
def test_a_lease_does_not_wait_for_the_mark(world, images, failure):
    def fail(call):
        if call == "mark_shelved":
            raise failure(service="Glance", reason="it is away")

    world.cloud.before = fail
    shelved(world, "a")
    assert world.cloud.compute.server("a").status == "SHELVED_OFFLOADED"
    gone(world, "a")
    assert images.sweep(free) == 0, "it is not known to be the service's"


def test_a_server_that_cannot_be_read_keeps_its_image_and_others_do_not(world, images):
    shelved(world, "a", "b")
    gone(world, "a", "b")
    asked = []

    def first_fails(call):
        if call == "is_server_gone":
            asked.append(call)
            if len(asked) == 1:
                raise CloudUnavailable(service="Nova", reason="a cell is down")

    world.cloud.before = first_fails
    assert images.sweep(free) == 1
    assert left(world.cloud) == ["a-shelved"]


def test_a_nova_that_is_away_is_not_asked_for_each_image(world, images):
    names = [f"s{number}" for number in range(3 * MOST_UNREADABLE)]
    shelved(world, *names)
    gone(world, *names)
    asked = []

    def away(call):
        if call == "is_server_gone":
            asked.append(call)
            raise CloudUnavailable(service="Nova", reason="it is away")

    world.cloud.before = away
    with pytest.raises(CloudUnavailable):
        images.sweep(free)
    assert len(asked) == MOST_UNREADABLE
    assert len(left(world.cloud)) == len(names)


def test_without_an_administrators_rights_nothing_is_removed(world, images):
    shelved(world, "a")
    gone(world, "a")

    def refuse(call):
        if call == "is_server_gone":
            raise CloudRefused(service="Nova", reason="Policy doesn't allow it (HTTP 403)")

    world.cloud.before = refuse
    with pytest.raises(CloudRefused):
        images.sweep(free)
    assert left(world.cloud) == ["a-shelved"]


def test_a_protected_image_and_one_in_use_stay(world, images, metrics):
    shelved(world, "a", "b", "c")
    gone(world, "a", "b", "c")
    state = world.cloud.state
    state.shelved_images[0] = replace(state.shelved_images[0], is_protected=True)
    deleted = []

    def in_use(call):
        if call == "delete_image":
            deleted.append(call)
            if len(deleted) == 1:
                raise CloudRefused(service="Glance", reason="Image is in use (HTTP 409)")

    world.cloud.before = in_use
    assert images.sweep(free) == 1
    assert left(world.cloud) == ["a-shelved", "b-shelved"]
    assert metrics.removed == 1


def test_each_region_is_asked_for_its_own_servers(world, images):
    other = world.cloud.add_region("RegionTwo")
    shelved(world, "a")
    shelved(world, "b", cloud=other)
    assert images.sweep(free) == 0
    gone(world, "b", cloud=other)
    assert images.sweep(free) == 1
    assert (left(world.cloud), left(other)) == (["a-shelved"], [])


def test_a_round_every_interval_by_one_manager(world, images):
    first, second = sweeping(world, images), sweeping(world, images)
    shelved(world, "a", "b")
    gone(world, "a")
    first.round()
    assert left(world.cloud) == ["b-shelved"]
    gone(world, "b")
    second.round()
    assert left(world.cloud) == ["b-shelved"], "it was done just now"
    world.clock.pause(3601)
    second.round()
    assert left(world.cloud) == []


def test_a_glance_that_fails_is_asked_again_after_longer_and_longer(world, images, caplog):
    duty = sweeping(world, images)
    shelved(world, "a")
    gone(world, "a")

    def away(call):
        if call == "marked_shelved":
            raise CloudUnavailable(service="Glance", reason="it is away")

    world.cloud.before = away
    pauses = [duty.round() for _ in range(9)]
    first = Sweeping.first_pause
    assert pauses[:3] == [first, 2 * first, 4 * first]
    assert pauses[-1] == Sweeping.longest_pause
    assert "The removal of images of shelved servers failed, and is begun anew later: Glance" in caplog.text
    world.cloud.before = lambda call: None
    duty.round()
    assert left(world.cloud) == []
    world.cloud.before = away
    world.clock.pause(3601)
    assert duty.round() == Sweeping.first_pause, "it has worked meanwhile"


def test_a_manager_that_loses_the_duty_goes_on_with_nothing(world, images):
    shelved(world, "a", "b")
    gone(world, "a", "b")
    duty, asked = sweeping(world, images), []

    def lost(call):
        asked.append(call)
        if call == "delete_image":
            raise ClaimLost(event="shelved_images")

    world.cloud.before = lost
    duty.round()
    assert asked.count("delete_image") == 1
    world.cloud.before = lambda call: None
    duty.round()
    assert left(world.cloud) == [], "it is begun anew at once"


@pytest.mark.parametrize("asked", [whole_hosts(min=4, max=4), instances(amount=4, affinity=False)])
def test_whatever_lease_they_made_way_for(asked):
    world = World()
    world.slots = SlotSettings(preemptibles_make_way=True)
    world.restart()
    world.cloud.add_flavor(KEPT)
    for host in world.in_freepool():
        boot(world, f"kept-{host}", host, "kept")
    lease = world.reserve(asked)
    world.run_due()
    world.advance(minutes=1)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert len(left(world.cloud)) == 4
    images = ShelvedImages(world.cloud)
    assert images.sweep(free) == 0
    gone(world, *world.cloud.state.servers)
    assert images.sweep(free) == 4
