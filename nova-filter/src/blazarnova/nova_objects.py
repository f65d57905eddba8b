"""Conversion of Nova's scheduler objects to the values of the rule.

The protocols name every attribute of Nova's objects that is read, so that this module does not import Nova.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from blazarnova import rule


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
    def extra_specs(self) -> Mapping[str, str] | None: ...


class NovaRequestSpec(Protocol):
    """A ``nova.objects.RequestSpec``."""

    @property
    def project_id(self) -> str: ...
    @property
    def flavor(self) -> NovaFlavor: ...
    @property
    def instance_uuid(self) -> str | None: ...
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


def aggregates_of(host_state: NovaHostState) -> list[rule.Aggregate]:
    """Convert the aggregates of a host."""
    return [
        rule.Aggregate(aggregate.name, aggregate.availability_zone, aggregate.metadata or {})
        for aggregate in host_state.aggregates
    ]
