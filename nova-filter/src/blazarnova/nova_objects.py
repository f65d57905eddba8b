"""Conversion of Nova's scheduler objects to the values of the rule.

The protocols name every attribute of Nova's objects that is read, so that this module does not import Nova.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from blazarnova import bounded, rule


class NovaAggregate(Protocol):
    """A ``nova.objects.Aggregate``."""

    @property
    def name(self) -> str: ...
    @property
    def availability_zone(self) -> str | None: ...
    @property
    def metadata(self) -> Mapping[str, rule.MetadataValue] | None: ...


class NovaHostState(Protocol):
    """A ``nova.scheduler.host_manager.HostState``."""

    @property
    def host(self) -> str: ...
    @property
    def aggregates(self) -> Sequence[NovaAggregate]: ...


class NovaFlavor(Protocol):
    """A ``nova.objects.Flavor``."""

    @property
    def vcpus(self) -> int: ...
    @property
    def memory_mb(self) -> int: ...
    @property
    def root_gb(self) -> int: ...
    @property
    def ephemeral_gb(self) -> int: ...
    @property
    def swap(self) -> int: ...
    @property
    def extra_specs(self) -> Mapping[str, str] | None: ...


class NovaRequestSpec(Protocol):
    """A ``nova.objects.RequestSpec``."""

    @property
    def project_id(self) -> str: ...
    @property
    def flavor(self) -> NovaFlavor: ...
    @property
    def instance_uuid(self) -> str | None: ...
    @property
    def num_instances(self) -> int: ...
    def get_scheduler_hint(self, hint_name: str) -> str | Sequence[str] | None: ...


def request_spec_of(spec: NovaRequestSpec) -> rule.RequestSpec:
    """Convert a request specification."""
    # A flavor loaded without its extra specs has no such attribute in old Nova objects.
    extra_specs = getattr(spec.flavor, "extra_specs", None)
    return rule.RequestSpec(
        project_id=spec.project_id,
        reservation_ids=rule.hinted_ids(spec.get_scheduler_hint(rule.RESERVATION_HINT)),
        extra_specs=extra_specs or {},
        server_id=spec.instance_uuid or "",
    )


def bounded_server_of(spec: NovaRequestSpec, now: int) -> bounded.BoundedServer | None:
    """Return the server as one with a known end, with all that are booted by the same request; None where it
    has no hint."""
    hint = spec.get_scheduler_hint(bounded.LEASE_HINT)
    if not hint:
        return None
    flavor = spec.flavor
    sizes = bounded.Sizes(
        flavor.vcpus, flavor.memory_mb, flavor.root_gb, flavor.ephemeral_gb, flavor.swap or 0
    )
    amounts = bounded.amounts_of(sizes, getattr(flavor, "extra_specs", None) or {})
    if amounts is not None:
        amounts = {name: amount * spec.num_instances for name, amount in amounts.items()}
    return bounded.BoundedServer(
        bounded.end_of(hint, now), amounts, bounded.lease_id_of(spec.instance_uuid or "")
    )


class BoundedServers:
    """Converts a request once for all hosts that are compared with it. Any thread may use it."""

    def __init__(self) -> None:
        self._last: tuple[NovaRequestSpec, int, bounded.BoundedServer | None] | None = None

    def of(self, spec: NovaRequestSpec, now: int) -> bounded.BoundedServer | None:
        """Do as ``bounded_server_of``."""
        last = self._last
        if last is None or last[0] is not spec or last[1] != now:
            last = self._last = spec, now, bounded_server_of(spec, now)
        return last[2]


def aggregates_of(host_state: NovaHostState) -> list[rule.Aggregate]:
    """Convert the aggregates of a host."""
    return [
        rule.Aggregate(aggregate.name, aggregate.availability_zone, aggregate.metadata or {})
        for aggregate in host_state.aggregates
    ]


def weight_of(host_state: NovaHostState, spec: NovaRequestSpec, settings: rule.Settings) -> float:
    """Return the weight of a host that the filter has accepted: the preference of the rule."""
    return rule.preference(request_spec_of(spec), aggregates_of(host_state), settings)
