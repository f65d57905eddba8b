"""A create that is made again where its answer is lost.

From microversion 1.5 on, the request has a key, by which the service knows that it is the same one: however
often it is made, there is one lease. An older service is asked once.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import requests
from keystoneauth1 import exceptions as ksa_exceptions

from blazarclient import exception
from blazarclient.clock import Clock, SystemClock
from blazarclient.transport import Body, Transport
from blazarclient.v1.availability import MICROVERSION
from blazarclient.v1.paging import NOT_ACCEPTABLE

KEYS = "1.5"
"""The version of the API that brought keys."""
KEY_HEADER = "Idempotency-Key"
PAUSE_SECONDS = 1.0
_LOST = (
    ksa_exceptions.ConnectFailure,
    ksa_exceptions.ConnectTimeout,
    ksa_exceptions.UnknownConnectionError,
    requests.ConnectionError,
    requests.Timeout,
)
_LOST_BY_PROXY = (502, 504)
_CLOCK = SystemClock()


def create_lease(
    transport: Transport,
    body: Body,
    repeats: int,
    key: str | None = None,
    clock: Clock = _CLOCK,
    version: str | None = None,
) -> Any:
    """Send a create as version 1.3 has it, or as `version`, which has keys, and send it again at most
    `repeats` times. Return the answer."""
    if not body.get("dry_run") and (repeats or key is not None or version is not None):
        try:
            asked = version or KEYS
            return send_with_key(transport, "/leases", body, repeats, asked, key=key, clock=clock)
        except exception.BlazarClientException as error:
            if error.code != NOT_ACCEPTABLE or key is not None or version is not None:
                raise
    return transport.request("/leases", "POST", body=body, version=version or MICROVERSION)[1]


def send_with_key(
    transport: Transport,
    path: str,
    body: Body,
    repeats: int,
    version: str,
    key: str | None = None,
    headers: dict[str, str] | None = None,
    clock: Clock = _CLOCK,
) -> Any:
    """Send a POST that makes one lease, and send it again at most `repeats` times. Return the answer."""
    headers = {**(headers or {}), KEY_HEADER: key or str(uuid4())}
    for _ in range(repeats):
        try:
            return transport.request(path, "POST", body=body, version=version, headers=headers)[1]
        except _LOST:
            clock.sleep(PAUSE_SECONDS)
        except exception.BlazarClientException as error:
            if error.code not in _LOST_BY_PROXY:
                raise
            clock.sleep(PAUSE_SECONDS)
    return transport.request(path, "POST", body=body, version=version, headers=headers)[1]
