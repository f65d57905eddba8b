"""The capacity over time as a manager tells it: quantities, curves, sizes, limits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import InvalidInput, MissingParameter, TooLate, UnsupportedResourceType
from blazar.domain.planning.steps import Steps
from blazar.domain.resource import Inventory, Pool, Registration
from blazar.domain.time import HORIZON
from blazar.kinds.flavor import FlavorKind
from blazar.kinds.slots.errors import FlavorNotFound
from blazar.service import capacity
from blazar.service.calendars import Calendars, Limits
from blazar.service.capacity import (
    CapacityQuestion,
    CapacityReport,
    CapacityUseCases,
    QuantityCapacity,
)
from blazar.service.ports import Flavor
from blazar.service.ports.kind import Kind, Measure
from blazar.service.private_properties import PrivateProperties

from .world import ADMIN, DEMO, START, UNTIMED, World, instances, whole_hosts

DAY = timedelta(days=1)
SLOTS = ("virtual:instance", "flavor:instance", "instance:server")
"""The kinds that reserve a part of a host."""


@pytest.fixture
def world() -> World:
    return World(floating_ips=2)


def shown(world: World, cleaning: timedelta = timedelta(0), **question: Any) -> CapacityReport:
    asked = CapacityQuestion(**{"end": START + DAY, "tells_reserved": True, **question})
    return made(world, cleaning).get(asked, ADMIN)


def made(
    world: World,
    cleaning: timedelta = timedelta(0),
    limits: Limits = UNTIMED,
    kinds: dict[str, Kind[Any]] | None = None,
) -> CapacityUseCases:
    kinds = kinds or world.kinds  # type: ignore[assignment]  # of four types
    calendars = Calendars(world.database, world.clock, limits)
    private = PrivateProperties(world.database, kinds)
    return CapacityUseCases(calendars, kinds, private, world.cloud, world.clock, cleaning)


def quantity(report: CapacityReport, name: str) -> QuantityCapacity:
    return next(each for each in report.quantities if each.name == name)


def told(steps: Steps, name: str = "available") -> list[tuple[int, int]]:
    """The minutes of changes, and the values from there on."""
    return list(zip(steps.minutes, steps.values[name], strict=True))


def test_an_empty_pool_has_one_step_for_each_quantity(world: World) -> None:
    report = shown(world)
    assert (report.start, report.end, report.step) == (START, START + DAY, 1)
    assert [(q.name, q.resource_types) for q in report.quantities] == [
        ("hosts", ("physical:host",)),
        ("vcpus", SLOTS),
        ("memory_mb", SLOTS),
        ("disk_gb", SLOTS),
        ("floating_ips", ("virtual:floatingip",)),
        ("network_segments", ("network",)),
    ]
    assert quantity(report, "hosts").steps == Steps(
        [0], {"total": [4], "available": [4], "reserved": [0], "in_use": [0], "buffer": [0]}
    )
    assert quantity(report, "floating_ips").minimum == 2


def test_what_leases_take_is_told_from_the_minute_on_at_which_it_changes(world: World) -> None:
    world.reserve(whole_hosts(min=2, max=2), start=60, end=120)
    world.reserve(whole_hosts(), start=90, end=180)
    hosts = quantity(shown(world), "hosts")
    assert told(hosts.steps) == [(0, 4), (60, 2), (90, 1), (120, 3), (180, 4)]
    assert told(hosts.steps, "reserved") == [(0, 0), (60, 2), (90, 3), (120, 1), (180, 0)]
    assert (hosts.minimum, hosts.throughout) == (1, 1)


def test_instances_take_vcpus_and_the_whole_of_a_host_from_those_who_want_hosts(world: World) -> None:
    world.reserve(instances(vcpus=2, amount=2, affinity=False), start=60, end=120)
    report = shown(world)
    each = quantity(report, "vcpus").steps.values["total"][0] // 4
    assert told(quantity(report, "vcpus").steps) == [(0, 4 * each), (60, 4 * each - 4), (120, 4 * each)]
    assert told(quantity(report, "hosts").steps) == [(0, 4), (60, 2), (120, 4)]
    world.reserve(whole_hosts(), start=60, end=120)
    report = shown(world)
    assert told(quantity(report, "vcpus").steps)[1] == (60, 3 * each - 4)
    assert told(quantity(report, "vcpus").steps, "reserved")[1] == (60, each + 4)


def test_what_has_begun_is_in_use(world: World) -> None:
    world.reserve(whole_hosts(), end=60)
    world.reserve(whole_hosts(), start=30, end=90)
    hosts = quantity(shown(world), "hosts")
    assert told(hosts.steps, "in_use") == [(0, 1), (30, 1), (60, 0), (90, 0)]
    assert told(hosts.steps, "reserved") == [(0, 1), (30, 2), (60, 1), (90, 0)]


def test_what_is_reserved_is_told_only_where_it_is_asked_for(world: World) -> None:
    report = shown(world, tells_reserved=False)
    assert {name for each in report.quantities for name in each.steps.values} == {"total", "available"}


def test_cleaning_time_is_kept_around_what_can_be_reserved(world: World) -> None:
    world.reserve(whole_hosts(), start=60, end=120)
    hosts = quantity(shown(world, timedelta(minutes=10)), "hosts")
    assert told(hosts.steps) == [(0, 4), (50, 3), (60, 3), (120, 3), (130, 4)]


def test_a_failed_host_is_there_and_cannot_be_reserved(world: World) -> None:
    world.cloud.set_service("host1", is_up=False, is_enabled=True)
    world.look()
    hosts = quantity(shown(world), "hosts")
    assert (hosts.steps.values["total"][0], hosts.minimum) == (4, 3)


def test_a_kind_and_a_quantity_are_chosen(world: World) -> None:
    def names(**question: Any) -> list[str]:
        return [each.name for each in shown(world, **question).quantities]

    assert names(resource_type="physical:host") == ["hosts"]
    assert names(resource_type="virtual:floatingip") == ["floating_ips"]
    assert names(quantity="MEMORY_MB") == names(quantity="memory_mb") == ["memory_mb"]
    with pytest.raises(UnsupportedResourceType):
        names(resource_type="physical:unicorn")
    with pytest.raises(InvalidInput, match="There is no quantity vcpus; there are hosts"):
        names(resource_type="physical:host", quantity="vcpus")


def test_a_requirement_a_zone_and_traits_choose_resources(world: World) -> None:
    def hosts(**question: Any) -> int:
        return quantity(shown(world, **question), "hosts").minimum

    assert hosts(resource_properties='["==", "$hypervisor_hostname", "host2"]') == 1
    assert hosts(resource_properties='[">=", "$vcpus", "1"]') == 4
    zone = world.hosts.get("1", ADMIN).facts["availability_zone"]
    assert hosts(zone=zone) == 4
    assert hosts(zone="elsewhere") == 0
    assert hosts(required_traits=("CUSTOM_NONE_HAS_IT",)) == 0
    assert hosts(forbidden_traits=("CUSTOM_NONE_HAS_IT",)) == 4
    assert quantity(shown(world, zone=zone), "floating_ips").steps.values["total"] == [0]


@pytest.mark.parametrize("requirement", ['["==", "$colour", "red"]', '["not", ["==", "$colour", "red"]]'])
def test_an_unknown_property_and_a_private_one_are_refused_in_the_same_words(
    world: World, requirement: str
) -> None:
    asked = CapacityQuestion(resource_properties=requirement)
    with pytest.raises(InvalidInput) as unknown:
        made(world).get(asked, DEMO)
    world.hosts.set_capabilities("1", {"colour": "red"})
    made(world).get(asked, DEMO)
    world.hosts.set_property_private("colour", True)
    with pytest.raises(InvalidInput) as private:
        made(world).get(asked, DEMO)
    assert unknown.value.message == private.value.message == "No resource has the property colour."
    made(world).get(asked, ADMIN)
    made(world).get(asked, replace(DEMO, sees_private=True))


def test_a_size_tells_how_many_servers_fit_host_by_host(world: World) -> None:
    total = quantity(shown(world), "vcpus").minimum
    most = total // 4
    size = most // 2 + 1  # one fits on a host, though two hosts have room for three by their sum
    report = shown(world, unit={"vcpus": size, "memory_mb": 64})
    assert report.density is not None
    assert (report.density.resource_type, report.density.minimum) == ("virtual:instance", 4)
    world.reserve(instances(vcpus=most, affinity=None), start=60, end=120)
    density = shown(world, unit={"vcpus": size, "memory_mb": 64}).density
    assert density is not None
    assert told(density.steps, "fits") == [(0, 4), (60, 3), (120, 4)]
    assert (density.minimum, density.throughout) == (3, 3)


def test_a_flavor_tells_how_many_of_its_servers_fit(world: World) -> None:
    by_flavor = shown(world, unit={"flavor_id": "small"}).density
    by_size = shown(world, unit={"vcpus": 2, "memory_mb": 2048, "disk_gb": 10}).density
    assert by_flavor is not None
    assert by_size is not None
    assert (by_flavor.resource_type, by_flavor.steps) == ("flavor:instance", by_size.steps)
    world.cloud.add_flavor(
        Flavor("rare", "rare", 1, 64, 0, extra_specs={"trait:CUSTOM_NONE_HAS_IT": "required"})
    )
    rare = shown(world, unit={"flavor_id": "rare"}).density
    assert rare is not None
    assert rare.minimum == 0


def test_sizes_that_mean_nothing_are_refused(world: World) -> None:
    with pytest.raises(FlavorNotFound):
        shown(world, unit={"flavor_id": "none"})
    with pytest.raises(MissingParameter, match="memory_mb"):
        shown(world, unit={"vcpus": 1})
    with pytest.raises(InvalidInput, match="has units of a size given by vcpus"):
        shown(world, resource_type="physical:host", unit={"vcpus": 1})


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"end": START}, "End date must be later than start date."),
        ({"end": START + timedelta(days=367)}, "The time is longer than 366 days."),
        ({"start": START + HORIZON + DAY}, "The start is more than a hundred years ahead."),
        ({"resource_properties": '["==", "$vcpus"]'}, "Malformed"),
    ],
)
def test_times_and_requirements_are_checked(world: World, question: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        shown(world, **question)


def test_the_time_is_a_week_from_now_on_by_default_and_never_the_past(world: World) -> None:
    report = made(world).get(CapacityQuestion(start=START - DAY), ADMIN)
    assert (report.start, report.end) == (START, START + 7 * DAY)
    later = made(world).get(CapacityQuestion(start=START + DAY), ADMIN)
    assert (later.start, later.end) == (START + DAY, START + 8 * DAY)


def test_steps_become_longer_where_they_are_too_many(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        world.reserve(whole_hosts(), start=11 * number + 1, end=11 * number + 4)
    exact = shown(world, quantity="hosts", step=1)
    assert len(exact.quantities[0].steps.minutes) == 17
    monkeypatch.setattr(capacity, "MOST_STEPS", 5)
    report = shown(world, quantity="hosts")
    assert report.step == 10
    assert told(report.quantities[0].steps) == [(0, 3), (90, 4)]
    assert told(report.quantities[0].steps, "reserved") == [(0, 1), (90, 0)]
    with pytest.raises(InvalidInput, match="With a step of 1 minutes these are 17 steps, and at most 5"):
        shown(world, quantity="hosts", step=1)
    assert shown(world, quantity="hosts", step=120).step == 120


def test_what_is_above_the_limit_of_quantities_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "MOST_QUANTITIES", 2)
    report = shown(world)
    assert [each.name for each in report.quantities] == ["hosts", "vcpus"]
    assert report.left_out == ("memory_mb", "disk_gb", "floating_ips", "network_segments")


def test_too_much_work_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput, match="This is too much work: ask for a shorter time"):
        made(world, limits=Limits(decision=20)).get(CapacityQuestion(), ADMIN)


def test_what_is_not_waited_for_is_not_worked_out(world: World) -> None:
    with pytest.raises(TooLate):
        made(world).get(CapacityQuestion(), replace(ADMIN, deadline=START))


def test_flavors_are_measured_in_all_classes_but_those_of_reservations() -> None:
    known = ("CUSTOM_FPGA", "CUSTOM_RESERVATION_A", "DISK_GB", "MEMORY_MB", "PCPU", "VCPU")
    measures = [(each.name, each.resource_class) for each in FlavorKind().measures(known)]
    assert measures == [
        ("vcpus", "VCPU"),
        ("memory_mb", "MEMORY_MB"),
        ("disk_gb", "DISK_GB"),
        ("custom_fpga", "CUSTOM_FPGA"),
        ("pcpu", "PCPU"),
    ]


class TokenKind(Kind[Any]):
    """A kind that says nothing of its measures."""

    resource_type = "licence:token"
    pool = Pool("licence")
    quantities = ("licences",)

    decode = encode = parse = revise = render = demand = None  # type: ignore[assignment]
    activate = before_end = deactivate = from_conf = None  # type: ignore[assignment]


class NamedTokenKind(TokenKind):
    """A kind that names its measure."""

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return (Measure("tokens", "TOKEN"),)


def test_quantities_come_from_the_kinds(world: World) -> None:
    def quantities(kind: type[TokenKind]) -> list[tuple[str, int]]:
        report = made(world, kinds={"licence:token": kind()}).get(CapacityQuestion(), ADMIN)
        return [(each.name, each.minimum) for each in report.quantities]

    assert quantities(TokenKind) == [("licences", 0)]
    tokens = Registration("t", Pool("licence"), "matlab", inventory={"TOKEN": Inventory(5, 5)})
    world.database.transact(lambda uow: uow.resources.add(tokens, START))
    assert quantities(TokenKind) == [("token", 5)]
    assert quantities(NamedTokenKind) == [("tokens", 5)]
