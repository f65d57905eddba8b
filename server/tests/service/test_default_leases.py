"""Ordinary servers get leases by the operator's rules, and are reclaimed at their ends; those that are exempt
or reserved get none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from blazar.domain.errors import BlazarError, Busy
from blazar.domain.lease.lease import LeaseStatus
from blazar.engine import adopting as duty
from blazar.engine.adopting import Adopting
from blazar.kinds.server import ServerKind
from blazar.kinds.server.default_leases import DefaultLeaseFinder, DefaultLeaseSettings
from blazar.kinds.server.departure import DepartureSettings
from blazar.kinds.server.rules import LeaseRule, LeaseTerms
from blazar.kinds.server.schema import Step
from blazar.service.adoption import Adoption
from blazar.service.commands import ReservationChange
from blazar.service.ports import Flavor, Look
from blazar.service.ports.kind import Work

from .test_server_leases import ORDINARY, WEB, adopted, status, web, with_server
from .world import World

TERMS = LeaseTerms(timedelta(days=30), timedelta(hours=48), (Step.SHELVE,))
SETTINGS = DefaultLeaseSettings((LeaseRule(TERMS),), timedelta(seconds=20), exempt_tag="no-lease")
EXEMPT = LeaseRule(None)
BEFORE_END = "lease.event.before_end_lease"


@pytest.fixture
def world() -> World:
    world = prepared()
    look(world)
    assert world.leases.list(None) == [], "the first round only sets the moment"
    changed(world)
    return world


def prepared(**settings):
    """A cloud with a server, and one manager that gives default leases."""
    world = with_server(World())
    kind = ServerKind(settings=DepartureSettings(exempt_tag="no-lease"))
    world.kinds[kind.resource_type] = kind
    world.adopting = adopting(world, **settings)
    changed(world)
    return world


def adopting(world, **settings):
    finder = DefaultLeaseFinder(replace(SETTINGS, **settings))
    return Adopting(world.database, Adoption(world.leases, finder, world.cloud, world.clock), world.clock)


def with_rules(world, *rules):
    world.adopting = adopting(world, rules=(*rules, LeaseRule(TERMS)))


def changed(world, server_id=WEB):
    world.cloud.state.changed[server_id] = world.clock.now()


def boot(world, server_id, **fields):
    world.cloud.boot(server_id, ORDINARY, **fields)
    world.cloud.state.flavor_of[server_id] = "small"
    changed(world, server_id)


def look(world, seconds=60):
    world.adopting.round()
    world.advance(seconds=seconds)


def metadata(world):
    return world.cloud.state.server_metadata.setdefault(WEB, {})


def only(world):
    (lease,) = world.leases.list(None)
    return lease


class TestLife:
    def test_it_runs_on_where_it_is_is_warned_of_and_is_shelved_at_the_end(self, world):
        look(world)
        lease = only(world)
        assert (lease.name, lease.user_id, lease.project_id) == (WEB, "demo-user", "demo")
        assert lease.interval.duration == timedelta(days=30)
        assert lease.before_end_date == lease.interval.end - timedelta(hours=48)
        assert metadata(world) == {"blazar_lease": lease.id}
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert (web(world).status, web(world).host) == ("ACTIVE", ORDINARY)
        world.advance_to(lease.before_end_date - timedelta(minutes=1))
        assert BEFORE_END not in world.notifications()
        world.advance(minutes=2)
        assert BEFORE_END in world.notifications()
        assert (web(world).status, web(world).host) == ("ACTIVE", ORDINARY)
        world.advance(minutes=48 * 60)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)

    def test_it_keeps_nothing_and_counts_as_nothing(self):
        world = with_server(World(hosts=0))
        world.adopting = adopting(world)
        look(world)
        changed(world)
        look(world)
        lease = only(world)
        assert (lease.allocations, lease.quantities, lease.trust_id) == ((), {}, None)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert world.cloud.state.aggregates.keys() <= {1}, "no host is kept for it"

    def test_its_user_extends_it(self, world):
        look(world)
        lease = only(world)
        world.advance_to(lease.before_end_date + timedelta(minutes=1))
        world.update(lease, end=lease.interval.end + timedelta(days=7))
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.ACTIVE)
        before = world.notifications().count(BEFORE_END)
        world.advance(minutes=7 * 24 * 60)
        assert world.notifications().count(BEFORE_END) == before + 1, "it is warned of again"
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)

    def test_its_user_changes_what_becomes_of_it(self, world):
        look(world)
        lease = only(world)
        change = ReservationChange(lease.reservations[0].id, {"on_end": ["delete"]})
        stored = world.update(lease, reservations=(change,)).reservations[0].parameters
        assert (stored["is_in_place"], stored["is_hinted"]) == (True, True)
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        assert WEB not in world.cloud.state.servers

    def test_to_delete_it_is_to_end_it_and_it_is_not_made_again(self, world):
        look(world)
        world.delete(only(world))
        world.advance(minutes=1)
        assert web(world).status == "SHELVED_OFFLOADED"
        changed(world)
        look(world)
        assert world.leases.list(None) == []

    def test_a_server_that_had_its_lease_gets_no_other(self, world):
        look(world)
        lease = only(world)
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        world.cloud.compute.unshelve_server(WEB, ORDINARY)
        metadata(world).clear()
        changed(world)
        look(world)
        assert only(world).id == lease.id
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.TERMINATED)

    def test_a_server_that_its_user_deletes_takes_its_lease_along(self, world):
        boot(world, uuid(0))
        look(world)
        world.cloud.compute.delete_server(WEB)
        changed(world)
        look(world)
        assert only(world).name == uuid(0)

    def test_a_deletion_that_was_missed_leaves_a_lease_with_an_end(self, world):
        look(world)
        lease = only(world)
        world.cloud.compute.delete_server(WEB)
        changed(world)
        world.advance(minutes=3 * 24 * 60)
        look(world)
        assert status(world, lease) is LeaseStatus.ACTIVE
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        assert status(world, lease) is LeaseStatus.TERMINATED

    def test_other_leases_of_a_server_that_is_deleted_stay(self, world):
        own = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        world.cloud.compute.delete_server(WEB)
        changed(world)
        look(world)
        assert only(world).id == own.id

    def test_a_lease_that_is_over_stays_when_its_server_is_deleted(self, world):
        look(world)
        lease = only(world)
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        world.cloud.compute.delete_server(WEB)
        changed(world)
        look(world)
        look(world)
        assert only(world).id == lease.id

    def test_a_lease_that_cannot_be_deleted_keeps_nothing_else_from_its_turn(self, world, monkeypatch):
        look(world)
        world.cloud.compute.delete_server(WEB)
        changed(world)
        boot(world, uuid(0))

        def refuse(*_):
            raise Busy()

        monkeypatch.setattr(world.leases, "begin_deletion", refuse)
        look(world)
        assert {lease.name for lease in world.leases.list(None)} == {WEB, uuid(0)}
        monkeypatch.undo()
        look(world)
        assert only(world).name == uuid(0)

    def test_a_reservation_of_its_users_takes_it_over(self, world):
        look(world)
        default = only(world)
        own = world.reserve(adopted(), start=0, end=60 * 24 * 60)
        world.advance_to(default.interval.end + timedelta(minutes=5))
        assert (status(world, own), status(world, default)) == (LeaseStatus.ACTIVE, LeaseStatus.TERMINATED)
        assert web(world).status == "ACTIVE"

    def test_while_it_runs_nova_is_not_asked_about_it(self, world):
        """Neither by the repair of leases, nor by the comparison with the cloud, nor for what is used: there
        may be very many."""
        look(world)
        world.cloud.calls.clear()
        assert world.reconcile_all() == 1
        kind, lease = world.kinds["instance:server"], only(world)
        work = Work(lease, lease.reservations[0], {})
        assert list(kind.differences(work, Look(world.cloud, world.database))) == []
        assert kind.used(work, world.cloud) is None
        assert world.cloud.calls == []
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_no_user_says_that_his_server_stays_where_it_is(self, world):
        lease = world.reserve(adopted(is_in_place=True, is_hinted=True), start=30)
        stored = lease.reservations[0].parameters
        assert (stored["is_in_place"], stored["is_hinted"], len(lease.allocations)) == (False, False, 1)

    def test_before_the_date_of_the_rule_it_waits_without_a_word(self):
        world = prepared(start=datetime(2030, 2, 1, tzinfo=UTC))
        look(world)
        changed(world)
        look(world)
        lease = only(world)
        assert (lease.interval.start, lease.interval.end) == (
            datetime(2030, 2, 1, tzinfo=UTC),
            datetime(2030, 3, 3, tzinfo=UTC),
        )
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.PENDING)
        world.advance_to(lease.interval.start + timedelta(minutes=1))
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.ACTIVE)


class TestRules:
    def test_the_first_that_applies_counts(self, world):
        short = LeaseTerms(timedelta(days=3), timedelta(hours=1), (Step.STOP, Step.DELETE))
        others = (
            LeaseRule(None, projects=frozenset({"alt"})),
            LeaseRule(None, flavors=frozenset({"m1.huge"})),
            LeaseRule(None, images=frozenset({"other"})),
        )
        world.cloud.state.image_of[WEB] = "image"
        here = LeaseRule(short, frozenset({"demo"}), frozenset({"m1.small"}), frozenset({"image"}))
        with_rules(world, *others, here, EXEMPT)
        look(world)
        lease = only(world)
        assert lease.interval.duration == timedelta(days=3)
        assert lease.before_end_date == lease.interval.end - timedelta(hours=1)
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        assert WEB not in world.cloud.state.servers

    @pytest.mark.parametrize(
        "condition",
        [
            {"projects": frozenset({"demo"})},
            {"flavors": frozenset({"m1.small"})},
            {"images": frozenset({"image"})},
        ],
    )
    def test_who_is_exempt_by_a_rule(self, world, condition):
        world.cloud.state.image_of[WEB] = "image"
        with_rules(world, LeaseRule(None, **condition))
        look(world)
        assert (world.leases.list(None), metadata(world)) == ([], {})

    def test_by_a_tag(self, world):
        world.cloud.state.tags[WEB] = {"no-lease"}
        look(world)
        assert (world.leases.list(None), metadata(world)) == ([], {})

    def test_by_a_tag_that_came_later(self, world):
        look(world)
        lease = only(world)
        world.cloud.state.tags[WEB] = {"no-lease"}
        world.advance_to(lease.interval.end + timedelta(minutes=1))
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.TERMINATED)

    def test_a_tag_keeps_no_reserved_host(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=1)
        world.cloud.state.tags[WEB] = {"no-lease"}
        world.advance(minutes=60)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)


class TestOthers:
    @pytest.mark.parametrize("hints", [{"reservation": ["x"]}, {"reservation": ["x"], "group": ["y"]}])
    def test_servers_on_hosts_of_a_reservation(self, world, hints):
        world.cloud.state.hints[WEB] = hints
        look(world)
        assert world.leases.list(None) == []

    def test_servers_of_a_flavor_of_a_reservation(self, world):
        name = "reservation:d2a9"
        world.cloud.add_flavor(Flavor("r", name, 1, 512, 1))
        world.cloud.state.flavor_of[WEB] = "r"
        look(world)
        assert world.leases.list(None) == []

    def test_servers_of_a_lease(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        look(world)
        assert only(world).id == lease.id

    @pytest.mark.parametrize("server_status", ["BUILD", "RESIZE", "MIGRATING"])
    def test_servers_at_which_nova_is_come_later(self, world, server_status):
        there = web(world)
        world.cloud.state.servers[WEB] = replace(there, status=server_status)
        look(world)
        assert world.leases.list(None) == []
        world.cloud.state.servers[WEB] = there
        changed(world)
        look(world)
        assert only(world).name == WEB

    def test_hints_come_first_where_they_are_read(self, world):
        world.cloud.state.hints[WEB] = {"lease_params": ["{}"]}
        world.adopting = adopting(world, are_hints_read=True)
        look(world)
        assert world.leases.list(None) == []
        metadata(world)["blazar_lease_error"] = "Missing parameter name"
        look(world)
        assert only(world).name == WEB, "a hint that was refused exempts from nothing"

    def test_hints_that_are_not_read_are_nothing(self, world):
        world.cloud.state.hints[WEB] = {"lease_params": ["{}"]}
        look(world)
        assert only(world).name == WEB

    @pytest.mark.parametrize("is_locked", [True, False])
    def test_servers_that_could_not_be_reserved(self, world, is_locked):
        """Neither a lock nor an error nor a flavor that cannot be guaranteed keeps a server from its end."""
        world.cloud.add_flavor(Flavor("gpu", "gpu", 1, 512, 1, extra_specs={"pci_passthrough:alias": "a:1"}))
        world.cloud.state.flavor_of[WEB] = "gpu"
        world.cloud.state.locked |= {WEB} if is_locked else set()
        if not is_locked:
            world.cloud.state.servers[WEB] = replace(web(world), status="ERROR")
        look(world)
        lease = only(world)
        world.advance_to(lease.interval.end + timedelta(minutes=30))
        if is_locked:
            assert web(world).status == "SHELVED_OFFLOADED"
        else:
            assert status(world, lease) is LeaseStatus.TERMINATING, (
                "it is told that it could not be reclaimed"
            )
            assert WEB in world.cloud.state.servers, "what was not to be deleted is not"

    def test_a_name_that_no_lease_may_have(self, world):
        world.cloud.state.servers[WEB] = replace(web(world), name="\u202eevil")
        look(world)
        assert only(world).name == WEB

    def test_a_long_name(self, world):
        world.cloud.state.servers[WEB] = replace(web(world), name="x" * 200)
        look(world)
        assert only(world).name == "x" * 80

    def test_a_refusal_is_told_at_the_server_once(self, world, monkeypatch):
        def refuse(*_, **__):
            raise BlazarError("no lease is that long")

        monkeypatch.setattr(world.leases, "create", refuse)
        look(world)
        look(world)
        assert (world.leases.list(None), list(metadata(world))) == ([], ["blazar_lease_error"])
        monkeypatch.undo()
        look(world)
        assert world.leases.list(None) == []


class TestExisting:
    def test_those_that_were_there_get_none_unless_wanted(self):
        world = prepared()
        boot(world, uuid(0))
        world.advance(minutes=60)
        for _ in range(3):
            look(world)
        assert world.leases.list(None) == []

    def test_they_get_one_where_they_are_wanted_also_later(self):
        world = prepared()
        for n in range(12):
            world.advance(seconds=30)
            boot(world, uuid(n))
        world.advance(minutes=60)
        look(world)
        world.adopting = adopting(world, includes_existing=True)
        look(world)
        assert len(world.leases.list(None)) == 13

    def test_servers_that_changed_in_one_second(self):
        world = prepared(includes_existing=True)
        for n in range(12):
            boot(world, uuid(n))
        look(world)
        assert len(world.leases.list(None)) == 13

    def test_a_round_ends_in_time_and_the_next_one_goes_on_where_it_was(self, monkeypatch):
        monkeypatch.setattr(duty, "LONGEST_ROUND", timedelta(0))
        world = prepared(includes_existing=True)
        for n in range(11):
            world.advance(minutes=10)
            boot(world, uuid(n))
        world.advance(minutes=60)
        seen = watched(world, monkeypatch)
        rounds = 0
        while len(world.leases.list(None)) < 12:
            world.adopting = adopting(world, includes_existing=True)
            look(world)
            rounds += 1
            assert rounds < 20
        assert rounds >= 12, "each makes one"
        assert seen == sorted(seen), "what is done is not looked at again"
        assert seen[-1] > seen[0]

    def test_the_look_goes_on_where_many_changed_at_about_the_same_time(self, monkeypatch):
        monkeypatch.setattr(duty, "LONGEST_ROUND", timedelta(0))
        world = prepared(includes_existing=True, rules=(EXEMPT,))
        for n in range(12):
            world.advance(seconds=1)
            boot(world, uuid(n))
        seen = watched(world, monkeypatch)
        for _ in range(3):
            look(world)
        assert len(seen) == 3, "a round asks no more than there is time for"
        assert seen[0] < seen[1] < seen[2]

    def test_one_that_has_to_wait_is_not_forgotten(self, monkeypatch):
        world = prepared(includes_existing=True)
        for n in range(8):
            world.advance(minutes=10)
            boot(world, uuid(n))
        create = world.leases.create

        def busy(command, *args, **kwargs):
            if command.name == uuid(1):
                raise Busy()
            return create(command, *args, **kwargs)

        monkeypatch.setattr(world.leases, "create", busy)
        look(world)
        monkeypatch.setattr(world.leases, "create", create)
        look(world)
        look(world)
        assert len(world.leases.list(None)) == 9


def uuid(number):
    return str(UUID(int=number + 1))


def watched(world, monkeypatch):
    """Return the list of the moments since which Nova is asked from now on."""
    seen = []
    compute = type(world.cloud.compute)
    asked = compute.changed_servers
    monkeypatch.setattr(
        compute, "changed_servers", lambda self, since: seen.append(since) or asked(self, since)
    )
    return seen
