"""The extension of the proxy and of the reservations by the installed kinds."""

from __future__ import annotations

import functools
from typing import Any

from openstack import resource

from blazarclient.kinds.base import SDKExtension
from blazarclient.kinds.registry import installed_kinds
from blazarclient.sdk.lease import Reservation
from blazarclient.sdk.proxy import Proxy


@functools.cache
def proxy_class() -> type[Proxy]:
    """Return the class of `conn.reservation`: `Proxy` with the methods of the installed kinds.

    The class cannot be made when this module is imported, because a kind's module may import this package.
    """
    _add_reservation_keys()
    methods = (extension.methods for extension in _extensions())
    extended: type[Proxy] = type(
        Proxy.__name__, (Proxy, *methods), {"__module__": Proxy.__module__, "__doc__": Proxy.__doc__}
    )
    return extended


def kind_resources() -> dict[str, type[Any]]:
    """Return the resource classes of the installed kinds by name."""
    return {item.__name__: item for extension in _extensions() for item in extension.resources}


def _extensions() -> list[SDKExtension]:
    return [extension for kind in installed_kinds() if (extension := kind.sdk()) is not None]


def _add_reservation_keys() -> None:
    """Add the keys of the kinds' reservations as attributes."""
    for kind in installed_kinds():
        for name in (*(item.name for item in kind.fields), *kind.answer_keys):
            if not hasattr(Reservation, name):
                setattr(Reservation, name, resource.Body(name))
