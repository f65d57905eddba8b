"""Reserved volumes on a real Cinder, from the registration of a volume type to the end of the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from labtests import workers
from labtests.processes import LabProcesses
from labtests.reservations import Reservations, volumes
from labtests.waiting import ACTIVE_SECONDS, END_SECONDS, boundary, text, until, wait_for
from openstack.connection import Connection

CINDER_SECONDS = 60
ON_TIME_SECONDS = 20
LATEST = "1.25"
MADE = "1.39"
OVER_QUOTA, BAD_REQUEST = 413, 400


@dataclass(frozen=True)
class VolumeType:
    """A volume type of this worker, of which no project has any without a reservation."""

    id: str
    name: str


@pytest.fixture
def volume_type(admin: Connection, demo: Connection, name: str) -> Iterator[VolumeType]:
    """Register a volume type with 10 GiB in 5 volumes; at the end nothing may be reserved of it."""
    storage, service = admin.block_storage, Reservations(admin)
    made = storage.create_type(name=name)
    set_quota(admin, demo, {f"gigabytes_{name}": 0, f"volumes_{name}": 0})
    body = {"volume_type": name, "gigabytes": 10, "volumes": 5}
    assert service.call("POST", "/volumetypes", body, LATEST).status == 201
    yield VolumeType(str(made.id), name)
    for lease in service.call("GET", "/leases").body["leases"]:
        if workers.owns(lease["name"]):
            service.delete(lease["id"])
            service.await_gone(lease["id"], END_SECONDS)
    assert service.call("DELETE", f"/volumetypes/{made.id}", None, LATEST).status == 204
    for volume in listed(demo, name):
        demo.block_storage.delete_volume(volume)
    until("no volumes", CINDER_SECONDS, lambda: not listed(demo, name))
    storage.delete_type(made)


def listed(demo: Connection, volume_type: str) -> list[Any]:
    return [each for each in demo.block_storage.volumes() if each.volume_type == volume_type]


def statuses(demo: Connection, volume_type: str) -> list[str]:
    return sorted(str(each.status) for each in listed(demo, volume_type))


def set_quota(admin: Connection, owner: Connection, limits: dict[str, int]) -> None:
    path = f"/os-quota-sets/{owner.current_project_id}"
    admin.block_storage.put(path, json={"quota_set": limits}).raise_for_status()


def quota(admin: Connection, owner: Connection, volume_type: str) -> tuple[int, int]:
    """Return how many gigabytes in how many volumes of the type a project may have."""
    answer: Any = admin.block_storage.get(f"/os-quota-sets/{owner.current_project_id}")
    limits = answer.json()["quota_set"]
    return limits[f"gigabytes_{volume_type}"], limits[f"volumes_{volume_type}"]


def make(owner: Connection, volume_type: str, gigabytes: int) -> Any:
    """Ask for a volume as a user does: the volume when it can be used, or the status of the refusal."""
    body = {"volume": {"name": volume_type, "size": gigabytes, "volume_type": volume_type}}
    answer: Any = owner.block_storage.post("/volumes", json=body)
    if answer.status_code >= BAD_REQUEST:
        return answer.status_code
    made = answer.json()["volume"]["id"]

    def available() -> Any:
        found = owner.block_storage.get_volume(made)
        return found if found.status == "available" else None

    return until("the volume available", CINDER_SECONDS, available)


def attached(demo: Connection, boot: Callable[..., Any], name: str, volume: Any) -> tuple[str, Any]:
    """Attach a volume to a server on a host with a lease of its own. Return that lease and the server."""
    service = Reservations(demo)
    host = service.post_hosts(f"{name}-host", "now", boundary(3600))
    lease = service.await_status(host.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    server = boot(demo, lease["reservations"][0]["id"])
    assert server.status == "ACTIVE", server
    demo.compute.create_volume_attachment(server.id, volume_id=volume.id)
    until(
        "the volume in use",
        CINDER_SECONDS,
        lambda: demo.block_storage.get_volume(volume.id).status == "in-use",
    )
    return lease["id"], server


def test_they_are_promised_given_and_taken_back(
    volume_type: VolumeType, hosts: object, admin: Connection, demo: Connection, alt: Connection, name: str
) -> None:
    service, of_type = Reservations(demo), volume_type.name
    assert make(demo, of_type, 1) == OVER_QUOTA
    created = service.post(name, "now", boundary(3600), volumes(of_type, 6, 2))
    assert created.status == 201, created
    assert created.body["lease"]["reservations"][0]["volume_type"] == volume_type.id
    for gigabytes, count in ((5, 1), (1, 4)):
        other = Reservations(alt).post(name, "now", boundary(600), volumes(of_type, gigabytes, count))
        assert other.status == BAD_REQUEST, other
    lease = service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    assert quota(admin, demo, of_type) == (6, 2)

    # What was promised can be made, and no more than that.
    assert make(demo, of_type, 7) == OVER_QUOTA
    first = make(demo, of_type, 4)
    assert make(demo, of_type, 3) == OVER_QUOTA
    make(demo, of_type, 1)
    assert make(demo, of_type, 1) == OVER_QUOTA
    demo.block_storage.extend_volume(first, 5)
    until("the volume extended", CINDER_SECONDS, lambda: demo.block_storage.get_volume(first.id).size == 5)

    # What is not deleted is kept, and stays in the quota; the rest goes back.
    demo.block_storage.delete_volume(first)
    until("one volume", CINDER_SECONDS, lambda: statuses(demo, of_type) == ["available"])
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    assert quota(admin, demo, of_type) == (1, 1)
    assert make(demo, of_type, 1) == OVER_QUOTA


def test_what_is_not_in_use_is_deleted_where_it_is_asked_for(
    volume_type: VolumeType,
    hosts: object,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service, of_type = Reservations(demo), volume_type.name
    created = service.post(name, "now", boundary(3600), volumes(of_type, 9, 3, on_end="delete"))
    lease = service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    used, *_ = [make(demo, of_type, size) for size in (2, 3, 4)]
    host, server = attached(demo, boot, name, used)
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    assert [each.id for each in listed(demo, of_type)] == [used.id]
    assert quota(admin, demo, of_type) == (2, 1)
    assert demo.compute.get_server(server.id).status == "ACTIVE"

    # The end of the host's lease deletes its server, and Nova detaches the volume with the service's token.
    assert service.delete(host).status == 204
    until("the volume free", CINDER_SECONDS, lambda: statuses(demo, of_type) == ["available"])


def reserve_made(owner: Connection, name: str, volume_type: str, **more: Any) -> Any:
    """Reserve 6 GiB for two volumes of 2 GiB that are made at the start, and wait until they are."""
    service = Reservations(owner)
    asked = volumes(volume_type, 6, 2, volume_name=name, volume_size=2, **more)
    dates = {"start_date": "now", "end_date": text(boundary(3600))}
    body = {"name": name, **dates, "reservations": [asked], "events": []}
    created = service.call("POST", "/leases", body, MADE)
    assert created.status == 201, created
    path = f"/leases/{created.body['lease']['id']}"
    service.await_status(created.body["lease"]["id"], "ACTIVE", ACTIVE_SECONDS)
    return service.call("GET", path, None, MADE).body["lease"]


def test_they_are_made_attached_and_deleted_by_the_users_trust(
    volume_type: VolumeType,
    hosts: object,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service, of_type = Reservations(demo), volume_type.name
    host = service.post_hosts(f"{name}-host", "now", boundary(3600)).body["lease"]["id"]
    server = boot(demo, service.await_status(host, "ACTIVE", ACTIVE_SECONDS)["reservations"][0]["id"])
    lease = reserve_made(demo, name, of_type, server_id=server.id, on_end="detach,delete")
    found = listed(demo, of_type)
    assert {(each.size, each.status, each.user_id) for each in found} == {(2, "in-use", demo.current_user_id)}
    assert sorted(each.name for each in found) == [f"{name}-1", f"{name}-2"]
    assert {each["server_id"] for volume in found for each in volume.attachments} == {server.id}
    shown = lease["reservations"][0]["made_volumes"]
    assert {each["id"]: each["status"] for each in shown} == {each.id: "in-use" for each in found}

    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    assert listed(demo, of_type) == []
    assert quota(admin, demo, of_type) == (0, 0)
    assert demo.compute.get_server(server.id).status == "ACTIVE"


def test_what_is_left_of_them_has_snapshots_at_the_end(
    volume_type: VolumeType, hosts: object, admin: Connection, demo: Connection, name: str
) -> None:
    service, storage, of_type = Reservations(demo), demo.block_storage, volume_type.name
    lease = reserve_made(demo, name, of_type, on_end="snapshot")
    gone, stays = listed(demo, of_type)
    storage.delete_volume(gone)
    until("one volume", CINDER_SECONDS, lambda: statuses(demo, of_type) == ["available"])
    assert service.delete(lease["id"]).status == 204
    service.await_gone(lease["id"], END_SECONDS)
    (snapshot,) = [each for each in storage.snapshots() if each.volume_id == stays.id]
    assert (snapshot.status, snapshot.size) == ("available", 2)
    assert [each.id for each in listed(demo, of_type)] == [stays.id]
    # One volume and its snapshot are kept, and stay in the quota.
    assert quota(admin, demo, of_type) == (4, 1)
    storage.delete_snapshot(snapshot)
    until("no snapshot", CINDER_SECONDS, lambda: snapshot.id not in {each.id for each in storage.snapshots()})


@pytest.mark.alone
@pytest.mark.thorough
def test_only_leases_of_volumes_wait_for_cinder(
    volume_type: VolumeType,
    hosts: object,
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    name: str,
) -> None:
    service, of_type, moment = Reservations(demo), volume_type.name, boundary(20)

    def reserved(start: int | str, end: int, gigabytes: int) -> str:
        answer = service.post(f"{name}-{gigabytes}", start, end, volumes(of_type, gigabytes, 1))
        assert answer.status == 201, answer
        return str(answer.body["lease"]["id"])

    ending, starting = reserved("now", moment, 4), reserved(moment, moment + 3600, 9)
    service.await_status(ending, "ACTIVE", ACTIVE_SECONDS)
    host = service.post_hosts(f"{name}-host", moment, moment + 3600).body["lease"]["id"]
    wait_for(moment - 3)
    with processes.failing("cinder", "500 503"):
        wait_for(moment)
        service.await_status(host, "ACTIVE", ON_TIME_SECONDS)
        wait_for(moment + ON_TIME_SECONDS)
        assert service.status(ending) == "TERMINATING"
        assert service.status(starting) in ("PENDING", "STARTING")
    service.await_status(ending, "TERMINATED", END_SECONDS)
    service.await_status(starting, "ACTIVE", ACTIVE_SECONDS)
    assert quota(admin, demo, of_type) == (9, 1)
