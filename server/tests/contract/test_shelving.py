"""Shelving, images and metadata of single servers: the cloud in memory, the sandbox and a real Nova behave
the same."""

from __future__ import annotations

import contextlib

import pytest

from blazar.domain.errors import CloudRefused
from blazar.kinds.server.marks import SERVER
from blazar.service.ports import SHELVED_SUFFIX, Cloud, ServerDetails

from .places import Place, label, room, until

NOWHERE = "00000000-0000-4000-8000-000000000000"


def settled(place: Place, server_id: str, status: str) -> ServerDetails:
    def look() -> ServerDetails | None:
        seen = place.cloud.compute.server(server_id)
        return seen if seen and seen.status == status and seen.task_state is None else None

    found: ServerDetails = until(f"the server {status}", look)
    return found


def keep(place: Place, host: str, server_id: str) -> None:
    """Keep a host for the server, as its reservation does: the filter lets no other onto the freepool's."""
    name, server = label(), place.cloud.compute.server(server_id)
    assert server is not None
    project = server.project_id or ""
    marks = {"reservation": name, "filter_tenant_id": project, "blazar:owner": project, SERVER: server_id}
    aggregate = place.cloud.compute.create_aggregate(name, None, marks)
    place.cloud.compute.add_host(aggregate.id, host)


def test_a_server_is_shown_with_what_it_has(place: Place) -> None:
    name, host = label(), place.hosts[0]
    server = place.boot(name, place.add_flavor(), host)
    seen = place.cloud.compute.server(server.id)
    assert (seen.id, seen.name, seen.status, seen.host) == (server.id, name, "ACTIVE", host)
    assert (seen.flavor.vcpus, seen.flavor.ram, seen.flavor.disk) == (1, 512, 1)
    assert (seen.project_id, seen.task_state, seen.is_locked) == (server.project_id, None, False)
    assert not seen.boots_from_volume


@pytest.mark.parametrize("nonsense", [NOWHERE, "nope", "..", "", "a/b", "ä"])
def test_what_is_no_server_is_none(place: Place, nonsense: str) -> None:
    assert place.cloud.compute.server(nonsense) is None


def test_shelved_from_one_host_and_unshelved_onto_another(place: Place) -> None:
    compute, (here, there) = place.cloud.compute, place.hosts
    server = place.boot(label(), place.add_flavor(), here)
    compute.shelve_server(server.id)
    assert settled(place, server.id, "SHELVED_OFFLOADED").host is None
    assert server.id not in {each.id for each in compute.servers_on(here)}
    with pytest.raises(CloudRefused):
        compute.shelve_server(server.id)
    keep(place, there, server.id)

    def brought_up() -> ServerDetails | None:
        """Ask again where Nova could not: its scheduler hears a moment later of what is kept for whom."""
        seen = compute.server(server.id)
        assert seen is not None
        if (seen.status, seen.task_state) == ("SHELVED_OFFLOADED", None):
            compute.unshelve_server(server.id, there)
        return seen if (seen.status, seen.task_state) == ("ACTIVE", None) else None

    assert until("the server on its host", brought_up).host == there


def test_what_is_offloaded_is_on_no_host(place: Place) -> None:
    """Nova tells of it on its host for another moment: it must not be taken for one that has to leave."""
    compute, here = place.cloud.compute, place.hosts[0]
    server = place.boot(label(), place.add_flavor(), here)
    compute.shelve_server(server.id)

    def has_left() -> bool:
        found = [each.status for each in compute.servers_on(here) if each.id == server.id]
        assert "SHELVED_OFFLOADED" not in found
        return not found

    until("the server away from its host", has_left)


def test_what_describes_a_shelved_server_stays_as_it_is(place: Place) -> None:
    compute = place.cloud.compute
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    compute.set_server_metadata(server.id, "before", "x")
    compute.shelve_server(server.id)
    settled(place, server.id, "SHELVED_OFFLOADED")
    with pytest.raises(CloudRefused):
        compute.set_server_metadata(server.id, "after", "x")
    with pytest.raises(CloudRefused):
        compute.remove_server_metadata(server.id, "before")
    with pytest.raises(CloudRefused):
        compute.add_server_tag(server.id, "after")
    assert compute.server(server.id).metadata == {"before": "x"}


def test_moved_to_another_host_while_it_runs(place: Place) -> None:
    compute, (here, _) = place.cloud.compute, place.hosts
    server = place.boot(label(), place.add_flavor(), here)

    def moved() -> ServerDetails | None:
        """Ask again where Nova knew no host: it hears a moment later of one that is kept no more."""
        seen = compute.server(server.id)
        assert seen is not None
        if (seen.status, seen.task_state) != ("ACTIVE", None):
            return None
        if seen.host != here:
            return seen
        compute.migrate_server(server.id)
        return None

    assert until("the server on another host", moved).host
    assert server.id not in {each.id for each in compute.servers_on(here)}
    compute.migrate_server(NOWHERE)
    second = place.boot(label(), place.add_flavor(), here)
    compute.stop_server(second.id)
    settled(place, second.id, "SHUTOFF")
    with pytest.raises(CloudRefused):
        compute.migrate_server(second.id)


def test_only_an_administrator_names_a_host(place: Place) -> None:
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    place.cloud.compute.shelve_server(server.id)
    settled(place, server.id, "SHELVED_OFFLOADED")
    theirs = place.cloud.as_user(place.token).compute
    if theirs.server(server.id) is not None:
        with pytest.raises(CloudRefused):
            theirs.unshelve_server(server.id, place.hosts[1])
    with pytest.raises(CloudRefused):
        place.cloud.compute.unshelve_server(server.id, "no-such-host")


def test_suspended_and_stopped(place: Place) -> None:
    compute = place.cloud.compute
    first = place.boot(label(), place.add_flavor(), place.hosts[0])
    compute.suspend_server(first.id)
    settled(place, first.id, "SUSPENDED")
    with pytest.raises(CloudRefused):
        compute.suspend_server(first.id)
    second = place.boot(label(), place.add_flavor(), place.hosts[1])
    compute.stop_server(second.id)
    settled(place, second.id, "SHUTOFF")


def test_locked_against_its_user_and_unlocked(place: Place) -> None:
    compute = place.cloud.compute
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    compute.lock_server(server.id)
    assert compute.server(server.id).is_locked
    theirs = place.cloud.as_user(place.token).compute
    if theirs.server(server.id) is not None:
        for refused in (
            theirs.shelve_server,
            theirs.suspend_server,
            theirs.stop_server,
            theirs.delete_server,
        ):
            with pytest.raises(CloudRefused):
                refused(server.id)
    compute.shelve_server(server.id)  # an administrator may
    settled(place, server.id, "SHELVED_OFFLOADED")
    compute.unlock_server(server.id)
    assert not compute.server(server.id).is_locked


def test_an_image_is_found_by_its_property(place: Place) -> None:
    name = label()
    server = place.boot(name, place.add_flavor(), place.hosts[0])
    place.cloud.compute.create_image(server.id, f"{name}-image", {"blazar_reservation": name})
    found = until("the image", lambda: place.cloud.images.images_with("blazar_reservation", name))
    assert [image.name for image in found] == [f"{name}-image"]
    place.fill_image(found[0].id)
    until(
        "the image active",
        lambda: {i.status for i in place.cloud.images.images_with("blazar_reservation", name)} == {"active"},
    )
    assert place.cloud.images.images_with("blazar_reservation", label()) == []


def imaged(place: Place, cloud: Cloud, name: str) -> str:
    """Return the id of an image that this cloud's credentials have made of a server of the user's."""
    server_id = place.boot_hinted(label(), room(place), {})
    settled(place, server_id, "ACTIVE")
    cloud.compute.create_image(server_id, name, {"blazar_reservation": name})
    (made,) = until("the image", lambda: cloud.images.images_with("blazar_reservation", name))
    place.fill_image(made.id)
    until("the image active", lambda: cloud.images.image(made.id).status == "active")
    return str(made.id)


def test_an_image_of_the_service_is_handed_over_to_the_servers_project(place: Place) -> None:
    images, name = place.cloud.images, label()
    image_id = imaged(place, place.cloud, name)
    (ours,) = images.images_with("blazar_reservation", name, place.project)
    assert (ours.id, ours.project_id == place.project) == (image_id, False)
    for _ in range(2):
        images.hand_over(image_id, place.project)
    (theirs,) = images.images_with("blazar_reservation", name, place.project)
    assert (theirs.id, theirs.project_id, theirs.status) == (image_id, place.project, "active")
    seen = place.cloud.as_user(place.token).images
    assert [each.id for each in seen.images_with("blazar_reservation", name)] == [image_id]
    assert images.images_with("blazar_reservation", name, place.other_project) == []
    assert place.cloud.as_user(place.other_token).images.image(image_id) is None


def test_who_cannot_change_the_owner_of_an_image_shares_it(place: Place) -> None:
    own, others = (place.cloud.as_user(token).images for token in (place.token, place.other_token))
    image_id = imaged(place, place.cloud.as_user(place.token), label())
    assert others.image(image_id) is None
    for _ in range(2):
        own.hand_over(image_id, place.other_project)
    assert others.image(image_id) is not None
    assert own.image(image_id).project_id == place.project
    # It is no one's to pass on who only sees it.
    with contextlib.suppress(CloudRefused):
        others.hand_over(image_id, place.other_project)
    assert own.image(image_id).project_id == place.project


def test_an_image_that_is_gone_is_handed_over_without_an_error(place: Place) -> None:
    place.cloud.images.hand_over(NOWHERE, place.project)


def marked(place: Place, server_id: str) -> list[str]:
    return [each.id for each in place.cloud.images.marked_shelved() if each.server_id == server_id]


def test_the_image_of_a_shelved_server_is_marked_and_outlives_it(place: Place) -> None:
    compute, images = place.cloud.compute, place.cloud.images
    name = label()
    server_id = place.boot_hinted(name, room(place), {})
    settled(place, server_id, "ACTIVE")
    compute.shelve_server(server_id)
    assert marked(place, server_id) == []
    for _ in range(2):
        images.mark_shelved(server_id)
    settled(place, server_id, "SHELVED_OFFLOADED")
    (image_id,) = marked(place, server_id)
    found = images.image(image_id)
    assert found is not None
    assert found.name.endswith(SHELVED_SUFFIX)
    assert not compute.is_server_gone(server_id)
    # Nova removes the image with the user's rights, which do not suffice.
    place.cloud.as_user(place.token).compute.delete_server(server_id)
    until("the server gone", lambda: compute.is_server_gone(server_id))
    assert marked(place, server_id) == [image_id]
    for _ in range(2):
        images.delete_image(image_id)
    assert marked(place, server_id) == []


def test_no_other_image_of_a_server_is_marked(place: Place) -> None:
    name = label()
    server = place.boot(name, place.add_flavor(), place.hosts[0])
    place.cloud.compute.create_image(server.id, f"{name}-image", {"blazar_reservation": name})
    until("the image", lambda: place.cloud.images.images_with("blazar_reservation", name))
    place.cloud.images.mark_shelved(server.id)
    place.cloud.images.mark_shelved(NOWHERE)
    assert marked(place, server.id) == []


def test_only_an_administrator_learns_that_a_server_is_gone(place: Place) -> None:
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    assert place.cloud.compute.is_server_gone(NOWHERE)
    theirs = place.cloud.as_user(place.other_token).compute
    for server_id in (server.id, NOWHERE):
        with pytest.raises(CloudRefused):
            theirs.is_server_gone(server_id)


def test_metadata_come_and_go(place: Place) -> None:
    compute = place.cloud.compute
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    compute.set_server_metadata(server.id, "blazar_reservation", "r1")
    compute.set_server_metadata(server.id, "other", "x")
    assert compute.server(server.id).metadata == {"blazar_reservation": "r1", "other": "x"}
    for _ in range(2):
        compute.remove_server_metadata(server.id, "blazar_reservation")
    assert compute.server(server.id).metadata == {"other": "x"}


def test_tags_come_and_go(place: Place) -> None:
    compute, tag = place.cloud.compute, label()
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    other = place.boot(label(), place.add_flavor(), place.hosts[1])
    for _ in range(2):
        compute.add_server_tag(server.id, tag)
    compute.add_server_tag(other.id, "other")
    compute.set_server_metadata(server.id, "a", "b")
    (found,) = compute.servers_with_tag(tag)
    assert (found.id, found.host, dict(found.metadata)) == (server.id, place.hosts[0], {"a": "b"})
    assert tag in compute.server(server.id).tags
    for _ in range(2):
        compute.remove_server_tag(server.id, tag)
    assert not compute.servers_with_tag(tag)
    assert "other" in compute.server(other.id).tags


def test_a_server_that_is_gone_is_no_error(place: Place) -> None:
    compute = place.cloud.compute
    compute.shelve_server(NOWHERE)
    compute.offload_server(NOWHERE)
    compute.unshelve_server(NOWHERE, place.hosts[0])
    compute.suspend_server(NOWHERE)
    compute.stop_server(NOWHERE)
    compute.lock_server(NOWHERE)
    compute.unlock_server(NOWHERE)
    compute.create_image(NOWHERE, "x", {})
    compute.set_server_metadata(NOWHERE, "a", "b")
    compute.remove_server_metadata(NOWHERE, "a")
    compute.add_server_tag(NOWHERE, "a")
    compute.remove_server_tag(NOWHERE, "a")


def test_another_projects_server_is_not_seen(place: Place) -> None:
    server = place.boot(label(), place.add_flavor(), place.hosts[0])
    assert place.cloud.as_user(place.other_token).compute.server(server.id) is None
