"""The calls of the v1 client for the port pool."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport

MICROVERSION = "1.42"
"""The version of the API that brought these calls."""


class PortPool:
    """The ports that can be reserved, as a dictionary."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def get(self) -> dict[str, Any]:
        """Return how many ports can be reserved."""
        found: dict[str, Any] = self._request("GET")["portpool"]
        return found

    def set(self, ports: int) -> dict[str, Any]:
        """Set how many ports can be reserved, and return it."""
        changed: dict[str, Any] = self._request("PUT", {"ports": ports})["portpool"]
        return changed

    def unset(self) -> None:
        """Let no ports be reserved any more."""
        self._request("DELETE")

    def _request(self, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request("/portpool", method, body=body, version=MICROVERSION)[1]
