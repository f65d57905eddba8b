"""The scheduler, which chooses the host of a new server.

The filters that depend only on a host's aggregates decide once for all hosts in the same aggregates, so ten
thousand hosts in one freepool cost as much as one. The other filters then look at single hosts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from blazar_sandbox.compute.aggregate_filters import aggregate_allows_tenant, aggregate_matches_specs
from blazar_sandbox.compute.aggregates import Aggregates
from blazar_sandbox.compute.flavors import amounts, trait_query
from blazar_sandbox.compute.hosts import Hosts
from blazar_sandbox.compute.model import DEFAULT_ZONE, Aggregate, Flavor, Host, ServerGroup
from blazar_sandbox.compute.server_table import ServerTable
from blazar_sandbox.placement.state import Allocations, Placement
from blazarnova import rule

Membership = tuple[int, ...]

# Of the first so many fitting hosts, the one with the most free memory is chosen, as by Nova's weigher.
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
    """The server, where it exists already and comes back from being shelved."""


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
    ) -> None:
        self._hosts = hosts
        self._aggregates = aggregates
        self._placement = placement
        self._servers = servers
        self.settings = settings

    def select(self, boot: BootRequest) -> Selection | NoValidHost:
        """Return the host of a new server and its allocations, or the refusal."""
        wanted = amounts(boot.flavor)
        traits = trait_query(boot.flavor)
        if any(not self._placement.knows_class(name) for name in wanted):
            return NoValidHost()
        if any(not self._placement.knows_trait(name) for name in traits.required | traits.forbidden):
            return NoValidHost()
        best: tuple[int, Selection] | None = None
        fitting = 0
        for host in self._candidates(boot, wanted):
            allocations = self._placement.fit(host.uuid, wanted, traits)
            if allocations is None:
                continue
            free = host.memory_mb - self._placement.used(host.uuid, "MEMORY_MB")
            if best is None or free > best[0]:
                best = (free, Selection(host, allocations))
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
        for host in self._scan(boot, wanted, accepted):
            if not host.takes_servers or boot.wanted_host not in (None, host.name):
                continue
            if not self._accepts(boot, host.aggregates, accepted) or not self._passes_server_filters(
                boot, host
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
            return [host for root in roots for host in self._hosts.by_uuid.rows(root)]
        return self._of_accepted(boot, accepted)

    def _of_accepted(self, boot: BootRequest, accepted: dict[Membership, bool]) -> Iterator[Host]:
        for membership in self._hosts.by_membership.values():
            if self._accepts(boot, membership, accepted):
                yield from self._hosts.by_membership.rows(membership)

    def _accepts(self, boot: BootRequest, membership: Membership, accepted: dict[Membership, bool]) -> bool:
        answer = accepted.get(membership)
        if answer is None:
            answer = accepted[membership] = self._passes_aggregate_filters(boot, membership)
        return answer

    def _passes_aggregate_filters(self, boot: BootRequest, membership: Membership) -> bool:
        rows = [self._aggregates.table[str(one)] for one in membership]
        zone = next((row.zone for row in rows if row.zone is not None), DEFAULT_ZONE)
        return (
            boot.zone in (None, zone)
            and self._passes_reservation_filter(boot, rows)
            and aggregate_allows_tenant(rows, boot.project_id)
            and aggregate_matches_specs(rows, boot.flavor.extra_specs)
        )

    def _passes_reservation_filter(self, boot: BootRequest, rows: list[Aggregate]) -> bool:
        request = rule.RequestSpec(
            boot.project_id,
            rule.hinted_ids(boot.hints.get(rule.RESERVATION_HINT)),
            boot.flavor.extra_specs,
            boot.server_id,
        )
        seen = [rule.Aggregate(row.name, row.zone, row.metadata) for row in rows]
        return rule.decide(request, seen, self.settings).accepted

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
