"""Servers that are booted by a user's rights, and images as users see them: the cloud in memory, the sandbox
and a real Nova behave the same."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from blazar.adapters.clock import SystemClock
from blazar.adapters.memory import compute
from blazar.adapters.openstack import nova
from blazar.domain.errors import CloudRefused
from blazar.kinds.shelving import REFUSED
from blazar.service.ports import ChangedServer, NewServer

from .places import Place, label, room, until

NOWHERE = "00000000-0000-4000-8000-000000000000"


def new(place: Place, flavor: str, **fields: object) -> NewServer:
    given = {"image_id": place.add_image(), "metadata": {"blazar_reservation": flavor, "blazar_number": "1"}}
    return NewServer(label(), flavor_id=flavor, **{**given, **fields})  # type: ignore[arg-type]


def test_a_server_is_booted_where_there_is_room_and_found_by_its_flavor(place: Place) -> None:
    flavor, theirs = room(place), place.cloud.as_user(place.token).compute
    asked = new(place, flavor, user_data="aGlkZGVu")
    server_id = theirs.boot_server(asked)

    def settled() -> object:
        (found,) = place.cloud.compute.servers_of(flavor)
        return found if found.status in ("ACTIVE", "ERROR") else None

    found = until("the server's fate", settled)
    assert (found.id, found.name, found.status, found.host) == (
        server_id,
        asked.name,
        "ACTIVE",
        place.hosts[0],
    )
    assert (found.project_id, dict(found.metadata)) == (place.project, dict(asked.metadata))

    second = theirs.boot_server(new(place, flavor))

    def failed() -> object:
        each = place.cloud.compute.server(second)
        return each if each and each.status == "ERROR" else None

    assert "No valid host" in until("no room", failed).fault


def test_an_image_that_is_not_there_and_a_flavor_that_is_not_the_projects(place: Place) -> None:
    flavor = room(place)
    with pytest.raises(CloudRefused):
        place.cloud.as_user(place.token).compute.boot_server(new(place, flavor, image_id=NOWHERE))
    assert place.cloud.compute.servers_of(flavor) == []


def test_images_are_seen_by_their_ids(place: Place) -> None:
    theirs = place.cloud.as_user(place.token).images
    image_id = place.add_image()
    assert theirs.image(image_id).id == image_id
    for nothing in (NOWHERE, "nope", "a/b", ".."):
        assert theirs.image(nothing) is None


def test_servers_are_listed_with_their_hints_by_what_has_changed(place: Place) -> None:
    before = SystemClock().now() - timedelta(minutes=1)
    name, flavor = label(), room(place)
    server_id = place.boot_hinted(name, flavor, {"lease_params": '{"name": "x"}'})

    def listed(since: datetime) -> list[ChangedServer]:
        return [each for each in place.cloud.compute.changed_servers(since).servers if each.id == server_id]

    # Nova keeps no metadata of a server that is being booted, nor of one that found no host.
    (found,) = until("the server", lambda: [each for each in listed(before) if each.status == "ACTIVE"])
    assert (found.name, found.project_id, found.hints) == (
        name,
        place.project,
        {"lease_params": ['{"name": "x"}']},
    )
    assert found.flavor == place.cloud.compute.server(server_id).flavor.name
    assert found.host == place.hosts[0]
    assert [each.id for each in place.cloud.compute.bounded_servers_on(found.host)] == [server_id]
    assert place.cloud.compute.bounded_servers_on(NOWHERE) == []
    assert (found.tags, place.cloud.compute.server(server_id).tags) == (frozenset(), frozenset())
    assert listed(SystemClock().now() + timedelta(hours=1)) == []
    assert server_id not in place.cloud.compute.deleted_servers(before)

    def written() -> dict[str, str] | None:
        # The service of the lab writes what it makes of the hint, and Nova keeps the later of two at once.
        place.cloud.compute.set_server_metadata(server_id, "blazar_lease", "l")
        (found,) = listed(before)
        return dict(found.metadata) if "blazar_lease" in found.metadata else None

    metadata = until("the metadata", written)
    metadata.pop(REFUSED, None)
    assert metadata == {"blazar_lease": "l"}
    place.cloud.compute.delete_server(server_id)
    until("nothing of what is deleted", lambda: not listed(before))
    # Nova gives it the status DELETED just before it deletes it.
    until("the deleted one", lambda: server_id in place.cloud.compute.deleted_servers(before))
    assert place.cloud.compute.deleted_servers(SystemClock().now() + timedelta(hours=1)) == []


def test_servers_that_are_being_built_are_listed_once_they_are_built(place: Place) -> None:
    since, flavor = SystemClock().now() - timedelta(minutes=1), room(place)
    booted = {place.boot_hinted(label(), flavor, {}) for _ in range(3)}

    def all_listed() -> bool:
        found = {each.id: each.status for each in place.cloud.compute.changed_servers(since).servers}
        assert "BUILD" not in found.values()
        return booted <= set(found)

    until("all of them", all_listed)


def test_servers_that_have_changed_are_listed_in_parts_oldest_first(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for adapter in (nova, compute):
        monkeypatch.setattr(adapter, "PAGE", 2)
    since: datetime | None = SystemClock().now() - timedelta(minutes=1)
    flavor = room(place)
    booted = {place.boot_hinted(label(), flavor, {}) for _ in range(3)}
    servers = place.cloud.compute.server
    until("no more changes", lambda: all(getattr(servers(i), "status", "BUILD") != "BUILD" for i in booted))
    seen: list[str] = []
    while since is not None:
        part = place.cloud.compute.changed_servers(since)
        assert part.until is None or part.until > since
        seen += [each.id for each in part.servers]
        since = part.until
    assert booted <= set(seen)
