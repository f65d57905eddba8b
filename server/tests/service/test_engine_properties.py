"""Whatever users, time, crashes and a failing cloud do to leases of all kinds: no resource beyond its
capacity, no start before the end it waits for, nothing lost, nothing left, nothing taken from others."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import combinations

from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable
from blazar.domain.lease.event import EventStatus
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.service.commands import ReservationChange, ReservationsChange, UpdateLease

from .test_members import added
from .test_slots import nothing_left
from .world import (
    CLAIM,
    DEMO,
    PUBLIC,
    Crash,
    Steps,
    World,
    address,
    floating_ips,
    instances,
    servers,
    whole_hosts,
)

MINUTES = st.integers(0, 12)
AFFINITY = st.sampled_from([None, None, True, False])
CAPACITY = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 100}
WHOLE = st.builds(
    lambda least, more, before_end: whole_hosts(min=least, max=least + more, before_end=before_end),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from(["", "snapshot"]),
)
SLOTS = st.builds(
    lambda vcpus, disk, amount, affinity, before_end: instances(
        vcpus=vcpus, disk_gb=disk, amount=amount, affinity=affinity, before_end=before_end
    ),
    st.integers(1, 8),
    st.integers(0, 60),
    st.integers(1, 9),
    AFFINITY,
    st.sampled_from(["", "snapshot"]),
) | st.builds(
    lambda amount, affinity: servers(amount=amount, affinity=affinity), st.integers(1, 12), AFFINITY
)
ADDRESSES = [address(number) for number in (1, 2, 3)]
FLOATING = st.builds(
    lambda amount, required: floating_ips(amount=amount, required_floatingips=required[:amount]),
    st.integers(1, 3),
    st.lists(st.sampled_from(ADDRESSES), unique=True, max_size=2),
)


class Engine(RuleBasedStateMachine):
    """Four hosts and three floating IPs, random requests and misfortunes; ``teardown`` lets everything end
    and looks for leftovers."""

    def __init__(self):
        super().__init__()
        self.world = World(floating_ips=len(ADDRESSES))
        self.strangers = set()

    def some_lease(self, number):
        leases = self.world.leases.list(None)
        return leases[number % len(leases)] if leases else None

    @rule(
        start=MINUTES,
        length=st.integers(1, 12),
        requests=st.lists(WHOLE | SLOTS | FLOATING, min_size=1, max_size=3),
    )
    def create(self, start, length, requests):
        with contextlib.suppress(BlazarError):
            self.world.reserve(*requests, start=start, end=start + length)

    @rule(number=st.integers(0, 20), start=st.none() | MINUTES, end=st.none() | st.integers(0, 20))
    def move(self, number, start, end):
        lease = self.some_lease(number)
        dates = {"start": start, "end": end}
        moments = {name: self.world.in_minutes(m) for name, m in dates.items() if m is not None}
        if lease:
            with contextlib.suppress(BlazarError):
                self.world.update(lease, **moments)

    @rule(number=st.integers(0, 20), least=st.integers(1, 4), more=st.integers(0, 3))
    def resize(self, number, least, more):
        lease = self.some_lease(number)
        if lease:
            # Each kind knows its own parameters and ignores the others.
            wanted = {"min": least, "max": least + more, "amount": least + 2 * more}
            with contextlib.suppress(BlazarError):
                self.world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, wanted),))

    @rule(text=st.sampled_from(ADDRESSES))
    def a_stranger_takes_an_address(self, text):
        if self.world.cloud.network.floating_ip(PUBLIC, text) is None:
            self.world.cloud.network.create_floating_ip(PUBLIC, "subnet", text, "stranger", "mine")
            self.strangers.add(text)

    @rule()
    def strangers_give_their_addresses_back(self):
        state = self.world.cloud.state
        state.floating_ips = {i: f for i, f in state.floating_ips.items() if f.project_id != "stranger"}
        self.strangers.clear()

    @rule()
    def floating_ips_lead_to_ports(self):
        state = self.world.cloud.state
        state.floating_ips = {i: replace(f, port_id="port") for i, f in state.floating_ips.items()}

    @rule(number=st.integers(0, 20), affinity=AFFINITY)
    def regroup(self, number, affinity):
        lease = self.some_lease(number)
        if lease:
            wanted = ReservationChange(lease.reservations[-1].id, {"affinity": affinity})
            with contextlib.suppress(BlazarError):
                self.world.update(lease, reservations=(wanted,))

    @rule(
        number=st.integers(0, 20),
        requests=st.lists(WHOLE | SLOTS | FLOATING, max_size=2),
        gone=st.lists(st.integers(0, 3), max_size=2),
    )
    def exchange(self, number, requests, gone):
        lease = self.some_lease(number)
        if lease:
            has = lease.reservations
            ids = tuple({has[n % len(has)].id for n in gone}) if has else ()
            membership = ReservationsChange(added(*requests), ids)
            with contextlib.suppress(BlazarError):
                self.world.leases.update(lease.id, UpdateLease(), DEMO, membership=membership)

    @rule(number=st.integers(0, 20))
    def delete(self, number):
        lease = self.some_lease(number)
        if lease:
            self.world.delete(lease)

    @rule(number=st.integers(0, 20))
    def boot_a_server(self, number):
        lease = self.some_lease(number)
        if lease and lease.status is LeaseStatus.ACTIVE:
            for reservation in lease.reservations:
                if reservation.resource_type == "virtual:floatingip":
                    continue
                if reservation.resource_type != "physical:host":
                    with contextlib.suppress(CloudRefused):
                        self.world.cloud.boot_reserved(f"server-of-{number}", reservation.id)
                    continue
                for host in self.world.cloud.hosts_in(reservation.id):
                    self.world.cloud.boot(f"server-on-{host}", host)

    @rule(host=st.integers(1, 4), number=st.integers(0, 20))
    def a_server_refuses_to_die(self, host, number):
        self.world.cloud.state.undying |= {f"server-on-host{host}", f"server-of-{number}"}

    @rule()
    def servers_die_after_all(self):
        self.world.cloud.state.undying.clear()

    @rule(seconds=st.integers(1, 300))
    def time_passes(self, seconds):
        self.world.advance(seconds=seconds)

    @rule(seconds=st.integers(1, 300), step=st.integers(1, 40))
    def the_manager_is_killed(self, seconds, step):
        steps = Steps(crash_at=step)
        self.world.database.step = steps.step
        self.world.cloud.before = lambda call: steps.step()
        with contextlib.suppress(Crash):
            self.world.advance(seconds=seconds)
        self.world.database.step = lambda: None
        self.world.cloud.before = lambda call: None
        self.world.restart()
        self.world.reconcile_all()

    @rule(seconds=st.integers(1, 120), every=st.integers(2, 5), refused=st.booleans())
    def the_cloud_fails(self, seconds, every, refused):
        calls = Steps()

        def fail(call):
            calls.taken += 1
            if calls.taken % every == 0:
                kind = CloudRefused if refused else CloudUnavailable
                raise kind(service="Nova", reason="injected")

        self.world.cloud.before = fail
        self.world.advance(seconds=seconds)
        self.world.cloud.before = lambda call: None

    @invariant()
    def no_resource_gives_more_than_it_has(self):
        by_resource = {}
        for lease in self.world.leases.list(None):
            for allocation in lease.allocations:
                by_resource.setdefault(allocation.resource_id, []).append(allocation)
        for allocations in by_resource.values():
            for one, other in combinations(allocations, 2):
                if one.usage.whole or other.usage.whole:
                    assert not one.interval.overlaps(other.interval)
            for moment in {a.interval.start for a in allocations}:
                at_once = [a.amounts for a in allocations if a.interval.contains(moment) and a.amounts]
                for name, capacity in CAPACITY.items():
                    assert sum(amounts.get(name, 0) for amounts in at_once) <= capacity

    @invariant()
    def no_host_is_in_two_host_reservations(self):
        members = [
            host
            for a in self.world.cloud.state.aggregates.values()
            if a.availability_zone
            for host in a.hosts
        ]
        assert len(members) == len(set(members))

    @invariant()
    def no_host_has_more_servers_than_slots(self):
        state = self.world.cloud.state
        for (host, resource_class), total in state.slots.items():
            assert state.slots_in_use(host, resource_class) <= total

    @invariant()
    def active_leases_have_what_they_were_given(self):
        state = self.world.cloud.state
        for lease in self.world.leases.list(None):
            if lease.status is not LeaseStatus.ACTIVE or lease.degraded:
                continue
            for reservation in lease.reservations:
                bound = [a for a in reservation.allocations if a.bound]
                if reservation.resource_type == "virtual:floatingip":
                    registered = (self.world.floatingips.get(a.resource_id) for a in bound)
                    assert {r.facts["floating_ip_address"] for r in registered} <= self.world.floating_ips()
                    continue
                assert {f"host{a.resource_id}" for a in bound} <= set(
                    self.world.cloud.hosts_in(reservation.id)
                )
                is_served = reservation.status is ReservationStatus.ACTIVE  # what was added is not yet
                if is_served and reservation.resource_type != "physical:host":
                    assert "demo" in state.access[reservation.id]

    @invariant()
    def nobody_loses_a_floating_ip_of_his_own(self):
        assert self.world.floating_ips("stranger") == self.strangers

    @invariant()
    def no_host_is_lost(self):
        held = {host for a in self.world.cloud.state.aggregates.values() for host in a.hosts}
        assert held == {"host1", "host2", "host3", "host4"}

    def teardown(self):
        self.world.cloud.state.undying.clear()
        self.world.advance(minutes=60)
        self.world.advance(seconds=CLAIM.total_seconds() * 2 + 120)
        for lease in self.world.leases.list(None):
            assert lease.status is LeaseStatus.TERMINATED
            assert not [e for e in lease.events if e.status in (EventStatus.UNDONE, EventStatus.IN_PROGRESS)]
            assert lease.trust_id is None
            assert not lease.leaving
        assert self.world.in_freepool() == {"host1", "host2", "host3", "host4"}
        # A trust has no name to find it by: one that a crash left behind expires by itself.
        self.world.cloud.state.trusts.clear()
        nothing_left(self.world)
        assert not self.world.floating_ips()
        notifications = self.world.notifications()
        for once in ("start_lease", "end_lease"):
            assert notifications.count(f"lease.event.{once}") <= notifications.count("lease.create")


TestEngine = Engine.TestCase
TestEngine.settings = settings(
    max_examples=examples(60), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
