"""Names in place of ids in reservations, such as that of a flavor.

The service takes ids. Only where it does not know one, the cloud is asked for a resource of that name, so a
reservation with ids costs no further request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions as sdk_exceptions

from blazarclient import exception
from blazarclient.kinds.registry import installed_kinds
from blazarclient.v1.client import Client

Reservations = Sequence[dict[str, Any]]
T = TypeVar("T")


def with_names(client: Client, reservations: Reservations, send: Callable[[Reservations], T]) -> T:
    """Return what `send` returns for the reservations, or for the same ones with ids in place of names."""
    while True:
        try:
            return send(reservations)
        except exception.BlazarClientException as error:
            found = _with_ids(client, reservations, error)
            if found == reservations:
                raise
            reservations = found


def _with_ids(
    client: Client, reservations: Reservations, error: exception.BlazarClientException
) -> Reservations:
    """Return the reservations with the ids of what the refusal is about; as they are if it is not found."""
    kinds = {kind.resource_type: kind for kind in installed_kinds()}
    concerned = [
        (kind, each)
        for each in reservations
        if (kind := kinds.get(each.get("resource_type", ""))) is not None
        and kind.refused_name(error, each) is not None
    ]
    cloud = client.cloud() if concerned else None
    if cloud is None:
        return reservations
    try:
        ids = {id(each): kind.with_id(cloud, each) for kind, each in concerned}
    except sdk_exceptions.DuplicateResource as several:
        raise exception.BlazarClientException(f"{several}: write the id", code=0) from error
    except (sdk_exceptions.SDKException, ksa_exceptions.ClientException):
        return reservations  # the refusal of the service says what is wrong
    return [ids.get(id(each), each) for each in reservations]
