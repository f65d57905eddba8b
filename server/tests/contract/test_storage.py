"""The Storage port."""

from __future__ import annotations

import pytest

from blazar.domain.errors import CloudRefused
from blazar.service.ports import NewVolume, Storage, Volume, VolumeSnapshot

from .places import Place, label, room, until

ABSENT = "99999999-9999-4999-8999-999999999999"
MARK, OTHER = "contract_mark", "contract_other"


@pytest.fixture
def volume_type(place: Place) -> str:
    return place.add_volume_type()


def limits_of(place: Place, name: str) -> tuple[int, int]:
    quota = place.cloud.storage.volume_quota(place.project)
    return quota[f"gigabytes_{name}"], quota[f"volumes_{name}"]


def test_types_are_listed_also_private_ones(place: Place, volume_type: str) -> None:
    found = {each.name: each.id for each in place.cloud.storage.volume_types()}
    assert found[volume_type] not in ("", volume_type)


def test_users_see_types(place: Place) -> None:
    assert isinstance(place.cloud.as_user(place.token).storage.volume_types(), list)


def test_the_limits_of_a_type_are_none_until_they_are_set(place: Place, volume_type: str) -> None:
    assert limits_of(place, volume_type) == (-1, -1)
    quota = place.cloud.storage.volume_quota(place.project)
    assert {"gigabytes", "volumes"} <= quota.keys()


def test_limits_are_set_and_others_stay(place: Place, volume_type: str) -> None:
    storage = place.cloud.storage
    before = storage.volume_quota(place.project)
    for _ in range(2):
        storage.set_volume_quota(place.project, {f"gigabytes_{volume_type}": 7, f"volumes_{volume_type}": 2})
        assert limits_of(place, volume_type) == (7, 2)
    storage.set_volume_quota(place.project, {f"gigabytes_{volume_type}": 0})
    assert limits_of(place, volume_type) == (0, 2)
    assert storage.volume_quota(place.project)["gigabytes"] == before["gigabytes"]


def test_limits_follow_the_name_of_the_type(place: Place, volume_type: str) -> None:
    place.cloud.storage.set_volume_quota(place.project, {f"gigabytes_{volume_type}": 7})
    renamed = place.rename_volume_type(volume_type)
    assert limits_of(place, renamed) == (7, -1)
    assert f"gigabytes_{volume_type}" not in place.cloud.storage.volume_quota(place.project)


def test_a_limit_that_there_is_not_is_refused_with_all_others(place: Place, volume_type: str) -> None:
    with pytest.raises(CloudRefused, match="gigabytes_nope"):
        place.cloud.storage.set_volume_quota(
            place.project, {f"gigabytes_{volume_type}": 7, "gigabytes_nope": 7}
        )
    assert limits_of(place, volume_type) == (-1, -1)


def test_a_limit_is_not_set_to_less_than_is_used(place: Place) -> None:
    storage, name = place.cloud.storage, place.add_volume_type(is_public=True)
    limits = (f"gigabytes_{name}", f"volumes_{name}")
    storage.set_volume_quota(place.project, dict.fromkeys(limits, 7))
    place.add_volume(name, 3)
    used = storage.volume_usage(place.project)
    assert [used[name] for name in limits] == [3, 1]
    assert used["gigabytes"] >= 3
    with pytest.raises(CloudRefused, match=limits[0]):
        storage.set_volume_quota(place.project, {limits[0]: 2, limits[1]: 5})
    assert limits_of(place, name) == (7, 7)
    storage.set_volume_quota(place.project, {limits[0]: 3, limits[1]: 1})
    assert limits_of(place, name) == (3, 1)


def test_a_user_sets_no_limits(place: Place, volume_type: str) -> None:
    theirs = place.cloud.as_user(place.token).storage
    with pytest.raises(CloudRefused):
        theirs.set_volume_quota(place.project, {f"gigabytes_{volume_type}": 7})


def test_volumes_are_listed_and_deleted(place: Place) -> None:
    storage = place.cloud.storage
    made = [place.add_volume("standard", size) for size in (3, 4)]

    def listed() -> list[Volume]:
        return [each for each in storage.volumes(place.project) if each.id in made]

    # Cinder knows when they were made to the second
    found = sorted(listed(), key=lambda each: each.gigabytes)
    assert [(each.id, each.volume_type, each.gigabytes, each.status) for each in found] == [
        (made[0], "standard", 3, "available"),
        (made[1], "standard", 4, "available"),
    ]
    assert found[0].created_at <= found[1].created_at
    assert storage.volumes("another") == []
    storage.delete_volume(made[0])
    until("one volume", lambda: [each.id for each in listed()] == [made[1]])
    storage.delete_volume(made[0])


def test_volumes_may_go_while_they_are_listed(place: Place) -> None:
    storage = place.cloud.storage
    made = {place.add_volume("standard", size) for size in (3, 4)}
    asked: list[None] = []

    def go_at_the_second_request() -> None:
        asked.append(None)
        if len(asked) == 2:
            for each in made:
                storage.delete_volume(each)
            until("none of them", lambda: not made & {each.id for each in storage.volumes(place.project)})

    for _ in range(2):
        found = place.cloud.fenced(go_at_the_second_request).storage.volumes(place.project)
    assert not made & {each.id for each in found}


def test_a_volume_in_use_is_not_deleted(place: Place) -> None:
    storage, volume = place.cloud.storage, place.add_volume("standard", 3)
    place.use_volume(volume)
    (found,) = (each for each in storage.volumes(place.project) if each.id == volume)
    assert found.status == "in-use"
    with pytest.raises(CloudRefused):
        storage.delete_volume(volume)


def theirs(place: Place) -> Storage:
    return place.cloud.as_user(place.token).storage


def is_there(place: Place, volume_id: str, status: str = "available") -> None:
    """Wait until the volume has the status; it is there from the beginning."""

    def now() -> str:
        (found,) = (each for each in place.cloud.storage.volumes(place.project) if each.id == volume_id)
        return found.status

    until(f"the volume {status}", lambda: now() == status)


def made(place: Place, mark: str = "1", **fields: str) -> str:
    name = label()
    volume = theirs(place).create_volume(
        NewVolume(name, "standard", 2, metadata={MARK: name + mark, OTHER: mark}, **fields)
    )
    (found,) = place.cloud.storage.volumes_with(place.project, MARK, name + mark)
    assert (found.id, found.name, found.gigabytes, found.volume_type) == (volume, name, 2, "standard")
    assert found.metadata == {MARK: name + mark, OTHER: mark}
    is_there(place, volume)
    return volume


def test_a_user_makes_volumes_which_are_found_by_their_marks(place: Place) -> None:
    storage, volumes = place.cloud.storage, {made(place, "1"), made(place, "2"), made(place, "2")}
    assert volumes & {each.id for each in storage.volumes_with(place.project, OTHER, "1")}
    assert len(volumes & {each.id for each in storage.volumes_with(place.project, OTHER, "2")}) == 2
    assert list(storage.volumes_with(place.project, OTHER, 'it\'s "none"')) == []
    assert list(storage.volumes_with(ABSENT, OTHER, "2")) == []
    assert theirs(place).volume_fault(next(iter(volumes))) is None
    theirs(place).delete_volume(next(iter(volumes)))


def test_a_volume_is_made_from_an_image_or_a_snapshot(place: Place) -> None:
    volume = made(place, image_id=place.add_image())
    theirs(place).create_snapshot(volume, label(), {MARK: "kept"})
    snapshot = snapshot_of(place, volume)
    made(place, snapshot_id=snapshot.id)


def snapshot_of(place: Place, volume: str) -> VolumeSnapshot:
    def found() -> VolumeSnapshot:
        (one,) = theirs(place).snapshots_of(volume)
        return one

    assert (found().volume_id, found().gigabytes, found().metadata) == (volume, 2, {MARK: "kept"})
    until("a snapshot", lambda: found().status == "available")
    return found()


def test_a_volume_with_a_snapshot_stays(place: Place) -> None:
    volume, other = made(place), made(place)
    theirs(place).create_snapshot(volume, label(), {MARK: "kept"})
    snapshot = snapshot_of(place, volume)
    assert theirs(place).snapshot(snapshot.id) == snapshot
    assert theirs(place).snapshot(ABSENT) is None
    assert place.cloud.as_user(place.other_token).storage.snapshot(snapshot.id) is None
    assert theirs(place).snapshots_of(other) == []
    assert place.cloud.as_user(place.other_token).storage.snapshots_of(volume) == []
    with pytest.raises(CloudRefused):
        place.cloud.storage.delete_volume(volume)


def test_what_exceeds_the_quota_is_refused(place: Place) -> None:
    name = place.add_volume_type(is_public=True)
    place.cloud.storage.set_volume_quota(place.project, {f"gigabytes_{name}": 3})
    with pytest.raises(CloudRefused, match=f"gigabytes_{name}"):
        theirs(place).create_volume(NewVolume(label(), name, 4))
    volume = theirs(place).create_volume(NewVolume(label(), name, 3))
    is_there(place, volume)


def test_what_there_is_not_is_refused(place: Place) -> None:
    with pytest.raises(CloudRefused):
        theirs(place).create_volume(NewVolume(label(), ABSENT, 1))
    with pytest.raises(CloudRefused):
        theirs(place).create_snapshot(ABSENT, label(), {})


def test_a_server_has_a_volume_for_a_time(place: Place) -> None:
    compute = place.cloud.as_user(place.token).compute
    booted = place.boot_reserved(label(), room(place))
    assert booted is not None
    server, volume = booted.id, place.add_volume("standard", 2)
    compute.attach_volume(server, volume)
    (begun,) = (each for each in place.cloud.storage.volumes(place.project) if each.id == volume)
    assert begun.status != "available"
    is_there(place, volume, "in-use")
    (found,) = (each for each in place.cloud.storage.volumes(place.project) if each.id == volume)
    assert found.attached_to == (server,)
    with pytest.raises(CloudRefused):
        compute.attach_volume(server, volume)
    theirs(place).create_snapshot(volume, label(), {MARK: "kept"})
    snapshot_of(place, volume)
    compute.detach_volume(server, volume)
    is_there(place, volume, "available")
    compute.detach_volume(server, volume)
    with pytest.raises(CloudRefused):
        compute.attach_volume(ABSENT, volume)
    with pytest.raises(CloudRefused):
        compute.attach_volume(server, ABSENT)


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudRefused(service="fence", reason="fallen")

    storage = place.cloud.fenced(fallen).storage
    for call in (
        storage.volume_types,
        lambda: storage.volume_quota(place.project),
        lambda: storage.set_volume_quota(place.project, {"gigabytes": 1}),
        lambda: storage.volume_usage(place.project),
        lambda: storage.volumes(place.project),
        lambda: storage.volumes_with(place.project, MARK, "1"),
        lambda: storage.create_volume(NewVolume("name", "standard", 1)),
        lambda: storage.volume_fault(ABSENT),
        lambda: storage.delete_volume("id"),
        lambda: storage.snapshot(ABSENT),
        lambda: storage.snapshots_of(ABSENT),
        lambda: storage.create_snapshot(ABSENT, "name", {}),
    ):
        with pytest.raises(CloudRefused, match="fallen"):
            call()
