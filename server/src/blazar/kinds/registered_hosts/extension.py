"""The extension of the kinds on hosts to the service: the nouns ``hosts`` and ``allocations``, and
``/v1/os-hosts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import ClassVar, Self

from oslo_config import cfg
from pydantic import TypeAdapter

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.microversion import MINIMUM
from blazar.api.routing import Route
from blazar.api.schemas.lists import PageQuery
from blazar.api.views.maintenances import ImpactReply
from blazar.kinds.registered_hosts import policies, replies
from blazar.kinds.registered_hosts.actions import REGIONS, AllocationActions, HostActions
from blazar.kinds.registered_hosts.allocations import Allocations
from blazar.kinds.registered_hosts.bodies import (
    AllocationsPageQuery,
    AllocationsQuery,
    HostCreate,
    HostCreateForTime,
    HostCreateInRegion,
    HostUpdate,
    HostUpdateForTime,
    PropertiesQuery,
    PropertyPatch,
)
from blazar.kinds.registered_hosts.comparison import HostComparison
from blazar.kinds.registered_hosts.hosts import Hosts, HostSettings
from blazar.kinds.registered_hosts.interface import AllocationsInterface, HostsInterface
from blazar.kinds.registered_hosts.monitor import HostMonitor, MonitorSettings, store_cloud_ids
from blazar.kinds.registered_hosts.pool import POOL, host_pools
from blazar.service.interface import Service
from blazar.service.ports import Difference, Look, Repair
from blazar.service.ports.kind import Dependencies

HOST = TypeAdapter(replies.HostReply)
HOSTS = TypeAdapter(replies.HostsReply)
ALLOCATION = TypeAdapter(replies.AllocationReply)
ALLOCATIONS = TypeAdapter(replies.AllocationsReply)
PROPERTIES = TypeAdapter(replies.PropertiesReply)
PROPERTY = TypeAdapter(replies.PropertyReply)
IMPACT = TypeAdapter(ImpactReply)
LASTING = (1, 15)
"""The version of the API that brought the times for which hosts are there."""


class HostsExtension(ApiExtension):
    """The hosts in our care."""

    name = "hosts"
    interfaces: ClassVar = {"hosts": HostsInterface, "allocations": AllocationsInterface}
    maintained = POOL
    policies = policies.RULES

    def __init__(
        self, settings: HostSettings | None = None, monitoring: MonitorSettings | None = None
    ) -> None:
        """Without ``monitoring`` the hosts are not monitored."""
        self._settings = settings or HostSettings()
        self._monitoring = monitoring
        self._unlisted: frozenset[str] = frozenset()

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        own = conf["physical:host"]
        monitoring = MonitorSettings(
            interval=timedelta(seconds=own.polling_interval),
            probation=timedelta(seconds=own.recovery_seconds),
            most_at_once=own.max_failed_percent,
        )
        settings = HostSettings(conf.nova.aggregate_freepool_name, own.blazar_az_prefix)
        is_monitored = own.enable_polling_monitor or own.enable_notification_monitor
        return cls(settings, monitoring if is_monitored else None)

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        return {
            "hosts": self._hosts(dependencies),
            "allocations": Allocations(
                dependencies.database, host_pools(dependencies.cloud), dependencies.clock
            ),
        }

    def upkeep(self, dependencies: Dependencies) -> None:
        """Finish the deregistrations that were cut off, and do what the monitor would where there is none."""
        self._hosts(dependencies).finish_deregistrations()
        if self._monitoring is None:
            self._unlisted = store_cloud_ids(
                dependencies.database, dependencies.cloud, dependencies.clock, self._unlisted
            )

    def differences(
        self, dependencies: Dependencies, look: Look
    ) -> Iterable[tuple[Difference, Repair | None]]:
        settings = self._settings
        return HostComparison(dependencies, settings.freepool, settings.zone_prefix).differences(look)

    def monitors(self, dependencies: Dependencies) -> Sequence[HostMonitor]:
        if self._monitoring is None:
            return ()
        return [
            HostMonitor(
                dependencies.database,
                dependencies.cloud,
                dependencies.kinds,
                dependencies.clock,
                self._monitoring,
                pool,
            )
            for pool in host_pools(dependencies.cloud)
        ]

    def _hosts(self, dependencies: Dependencies) -> Hosts:
        return Hosts(
            dependencies.database, dependencies.cloud, dependencies.kinds, dependencies.clock, self._settings
        )

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        hosts = HostActions(service, authorizer)
        allocations = AllocationActions(service, authorizer)
        # fmt: off
        return (
            Route("GET",    "/v1/os-hosts", hosts.list, reply=HOSTS, query=PageQuery,
                  later={(1, 1): hosts.list_page, LASTING: hosts.list_lasting}),
            Route("POST",   "/v1/os-hosts", hosts.create, 201, body=HostCreate, reply=HOST,
                  bodies={MINIMUM: HostCreate, LASTING: HostCreateForTime, REGIONS: HostCreateInRegion},
                  later={LASTING: hosts.create_lasting}),
            Route("GET",    "/v1/os-hosts/{host_id}", hosts.show, reply=HOST,
                  later={LASTING: hosts.show_lasting}),
            Route("PUT",    "/v1/os-hosts/{host_id}", hosts.update, body=HostUpdate, reply=HOST,
                  bodies={MINIMUM: HostUpdate, LASTING: HostUpdateForTime}, dry_run=IMPACT,
                  later={LASTING: hosts.update_lasting}),
            Route("DELETE", "/v1/os-hosts/{host_id}", hosts.delete, 204),

            Route("GET",    "/v1/os-hosts/allocations", allocations.list, reply=ALLOCATIONS,
                  query=AllocationsPageQuery, later={(1, 1): allocations.list_page}),
            Route("GET",    "/v1/os-hosts/{host_id}/allocation", allocations.show, reply=ALLOCATION,
                  query=AllocationsQuery),

            Route("GET",    "/v1/os-hosts/properties", hosts.properties, reply=PROPERTIES,
                  query=PropertiesQuery),
            Route("PATCH",  "/v1/os-hosts/properties/{property_name}", hosts.patch_property,
                  body=PropertyPatch, reply=PROPERTY),
        )
        # fmt: on
