"""One OpenStack cloud: its services behind one kept session, with the service's own credentials or a
user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keystoneauth1.adapter import Adapter
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session
from openstack.connection import Connection

from blazar.adapters.openstack.bulkhead import CALLS_AT_ONCE, Bulkhead
from blazar.adapters.openstack.cinder import CinderStorage
from blazar.adapters.openstack.credentials import UserToken, trustee
from blazar.adapters.openstack.glance import GlanceImages
from blazar.adapters.openstack.heat import HeatOrchestration
from blazar.adapters.openstack.keystone import KeystoneIdentity
from blazar.adapters.openstack.neutron import NeutronNetwork
from blazar.adapters.openstack.nova import NovaCompute
from blazar.adapters.openstack.placement import PlacementProviders
from blazar.adapters.openstack.session import Find, ServiceApi, bound_renewal
from blazar.domain.errors import CloudUnavailable
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.tracing import NO_TRACING, Tracing

Change = Callable[[ServiceApi], ServiceApi]


@dataclass(frozen=True, slots=True)
class OpenStackCloud:
    """The Cloud port. Build it with ``connect``."""

    session: Session
    nova: ServiceApi
    placements: ServiceApi
    keystone: ServiceApi
    neutron: ServiceApi
    glance: ServiceApi
    cinder: ServiceApi
    heat: ServiceApi
    region: str | None = None
    others: Mapping[str, OpenStackCloud] = field(default_factory=dict)
    """The services of the other regions, by name, as ``connect`` made them."""
    changes: tuple[Change, ...] = ()
    """What was changed since, in order: done to another region's services when they are asked for."""

    @property
    def compute(self) -> NovaCompute:
        return NovaCompute(self.nova)

    @property
    def placement(self) -> PlacementProviders:
        return PlacementProviders(self.placements)

    @property
    def identity(self) -> KeystoneIdentity:
        return KeystoneIdentity(self.session, self.keystone, self.region)

    @property
    def network(self) -> NeutronNetwork:
        return NeutronNetwork(self.neutron)

    @property
    def images(self) -> GlanceImages:
        return GlanceImages(self.session, self.glance, self.region)

    @property
    def storage(self) -> CinderStorage:
        return CinderStorage(self.cinder)

    @property
    def orchestration(self) -> HeatOrchestration:
        return HeatOrchestration(self.heat)

    @property
    def regions(self) -> Sequence[str]:
        return (str(self.region), *self.others) if self.others else ()

    def in_region(self, region: str | None) -> OpenStackCloud:
        if region is None or region == self.region:
            return self
        if region not in self.others:
            raise CloudUnavailable(service="Nova", reason=f"[cloud] more_regions does not name {region}")
        found = self.others[region]
        for change in self.changes:
            found = found._changed(change)
        return found

    def fenced(self, check: Callable[[], None]) -> OpenStackCloud:
        return self._changed(lambda api: api.fenced(check))

    def for_request(self, seconds_left: Callable[[], float]) -> OpenStackCloud:
        return self._changed(lambda api: api.for_request(seconds_left))

    def as_user(self, token: str) -> OpenStackCloud:
        return self._acting(UserToken(token, self.session))

    def as_trustee(self, trust_id: str) -> OpenStackCloud:
        return self._acting(trustee(self.session, trust_id))

    def _acting(self, auth: BaseAuthPlugin) -> OpenStackCloud:
        return self._changed(lambda api: api.acting(auth))

    def _changed(self, change: Change) -> OpenStackCloud:
        return replace(
            self,
            nova=change(self.nova),
            placements=change(self.placements),
            keystone=change(self.keystone),
            neutron=change(self.neutron),
            glance=change(self.glance),
            cinder=change(self.cinder),
            heat=change(self.heat),
            changes=(*self.changes, change),
        )


def connect(
    session: Session,
    region_name: str | None = None,
    interface: str = "public",
    metrics: Metrics = NO_METRICS,
    calls_at_once: int = CALLS_AT_ONCE,
    tracing: Tracing = NO_TRACING,
    more_regions: Sequence[str] = (),
) -> OpenStackCloud:
    """Return the cloud that ``session`` is authenticated to. No request is sent before it is needed.

    ``calls_at_once`` is how many calls to each service of a region all requests together may have under
    way. ``session``
    must use ``pooled_http``, which keeps their deadlines."""
    bound_renewal(session)
    others = {
        name: _connected(session, name, f" in {name}", interface, metrics, calls_at_once, tracing)
        for name in more_regions
    }
    first = _connected(session, region_name, "", interface, metrics, calls_at_once, tracing)
    return replace(first, others=others)


def _connected(
    session: Session,
    region_name: str | None,
    where: str,
    interface: str,
    metrics: Metrics,
    calls_at_once: int,
    tracing: Tracing,
) -> OpenStackCloud:
    connection = Connection(session=session, region_name=region_name, interface=interface)
    # Not the SDK's: that one wants Neutron in the catalog at once, and a cloud without Neutron has hosts to
    # reserve.
    network = Adapter(session, "network", interface=interface, region_name=region_name)
    image = Adapter(session, "image", interface=interface, region_name=region_name)
    block_storage = Adapter(
        session,
        "block-storage",
        interface=interface,
        region_name=region_name,
        min_version="3",
        max_version="3.latest",
    )

    orchestration = Adapter(session, "orchestration", interface=interface, region_name=region_name)

    def service(name: str, find: Find) -> ServiceApi:
        named = f"{name}{where}"
        return ServiceApi(named, find, Bulkhead(named, calls_at_once), metrics=metrics, tracing=tracing)

    return OpenStackCloud(
        session,
        service("Nova", lambda: connection.compute),
        service("Placement", lambda: connection.placement),
        service("Keystone", lambda: connection.identity),
        service("Neutron", lambda: network),
        service("Glance", lambda: image),
        service("Cinder", lambda: block_storage),
        service("Heat", lambda: orchestration),
        region_name,
    )
