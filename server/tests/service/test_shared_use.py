"""Leases that other projects may use: whom the cloud lets in, and until when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blazar.domain.errors import CloudRefused, InvalidInput
from blazar.domain.lease.event import EventType
from blazar.domain.lease.healing import LOST
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.service.ports import Look
from blazar.service.shares import Shares
from blazar.service.works import active_works

from .failures import WHOLE, fail, flags, repair
from .world import ALT, DEMO, World, floating_ips, instances, whole_hosts

OTHER = str(ALT.project_id)
REQUESTS = {"hosts": whole_hosts, "slots": instances}


@pytest.fixture
def world() -> World:
    return World(hosts=2, floating_ips=1)


@pytest.fixture(params=list(REQUESTS))
def lease(world: World, request: pytest.FixtureRequest) -> Lease:
    return world.reserve(REQUESTS[request.param](), start=5, end=60)


def put(world: World, lease: Lease, right: str, project_id: str = OTHER) -> None:
    shares(world).put(lease.id, project_id, ShareRight(right), DEMO)


def shares(world: World) -> Shares:
    return Shares(world.database, world.kinds, world.clock)


def let_in(world: World, lease: Lease) -> list[str]:
    """Return the projects that the cloud lets use the lease's reservation."""
    (reservation,) = lease.reservations
    if reservation.resource_type == "virtual:instance":
        return sorted(world.cloud.state.access.get(reservation.id, ()))
    metadata = next(
        (a.metadata for a in world.cloud.state.aggregates.values() if a.name == reservation.id), {}
    )
    others = [key for key, value in metadata.items() if value == "blazar:shared"]
    return sorted([*others, *([metadata["blazar:owner"]] if metadata else [])])


def differences(world: World, lease: Lease) -> list[str]:
    look = Look(world.cloud, world.database)
    with world.database.read() as uow:
        works = active_works(uow, world.database, world.kinds, [world.lease(lease)])
    return [each.subject for kind, work in works[lease.id] for each in kind.differences(work, look)]


def test_a_project_may_use_it_from_the_start_to_the_end(world: World, lease: Lease) -> None:
    put(world, lease, "use")
    assert let_in(world, lease) == []
    world.advance(minutes=5)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert let_in(world, lease) == ["alt", "demo"]
    assert differences(world, lease) == []
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert let_in(world, lease) == []


@pytest.mark.parametrize("right", ["use", "use_and_change"])
def test_shares_change_while_it_is_active(world: World, lease: Lease, right: str) -> None:
    world.advance(minutes=5)
    for given, expected in (("read", []), (right, ["alt"]), ("change", []), (right, ["alt"])):
        put(world, lease, given)
        world.run_due()
        assert let_in(world, lease) == sorted([*expected, "demo"])
        assert differences(world, lease) == []
    shares(world).delete(lease.id, OTHER, ALT)
    world.run_due()
    assert let_in(world, lease) == ["demo"]
    assert world.lease(lease).is_settled


def test_a_right_that_lets_use_nothing_leaves_the_lease_as_it_is(world: World, lease: Lease) -> None:
    put(world, lease, "change")
    put(world, lease, "read")
    shares(world).delete(lease.id, OTHER, ALT)
    assert world.lease(lease) == lease


def test_what_changes_while_the_cloud_is_at_it_is_done_again(world: World, lease: Lease) -> None:
    world.advance(minutes=5)
    put(world, lease, "use")
    called: list[str] = []

    def withdraw(name: str) -> None:
        called.append(name)
        if called.count("create_aggregate") == 1 and name == "create_aggregate":
            put(world, lease, "read")

    world.cloud.before = withdraw
    world.run_due()
    assert "create_aggregate" in called
    assert let_in(world, lease) == ["demo"]
    assert world.lease(lease).is_settled


def test_servers_of_the_other_project_go_with_the_lease_and_not_with_the_share(world: World) -> None:
    lease = world.reserve(instances(amount=2), end=60)
    (reservation,) = lease.reservations
    put(world, lease, "use")
    world.run_due()
    world.cloud.boot_reserved("theirs", reservation.id, "alt")
    put(world, lease, "read")
    world.run_due()
    with pytest.raises(CloudRefused):
        world.cloud.boot_reserved("too late", reservation.id, "alt")
    assert "theirs" in world.cloud.state.servers
    for _ in range(2):
        world.advance(minutes=60)
    assert "theirs" not in world.cloud.state.servers
    assert world.lease(lease).status is LeaseStatus.TERMINATED


@pytest.mark.parametrize("fails_first", [True, False])
def test_a_refused_project_is_let_in_when_a_failed_host_is_back(
    world: World, lease: Lease, fails_first: bool
) -> None:
    """The failure of the host tells over the refusal, and its return takes back only its own."""

    def refuse(call: str) -> None:
        if call == "create_aggregate":
            raise CloudRefused(service="Nova", reason="not now")

    def give() -> None:
        world.cloud.before = refuse
        put(world, lease, "use")
        world.run_due()
        world.cloud.before = lambda call: None

    world.advance(minutes=5)
    (host,) = world.hosts_of(lease)
    if not fails_first:
        give()
    fail(world, host, is_up=True, is_enabled=False)
    world.look()
    if fails_first:
        give()
    assert let_in(world, lease) == ["demo"]
    assert world.lease(lease).reservations[0].status_reason == LOST
    repair(world, host)
    for _ in range(4):
        world.advance(minutes=1)
        world.monitoring.round()
        assert world.lease(lease).degraded == (let_in(world, lease) == ["demo"])
        world.run_due()
    assert let_in(world, lease) == ["alt", "demo"]
    assert flags(world, lease) == WHOLE


def test_what_an_operator_has_written_stays(world: World, lease: Lease) -> None:
    world.advance(minutes=5)
    (reservation,) = lease.reservations
    keys = {OTHER: "let in by an operator", "filter_tenant_id-east": "eastern"}
    aggregate = world.cloud.compute.find_aggregate(reservation.id)
    assert aggregate is not None
    world.cloud.compute.create_aggregate(reservation.id, aggregate.availability_zone, keys)
    for right in ("use", "read"):
        put(world, lease, right)
        world.run_due()
        aggregate = world.cloud.compute.find_aggregate(reservation.id)
        assert aggregate is not None
        assert keys.items() <= aggregate.metadata.items()
        assert differences(world, lease) == []
    assert world.lease(lease).is_settled


def test_a_project_that_nova_does_not_know_keeps_no_lease_from_its_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = world.reserve(instances(), start=5, end=60)
    put(world, lease, "use", "unknown")
    put(world, lease, "use")
    compute = type(world.cloud.compute)
    grant = compute.grant_flavor

    def refused(self: Any, flavor_id: str, project_id: str) -> None:
        if project_id == "unknown":
            raise CloudRefused(service="Nova", reason="Project ID unknown is not a valid project.")
        grant(self, flavor_id, project_id)

    monkeypatch.setattr(compute, "grant_flavor", refused)
    world.advance(minutes=5)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert let_in(world, lease) == ["alt", "demo"]


@pytest.mark.parametrize(
    ("request_of", "project_id", "told"),
    [
        (floating_ips, OTHER, "nothing that servers of another project can be put onto"),
        (whole_hosts, "blazar:match", "letters, digits and dashes"),
        (whole_hosts, "availability_zone", "letters, digits and dashes"),
    ],
)
def test_what_is_refused_changes_nothing(
    world: World, request_of: Callable[[], Any], project_id: str, told: str
) -> None:
    lease = world.reserve(request_of(), end=60)
    with pytest.raises(InvalidInput, match=told):
        put(world, lease, "use", project_id)
    assert world.lease(lease) == lease
    assert shares(world).list(lease.id) == ()


def test_closing_an_unused_lease_takes_it_from_all(world: World, lease: Lease) -> None:
    put(world, lease, "use")
    world.advance(minutes=5)
    with world.database.read() as uow:
        ((kind, work),) = active_works(uow, world.database, world.kinds, [world.lease(lease)])[lease.id]
    assert kind.close(work, world.cloud)
    assert "alt" not in let_in(world, lease)
    assert not kind.close(work, world.cloud)
    open_events = {each.event_type for each in world.lease(lease).events if each.is_open}
    assert EventType.CONVERGE not in open_events
