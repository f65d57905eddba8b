"""What must always hold, and what must hold once nothing is left to be done: each rule has a name and a
sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.waiting import in_line
from blazar.domain.resource import Allocation, Registration
from blazar.domain.time import floor_minute
from blazar.kinds.preemptibles import PREEMPTED
from blazar.kinds.registered_hosts.monitor import AT_ONCE
from blazar.service.ports import Aggregate
from blazar.service.preemption_notices import NOTICE

from .database import Key, Written
from .kinds import KINDS, ON_SSD, overused
from .lending import is_too_soon, too_few_kept, wrongly_lent
from .maintenances import given_while_away
from .notices import not_needed
from .priorities import displaced, units
from .series import made_in_part, unlisted
from .sharing import other_access
from .site import CAPACITY, FAILED_AT_ONCE, HOSTS, LENT, PREEMPTIBLE, SKEW, Site
from .splitting import given_or_taken, of_split
from .stacks import left, twice

OVER = (LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING)
GONE = (LeaseStatus.TERMINATED, LeaseStatus.DELETING)
RUNNING = (LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE)
MOVING = (LeaseStatus.CREATING, LeaseStatus.STARTING, LeaseStatus.TERMINATING, LeaseStatus.DELETING)
SKEWED = timedelta(seconds=2)
UNSEEN = timedelta(seconds=30)
"""How long a server may be on a host before it must have been seen: between a look and what follows from it a
process may stand still, as long as its claim holds."""
LOOKED = timedelta(seconds=120)
"""How old what a look has seen may be when it is stored: a process may stand still, and requests may hang."""
LATE = timedelta(seconds=45 + 40 + 12 + 10)
"""By how much an event may be late in a site where nothing goes wrong: a claim of a dead manager and a retry;
then Nova takes its longest for the image of a server and for its deletion, each of which is seen at the next
look."""


@dataclass(frozen=True)
class Booted:
    """A server that a user booted in a reservation, and where."""

    lease_id: str
    reservation_id: str
    host: str
    is_whole_host: bool


class Rules:
    """Watches a site."""

    def __init__(self, site: Site, ignored: Iterable[str] = ()) -> None:
        self.site = site
        self.booted: dict[str, Booted] = {}
        self.networks: dict[str, str] = {}
        """The reservations for which networks were made, by the ids of the networks."""
        self._given_up: set[str] = set()
        self._ignored = frozenset(ignored)
        site.database.watcher = self._committed
        site.servers.asked = self._deletion_asked
        site.changed = self._cloud_changed
        site.let_in = self._require_lent_in_time

    def fail(self, rule: str, text: str) -> None:
        if rule not in self._ignored:
            self.site.world.tell(rule.upper(), text, actor="RULE")
            self.site.world.scheduler.fail(rule, text)

    # at every commit

    def _committed(self, changes: Mapping[Key, Written]) -> None:
        halves = of_split(changes)
        for (table, _), row in changes.items():
            if table == "leases":
                self._give_up_servers(row.before, row.after)
                self._require_waiting(row.before, row.after)
                if row.after is not None:
                    self._require_capacity(row.after)
                    self._require_quota()
                    self._require_properties(row.after)
                    self._require_no_early_end(row.before, row.after)
                    self._require_settled(row.before, row.after)
                    self._require_nothing_over(row.after)
                    self._require_leaving(row.after)
                    offer = changes.get(("offers", row.after.id))
                    held = offer.before.lease if offer else halves[0] if halves else None
                    self._require_not_away(row.before or held, row.after)
            elif table == "offers" and row.after is not None:
                self._require_capacity(row.after.lease)
                self._require_not_away(row.before.lease if row.before else None, row.after.lease)
            elif table == "registrations" and row.after is not None:
                self._require_real_failure(row.before, row.after)
        if halves is None:
            self._require_lower_gives_way(changes)
        elif wrong := given_or_taken(*halves):
            self.fail("a split gives nothing and takes nothing", wrong)
        for lacking in made_in_part(changes):
            self.fail("a series is made with all its leases", lacking)
        if any(table == "registrations" for table, _ in changes):
            self._require_few_failures()
            for lease in self.site.leases().values():
                self._require_properties(lease)

    def _require_settled(self, before: Lease | None, after: Lease) -> None:
        """What is settled is so in the cloud at that moment, and not only after another repair."""
        if before is not None and not _is_settled(before) and _is_settled(after):
            for reservation in after.reservations:
                self._require_reservation(after, reservation)

    def _require_waiting(self, before: Lease | None, after: Lease | None) -> None:
        """A lease that waits has nothing, and is given nothing after its deadline."""
        if after is not None and after.status is LeaseStatus.WAITING and (after.allocations or after.events):
            self.fail("a lease that waits has nothing", f"lease {after.id} has {after.allocations}")
        is_promoted = before is not None and before.waiting is not None and after is not None
        if is_promoted and after.status is LeaseStatus.PENDING:
            late = self.site.world.now() - before.waiting.until
            if late > SKEWED:
                self.fail("none waits past its deadline", f"lease {after.id} is promoted {late} too late")

    def _require_lower_gives_way(self, changes: Mapping[Key, Written]) -> None:
        """Nothing is taken from a lease that has started, or for one that is of no higher class. What keeps
        its time may be planned elsewhere for any lease, with all it had."""
        new = [row.after for (table, _), row in changes.items() if table == "leases" and row.before is None]
        for before, after in displaced(changes):
            by = max((lease.priority.rank for lease in new if lease is not None), default=0)
            is_planned_elsewhere = after.status is LeaseStatus.PENDING and before.status is after.status
            if is_planned_elsewhere and units(before) != units(after):
                self.fail("what is planned elsewhere keeps all it had", f"lease {before.id} loses something")
            is_lower = before.priority.rank < by
            if not (is_lower or is_planned_elsewhere) or before.status is not LeaseStatus.PENDING:
                self.fail(
                    "only a lower lease that has not started gives way",
                    f"lease {before.id}, {before.priority} and {before.status}, is {after.status}",
                )
            if before.interval.start + SKEWED < self.site.world.now():
                self.fail(
                    "only a lower lease that has not started gives way", f"lease {before.id} was to start"
                )

    def _require_leaving(self, lease: Lease) -> None:
        """As long as an active lease has not given back what was removed from it, that is being done."""
        has = [each.id for each in lease.leaving if each.surplus]
        is_done = any(e.event_type is EventType.CONVERGE and e.is_open for e in lease.events)
        if lease.status is LeaseStatus.ACTIVE and has and not is_done:
            self.fail("what is removed from a lease leaves it", f"lease {lease.id} keeps {has}")

    def _require_nothing_over(self, lease: Lease) -> None:
        """No read of a resource gets longer with what was on it."""
        stored = (*lease.reservations, *lease.leaving)
        has = [a.resource_id for r in stored for a in (*r.allocations, *r.surplus)]
        if lease.status is LeaseStatus.TERMINATED and has:
            self.fail("what is over has nothing", f"lease {lease.id} is over and has {has}")

    def _require_not_away(self, before: Lease | None, after: Lease) -> None:
        """What is taken away is given to no lease, but left to those that have it."""
        for allocation in given_while_away(self.site, before, after):
            self.fail(
                "nothing is given that is taken away",
                f"lease {after.id} gets {allocation.resource_id} in {allocation.interval}",
            )

    def _require_capacity(self, lease: Lease) -> None:
        mine = {a.resource_id for a in lease.allocations}
        on: dict[str, list[Allocation]] = {}
        held = (offer.lease for offer in self.site.offers().values())
        for other in (*self.site.leases().values(), *held):
            if other.status is not LeaseStatus.TERMINATED:
                for allocation in other.allocations:
                    if allocation.resource_id in mine:
                        on.setdefault(allocation.resource_id, []).append(allocation)
        for resource_id, allocations in on.items():
            if trouble := overbooked(allocations, floor_minute(self._latest_now())):
                self.fail("never more than there is", f"resource {resource_id}: {trouble}")

    def _require_quota(self) -> None:
        """At no moment ahead does the project have more than its limits allow."""
        limits, now = self.site.quotas, self._latest_now()
        counted = [
            lease
            for lease in self.site.leases().values()
            if limits and lease.status not in GONE and lease.interval.end > now
        ]
        for moment in {now, *(lease.interval.start for lease in counted if lease.interval.start > now)}:
            used = Counter({"leases": len(counted)})
            for lease in counted:
                if lease.interval.contains(moment) and lease.status is not LeaseStatus.WAITING:
                    for reservation in lease.reservations:
                        used.update(KINDS[reservation.resource_type].used(reservation))
            over = {name: used[name] for name, most in limits.items() if used[name] > most}
            if over:
                self.fail(
                    "no project has more than its quota", f"at {moment}: {over}, and allowed are {limits}"
                )

    def _latest_now(self) -> datetime:
        """What is over by one manager's clock may still be going on by the true time."""
        return self.site.world.now() + timedelta(seconds=SKEW)

    def _require_properties(self, lease: Lease) -> None:
        """What a lease is promised is registered, and has the property that the lease asks for."""
        if lease.status not in RUNNING or lease.interval.end <= self._latest_now():
            return
        registrations = self.site.registrations()
        for reservation in lease.reservations:
            is_asking = reservation.parameters.get("resource_properties") == ON_SSD
            for allocation in reservation.allocations:
                registration = registrations.get(allocation.resource_id)
                if registration is None or (is_asking and registration.capabilities.get("ssd") != "yes"):
                    self.fail(
                        "what is promised is there as it was asked for",
                        f"lease {lease.id} has {allocation.resource_id}: {registration}",
                    )

    def _require_real_failure(self, before: Registration | None, after: Registration) -> None:
        """A monitor that sees nothing must not evacuate the cloud."""
        failure = after.failure
        if failure is None or not failure.is_present or (before and before.failure == failure):
            return
        host = str(after.facts["service_name"])
        until = self.site.failed_until.get(host)
        if self.site.is_whole(host) and (until is None or until < self.site.world.now() - LOOKED):
            self.fail(
                "no host is called failed that did not fail", f"{host}: {failure}; it failed until {until}"
            )

    def _require_few_failures(self) -> None:
        failures = {r.name: r.failure for r in self.site.registrations().values()}
        earliest = self._latest_now() - AT_ONCE
        at_once = sorted(
            name for name, each in failures.items() if each and each.is_present and each.since > earliest
        )
        if len(at_once) > FAILED_AT_ONCE:
            self.fail("too many failures at once are not believed", f"{at_once} are called failed")

    def _require_no_early_end(self, before: Lease | None, after: Lease) -> None:
        if before is None or after.status not in RUNNING:
            return
        open_before = {e.id for e in before.events if e.is_open}
        latest = self.site.world.now() + SKEWED
        for event in after.events:
            if event.id in open_before and event.status is EventStatus.DONE and event.time > latest:
                self.fail(
                    "no event is closed before its time",
                    f"{event.event_type} of lease {after.id}, which is due at {event.time}",
                )

    def _give_up_servers(self, before: Lease | None, after: Lease | None) -> None:
        """From now on the cloud may be rid of servers whose user has given up what they run on."""
        lease = before or after
        for server_id, server in self.booted.items():
            if lease is not None and server.lease_id == lease.id and not self._is_kept(server, before, after):
                self._given_up.add(server_id)

    def _is_kept(self, server: Booted, before: Lease | None, after: Lease | None) -> bool:
        if after is None or after.status in OVER:
            return False
        held, left = (self._slots(lease, server) for lease in (before, after))
        return left > 0 and left >= held

    def _slots(self, lease: Lease | None, server: Booted) -> int:
        reservation = lease.reservation(server.reservation_id) if lease else None
        allocations = reservation.allocations if reservation else ()
        return sum(a.slots for a in allocations if self.site.host_of(a.resource_id) == server.host)

    # at every change in the cloud

    def boot(self, lease: Lease, reservation: Reservation, server_id: str) -> str | None:
        """Boot a server for the user; return its host."""
        kind = KINDS[reservation.resource_type]
        host = kind.boot(self.site, lease, reservation, server_id)
        if host is None:
            return None
        self.watch(server_id, lease, reservation, host)
        return host

    def watch(self, server_id: str, lease: Lease, reservation: Reservation, host: str) -> None:
        """Remember a server that is on a host of the reservation, and has to stay as long as that has it."""
        is_whole_host = reservation.resource_type == "physical:host"
        server = self.booted[server_id] = Booted(lease.id, reservation.id, host, is_whole_host)
        if not self._is_kept(server, None, lease):
            self._given_up.add(server_id)
        self._give_up_beyond_slots(server, lease)

    def _give_up_beyond_slots(self, booted: Booted, lease: Lease) -> None:
        """From now on the cloud may be rid of some of its servers on a host that has more than slots: healing
        has given up slots there, of which the cloud does not know yet."""
        alive = self.site.cloud.state.servers
        beside = [i for i, each in self.booted.items() if each == booted and i in alive]
        if not booted.is_whole_host and len(beside) > self._slots(lease, booted):
            self._given_up.update(beside)

    def _deletion_asked(self, server_id: str, by: str) -> None:
        if server_id in self.site.adopted:
            self._require_over(server_id, f"{by} deletes it")
        self._require_given_up(server_id, f"{by} deletes")

    def _require_given_up(self, server_id: str, what: str) -> None:
        """A server stays where its user booted it, as long as the lease has the host."""
        server = self.booted.get(server_id)
        if server is not None and server_id not in self._given_up:
            lease = self.site.leases().get(server.lease_id)
            status = lease.status if lease else "gone"
            self.fail(
                "no server is taken from a running lease",
                f"{what} {server_id} on {server.host} of lease {server.lease_id}, which is {status}",
            )

    def _require_over(self, server_id: str, what: str) -> None:
        """What its user wants at the end is done with a server at the end of its lease."""
        for lease in self.site.leases().values():
            has_it = any(r.parameters.get("server_id") == server_id for r in lease.reservations)
            if has_it and lease.status is LeaseStatus.ACTIVE:
                self.fail(
                    "no server is taken from a running lease",
                    f"lease {lease.id} has server {server_id}, and {what}",
                )

    def _cloud_changed(self, method: str, args: tuple[Any, ...]) -> None:
        if method in ("shelve_server", "suspend_server", "stop_server"):
            self._require_over(args[0], method)
        if method == "shelve_server":
            self._require_given_up(args[0], method)
        if method == "migrate_server" and args[0] in self.site.strays:
            self.site.strays[args[0]] = self.site.world.now()
        if method == "unshelve_server" and (over := overused(self.site, args[1])):
            self.fail("a running lease has room for its servers", f"{args[1]} lacks {over} for {args[0]}")
        if method == "remove_reservation_provider":
            self.fail("no provider is taken from nova-compute", f"that of {args[0]} is removed")
        if method == "create_network":
            made = next(n for n in self.site.cloud.state.networks.values() if n.segment == args[0])
            self.networks[made.id] = args[3].removeprefix("reservation:")
        if method in ("delete_port", "remove_router_interface", "delete_network"):
            self._require_network_over(method, args[0])
        if method in ("delete_server_group", "delete_trust"):
            self._require_unused(args[0])
        if method != "add_host":
            return
        aggregate = self.site.cloud.state.aggregates.get(args[0])
        if aggregate is None or aggregate.name in (FREEPOOL, LENT):
            return
        for server in self.site.cloud.state.servers.values():
            owner = self.booted.get(server.id)
            if server.host == args[1] and server.id in self.site.adopted:
                self._require_not_there(server.id, aggregate)
                continue
            if server.host != args[1] or (owner is not None and owner.reservation_id == aggregate.name):
                continue
            if owner is None and self.site.strays[server.id] > self.site.world.now() - UNSEEN:
                continue
            if aggregate.availability_zone or (owner is not None and owner.is_whole_host):
                self.fail(
                    "no host is given while the last tenant's servers are on it",
                    f"{args[1]} joins reservation {aggregate.name}, and {server.id} is on it",
                )

    def _require_network_over(self, method: str, of: Any) -> None:
        """What is on a network goes at the end of its lease, and then the network."""
        network_id = of if method == "delete_network" else self.site.attached[getattr(of, "id", of)]
        for lease in self.site.leases().values():
            has_it = any(r.id == self.networks.get(network_id) for r in lease.reservations)
            if has_it and lease.status is LeaseStatus.ACTIVE:
                self.fail(
                    "no network is taken from a running lease",
                    f"{method} at {network_id}, and lease {lease.id} is active",
                )

    def _require_not_there(self, server_id: str, aggregate: Aggregate) -> None:
        """A server that was reserved has left its host before a tenant gets all of it."""
        if aggregate.availability_zone:
            self.fail(
                "no host is given while the last tenant's servers are on it",
                f"a host joins reservation {aggregate.name}, and {server_id} is on it",
            )

    def _require_unused(self, made: str) -> None:
        """What was made for a lease stays as long as the stored lease refers to it, and is not over."""
        for lease in self.site.leases().values():
            groups = (r.cloud_state.get("server_group_id") for r in lease.reservations)
            if lease.status not in OVER and made in (lease.trust_id, *groups):
                self.fail("what a lease refers to stays", f"{made} of lease {lease.id} is removed")

    # when nothing goes wrong any more

    def is_nothing_due(self) -> bool:
        """Return whether nothing is under way, and nothing will be before its time."""
        stored, now = self.site.database.committed, self.site.world.now()
        events = (event for lease in stored.leases.values() for event in lease.events)
        is_due = any(event.is_open and event.time <= now for event in events)
        is_moving = any(lease.status in MOVING for lease in stored.leases.values())
        return not (is_due or is_moving or stored.claims or stored.notifications)

    def are_notices_right(self) -> bool:
        return not any(not_needed(self.site))

    def require_notices(self) -> None:
        """A server that is in no lease's way has no notice."""
        for told in not_needed(self.site):
            self.fail("only servers in the way have a notice", told)

    def are_stacks_right(self) -> bool:
        return not any(left(self.site))

    def require_stacks(self) -> None:
        """A lease has one stack at most, and none when it is over."""
        for told in twice(self.site):
            self.fail("a lease has one stack", told)
        for told in left(self.site):
            self.fail("stacks go with their leases", told)

    def is_lending_right(self) -> bool:
        return not any(too_few_kept(self.site)) and not any(wrongly_lent(self.site))

    def require_lending(self) -> None:
        """Those who lend have free what they keep and the hosts that they use, others have all, and nothing
        else is lent."""
        for told in too_few_kept(self.site):
            self.fail("who lends hosts has those that he needs", told)
        for told in wrongly_lent(self.site):
            self.fail("only idle hosts of those who lend are lent", told)

    def _require_lent_in_time(self, host: str) -> None:
        """Nothing is lent when a lease starts."""
        if told := is_too_soon(self.site, host):
            self.fail("no host is lent before it was idle for so long", told)

    def is_everything_over(self) -> bool:
        leases = self.site.leases().values()
        if self.site.offers():
            return False
        return self.is_nothing_due() and all(lease.status is LeaseStatus.TERMINATED for lease in leases)

    def require_no_waiting(self) -> None:
        """Nothing waits for ever: no lease is on its way, and no event is late."""
        now = self.site.world.now()
        for lease in self.site.leases().values():
            if lease.waiting is not None and lease.waiting.until < now - LATE:
                self.fail("none waits past its deadline", f"lease {lease.id} waits since {lease.waiting}")
            for event in lease.events:
                if event.is_open and event.time < now - LATE:
                    self.fail(
                        "nothing waits for ever",
                        f"{event.event_type} of lease {lease.id} ({lease.status}) was due at {event.time}: "
                        f"{event.reason or lease.status_reason}",
                    )
            if lease.status in MOVING and not any(e.is_open and e.time >= now - LATE for e in lease.events):
                self.fail(
                    "nothing waits for ever", f"lease {lease.id} is {lease.status}, and no event is open"
                )

    def require_what_was_promised(self) -> None:
        """The cloud has what the active leases say, and nothing else; only a lease that says that it is
        degraded may lack something."""
        for lease in self.site.leases().values():
            if _is_settled(lease):
                for reservation in lease.reservations:
                    self._require_reservation(lease, reservation)
        self._require_nothing_else()
        for lease in unlisted(self.site):
            self.fail("a lease of a series is one that the series has", lease)

    def require_none_in_line_in_vain(self) -> None:
        """The first in line waits for what is not there. Only whole hosts are counted, where no quota is."""
        waiting = [lease for lease in self.site.leases().values() if lease.waiting is not None]
        line = in_line((lease.id, lease.waiting) for lease in waiting if lease.waiting)
        if not line or self.site.quotas:
            return
        first = self.site.leases()[line[0]]
        reservation = first.reservations[0]
        if len(first.reservations) > 1 or reservation.resource_type != "physical:host":
            return  # one of several was displaced
        is_asking = reservation.parameters["resource_properties"] == ON_SSD
        taken = {
            allocation.resource_id
            for lease in (*self.site.leases().values(), *(each.lease for each in self.site.offers().values()))
            if lease.status is not LeaseStatus.TERMINATED
            for allocation in lease.allocations
            if allocation.interval.overlaps(first.interval)
        }
        free = [
            each.id
            for each in self.site.registrations().values()
            if each.pool == "host"
            and each.can_be_reserved
            and each.id not in taken
            and (not is_asking or each.capabilities.get("ssd") == "yes")
        ]
        if len(free) >= reservation.parameters["min"]:
            self.fail("the first in line waits for what is not there", f"lease {first.id} could have {free}")

    def is_healthy(self) -> bool:
        return next(self._ailments(), None) is None

    def require_health(self) -> None:
        """No trouble that has passed leaves a lease in ERROR, or degraded after all was compared anew."""
        for rule, told in self._ailments():
            self.fail(rule, told)

    def _ailments(self) -> Iterator[tuple[str, str]]:
        for lease in self.site.leases().values():
            told = f"lease {lease.id}: {lease.status_reason}"
            if lease.status is LeaseStatus.ERROR:
                yield "no passing trouble ends in ERROR", told
            is_lacking = lease.degraded or any(r.missing_resources for r in lease.reservations)
            if lease.status is LeaseStatus.ACTIVE and is_lacking:
                yield "what is whole is not called degraded", told

    def _require_reservation(self, lease: Lease, reservation: Reservation) -> None:
        if not all(a.bound for a in reservation.allocations):
            self.fail(
                "the cloud has what the lease says", f"lease {lease.id} has allocations that are not bound"
            )
        for amiss in KINDS[reservation.resource_type].amiss(self.site, lease, reservation):
            self.fail("the cloud has what the lease says", f"reservation {reservation.id}: {amiss}")
        for amiss in other_access(self.site, lease, reservation):
            self.fail("the cloud lets in whom shares name", f"reservation {reservation.id}: {amiss}")

    def _require_nothing_else(self) -> None:
        state = self.site.cloud.state
        leases = [
            lease for lease in self.site.leases().values() if lease.status is not LeaseStatus.TERMINATED
        ]
        known = {r.id for lease in leases for r in lease.reservations}
        # What was made for a lease that has not begun yet may wait until it has.
        known |= {r.id for lease in leases if lease.status is LeaseStatus.PENDING for r in lease.leaving}
        for lease in leases:
            if lease.status is LeaseStatus.ACTIVE and lease.leaving:
                self.fail(
                    "what is removed from a lease leaves it",
                    f"lease {lease.id} still has {[r.id for r in lease.leaving]}",
                )
        classes = {f"CUSTOM_RESERVATION_{i.upper().replace('-', '_')}" for i in known}
        found = {
            "aggregates": {a.name for a in state.aggregates.values()} - known - {FREEPOOL, LENT},
            "flavors": set(state.flavors) - known - {"small", *(each.id for each in PREEMPTIBLE)},
            "classes": state.classes - classes,
            "inventories": {name for _, name in state.slots} - classes,
            "groups": {g.name for g in state.groups.values()} - {f"reservation:{i}" for i in known},
            "floating IPs": {f.description for f in state.floating_ips.values()}
            - {f"reservation:{i}" for i in known},
            "networks": {reservation_id for i, reservation_id in self.networks.items() if i in state.networks}
            - known,
            # Nova lets no mark be taken from servers that are shelved.
            "servers": {
                value
                for server_id, has in state.server_metadata.items()
                if not state.servers[server_id].status.startswith("SHELVED")
                for key, value in has.items()
                if key not in (NOTICE, PREEMPTED)
            }
            - known,
        }
        for what, names in found.items():
            if names:
                self.fail("nothing is left behind", f"{what} of no lease: {sorted(names)}")
        # What ends loses one thing after another, and says so when all is gone.
        for lease in (each for each in leases if each.status is not LeaseStatus.TERMINATING):
            if lease.trust_id is not None and lease.trust_id not in state.trusts:
                self.fail("the cloud has what the lease says", f"the trust of lease {lease.id} is gone")
            for reservation in lease.reservations:
                group = reservation.cloud_state.get("server_group_id")
                if group is not None and group not in state.groups:
                    self.fail("the cloud has what the lease says", f"the group of lease {lease.id} is gone")
        held = {host for a in state.aggregates.values() for host in a.hosts}
        registered = {self.site.host_of(i) for i, r in self.site.registrations().items() if r.pool == "host"}
        if held != registered:
            self.fail("no host is lost", f"{sorted(held)} are in aggregates, {sorted(registered)} registered")

    def require_everything_over(self) -> None:
        """All leases have ended, and the cloud is as it was in the beginning."""
        for lease in self.site.leases().values():
            if lease.status is not LeaseStatus.TERMINATED:
                self.fail("nothing waits for ever", f"lease {lease.id} is {lease.status} after its end")
            if rows := [e.event_type for e in lease.events if not e.event_type.is_public]:
                self.fail("nothing is left behind", f"lease {lease.id} keeps {rows} of the engine")
        for offer in self.site.offers().values():
            self.fail("nothing waits for ever", f"offer {offer.id} has expired at {offer.expires_at}")
        for maintenance in self.site.maintenances().values():
            self.fail("nothing waits for ever", f"maintenance {maintenance.id} is still there")
        if waiting := self.site.database.committed.notifications:
            self.fail("nothing waits for ever", f"{len(waiting)} notifications are not delivered")
        servers = self.site.cloud.state.servers
        there = [i for i in self.site.adopted if i in servers and servers[i].host in HOSTS]
        if there:
            self.fail("nothing is left behind", f"reserved servers that stayed on their hosts: {there}")
        if self.site.in_freepool() != frozenset(HOSTS):
            self.fail("no host is lost", f"only {sorted(self.site.in_freepool())} are in the freepool")

    def can_all_be_reserved(self) -> bool:
        return all(each.can_be_reserved for each in self.site.registrations().values())

    def require_reservable(self) -> None:
        """All hosts are up again, and leases may get each."""
        for registration in self.site.registrations().values():
            if not registration.can_be_reserved:
                self.fail("no host is lost", f"{registration.name} cannot be reserved")


def _is_settled(lease: Lease) -> bool:
    """Return whether the lease is active and has all that it should have, as it says itself."""
    is_changing = any(e.is_open and not e.event_type.is_public for e in lease.events)
    return lease.status is LeaseStatus.ACTIVE and not is_changing and not lease.degraded


def overbooked(allocations: list[Allocation], now: datetime) -> str | None:
    """Say which allocations of one resource are too much together, now or later: an allocation that grows
    keeps its start, and what was free of it then does not matter any more."""
    ahead = [a for a in allocations if a.interval.end > now]
    for one, other in combinations(ahead, 2):
        if (one.usage.whole or other.usage.whole) and one.interval.overlaps(other.interval):
            return f"leases {one.lease_id} and {other.lease_id} have it at once"
    for moment in sorted({max(a.interval.start, now) for a in ahead}):
        at_once = [a for a in allocations if a.amounts and a.interval.contains(moment)]
        for name, capacity in CAPACITY.items():
            taken = sum((a.amounts or {}).get(name, 0) for a in at_once)
            if taken > capacity:
                return f"{name}: {taken} of {capacity} at {moment}"
    return None
