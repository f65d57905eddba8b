"""Limits that Keystone keeps: read before the transaction, and never missed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable, InvalidInput, QuotaExceeded
from blazar.service.quotas import QuotaSettings
from blazar.service.unified_limits import KEPT

from .world import ALT, World, whole_hosts


def in_keystone(registered: dict[str, int], **limits: int) -> World:
    """Return a world with limits in Keystone; those by name are of project demo."""
    world = World(6, quota=QuotaSettings({"hosts": 5, "leases": 9}, are_in_keystone=True))
    world.cloud.state.registered_limits.update(registered)
    if limits:
        world.cloud.state.project_limits["demo"] = limits
    return world


def calls(world: World) -> list[str]:
    """Return the names of the calls to the cloud from now on."""
    seen: list[str] = []
    world.cloud.before = seen.append
    return seen


def test_a_project_has_its_own_limit_or_the_registered_or_ours() -> None:
    world = in_keystone({"hosts": 3, "vcpus": 8, "unknown": 1}, hosts=1)
    quota = world.quotas.get("demo")
    assert {name: quota.limits[name] for name in ("hosts", "vcpus", "leases")} == {
        "hosts": 1,
        "vcpus": 8,
        "leases": 9,
    }
    assert quota.own == {"hosts": 1}
    assert world.quotas.get("alt").limits["hosts"] == 3
    found = world.quotas.list()
    assert (found.defaults["hosts"], [each.project_id for each in found.quotas]) == (3, ["demo"])
    world.reserve(whole_hosts())
    (used,) = (each for each in world.quotas.get_usage("demo") if each.name == "hosts")
    assert (used.limit, used.peak) == (1, 1)
    with pytest.raises(QuotaExceeded, match="hosts: the limit is 1"):
        world.reserve(whole_hosts())
    world.reserve(whole_hosts(min=3, max=3), caller=ALT)


def test_the_limits_of_the_database_do_not_count() -> None:
    world = in_keystone({"hosts": 1})
    world.database.transact(lambda uow: uow.quotas.set("demo", {"hosts": 0}))
    world.reserve(whole_hosts())
    for change in (lambda: world.quotas.set("demo", {"hosts": 2}), lambda: world.quotas.unset("demo")):
        with pytest.raises(InvalidInput, match="Keystone keeps the limits"):
            change()


@pytest.mark.parametrize(
    "failure",
    [
        CloudUnavailable(service="Keystone", reason="away"),
        CloudRefused(service="Keystone", reason="no role (HTTP 401)"),
    ],
)
def test_without_an_answer_nothing_more_is_taken(failure: BlazarError) -> None:
    world = in_keystone({"hosts": 3})
    lease = world.reserve(whole_hosts())
    world.clock.pause(KEPT.total_seconds())

    def fail(call: str) -> None:
        if call == "unified_limits":
            raise failure

    world.cloud.before = fail
    with pytest.raises(CloudUnavailable, match="Keystone"):
        world.reserve(whole_hosts())
    with pytest.raises(CloudUnavailable):
        world.update(lease, end=lease.interval.end + timedelta(hours=1))
    assert len(world.leases.list(None)) == 1
    world.update(lease, name="renamed")
    world.update(lease, end=lease.interval.end - timedelta(minutes=10))
    world.leases.delete(lease.id, ALT)


def test_keystone_is_not_asked_in_a_transaction() -> None:
    world = in_keystone({"hosts": 3})
    open_transactions: list[bool] = []
    is_open = [False]
    transact = world.database.inner.transact

    def watched(work: Any) -> Any:
        is_open[0] = True
        try:
            return transact(work)
        finally:
            is_open[0] = False

    world.database.inner.transact = watched  # type: ignore[method-assign]

    def note(call: str) -> None:
        if call == "unified_limits":
            open_transactions.append(is_open[0])

    world.cloud.before = note
    world.reserve(whole_hosts())
    assert open_transactions == [False]


def test_what_was_read_counts_for_half_a_minute() -> None:
    world = in_keystone({"hosts": 2})
    seen = calls(world)
    world.reserve(whole_hosts())
    world.cloud.state.registered_limits["hosts"] = 1
    world.reserve(whole_hosts())
    assert seen.count("unified_limits") == 1
    world.clock.pause(KEPT.total_seconds())
    with pytest.raises(QuotaExceeded):
        world.reserve(whole_hosts())
    assert seen.count("unified_limits") == 2


def test_projects_that_are_not_asked_about_any_more_are_forgotten() -> None:
    world = in_keystone({})
    kept: Any = world.quotas._quotas.in_keystone
    for number in range(5):
        kept.of(f"p{number}")
    assert len(kept._kept) == 5
    world.clock.pause(KEPT.total_seconds())
    kept.of("last")
    assert len(kept._kept) == 1
