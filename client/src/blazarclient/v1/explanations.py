"""Refusals for a shortage, with what else version 1.6 of the API tells of them.

What was refused is asked for again as a dry run of version 1.6, which makes nothing. A service without this
version leaves the refusal as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from blazarclient.exception import BlazarClientException
from blazarclient.transport import Body, Transport

MICROVERSION = "1.6"
"""The version of the API that tells what could be had instead, and what stands in the way."""
SHORTAGE = "Not enough "
"""How the sentence of a shortage begins; its status depends on the version of the API."""
Answer = TypeVar("Answer")


def explained(transport: Transport, path: str, method: str, body: Body, send: Callable[[], Answer]) -> Answer:
    """Return the answer to ``send``. Where that is refused for a shortage, raise the refusal of a dry run,
    which tells more."""
    try:
        return send()
    except BlazarClientException as refusal:
        if SHORTAGE not in str(refusal) or refusal.suggestions is not None:
            raise
        raise _told_more(transport, path, method, body, refusal) from None


def _told_more(
    transport: Transport, path: str, method: str, body: Body, refusal: BlazarClientException
) -> BlazarClientException:
    try:
        transport.request(path, method, body={**body, "dry_run": True}, version=MICROVERSION)
    except BlazarClientException as error:
        return refusal if error.suggestions is None else error
    return refusal
