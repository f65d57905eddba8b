"""How does `conn.reservation` of an openstacksdk connection learn to speak of leases?

openstacksdk knows the service type `reservation` but brings no resources for it. Either ask here for a connection,
or add the service to one that exists, or name ``blazarclient.sdk:add_reservation`` as `vendor_hook` in clouds.yaml.
"""

from __future__ import annotations

from typing import Any

import openstack.connection
from openstack.service_description import ServiceDescription

from blazarclient.sdk.allocation import Allocation
from blazarclient.sdk.floating_ip import FloatingIP
from blazarclient.sdk.host import Host, HostProperty
from blazarclient.sdk.lease import Event, Lease, Reservation
from blazarclient.sdk.proxy import Proxy

__all__ = [
    "Allocation",
    "Event",
    "FloatingIP",
    "Host",
    "HostProperty",
    "Lease",
    "Proxy",
    "Reservation",
    "ReservationService",
    "add_reservation",
    "connect",
    "reservation",
]


class ReservationService(ServiceDescription[Proxy]):
    """The reservation service as openstacksdk describes services: its type and the proxy of each version."""

    supported_versions = {"1": Proxy}  # noqa: RUF012 (the attribute's form is openstacksdk's)

    def __init__(self) -> None:
        super().__init__(service_type="reservation", supported_versions={"1": Proxy})


def add_reservation(connection: openstack.connection.Connection) -> None:
    """Give the connection a `reservation` attribute that speaks of leases, hosts, floating IPs and allocations."""
    # The connection keeps a proxy once it was asked for: one without our verbs must not stay.
    vars(connection).get("_proxies", {}).pop("reservation", None)
    connection.add_service(ReservationService())


def reservation(connection: openstack.connection.Connection) -> Proxy:
    """The typed proxy of a connection, for those whose type checker cannot see an added attribute."""
    proxy = connection.reservation
    if not isinstance(proxy, Proxy):
        add_reservation(connection)
        proxy = connection.reservation
    assert isinstance(proxy, Proxy)  # noqa: S101 (tells the type checker what add_service did)
    return proxy


def connect(cloud: str | None = None, **kwargs: Any) -> openstack.connection.Connection:
    """A connection as openstack.connect() makes one, from clouds.yaml or the environment, with `reservation` in it."""
    connection = openstack.connect(cloud=cloud, **kwargs)
    add_reservation(connection)
    return connection
