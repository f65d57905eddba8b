"""Random servers of owners and of others on the hosts of reservations that lend, let in by the rule of
blazar-nova: after each look the owner has what he kept free, and no server goes but those that may."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from service.world import World, whole_hosts

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.kinds.host.lending import LendingSettings
from blazar.service.commands import ReservationChange
from blazar.service.lending import Lending
from blazar.service.ports import Flavor
from blazar.service.ports.kind import Dependencies
from blazarnova import rule

LOOK = 10
ROOM = 4
"""Servers that a host has room for."""
PREEMPTIBLE = ("spare", "kept")


class Cloud:
    """A world with a scheduler."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = world = World(hosts=5)
        world.lending = LendingSettings(idle=timedelta(seconds=30))
        for name, word in (("spare", "true"), ("kept", "shelve")):
            world.cloud.add_flavor(Flavor(name, name, 1, 512, 1, extra_specs={"blazar:preemptible": word}))
        self.restart()
        self.booted = 0
        self.lent_to = 0
        self.own: set[str] = set()
        """Servers of projects on what they reserved, which only they themselves may end."""

    def restart(self) -> None:
        self.world.restart()
        dependencies = Dependencies(self.world.database, self.world.cloud, self.world.kinds, self.world.clock)
        self.lending = Lending(dependencies)

    def reserve(self) -> None:
        start = self.random.choice((0, 0, 1, 5))
        asked = whole_hosts(
            min=1,
            max=self.random.choice((2, 4)),
            lend=self.random.random() < 0.8,
            keep_free=self.random.choice((0, 1, 1, 2)),
        )
        with suppress(NotEnoughResources):
            self.world.reserve(asked, start=start, end=start + self.random.choice((5, 20, 60)))

    def change(self) -> None:
        if (lease := self._any_active()) is not None:
            (reservation,) = lease.reservations
            wish = {"lend": self.random.random() < 0.5, "keep_free": self.random.choice((0, 1, 3))}
            self.world.update(lease, reservations=(ReservationChange(reservation.id, wish),))
            self.world.run_due()

    def give_up(self) -> None:
        if (lease := self._any_active()) is not None:
            self._forget_servers_of(lease)
            self.world.delete(lease)
            self.world.run_due()

    def boot_own(self) -> None:
        if (lease := self._any_active()) is not None:
            (reservation,) = lease.reservations
            self._boot(rule.RequestSpec("demo", frozenset({reservation.id})), "small", "demo")

    def delete_own(self) -> None:
        if self.own:
            server_id = self.random.choice(sorted(self.own))
            self.own.discard(server_id)
            self.world.cloud.state.servers.pop(server_id, None)

    def boot_preemptible(self) -> None:
        flavor = self.random.choice(PREEMPTIBLE)
        word = {"spare": "true", "kept": "shelve"}[flavor]
        self._boot(rule.RequestSpec("alt", extra_specs={rule.PREEMPTIBLE_SPEC: word}), flavor, "alt")

    def _boot(self, request: rule.RequestSpec, flavor: str, project_id: str) -> None:
        settings, state = rule.Settings(allow_preemptibles=True), self.world.cloud.state
        for n in self.random.sample(range(1, 6), 5):
            host = f"host{n}"
            aggregates = [
                rule.Aggregate(each.name, each.availability_zone, each.metadata)
                for each in state.aggregates.values()
                if host in each.hosts
            ]
            verdict = rule.decide(request, aggregates, settings)
            if verdict.accepted and len(self.on(host)) < ROOM:
                self.booted += 1
                self.lent_to += verdict.reason is rule.Reason.PREEMPTIBLE_LENT
                name = f"server-{self.booted}"
                self.world.cloud.boot(name, host, project_id)
                state.flavor_of[name] = flavor
                if project_id == "demo":
                    self.own.add(name)
                elif self.random.random() < 0.2:
                    state.slow.add(name)
                return

    def pass_time(self, seconds: int) -> None:
        for _ in range(0, seconds, LOOK):
            for server_id in list(self.world.cloud.state.tasks):
                self.world.cloud.settle(server_id)
            self._end_with_their_leases()
            self.world.advance(seconds=LOOK)
            self.lending.look(lambda: None)
            self.check()

    def check(self) -> None:
        state = self.world.cloud.state
        assert self.own <= state.servers.keys(), "what runs where it is reserved stays"
        leases = [each for each in self.world.leases.list(None) if each.status is LeaseStatus.ACTIVE]
        reserved = {host for each in leases for host in self._hosts(each)}
        lent = set(self.world.cloud.hosts_in("lent"))
        assert lent <= reserved
        for lease in leases:
            (reservation,) = lease.reservations
            hosts = self._hosts(lease)
            idle = [host for host in hosts if not any(each.project_id == "demo" for each in self.on(host))]
            wanted = reservation.parameters.get("keep_free", 1)
            lends = reservation.parameters.get("lend", False)
            kept = min(len(idle), wanted) if lends else len(idle)
            leaving = {each.host for each in state.servers.values() if each.id in state.tasks}
            assert len([host for host in idle if host not in lent]) >= kept
            for host in set(hosts) - lent - leaving:
                guests = [each for each in self.on(host) if each.project_id == "alt"]
                assert all(state.flavor_of[each.id] == "kept" for each in guests), (
                    "others are deleted at once"
                )

    def _any_active(self) -> Lease | None:
        found = [each for each in self.world.leases.list(None) if each.status is LeaseStatus.ACTIVE]
        return self.random.choice(sorted(found, key=lambda lease: lease.id)) if found else None

    def _hosts(self, lease: Lease) -> tuple[str, ...]:
        (reservation,) = lease.reservations
        return self.world.cloud.hosts_in(reservation.id)

    def _end_with_their_leases(self) -> None:
        """Forget the servers of leases that end before the next look: these are to go."""
        for lease in self.world.leases.list(None):
            if lease.interval.end <= self.world.clock.now() + timedelta(seconds=LOOK):
                self._forget_servers_of(lease)

    def _forget_servers_of(self, lease: Lease) -> None:
        hosts = self._hosts(lease)
        self.own -= {each.id for each in self.world.cloud.state.servers.values() if each.host in hosts}

    def on(self, host: str) -> list[Any]:
        return [each for each in self.world.cloud.state.servers.values() if each.host == host]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3, 4, 5, 8, 9, 10, 11, 12))]
)
def test_owners_have_what_they_keep_free_after_each_look(seed: int) -> None:
    """In all of these preemptible servers come to hosts that are lent."""
    cloud = Cloud(seed)
    for _ in range(40):
        action = cloud.random.choice(
            (
                cloud.reserve,
                cloud.change,
                cloud.boot_own,
                cloud.boot_own,
                cloud.delete_own,
                cloud.boot_preemptible,
                cloud.boot_preemptible,
                cloud.boot_preemptible,
                cloud.give_up if cloud.random.random() < 0.3 else cloud.reserve,
                cloud.restart if cloud.random.random() < 0.3 else cloud.boot_preemptible,
            )
        )
        action()
        if cloud.random.random() < 0.6:
            cloud.pass_time(cloud.random.choice((LOOK, LOOK, 60, 120)))
    assert cloud.lent_to
    for lease in cloud.world.leases.list(None):
        cloud._forget_servers_of(lease)
    cloud.pass_time(2 * 3600)
    state = cloud.world.cloud.state
    assert not cloud.world.cloud.hosts_in("lent")
    assert len(cloud.world.cloud.hosts_in(FREEPOOL)) == 5
    left = [each for each in state.servers.values() if each.host is not None]
    assert all(each.project_id == "alt" for each in left), "they came to hosts of the freepool"
