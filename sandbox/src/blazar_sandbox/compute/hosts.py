"""Compute hosts, their aggregates and their usage."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.model import DEFAULT_ZONE, Aggregate, Host, Server
from blazar_sandbox.errors import not_found
from blazar_sandbox.placement.model import Provider
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.table import Index, Table

DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that servers use."""

    vcpus: int = 0
    memory_mb: int = 0
    local_gb: int = 0
    servers: int = 0


_UNUSED = Usage()


class Hosts:
    """The table of hosts; changes are mirrored to their resource providers."""

    def __init__(self, clock: Clock, placement: Placement) -> None:
        self._clock = clock
        self._placement = placement
        self.table: Table[Host] = Table("hosts", Host)
        self.by_number = Index(self.table, lambda host: (host.id,))
        self.by_uuid = Index(self.table, lambda host: (host.uuid,))
        self.by_service = Index(self.table, lambda host: (host.service_uuid,))
        self.by_aggregate = Index(self.table, lambda host: host.aggregates)
        # Most of the scheduler's filters depend on nothing but a host's set of aggregates.
        self.by_membership = Index(self.table, lambda host: (host.aggregates,))

    def host(self, name: str) -> Host:
        """Return a host; raise 404 if there is none."""
        row = self.table.get(name)
        if row is None:
            raise not_found(f"Compute host {name} could not be found.", "ComputeHostNotFound")
        return row

    def matching(self, pattern: str) -> list[Host]:
        """Return the hosts whose name contains the pattern."""
        return [host for host in self.table if pattern in host.name]

    def join(self, host: Host, aggregate: Aggregate) -> None:
        """Add a host to an aggregate."""
        self._put(replace(host, aggregates=(*host.aggregates, aggregate.id)))
        self._mirror(host, lambda provider: provider.aggregates | {aggregate.uuid})

    def leave(self, host: Host, aggregate: Aggregate) -> None:
        """Remove a host from an aggregate."""
        self._put(replace(host, aggregates=tuple(one for one in host.aggregates if one != aggregate.id)))
        self._mirror(host, lambda provider: provider.aggregates - {aggregate.uuid})

    def set_service(
        self,
        host: Host,
        *,
        disabled: bool | None = None,
        reason: str | None = None,
        forced_down: bool | None = None,
        silent: bool | None = None,
    ) -> Host:
        """Change the state of the compute service."""
        if disabled is not None:
            host = replace(host, disabled=disabled, disabled_reason=reason if disabled else None)
        if forced_down is not None:
            host = replace(host, forced_down=forced_down)
        if silent is not None:
            host = replace(host, silent=silent)
        host = replace(host, updated_at=self._clock.now())
        self._put(host)
        self._mark_disabled(host)
        return host

    def _put(self, host: Host) -> None:
        self.table.put(host.name, host)

    def _mirror(self, host: Host, aggregates: Callable[[Provider], frozenset[str]]) -> None:
        provider = self._placement.providers.get(host.uuid)
        if provider is not None:
            self._placement.change(provider, None, aggregates=aggregates(provider))

    def _mark_disabled(self, host: Host) -> None:
        """Set or remove the trait by which Placement knows a disabled host."""
        provider = self._placement.providers.get(host.uuid)
        if provider is None or (DISABLED_TRAIT in provider.traits) == host.disabled:
            return
        traits = provider.traits ^ {DISABLED_TRAIT}
        self._placement.change(provider, None, traits=traits)


def usage(servers: list[Server]) -> Usage:
    """Return the sum of the servers' resources."""
    if not servers:
        return _UNUSED
    return Usage(
        vcpus=sum(server.flavor.vcpus for server in servers),
        memory_mb=sum(server.flavor.ram for server in servers),
        local_gb=sum(server.flavor.disk + server.flavor.ephemeral for server in servers),
        servers=len(servers),
    )


def zone_of(host: Host, aggregates: Table[Aggregate]) -> str:
    """Return the availability zone of a host."""
    for aggregate_id in host.aggregates:
        zone = aggregates[str(aggregate_id)].zone
        if zone is not None:
            return zone
    return DEFAULT_ZONE
