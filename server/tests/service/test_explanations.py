"""Explanations of shortages: each suggestion can be had, and brute force names the same leases in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.errors import BlazarError, CloudUnavailable, NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.requirement.language import MAX_LENGTH
from blazar.kinds.flavor import FlavorKind
from blazar.kinds.flavor.schema import FlavorParameters
from blazar.service.answers import AvailabilityAnswer
from blazar.service.calendars import Limits
from blazar.service.commands import (
    NOW,
    AvailabilityQuestion,
    ByDuration,
    CreateLease,
    ReservationChange,
    ReservationRequest,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.explanations import Explanation, shortest_of
from blazar.service.offers import OfferSettings
from blazar.service.ports import Flavor
from blazar.service.ports.kind import RequestContext
from blazar.service.quotas import QuotaSettings

from .world import ADMIN, ALT, DEMO, World, floating_ips, instances, servers, whole_hosts

MINUTE = timedelta(minutes=1)


def racks(*names: str) -> World:
    """Hosts with a rack each, and a disk that all have in common."""
    world = World(len(names))
    for host, rack in zip(world.hosts.list(ADMIN), names, strict=True):
        world.hosts.set_capabilities(host.id, {"rack": rack, "disk": "ssd"})
    return world


def command(
    world: World, *reservations: ReservationRequest, start: float = 0, end: float = 60
) -> CreateLease:
    return CreateLease(
        "lease", world.in_minutes(start) if start else NOW, world.in_minutes(end), None, reservations
    )


def explain(
    world: World,
    *reservations: ReservationRequest,
    start: float = 0,
    end: float = 60,
    caller: Caller = DEMO,
) -> Explanation:
    return world.explanations.explain_create(command(world, *reservations, start=start, end=end), caller)


def words(found: Explanation) -> list[str]:
    return [each.description for each in found.suggestions]


def make(world: World, answer: AvailabilityAnswer, caller: Caller = DEMO) -> Lease:
    interval = answer.interval
    return world.leases.create(
        CreateLease("suggested", interval.start, interval.end, None, answer.reservations), caller
    )


def in_rack(*parts: str, **fields: Any) -> ReservationRequest:
    text = parts[0] if len(parts) == 1 else f'["and", {", ".join(parts)}]'
    return whole_hosts(resource_properties=text, **fields)


R1, SSD, HDD = '["==", "$rack", "r1"]', '["==", "$disk", "ssd"]', '["==", "$disk", "hdd"]'


def test_a_part_of_the_requirement_is_replaced_by_another_value() -> None:
    world = racks("r1", "r2", "r3", "r3")
    world.reserve(in_rack(R1), start=0, end=90)
    found = explain(world, in_rack(R1, SSD, min=2, max=2), start=0, end=60)
    assert words(found) == ['["==", "$rack", "r3"] instead of ["==", "$rack", "r1"]']
    (answer,) = found.suggestions
    assert answer.changes == ("requirement",)
    assert answer.reservations[0].parameters["resource_properties"] == (
        '["and", ["==", "$rack", "r3"], ["==", "$disk", "ssd"]]'
    )
    assert len(make(world, answer).allocations) == 2


def test_a_part_is_left_out_where_no_other_value_does() -> None:
    world = racks("r1", "r2", "r3")
    world.reserve(in_rack(R1), start=0, end=90)
    found = explain(world, in_rack(R1, min=2, max=2), start=0, end=60)
    assert words(found) == ['without ["==", "$rack", "r1"]']
    assert found.suggestions[0].reservations[0].parameters["resource_properties"] == ""
    assert found.suggestions[0].replaced[0].instead is None
    make(world, found.suggestions[0])


def test_a_requirement_of_both_parameters_and_of_servers_is_relaxed() -> None:
    world = racks("r1", "r2")
    world.reserve(in_rack(R1), start=0, end=90)
    wish = whole_hosts(hypervisor_properties='["!=", "$rack", "r2"]', resource_properties=SSD)
    assert words(explain(world, wish)) == ["starts 1 hour 30 minutes later", 'without ["!=", "$rack", "r2"]']
    found = explain(world, instances(resource_properties=R1))
    assert words(found)[-1] == '["==", "$rack", "r2"] instead of ["==", "$rack", "r1"]'
    make(world, found.suggestions[-1])


def test_a_requirement_that_is_too_long_as_we_write_it_is_kept() -> None:
    world = racks("r1")
    world.reserve(in_rack(R1), start=0, end=90)
    long = f'["!=", "$disk", "{"ä" * (MAX_LENGTH // 3)}"]'
    found = explain(world, in_rack(R1, long))
    assert [each.changes for each in found.suggestions] == [("start",)]


def test_what_no_host_has_is_not_explained() -> None:
    world = racks("r1")
    assert explain(world, in_rack('["==", "$absent", "1"]', SSD)) == Explanation()


def test_another_flavor_that_the_user_may_see_is_suggested() -> None:
    world = World(1)
    world.cloud.add_flavor(Flavor("huge", "m1.huge", 500, 1 << 20, 500))
    for id_, vcpus, is_public in (("big", 6, True), ("secret", 7, False), ("odd", 7, True)):
        specs = {"hw:numa_nodes": "2"} if id_ == "odd" else {}
        world.cloud.add_flavor(
            Flavor(id_, f"m1.{id_}", vcpus, 2048, 10, is_public=is_public, extra_specs=specs)
        )
    found = explain(world, servers(flavor_id="huge"))
    assert words(found) == ["m1.big instead of m1.huge"]
    (answer,) = found.suggestions
    assert (answer.changes, answer.reservations[0].parameters["flavor_id"]) == (("size",), "big")
    make(world, answer)
    world.cloud.compute.grant_flavor("secret", "demo")
    world = world.beside()
    assert "m1.secret" in words(explain(world, servers(flavor_id="huge"), start=60, end=120))[-1]


def test_flavors_that_nova_does_not_tell_leave_the_rest() -> None:
    class Silent(FlavorKind):
        def other_sizes(self, asked: FlavorParameters, request: RequestContext) -> NoReturn:
            raise CloudUnavailable(service="nova", reason="down")

    world = World(1)
    world.create(start=0, end=90)
    world.kinds["flavor:instance"] = Silent()
    found = explain(world, servers())
    assert words(found) == ["starts 1 hour 30 minutes later"]
    assert found.cut_short


def test_alternatives_are_only_answers_where_they_are_asked_for() -> None:
    world = racks("r1", "r2")
    world.reserve(in_rack(R1), start=0, end=90)
    question = AvailabilityQuestion((in_rack(R1),), NOW, timedelta(hours=1))
    assert len(world.availability.ask(question, DEMO).answers) == 1
    assert len(world.availability.ask(replace(question, alternatives=True), DEMO).answers) == 2


def test_the_leases_in_the_way_are_told_with_what_they_are() -> None:
    world = World(3, offers=OfferSettings())
    first = world.create("first", min=2, max=2, start=0, end=60)
    later = world.reserve(whole_hosts(), name="later", start=30, end=50, caller=ALT)
    world.create("over", start=60, end=120)
    held = world.offers.create(command(world, whole_hosts(), start=50, end=60), None, ALT)
    found = explain(world, whole_hosts(min=3, max=3), start=0, end=60)
    assert [(e.owner and e.owner.lease_id, e.resources, e.is_offer) for e in found.blocking] == [
        (later.id, 1, False),
        (first.id, 2, False),
        (held.id, 1, True),
    ]
    assert [e.owner and e.owner.name for e in found.blocking] == ["later", "first", ""]
    assert (found.more, found.cut_short) == (0, False)
    assert (found.blocking[0].start, found.blocking[0].end) == (world.in_minutes(30), world.in_minutes(50))


def test_only_some_leases_in_the_way_are_told_and_the_number_of_the_rest() -> None:
    world = World(1)
    for number in range(25):
        world.create(start=number + 1, end=number + 2)
    found = explain(world, whole_hosts(), start=0, end=60)
    assert (len(found.blocking), found.more) == (20, 5)
    assert [each.end for each in found.blocking] == sorted(each.end for each in found.blocking)


def test_a_lease_by_its_duration_is_explained_too() -> None:
    world = World(1)
    world.create(start=0, end=90)
    by_duration = ByDuration(timedelta(hours=1), earliest=True, latest_end=world.in_minutes(120))
    asked = CreateLease("lease", NOW, NOW, None, (whole_hosts(),))
    found = world.explanations.explain_create(asked, DEMO, by_duration)
    assert words(found) == ["starts 1 hour 30 minutes later"]


def test_an_explanation_that_is_cut_short_says_so() -> None:
    world = World()
    world.create(min=3, max=3, start=0, end=90)
    world.calendars._limits = Limits(availability=10)
    found = explain(world, whole_hosts(min=2, max=2))
    assert found.cut_short and not found.suggestions


def test_what_was_free_meanwhile_is_suggested_as_asked_for() -> None:
    found = explain(World(1), whole_hosts())
    assert (words(found), found.blocking) == (["as asked for"], ())


def test_shortest_durations() -> None:
    assert shortest_of(timedelta(hours=3)) == timedelta(minutes=90)
    assert shortest_of(MINUTE) == MINUTE


# changes


def change(world: World, lease: Lease, **changes: Any) -> Explanation:
    return world.explanations.explain_update(lease.id, UpdateLease(**changes), DEMO)


def carry_out(world: World, lease: Lease, answer: AvailabilityAnswer) -> Lease:
    """Change the lease as the answer says, as its body does."""
    interval = answer.interval
    changes = tuple(
        ReservationChange(str(each.parameters["id"]), {k: v for k, v in each.parameters.items() if k != "id"})
        for each in answer.reservations
    )
    return world.update(lease, start=interval.start, end=interval.end, reservations=changes)


def test_a_longer_lease_is_suggested_as_long_as_it_can_be() -> None:
    world = World(1)
    lease = world.create(start=0, end=60)
    other = world.create(start=100, end=120)
    world.advance(10)
    found = change(world, lease, end=lease.interval.end + timedelta(hours=1))
    assert words(found) == ["lasts 1 hour 40 minutes instead of 2 hours"]
    assert [each.owner and each.owner.lease_id for each in found.blocking] == [other.id]
    changed = carry_out(world, lease, found.suggestions[0])
    assert changed.interval.end == lease.interval.end + timedelta(minutes=40)


def test_more_hosts_are_suggested_as_many_as_there_are_or_later() -> None:
    world = World(3)
    world.create(start=60, end=120)
    lease = world.create(start=60, end=120)
    (reservation,) = lease.reservations
    wish = ReservationChange(reservation.id, {"min": 3, "max": 3})
    found = change(world, lease, reservations=(wish,))
    assert words(found) == ["starts 1 hour later", "physical:host: 2 instead of 3"]
    assert len(carry_out(world, lease, found.suggestions[1]).allocations) == 2
    later = carry_out(world, lease, found.suggestions[0])
    assert (later.interval.start, len(later.allocations)) == (world.in_minutes(120), 3)


def test_what_a_quota_refuses_of_a_change_is_not_suggested() -> None:
    world = World(3, quota=QuotaSettings({"hosts": 2}))
    world.reserve(whole_hosts(), start=60, end=120, caller=ALT)
    lease = world.create(start=60, end=120)
    (reservation,) = lease.reservations
    found = change(world, lease, reservations=(ReservationChange(reservation.id, {"min": 3, "max": 3}),))
    assert words(found) == ["physical:host: 2 instead of 3"]
    carry_out(world, lease, found.suggestions[0])


def test_what_an_active_lease_cannot_change_is_not_suggested() -> None:
    world = racks("r1", "r2")
    leases = [
        world.reserve(instances(disk_gb=60, resource_properties=R1), start=start, end=start + 60)
        for start in (0, 60)
    ]
    world.run_due()
    active, pending = (
        change(world, lease, reservations=(ReservationChange(lease.reservations[0].id, {"amount": 2}),))
        for lease in leases
    )
    assert words(active) == []
    assert words(pending)[-1:] == ['without ["==", "$rack", "r1"]']


def test_no_value_of_a_property_is_told_that_has_become_private() -> None:
    world = racks("r1", "r2")
    lease = world.reserve(in_rack(R1), start=60, end=120)
    world.reserve(in_rack(R1), start=120, end=180)
    end = lease.interval.end + timedelta(hours=1)
    assert "r2" in words(change(world, lease, end=end))[-1]
    world.hosts.set_property_private("rack", True)
    assert "rack" not in "".join(words(change(world, lease, end=end)))


# against brute force

LEASES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                whole_hosts(),
                whole_hosts(min=2, max=2),
                in_rack(R1),
                instances(vcpus=4),
                floating_ips(),
                servers(amount=2),
            ]
        ),
        st.integers(0, 8).map(lambda n: 30 * n),
        st.integers(1, 6).map(lambda n: 30 * n),
        st.sampled_from([DEMO, ALT]),
    ),
    max_size=7,
)
WISHES = [
    (in_rack(R1, min=2, max=2),),
    (in_rack(R1, SSD),),
    (whole_hosts(min=3, max=4),),
    (whole_hosts(hypervisor_properties='["!=", "$rack", "r2"]', resource_properties=R1),),
    (in_rack(R1, HDD), instances(amount=9, vcpus=4)),
    (instances(amount=12, vcpus=4, resource_properties=R1), floating_ips(amount=2)),
    (servers(flavor_id="big", amount=3, affinity=False), whole_hosts(min=1, max=2)),
]


def crowded(leases: Any, limits: dict[str, int]) -> World:
    world = World(3, quota=QuotaSettings(limits), floating_ips=2, cleaning=10 * MINUTE)
    disks_and_racks = (("hdd", "r1"), ("ssd", "r1"), ("ssd", "r2"))
    for host, (disk, rack) in zip(world.hosts.list(ADMIN), disks_and_racks, strict=True):
        world.hosts.set_capabilities(host.id, {"rack": rack, "disk": disk})
    world.cloud.add_flavor(Flavor("big", "m1.big", 8, 4096, 20))
    for wish, start, length, caller in leases:
        try:
            world.reserve(wish, start=start, end=start + length, caller=caller)
        except BlazarError:
            continue
    return world


def in_the_way(world: World, wish: ReservationRequest, start: float, end: float) -> set[str]:
    """Brute force: the leases with a resource that matches, in the window with its cleaning time."""
    first, last = world.in_minutes(start) - 10 * MINUTE, world.in_minutes(end) + 10 * MINUTE
    with world.database.read() as uow:
        pool = world.kinds[wish.resource_type].pool
        occupancy = list(uow.resources.occupancy(pool))
    rack = "r1" if R1 in str(wish.parameters) else None
    excluded = "r2" if '"!="' in str(wish.parameters) else None
    disks = [name for name, text in (("ssd", SSD), ("hdd", HDD)) if text in str(wish.parameters)]
    return {
        allocation.lease_id
        for registration, allocations in occupancy
        for allocation in allocations
        if registration.capabilities.get("rack", rack) in ((rack,) if rack else ("r1", "r2", "r3", None))
        and (excluded is None or registration.capabilities.get("rack") != excluded)
        and (not disks or registration.capabilities.get("disk") in disks)
        and allocation.interval.start < last
        and allocation.interval.end > first
    }


@pytest.mark.slow
@given(
    LEASES,
    st.sampled_from(WISHES),
    st.sampled_from([{}, {}, {"hosts": 2}, {"instances": 8}]),
    st.integers(0, 4).map(lambda n: 30 * n),
    st.integers(1, 4).map(lambda n: 30 * n),
)
@settings(max_examples=examples(150), deadline=None)
def test_every_suggestion_can_be_had_and_brute_force_names_the_same_leases(
    leases: Any, wish: tuple[ReservationRequest, ...], limits: dict[str, int], start: int, length: int
) -> None:
    world = crowded(leases, limits)
    asked = command(world, *wish, start=start, end=start + length)
    try:
        world.leases.create(asked, DEMO)
        return
    except NotEnoughResources as refusal:
        fields = refusal.fields
    except BlazarError:
        return
    found = world.explanations.explain_create(asked, DEMO)
    event(f"{len(found.suggestions)} suggestions, {len(found.blocking)} in the way")
    for answer in found.suggestions:
        world.leases.delete(make(world, answer).id, DEMO)
        world.run_due()
    assert found.more == 0
    named = {each.owner.lease_id for each in found.blocking if each.owner}
    if len(wish) == 1:
        assert named == in_the_way(world, wish[0], start, start + length)
    elif fields["cause"] == "too_few":
        short = [each for each in wish if each.resource_type == fields["resource_type"]]
        assert named == in_the_way(world, short[0], start, start + length)


@pytest.mark.slow
@given(
    LEASES,
    st.sampled_from([{}, {}, {"hosts": 2}]),
    st.sampled_from([0, 60]),
    st.integers(0, 12).map(lambda n: 20 * n),
    st.integers(1, 3),
    st.sampled_from(["", R1]),
)
@settings(max_examples=examples(150), deadline=None)
def test_every_suggestion_for_a_change_can_be_had(
    leases: Any, limits: dict[str, int], start: int, longer: int, hosts: int, requirement: str
) -> None:
    world = crowded(leases, limits)
    try:
        lease = world.create(start=start, end=start + 60)
    except BlazarError:
        return
    world.advance(5)
    wish = ReservationChange(
        lease.reservations[0].id, {"min": hosts, "max": hosts, "resource_properties": requirement}
    )
    changes: dict[str, Any] = {"end": lease.interval.end + longer * MINUTE, "reservations": (wish,)}
    try:
        world.leases.preview_update(lease.id, UpdateLease(**changes), DEMO)
        return
    except NotEnoughResources:
        found = change(world, lease, **changes)
    except BlazarError:
        return
    event(f"{len(found.suggestions)} suggestions")
    assert lease.id not in {each.owner.lease_id for each in found.blocking if each.owner}
    for answer in found.suggestions:
        before = world.beside()
        shown = before.leases.preview_update(
            lease.id,
            UpdateLease(
                start=answer.interval.start,
                end=answer.interval.end,
                reservations=tuple(
                    ReservationChange(
                        str(each.parameters["id"]), {k: v for k, v in each.parameters.items() if k != "id"}
                    )
                    for each in answer.reservations
                ),
            ),
            DEMO,
        )
        assert shown.interval == answer.interval
