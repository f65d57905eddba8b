"""The client for a version number of the API."""

from __future__ import annotations

from typing import Any

from blazarclient import exception
from blazarclient.v1 import client as v1_client

_VERSIONS = {"1": v1_client.Client, "1a0": v1_client.Client}


def Client(  # noqa: N802 (callers know this function by this name)
    version: str | int = 1, service_type: str = "reservation", *args: Any, **kwargs: Any
) -> v1_client.Client:
    """Return a client for the given version of the API: 1, "1" or "1a0".

    Further arguments, normally a keystoneauth ``session``, go to :class:`blazarclient.v1.client.Client`.
    Raises UnsupportedVersion.
    """
    client_class = _VERSIONS.get(str(version))
    if client_class is None:
        raise exception.UnsupportedVersion(
            f"Invalid client version '{version}'. Must be one of: {', '.join(_VERSIONS)}"
        )
    return client_class(*args, service_type=service_type, **kwargs)
