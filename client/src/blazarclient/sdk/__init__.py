"""The reservation service for openstacksdk: the `reservation` attribute of a connection.

openstacksdk knows the service type `reservation` and has no resources for it. `connect` opens a connection
with them, `add_reservation` adds them to an existing one, and clouds.yaml does it with
``vendor_hook: blazarclient.sdk:add_reservation``.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import openstack.connection
from openstack.service_description import ServiceDescription

from blazarclient.sdk.allocation import Allocation
from blazarclient.sdk.extensions import kind_resources, proxy_class
from blazarclient.sdk.lease import Event, Lease, Reservation
from blazarclient.sdk.proxy import Proxy

__all__ = [
    "Allocation",
    "Event",
    "Lease",
    "Proxy",
    "Reservation",
    "ReservationService",
    "add_reservation",
    "connect",
    "reservation",
]
T = TypeVar("T")


def __getattr__(name: str) -> Any:
    """Return a resource class of a kind, for example `Host`."""
    resources = kind_resources()
    if name not in resources:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resources[name]


class ReservationService(ServiceDescription[Proxy]):
    """The description of the service: its type, and the proxy class of each version."""

    def __init__(self) -> None:
        super().__init__(service_type="reservation", supported_versions={"1": proxy_class()})


def add_reservation(connection: openstack.connection.Connection) -> None:
    """Give the connection a `reservation` attribute with leases and the resources of the installed kinds."""
    # A connection caches the proxies in use. It may have cached openstacksdk's own, which lacks our methods.
    vars(connection).get("_proxies", {}).pop("reservation", None)
    connection.add_service(ReservationService())


@overload
def reservation(connection: openstack.connection.Connection) -> Proxy: ...


@overload
def reservation(connection: openstack.connection.Connection, methods: type[T]) -> T: ...


def reservation(connection: openstack.connection.Connection, methods: type[Any] = Proxy) -> Any:
    """Return the typed proxy of a connection, because type checkers cannot see an added attribute.

    `methods` is the type of the returned proxy: the class with the methods of a kind, if not `Proxy`. Raises
    TypeError if its kind is not installed.
    """
    proxy = connection.reservation
    if not isinstance(proxy, Proxy):
        add_reservation(connection)
        proxy = connection.reservation
    if not isinstance(proxy, methods):
        raise TypeError(f"no installed kind has the methods of {methods.__name__}")
    return proxy


def connect(cloud: str | None = None, **kwargs: Any) -> openstack.connection.Connection:
    """Return a connection of openstack.connect(), from clouds.yaml or the environment, with `reservation`."""
    connection = openstack.connect(cloud=cloud, **kwargs)
    add_reservation(connection)
    return connection
