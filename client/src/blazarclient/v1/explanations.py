"""Refusals for a shortage, with what else version 1.6 of the API tells of them, and by a quota, with what
version 1.15 does.

What was refused is asked for again as a dry run of this version, or of the later one that it needs, which
makes nothing. A service without this version leaves the refusal as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Body, Transport
from blazarclient.v1.members import MICROVERSION as MEMBERS
from blazarclient.v1.members import version_of_update

MICROVERSION = "1.6"
"""The version of the API that tells what could be had instead, and what stands in the way."""
OF_QUOTAS = "1.15"
"""The version that tells it of what exceeds a quota as well."""
SHORTAGE = "Not enough "
"""How the sentence of a shortage begins; its status depends on the version of the API."""
EXCEEDED = "Quota exceeded for "
"""How the sentence begins that tells that a limit of the project is reached."""
Answer = TypeVar("Answer")


def explained(transport: Transport, path: str, method: str, body: Body, send: Callable[[], Answer]) -> Answer:
    """Return the answer to ``send``. Where that is refused for a shortage, or by a quota, raise the refusal
    of a dry run, which tells more."""
    try:
        return send()
    except BlazarClientException as refusal:
        is_explained = any(each in str(refusal) for each in (SHORTAGE, EXCEEDED))
        if not is_explained or refusal.suggestions is not None:
            raise
        raise _told_more(transport, path, method, body, refusal) from None


def _told_more(
    transport: Transport, path: str, method: str, body: Body, refusal: BlazarClientException
) -> BlazarClientException:
    try:
        version = version_of_update(body) if method == "PUT" else None
        version = version if version == MEMBERS else MICROVERSION
        version = OF_QUOTAS if EXCEEDED in str(refusal) else version
        transport.request(path, method, body={**body, "dry_run": True}, version=version)
    except BlazarClientException as error:
        return refusal if error.suggestions is None else error
    return refusal
