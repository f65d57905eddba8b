"""kill -9, failures and other hands between any two steps in the life of volumes from a template: each is
made once, there is never more than was promised, and what was asked for at the end is done."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import CloudUnavailable, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.volume.marks import NUMBER, RESERVATION

from .test_crashes import dies_at_each_step
from .test_volume_crashes import interleaved
from .test_volume_templates import WEB, as_user, asked, made, theirs, with_types
from .test_volumes import only, quota
from .world import Crash, Steps, World

EMPTY = (0, 0, 1000, 10)


def small() -> World:
    return with_types(World(hosts=1))


def slow() -> World:
    world = small()
    world.cloud.state.slow_volumes = True
    return world


def run(world, rounds=8):
    """Let time pass, in which Cinder and Nova complete what they do."""
    for _ in range(rounds):
        world.advance(seconds=30)
        world.cloud.settle_volumes()
    world.advance(seconds=40)


def names(world):
    return sorted(each.name for each in world.cloud.state.volumes.get("demo", {}).values())


def active(**fields):
    def start(world):
        lease = world.reserve(made(**fields), end=600)
        run(world)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        return lease

    return start


def delete(world, lease):
    with contextlib.suppress(NotFound):
        world.delete(lease)
    world.advance(seconds=5)


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("make", [small, slow])
@pytest.mark.parametrize("server", [None, WEB])
def test_start(make, server):
    def start(world, _):
        world.advance(seconds=5)
        world.cloud.settle_volumes()
        world.advance(seconds=60)

    fields = {"server_id": server} if server else {}
    for world in dies_at_each_step(lambda w: w.reserve(made(**fields), end=600), start, make):
        run(world)
        assert world.lease(world.subject).status is LeaseStatus.ACTIVE
        assert names(world) == ["data-1", "data-2"]
        assert len(world.cloud.state.new_volumes) == 2
        assert {each.attached_to for each in theirs(world).values()} == {(server,) if server else ()}


def test_a_start_with_volumes_that_fail():
    def failing(world):
        world.cloud.state.volume_failures = ["no backend has room"] * 3
        return world.reserve(made(), end=600)

    for world in dies_at_each_step(failing, lambda w, _: w.advance(seconds=20), small):
        run(world)
        assert world.lease(world.subject).status is LeaseStatus.ACTIVE
        assert names(world) == ["data-1", "data-2"]


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("make", [small, slow])
@pytest.mark.parametrize(
    ("on_end", "left", "snapshots"),
    [
        ("keep", ["data-1", "data-2"], 0),
        ("detach,delete", [], 0),
        ("snapshot,detach", ["data-1", "data-2"], 2),
    ],
)
def test_end(make, on_end, left, snapshots):
    def end(world, lease):
        delete(world, lease)
        world.cloud.settle_volumes()
        world.advance(seconds=60)

    for world in dies_at_each_step(active(server_id=WEB, on_end=on_end), end, make):
        delete(world, world.subject)
        run(world)
        assert not world.leases.list(None)
        assert names(world) == left
        assert len(world.cloud.state.volume_snapshots) == snapshots
        if "detach" in on_end:
            assert not any(each.attached_to for each in theirs(world).values())
        assert quota(world) == (50 * len(left), len(left), 1000, 10)


def test_a_deletion_in_the_middle_of_the_start():
    """What was made is found, though the crash came before it was written down."""

    def start(world, _):
        world.advance(seconds=10)

    for world in dies_at_each_step(lambda w: w.reserve(made(on_end="delete"), end=600), start, slow):
        delete(world, world.subject)
        run(world)
        assert not world.leases.list(None)
        assert not names(world)
        assert quota(world) == EMPTY


@pytest.mark.parametrize("call", ["create_volume", "attach_volume", "volumes_with"])
def test_an_answer_that_is_lost_makes_nothing_twice(call):
    """Cinder and Nova do what they were asked for, and their answer does not arrive."""
    world = small()
    left = [2]
    storage, compute = type(world.cloud.storage), type(world.cloud.compute)
    owner = compute if call == "attach_volume" else storage
    real = getattr(owner, call)

    def lost(self, *args):
        answer = real(self, *args)
        if left[0]:
            left[0] -= 1
            raise CloudUnavailable(service="Cinder", reason="no answer")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, call, lost)
        lease = world.reserve(made(server_id=WEB), end=600)
        run(world)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert names(world) == ["data-1", "data-2"]
    assert asked(world, "create_volume") == ["create_volume"] * 2
    assert asked(world, "attach_volume") == ["attach_volume"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_two_managers_at_once(rounds):
    """Whatever another manager does at whichever step, each volume is there once when the start is over."""
    for world in interleaved(lambda w: w.reserve(made(server_id=WEB), end=600), small, rounds):
        run(world)
        assert {lease.status for lease in world.leases.list(None)} == {LeaseStatus.ACTIVE}
        assert names(world) == ["data-1", "data-2"]


STEPS = st.one_of(
    st.tuples(st.just("start"), st.integers(1, 4)),
    st.tuples(st.just("end"), st.integers(0, 9)),
    st.tuples(st.just("crash"), st.integers(1, 30)),
    st.tuples(st.just("time"), st.integers(1, 60)),
    st.tuples(st.just("settle"), st.just(0)),
    st.tuples(st.just("fails"), st.integers(0, 9)),
    st.tuples(st.sampled_from(["user deletes", "user detaches", "user attaches"]), st.integers(0, 9)),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(STEPS, max_size=20), st.sampled_from(["keep", "detach,delete", "snapshot"]))
def test_there_is_never_more_than_was_promised(steps, on_end):
    world, leases, deleted = slow(), {}, set()

    def check():
        found = Counter()
        for volume in world.cloud.state.volumes.get("demo", {}).values():
            if volume.status != "error":
                found[volume.metadata[RESERVATION], volume.metadata[NUMBER]] += 1
        assert not found or max(found.values()) == 1
        for reservation_id, count in leases.items():
            ours = {number for owner, number in found if owner == reservation_id}
            assert ours <= {str(number) for number in range(1, count + 1)}
            assert not deleted & {(reservation_id, number) for number in ours}

    def arm(step=None):
        def before(call):
            check()
            if step is not None:
                step()

        world.cloud.before = before
        world.database.step = step or (lambda: None)

    arm()
    for what, number in steps:
        user = as_user(world)
        volumes = sorted(world.cloud.state.volumes.get("demo", {}).values(), key=lambda each: each.id)
        chosen = volumes[number % len(volumes)] if volumes else None
        match what:
            case "start":
                fields = {"server_id": WEB} if number % 2 else {}
                lease = world.reserve(
                    made(volumes=number, gigabytes=10 * number, on_end=on_end, **fields), end=9000
                )
                leases[only(lease).id] = number
            case "end":
                for lease in world.leases.list(None)[number % 3 : number % 3 + 1]:
                    with contextlib.suppress(NotFound):
                        world.delete(lease)
            case "crash":
                arm(Steps(crash_at=number).step)
                with contextlib.suppress(Crash):
                    world.advance(seconds=10)
                arm()
                world.restart()
            case "time":
                world.advance(seconds=number)
            case "settle":
                world.cloud.settle_volumes()
            case "fails":
                world.cloud.state.volume_failures = ["no room"] * number
            case "user deletes" if chosen and chosen.status == "available":
                if not world.cloud.state.volume_snapshots and _is_written_down(world, chosen):
                    deleted.add((chosen.metadata[RESERVATION], chosen.metadata[NUMBER]))
                    del world.cloud.state.volumes["demo"][chosen.id]
            case "user detaches" if chosen and chosen.attached_to and chosen.status == "in-use":
                user.compute.detach_volume(WEB, chosen.id)
            case "user attaches" if chosen and chosen.status == "available":
                user.compute.attach_volume(WEB, chosen.id)
        check()
    world.cloud.state.volume_failures.clear()
    for lease in world.leases.list(None):
        with contextlib.suppress(NotFound):
            world.delete(lease)
    for _ in range(30):
        run(world, 3)
    assert not world.leases.list(None)
    if on_end == "detach,delete":
        assert not names(world)
        assert quota(world) == EMPTY


def _is_written_down(world, volume):
    """A volume that is deleted before anyone knows of it is made again: there is no telling."""
    known = [
        set((r.cloud_state.get("made_volumes") or {}).values())
        for lease in world.leases.list(None)
        for r in world.lease(lease).reservations
    ]
    return any(volume.id in each for each in known)
