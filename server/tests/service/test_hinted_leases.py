"""Servers that are booted with a hint get a lease: one, or a reason in plain words why there is none."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from blazar.domain.errors import Busy, CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import LeaseStatus
from blazar.engine.adopting import Adopting
from blazar.kinds.server import ServerKind
from blazar.kinds.server.hints import HintFinder
from blazar.service.adoption import Adoption
from blazar.service.ports import Flavor

from .test_server_leases import ORDINARY, WEB, status, web, with_server
from .world import World

LATER = {"name": "weekend", "start": "2030-01-01 09:00", "end": "2030-01-01 10:00"}


@pytest.fixture
def world() -> World:
    world = hinted(with_server(World()))
    look(world)
    assert world.leases.list(None) == [], "the first round only sets the moment"
    return world


def hinted(world, **params):
    state = world.cloud.state
    state.hints[WEB] = {"lease_params": [json.dumps({**LATER, **params})]}
    state.changed[WEB] = world.clock.now()
    world.adopting = adopting(world)
    return world


def adopting(world):
    adoption = Adoption(world.leases, HintFinder(timedelta(seconds=20)), world.cloud, world.clock)
    return Adopting(world.database, adoption, world.clock)


def look(world, seconds=60):
    world.adopting.round()
    world.advance(seconds=seconds)


def metadata(world):
    return world.cloud.state.server_metadata.get(WEB, {})


def only(world):
    (lease,) = world.leases.list(None)
    return lease


def say(world, *hint):
    world.cloud.state.hints[WEB] = {"lease_params": hint}


def refusal(world):
    look(world)
    assert world.leases.list(None) == []
    assert "blazar_lease" not in metadata(world)
    return metadata(world)["blazar_lease_error"]


class TestLife:
    def test_it_is_shelved_until_its_start_and_runs_then(self, world):
        look(world)
        lease = only(world)
        assert (lease.name, lease.user_id, lease.project_id) == ("weekend", "demo-user", "demo")
        assert lease.trust_id is None
        assert metadata(world)["blazar_lease"] == lease.id
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.PENDING)
        world.advance(minutes=60)
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.ACTIVE)
        assert web(world).host != ORDINARY
        world.advance(minutes=60)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)
        assert metadata(world) == {"blazar_lease": lease.id}

    def test_it_is_made_once(self, world):
        look(world)
        lease = only(world)
        for _ in range(3):
            look(world)
        assert only(world).id == lease.id
        world.delete(lease)
        look(world)
        look(world)
        assert world.leases.list(None) == [], "its user has deleted it"

    def test_one_that_starts_now_with_a_duration(self, world):
        say(world, json.dumps({"name": "now", "duration": 30, "events": []}))
        look(world)
        lease = only(world)
        assert lease.interval.end - lease.interval.start == timedelta(minutes=30)
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_what_is_to_be_done_at_the_end(self, world):
        hinted(world, reservation={"on_end": ["stop", "delete"], "locked": True})
        look(world)
        lease = only(world)
        assert lease.reservations[0].parameters["on_end"] == ["stop", "delete"]
        assert world.cloud.state.locked == {WEB}
        world.advance(minutes=125)
        assert WEB not in world.cloud.state.servers
        assert status(world, lease) is LeaseStatus.TERMINATED

    def test_its_user_changes_it_as_any_lease(self, world):
        look(world)
        lease = world.update(only(world), end=world.in_minutes(180))
        assert lease.trust_id is None
        world.advance(minutes=130)
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_a_server_that_is_still_built_is_waited_for(self, world):
        booted = web(world)
        world.cloud.state.servers[WEB] = booted.__class__(WEB, WEB, ORDINARY, "BUILD", "demo")
        look(world)
        assert (world.leases.list(None), metadata(world)) == ([], {})
        world.cloud.state.servers[WEB] = booted
        world.cloud.state.changed[WEB] = world.clock.now()
        look(world)
        assert only(world).name == "weekend"


class TestRefusals:
    @pytest.mark.parametrize(
        ("hint", "told"),
        [
            ("nonsense", "must be one JSON object"),
            ("[1]", "must be one JSON object"),
            ("[" * 100000, "must be one JSON object"),
            ("{}", "Missing parameter name"),
            (json.dumps({"name": "x"}), "Give either end_date or duration"),
            (json.dumps({**LATER, "ends": "x"}), "'ends' is not known: the keys are start, end, name"),
            (json.dumps({**LATER, "end": "tomorrow"}), "tomorrow is an invalid date"),
            (json.dumps({**LATER, "end": "2029-01-01 00:00"}), "End date must be later"),
            (json.dumps({**LATER, "duration": 30}), "Give either end_date or duration"),
            (json.dumps({**LATER, "events": 3}), "events"),
            (json.dumps({**LATER, "reservation": {"server_id": WEB}}), "must be an object with any of"),
            (json.dumps({**LATER, "reservation": {"on_end": ["burn"]}}), "on_end"),
            (json.dumps({**LATER, "reservation": {"on_end": ["create_image"]}}), "needs shelve or delete"),
            (json.dumps({**LATER, "reservation": {"on_end": {"create_image": 1}}}), "must be a list of"),
            (json.dumps({**LATER, "reservation": {"on_end": [["delete"]]}}), "must be a list of"),
        ],
    )
    def test_bad_values_are_told_at_the_server(self, world, hint, told):
        say(world, hint)
        reason = refusal(world)
        assert told in reason
        assert len(reason) <= 255

    def test_several_values_are_told_at_the_server(self, world):
        say(world, "{}", "{}")
        assert "must be one JSON object" in refusal(world)

    def test_too_large(self, world):
        world.cloud.add_flavor(Flavor("huge", "huge", 64, 2048, 10))
        world.cloud.state.flavor_of[WEB] = "huge"
        assert "Not enough hosts available" in refusal(world)
        assert web(world).status == "ACTIVE"

    def test_a_server_that_failed(self, world):
        world.cloud.state.servers[WEB] = web(world).__class__(WEB, WEB, None, "ERROR", "demo")
        look(world)
        assert world.leases.list(None) == []
        assert metadata(world) == {}, "Nova lets none be written"

    def test_other_hints_are_nothing_to_us(self, world):
        world.cloud.state.hints[WEB] = {"group": ["x"]}
        look(world)
        assert (world.leases.list(None), metadata(world)) == ([], {})

    def test_nobody_says_over_the_network_that_there_is_no_trust(self, world):
        from .test_server_leases import adopted

        lease = world.reserve(adopted(is_hinted=True), start=30)
        assert lease.trust_id is not None
        assert lease.reservations[0].parameters["is_hinted"] is False


class TestFailures:
    def test_a_cloud_that_is_away_is_asked_again(self, world):
        def away(call):
            raise CloudUnavailable(service="Nova", reason="away")

        world.cloud.before = away
        look(world)
        world.cloud.before = lambda call: None
        look(world)
        assert only(world).name == "weekend"

    @pytest.mark.parametrize("minutes", [1, 600])
    def test_what_could_not_be_answered_is_not_forgotten(self, world, monkeypatch, minutes):
        """Neither by a round that fails, nor by a time without managers after one that did not."""
        world.cloud.state.hints.clear()
        look(world)
        create = world.leases.create

        def busy(*_, **__):
            raise Busy()

        monkeypatch.setattr(world.leases, "create", busy)
        hinted(world, start="2030-01-02 09:00", end="2030-01-02 10:00")
        look(world)
        monkeypatch.setattr(world.leases, "create", create)
        world.advance(minutes=minutes)
        world.adopting = adopting(world)
        look(world)
        assert only(world).name == "weekend"

    def test_a_crash_between_the_lease_and_its_answer_makes_one_lease(self, world):
        def refuse(call):
            if call == "set_server_metadata":
                raise CloudRefused(service="Nova", reason="the metadata are full")

        world.cloud.before = refuse
        world.adopting.round()
        world.cloud.before = lambda call: None
        lease = only(world)
        world.advance(minutes=1)
        look(world)
        assert only(world).id == lease.id
        assert "blazar_lease" not in metadata(world), "it is shelved, and Nova lets none be written"
        world.advance_to(lease.interval.start)
        world.advance(minutes=1)
        world.cloud.state.changed[WEB] = world.clock.now()
        look(world)
        assert only(world).id == lease.id
        assert metadata(world)["blazar_lease"] == lease.id

    def test_one_manager_at_a_time(self, world):
        first, second = adopting(world), adopting(world.beside())
        first.round()
        world.cloud.calls.clear()
        second.round()
        assert "changed_servers" not in world.cloud.calls

    def test_what_is_over_is_not_looked_at(self, world):
        look(world)
        for _ in range(40):
            world.advance(minutes=1)
            world.adopting.round()
        seen = []
        compute = type(world.cloud.compute)
        old = compute.changed_servers
        compute.changed_servers = lambda self, since: seen.append(since) or old(self, since)
        try:
            world.advance(minutes=1)
            world.adopting.round()
        finally:
            compute.changed_servers = old
        assert world.clock.now() - seen[0] <= timedelta(minutes=7)


def test_off_unless_the_operator_wants_it():
    assert ServerKind().lease_finders() == ()
