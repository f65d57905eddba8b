"""One OpenStack cloud: its services behind one kept session, with the service's own credentials or a
user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from keystoneauth1.adapter import Adapter
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session
from openstack.connection import Connection

from blazar.adapters.openstack.bulkhead import CALLS_AT_ONCE, Bulkhead
from blazar.adapters.openstack.cinder import CinderStorage
from blazar.adapters.openstack.credentials import UserToken, trustee
from blazar.adapters.openstack.glance import GlanceImages
from blazar.adapters.openstack.keystone import KeystoneIdentity
from blazar.adapters.openstack.neutron import NeutronNetwork
from blazar.adapters.openstack.nova import NovaCompute
from blazar.adapters.openstack.placement import PlacementProviders
from blazar.adapters.openstack.session import Find, ServiceApi, bound_renewal
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.tracing import NO_TRACING, Tracing


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
    region: str | None = None

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
        return GlanceImages(self.glance)

    @property
    def storage(self) -> CinderStorage:
        return CinderStorage(self.cinder)

    def fenced(self, check: Callable[[], None]) -> OpenStackCloud:
        return replace(
            self,
            nova=self.nova.fenced(check),
            placements=self.placements.fenced(check),
            keystone=self.keystone.fenced(check),
            neutron=self.neutron.fenced(check),
            glance=self.glance.fenced(check),
            cinder=self.cinder.fenced(check),
        )

    def for_request(self, seconds_left: Callable[[], float]) -> OpenStackCloud:
        return replace(
            self,
            nova=self.nova.for_request(seconds_left),
            placements=self.placements.for_request(seconds_left),
            keystone=self.keystone.for_request(seconds_left),
            neutron=self.neutron.for_request(seconds_left),
            glance=self.glance.for_request(seconds_left),
            cinder=self.cinder.for_request(seconds_left),
        )

    def as_user(self, token: str) -> OpenStackCloud:
        return self._acting(UserToken(token, self.session))

    def as_trustee(self, trust_id: str) -> OpenStackCloud:
        return self._acting(trustee(self.session, trust_id))

    def _acting(self, auth: BaseAuthPlugin) -> OpenStackCloud:
        return replace(
            self,
            nova=self.nova.acting(auth),
            placements=self.placements.acting(auth),
            keystone=self.keystone.acting(auth),
            neutron=self.neutron.acting(auth),
            glance=self.glance.acting(auth),
            cinder=self.cinder.acting(auth),
        )


def connect(
    session: Session,
    region_name: str | None = None,
    interface: str = "public",
    metrics: Metrics = NO_METRICS,
    calls_at_once: int = CALLS_AT_ONCE,
    tracing: Tracing = NO_TRACING,
) -> OpenStackCloud:
    """Return the cloud that ``session`` is authenticated to. No request is sent before it is needed.

    ``calls_at_once`` is how many calls to each service all requests together may have under way. ``session``
    must use ``pooled_http``, which keeps their deadlines."""
    bound_renewal(session)
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

    def service(name: str, find: Find) -> ServiceApi:
        return ServiceApi(name, find, Bulkhead(name, calls_at_once), metrics=metrics, tracing=tracing)

    return OpenStackCloud(
        session,
        service("Nova", lambda: connection.compute),
        service("Placement", lambda: connection.placement),
        service("Keystone", lambda: connection.identity),
        service("Neutron", lambda: network),
        service("Glance", lambda: image),
        service("Cinder", lambda: block_storage),
        region_name,
    )
