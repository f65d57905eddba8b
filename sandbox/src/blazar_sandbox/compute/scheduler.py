"""The scheduler, which chooses the host of a new server.

The filters that depend only on a host's aggregates decide once for all hosts in the same aggregates, so ten
thousand hosts in one freepool cost as much as one. The other filters then look at single hosts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.aggregate_filters import aggregate_allows_tenant, aggregate_matches_specs
from blazar_sandbox.compute.aggregates import Aggregates
from blazar_sandbox.compute.flavors import amounts, trait_query
from blazar_sandbox.compute.hosts import Hosts
from blazar_sandbox.compute.model import DEFAULT_ZONE, Aggregate, Flavor, Host, ServerGroup
from blazar_sandbox.compute.server_table import ServerTable
from blazar_sandbox.placement.state import Allocations, Placement
from blazarnova import backfill, bounded, rule
from blazarnova.bounded import BoundedServer
from blazarnova.intervals import Promises

Membership = tuple[int, ...]

# Of the first so many fitting hosts, the one with the most free memory is chosen, as by Nova's weigher. Hosts
# that a project has reserved for its ordinary servers come first, as by the weigher beside the filter.
_WEIGHED = 16


@dataclass(frozen=True, slots=True)
class BootRequest:
    """The requirements of a new server."""

    project_id: str
    flavor: Flavor
    zone: str | None = None
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: ServerGroup | None = None
    forced_host: str | None = None
    """A host that an administrator named in the availability zone; filters do not apply."""
    wanted_host: str | None = None
    """A host that an administrator requests; filters apply."""
    server_id: str = ""
    """The server, where it exists already and comes back from being shelved, or moves."""
    left_host: str | None = None
    """The host that it moves from, which will not do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen host, and the server's allocations in the host's provider tree."""

    host: Host
    allocations: Allocations


@dataclass(frozen=True, slots=True)
class NoValidHost:
    """The refusal of a server that fits no host."""

    reason: str = "There are not enough hosts available."


class Scheduler:
    """Nova's filters, applied to Placement's candidates."""

    def __init__(
        self,
        hosts: Hosts,
        aggregates: Aggregates,
        placement: Placement,
        servers: ServerTable,
        settings: rule.Settings,
        clock: Clock,
    ) -> None:
        self._hosts = hosts
        self._aggregates = aggregates
        self._placement = placement
        self._servers = servers
        self.settings = settings
        self.promises: Callable[[], Promises | None] = lambda: None
        """What is promised to leases, where servers with a known end may run on hosts of the freepool."""
        self._clock = clock

    def select(self, boot: BootRequest) -> Selection | NoValidHost:
        """Return the host of a new server and its allocations, or the refusal."""
        wanted = amounts(boot.flavor)
        traits = trait_query(boot.flavor)
        if any(not self._placement.knows_class(name) for name in wanted):
            return NoValidHost()
        if any(not self._placement.knows_trait(name) for name in traits.required | traits.forbidden):
            return NoValidHost()
        best: tuple[tuple[float, int], Selection] | None = None
        fitting = 0
        for host in self._candidates(boot, wanted):
            allocations = self._placement.fit(host.uuid, wanted, traits)
            if allocations is None:
                continue
            preference = self._preference(boot, host.aggregates)
            weight = preference, host.memory_mb - self._placement.used(host.uuid, "MEMORY_MB")
            if best is None or weight > best[0]:
                best = (weight, Selection(host, allocations))
            fitting += 1
            if fitting == _WEIGHED:
                break
        return best[1] if best is not None else NoValidHost()

    def _candidates(self, boot: BootRequest, wanted: Mapping[str, int]) -> Iterator[Host]:
        if boot.forced_host is not None:
            host = self._hosts.table.get(boot.forced_host)
            if host is not None:
                yield host
            return
        accepted: dict[Membership, bool] = {}
        promises, now = self.promises(), int(self._clock.now().timestamp())
        until_its_end = _bounded(boot, now) if promises is not None else None
        for host in self._scan(boot, wanted, accepted):
            if not host.takes_servers or boot.wanted_host not in (None, host.name):
                continue
            if host.name == boot.left_host:
                continue
            if not self._passes_server_filters(boot, host):
                continue
            if not self._accepts(boot, host.aggregates, accepted) and not self._passes_backfill(
                boot, host, until_its_end, promises, now
            ):
                continue
            yield host

    def _scan(
        self, boot: BootRequest, wanted: Mapping[str, int], accepted: dict[Membership, bool]
    ) -> Iterable[Host]:
        """Return the hosts that may fit, from the narrowest index."""
        if boot.wanted_host is not None:
            host = self._hosts.table.get(boot.wanted_host)
            return [host] if host is not None else []
        if boot.group is not None and boot.group.policy == "affinity":
            taken = dict.fromkeys(
                mate.host for mate in self._servers.in_group.rows(boot.group.id) if mate.host
            )
            if taken:
                return [self._hosts.table[name] for name in taken]
        rarest = min(wanted, key=self._placement.by_class.count, default=None)
        if rarest is not None and self._placement.by_class.count(rarest) < len(self._hosts.table) // 2:
            roots = dict.fromkeys(row.root_uuid for row in self._placement.by_class.rows(rarest))
            found = [host for root in roots for host in self._hosts.by_uuid.rows(root)]
            preferences = {each: self._preference(boot, each) for each in {h.aggregates for h in found}}
            return sorted(found, key=lambda host: -preferences[host.aggregates])
        return self._of_accepted(boot, accepted)

    def _of_accepted(self, boot: BootRequest, accepted: dict[Membership, bool]) -> Iterator[Host]:
        may_wait = bounded.LEASE_HINT in boot.hints
        memberships = sorted(
            self._hosts.by_membership.values(), key=lambda each: -self._preference(boot, each)
        )
        for membership in memberships:
            if may_wait or self._accepts(boot, membership, accepted):
                yield from self._hosts.by_membership.rows(membership)

    def _accepts(self, boot: BootRequest, membership: Membership, accepted: dict[Membership, bool]) -> bool:
        answer = accepted.get(membership)
        if answer is None:
            answer = accepted[membership] = self._passes_aggregate_filters(boot, membership)
        return answer

    def _passes_aggregate_filters(self, boot: BootRequest, membership: Membership) -> bool:
        rows = self._rows(membership)
        decision = rule.decide(_request(boot), _seen(rows), self.settings)
        return decision.accepted and self._passes_other_aggregate_filters(boot, rows)

    def _passes_other_aggregate_filters(self, boot: BootRequest, rows: list[Aggregate]) -> bool:
        zone = next((row.zone for row in rows if row.zone is not None), DEFAULT_ZONE)
        return (
            boot.zone in (None, zone)
            and aggregate_allows_tenant(rows, boot.project_id)
            and aggregate_matches_specs(rows, boot.flavor.extra_specs)
        )

    def _passes_backfill(
        self,
        boot: BootRequest,
        host: Host,
        server: BoundedServer | None,
        promises: Promises | None,
        now: int,
    ) -> bool:
        """Return whether a host that the rule keeps for reservations takes the server until its end."""
        if server is None or promises is None:
            return False
        rows = self._rows(host.aggregates)
        decision = backfill.decide_beside(
            _request(boot), server, host.name, _seen(rows), self.settings, promises, now
        )
        return decision.accepted and self._passes_other_aggregate_filters(boot, rows)

    def _preference(self, boot: BootRequest, membership: Membership) -> float:
        return rule.preference(_request(boot), _seen(self._rows(membership)), self.settings)

    def _rows(self, membership: Membership) -> list[Aggregate]:
        return [self._aggregates.table[str(one)] for one in membership]

    def _passes_server_filters(self, boot: BootRequest, host: Host) -> bool:
        """Return whether a host passes the filters that compare the new server with the host's servers."""
        on_host = self._servers.on_host.rows(host.name)
        here = {server.id for server in on_host}
        same, other = boot.hints.get("same_host", ()), boot.hints.get("different_host", ())
        if (same and not here.intersection(same)) or here.intersection(other):
            return False
        group = boot.group
        if group is None:
            return True
        mates = sum(server.group_id == group.id for server in on_host)
        if group.policy == "affinity":
            return True  # the hosts were limited to those of the group's members, if it has any
        if group.policy == "anti-affinity":
            return mates < (group.max_per_host or 1)
        return True


def _request(boot: BootRequest) -> rule.RequestSpec:
    return rule.RequestSpec(
        boot.project_id,
        rule.hinted_ids(boot.hints.get(rule.RESERVATION_HINT)),
        boot.flavor.extra_specs,
        boot.server_id,
    )


def _seen(rows: Iterable[Aggregate]) -> list[rule.Aggregate]:
    return [rule.Aggregate(row.name, row.zone, row.metadata) for row in rows]


def _bounded(boot: BootRequest, now: int) -> BoundedServer | None:
    """Return the server as one with a known end; None where it has no hint."""
    if (hint := boot.hints.get(bounded.LEASE_HINT)) is None:
        return None
    flavor = boot.flavor
    sizes = bounded.Sizes(flavor.vcpus, flavor.ram, flavor.disk, flavor.ephemeral, flavor.swap)
    taken = bounded.amounts_of(sizes, flavor.extra_specs)
    return BoundedServer(bounded.end_of(hint, now), taken, bounded.lease_id_of(boot.server_id))
