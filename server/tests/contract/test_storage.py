"""The Storage port: the cloud in memory and the sandbox behave the same."""

from __future__ import annotations

import pytest

from blazar.domain.errors import CloudRefused

from .places import Place

# The lab has no Cinder.
pytestmark = pytest.mark.parametrize("place", ["memory", "sandbox"], indirect=True)


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


def test_a_user_sets_no_limits(place: Place, volume_type: str) -> None:
    theirs = place.cloud.as_user(place.token).storage
    with pytest.raises(CloudRefused):
        theirs.set_volume_quota(place.project, {f"gigabytes_{volume_type}": 7})


def test_volumes_are_listed_and_deleted(place: Place) -> None:
    storage = place.cloud.storage
    first, second = (place.add_volume("standard", size) for size in (3, 4))
    found = storage.volumes(place.project)
    assert [(each.id, each.volume_type, each.gigabytes, each.status) for each in found] == [
        (second, "standard", 4, "available"),
        (first, "standard", 3, "available"),
    ]
    assert found[0].created_at > found[1].created_at
    assert storage.volumes("another") == []
    for _ in range(2):
        storage.delete_volume(first)
    assert [each.id for each in storage.volumes(place.project)] == [second]


def test_a_volume_in_use_is_not_deleted(place: Place) -> None:
    storage, volume = place.cloud.storage, place.add_volume("standard", 3)
    place.use_volume(volume)
    (found,) = storage.volumes(place.project)
    assert found.status == "in-use"
    with pytest.raises(CloudRefused):
        storage.delete_volume(volume)


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudRefused(service="fence", reason="fallen")

    storage = place.cloud.fenced(fallen).storage
    for call in (
        storage.volume_types,
        lambda: storage.volume_quota(place.project),
        lambda: storage.set_volume_quota(place.project, {"gigabytes": 1}),
        lambda: storage.volumes(place.project),
        lambda: storage.delete_volume("id"),
    ):
        with pytest.raises(CloudRefused, match="fallen"):
            call()
