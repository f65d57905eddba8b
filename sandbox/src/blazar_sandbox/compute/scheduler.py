"""Which host takes a new server?

Filters that look only at a host's aggregates decide once for all hosts that are in the same aggregates; so ten
thousand hosts in one freepool cost as much as one. Only then single hosts are looked at.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from blazar_sandbox.compute.aggregates import Aggregates
from blazar_sandbox.compute.flavors import amounts, trait_query
from blazar_sandbox.compute.hosts import Hosts
from blazar_sandbox.compute.model import DEFAULT_ZONE, Aggregate, Flavor, Host, ServerGroup
from blazar_sandbox.compute.server_rows import ServerRows
from blazar_sandbox.compute.spec_match import aggregate_allows_tenant, aggregate_matches_specs
from blazar_sandbox.placement.state import Allocations, Placement
from blazarnova import rule

Membership = tuple[int, ...]

# Among so many fitting hosts the one with the most free memory is taken, as Nova's weigher would.
_WEIGHED = 16


@dataclass(frozen=True, slots=True)
class BootRequest:
    """What the scheduler is asked."""

    project_id: str
    flavor: Flavor
    zone: str | None = None
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: ServerGroup | None = None
    forced_host: str | None = None
    """A host that an administrator named in the availability zone: filters are not asked."""
    wanted_host: str | None = None
    """A host that an administrator wants, if the filters agree."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The host, and where in its tree of providers the server's resources come from."""

    host: Host
    allocations: Allocations


@dataclass(frozen=True, slots=True)
class NoValidHost:
    """Nobody takes the server."""

    reason: str = "There are not enough hosts available."


class Scheduler:
    """Nova's filters over Placement's candidates."""

    def __init__(
        self, hosts: Hosts, aggregates: Aggregates, placement: Placement, servers: ServerRows, settings: rule.Settings
    ) -> None:
        self._hosts = hosts
        self._aggregates = aggregates
        self._placement = placement
        self._servers = servers
        self.settings = settings

    def select(self, boot: BootRequest) -> Selection | NoValidHost:
        """Find a host."""
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
            if not self._accepts(boot, host.aggregates, accepted) or not self._near(boot, host):
                continue
            yield host

    def _scan(self, boot: BootRequest, wanted: Mapping[str, int], accepted: dict[Membership, bool]) -> Iterable[Host]:
        """Give the hosts worth a look, by the narrowest way to them."""
        if boot.wanted_host is not None:
            host = self._hosts.table.get(boot.wanted_host)
            return [host] if host is not None else []
        if boot.group is not None and boot.group.policy == "affinity":
            taken = dict.fromkeys(mate.host for mate in self._servers.in_group.rows(boot.group.id) if mate.host)
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
            answer = accepted[membership] = self._ask_filters(boot, membership)
        return answer

    def _ask_filters(self, boot: BootRequest, membership: Membership) -> bool:
        rows = [self._aggregates.table[str(one)] for one in membership]
        zone = next((row.zone for row in rows if row.zone is not None), DEFAULT_ZONE)
        return (
            boot.zone in (None, zone)
            and self._reserved_for(boot, rows)
            and aggregate_allows_tenant(rows, boot.project_id)
            and aggregate_matches_specs(rows, boot.flavor.extra_specs)
        )

    def _reserved_for(self, boot: BootRequest, rows: list[Aggregate]) -> bool:
        request = rule.Request(
            boot.project_id, rule.hinted_ids(boot.hints.get(rule.RESERVATION_HINT)), boot.flavor.extra_specs
        )
        seen = [rule.Aggregate(row.name, row.zone, row.metadata) for row in rows]
        return rule.decide(request, seen, self.settings).accepted

    def _near(self, boot: BootRequest, host: Host) -> bool:
        """Ask the filters that look at the servers which are there already."""
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
            return True  # only the hosts of the group's members were looked at, if it has any
        if group.policy == "anti-affinity":
            return mates < (group.max_per_host or 1)
        return True
