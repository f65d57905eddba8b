"""Random servers with an end on hosts that are promised to random leases, let in by the rule of blazar-nova
on promises of any age that it believes: each lease has all of its hosts within two minutes of its start,
nothing without an end is touched, and nothing is deleted."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from service.world import World, instances

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import AHEAD, LeaseStatus
from blazar.domain.time import epoch
from blazar.engine.adopting import Adopting
from blazar.kinds.aggregates import NamedAggregate
from blazar.kinds.registered_hosts.pool import POOL
from blazar.kinds.server.hints import HintFinder
from blazar.service.adoption import Adoption
from blazar.service.promises import CLASSES, PromiseSettings, PromiseUseCases
from blazarnova import backfill, bounded, rule
from blazarnova.reading import PromisesReader, Reply

LOOK = 20
STARTED_WITHIN = timedelta(seconds=120)
SIZES = bounded.Sizes(2, 2048, 10)
"""Those of the flavor small."""


class Cloud:
    """A world with a scheduler that reads what is promised."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = world = World(hosts=3)
        world.backfill = True
        world.restart()
        world.cloud.add_hypervisor("99", "ordinary")
        world.cloud.boot("unbounded", "ordinary")
        self._promises = PromiseUseCases(
            world.calendars, [POOL], world.clock, PromiseSettings(margin=timedelta(minutes=1))
        )
        self.reader = PromisesReader(self, max_age=60, monotonic=lambda: world.clock.now().timestamp())
        finder = HintFinder(timedelta(seconds=LOOK), NamedAggregate(FREEPOOL))
        self._adopting = Adopting(
            world.database, Adoption(world.leases, finder, world.cloud, world.clock), world.clock
        )
        with world.database.read() as uow:
            found = uow.resources.list(POOL)
        self.capacity = {each.name: [each.inventory[name].capacity for name in CLASSES] for each in found}
        self.filled = 0
        self._look()

    def read(self, known: str) -> Reply:
        found = self._promises.get(known)
        told = found.document
        return Reply(found.tag, None if told is None else {"promises": json.loads(told)})

    def fill(self) -> None:
        """Boot a server that ends, where the scheduler lets it; it reads what is promised now and then."""
        if self.random.random() < 0.6:
            self.reader.read()
        world, now = self.world, epoch(self.world.clock.now())
        server_id = str(UUID(int=self.random.getrandbits(128), version=4))
        end = world.in_minutes(self.random.choice((3, 10, 30, 60)))
        hint = json.dumps({"name": "fill", "end": end.strftime("%Y-%m-%d %H:%M")})
        amounts = bounded.amounts_of(SIZES, {})
        assert amounts is not None
        server = bounded.BoundedServer(bounded.end_of(hint, now), amounts, bounded.lease_id_of(server_id))
        for host in self.random.sample(sorted(self.capacity), len(self.capacity)):
            aggregates = [
                rule.Aggregate(each.name, each.availability_zone, each.metadata)
                for each in world.cloud.state.aggregates.values()
                if host in each.hosts
            ]
            request = rule.RequestSpec("demo", server_id=server_id)
            verdict = backfill.decide_beside(
                request, server, host, aggregates, rule.Settings(), self.reader.current(), now
            )
            if verdict.accepted and self._has_room(host, amounts["VCPU"]):
                world.cloud.boot(server_id, host)
                state = world.cloud.state
                state.flavor_of[server_id], state.hints[server_id] = "small", {"lease_params": [hint]}
                state.changed[server_id] = world.clock.now()
                self.filled += 1
                if self.random.random() < 0.2:
                    state.slow.add(server_id)
                return

    def _has_room(self, host: str, vcpus: int) -> bool:
        """Return what Placement says: VCPUs are what is short here."""
        return vcpus * (1 + len(self.on(host))) <= self.capacity[host][0]

    def on(self, host: str) -> list[Any]:
        return [each for each in self.world.cloud.state.servers.values() if each.host == host]

    def promise(self) -> None:
        start = self.random.choice((0, 1, 5, 20, 45))
        times: Any = {"start": start, "end": start + self.random.choice((5, 20, 40))}
        with suppress(NotEnoughResources):
            if self.random.random() < 0.7:
                self.world.create(min=1, max=self.random.choice((1, 3)), **times)
            else:
                amount = self.random.choice((1, 4))
                self.world.reserve(instances(amount=amount, vcpus=2, affinity=False), **times)

    def give_up(self) -> None:
        if leases := self.world.leases.list(None):
            self.world.delete(self.random.choice(sorted(leases, key=lambda lease: lease.id)))

    def pass_time(self, seconds: int) -> None:
        for _ in range(0, seconds, LOOK):
            for server_id in list(self.world.cloud.state.tasks):
                self.world.cloud.settle(server_id)
            self.world.advance(seconds=LOOK)
            self._look()
            self.check()

    def _look(self) -> None:
        self._adopting.round()
        state = self.world.cloud.state
        state.changed |= dict.fromkeys(state.servers, self.world.clock.now())
        self.world.run_due()

    def check(self) -> None:
        state, now = self.world.cloud.state, self.world.clock.now()
        for lease in self.world.leases.list(None):
            assert lease.status is not LeaseStatus.ERROR, lease
            is_due = lease.interval.start + STARTED_WITHIN < now < lease.interval.end
            if is_due and lease.status in AHEAD:
                assert lease.status is LeaseStatus.ACTIVE, (lease.name, lease.status_reason)
            for reservation in lease.reservations:
                if reservation.resource_type == "physical:host" and lease.status is LeaseStatus.ACTIVE:
                    hosts = self.world.cloud.hosts_in(reservation.id)
                    assert len(hosts) == len(reservation.allocations)
                    assert not [each for host in hosts for each in self.on(host)], "it is all the lease's"
                if reservation.resource_type == "virtual:instance" and is_due and lease.status in AHEAD:
                    for each in reservation.allocations:
                        host = f"host{each.resource_id}"
                        taken = 2 * len(self.on(host)) + (each.amounts or {})["VCPU"]
                        assert taken <= self.capacity[host][0], "what is promised can be booted"
        assert state.servers["unbounded"].status == "ACTIVE"
        assert "delete_server" not in self.world.cloud.calls


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (6, 27, 45, 55, 99, 130))]
)
def test_leases_get_what_they_were_promised_whatever_fills_it_before(seed: int) -> None:
    """In all of these but the first a lease and a server are promised the same, or one starts at once."""
    cloud = Cloud(seed)
    for _ in range(25):
        action = cloud.random.choice((cloud.fill, cloud.fill, cloud.fill, cloud.promise, cloud.give_up))
        action()
        if cloud.random.random() < 0.6:
            cloud.pass_time(cloud.random.choice((LOOK, LOOK, 60, 300, 900)))
    assert cloud.filled
    cloud.pass_time(2 * 3600)
    left = [each.status for each in cloud.world.cloud.state.servers.values() if each.name != "unbounded"]
    assert set(left) <= {"SHELVED_OFFLOADED"}
