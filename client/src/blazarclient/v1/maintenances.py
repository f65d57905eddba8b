"""The calls of the v1 client for maintenances, which administrators make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows

MICROVERSION = "1.8"
"""The version of the API that brought these calls."""


class Maintenances:
    """The times in which hosts are taken away, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        hosts: Sequence[str],
        end: str,
        start: str = "now",
        *,
        name: str | None = None,
        reason: str | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Take hosts away, by their ids or names, and return the `maintenance` and its `impact`.

        Leases that have something on the hosts then move. Where one would break, nothing is changed, and the
        error, whose code is 409, has the `impact`; with `force` such leases are degraded."""
        body = _body(hosts, start, end, name, reason, force)
        answer: dict[str, Any] = self._request("/maintenances", "POST", body)
        return answer

    def preview(
        self, hosts: Sequence[str], end: str, start: str = "now", *, force: bool = False
    ) -> dict[str, Any]:
        """Return the impact that a maintenance would have: `moves`, `breaks` and `stays` are numbers,
        `leases` tells what becomes of each."""
        body = {**_body(hosts, start, end, None, None, force), "dry_run": True}
        impact: dict[str, Any] = self._request("/maintenances", "POST", body)["impact"]
        return impact

    def get(self, maintenance_id: str) -> dict[str, Any]:
        """Return one maintenance."""
        maintenance: dict[str, Any] = self._request(f"/maintenances/{maintenance_id}", "GET")["maintenance"]
        return maintenance

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return the maintenances that are planned or under way."""
        return sort_rows(self._request("/maintenances", "GET")["maintenances"], sort_by)

    def delete(self, maintenance_id: str) -> None:
        """End a maintenance: its hosts can be reserved again at once."""
        self._request(f"/maintenances/{maintenance_id}", "DELETE")

    def _request(self, path: str, method: str, body: dict[str, Any] | None = None) -> Any:
        return self.request_manager.request(path, method, body=body, version=MICROVERSION)[1]


def _body(
    hosts: Sequence[str], start: str, end: str, name: str | None, reason: str | None, force: bool
) -> dict[str, Any]:
    body = {"hosts": list(hosts), "start_date": start, "end_date": end, "reason": reason, "force": force}
    return body if name is None else {**body, "name": name}
