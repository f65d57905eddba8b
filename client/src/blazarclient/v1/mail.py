"""The calls of the v1 client for what the caller is told by mail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blazarclient.transport import Transport

MICROVERSION = "1.32"
"""The version of the API that brought the last events; 1.24 brought these calls."""


class Mail:
    """What the caller is told by mail, as a dictionary. It counts for leases in all projects."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def get(self) -> dict[str, Any]:
        """Return what the caller is told by mail."""
        _, answer = self.request_manager.request("/mail", "GET", version=MICROVERSION)
        return dict(answer["mail"])

    def set(
        self, *, events: Iterable[str] | None = None, usual: bool = False, daily: bool | None = None
    ) -> dict[str, Any]:
        """Choose which events are told, and whether all of a day are told in one mail. No events are no mail;
        `usual` goes back to those that the operator has told. What is not named stays as it is."""
        body: dict[str, Any] = {} if daily is None else {"daily": daily}
        if usual or events is not None:
            body["events"] = None if usual or events is None else list(events)
        _, answer = self.request_manager.request("/mail", "PUT", body=body, version=MICROVERSION)
        return dict(answer["mail"])
