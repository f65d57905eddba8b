"""The calls of the v1 client for hosts and their properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from blazarclient import exception
from blazarclient.transport import Transport
from blazarclient.v1.leases import NOTHING_TO_UPDATE
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed

Rows = list[dict[str, Any]]
LASTING = "1.15"
"""The version of the API that brought the times for which hosts are there."""
REGIONS = "1.26"
"""The version of the API that brought the regions of hosts."""


def _lifetime(available_from: str | None, available_until: str | None) -> dict[str, str]:
    dates = {"available_from": available_from, "available_until": available_until}
    return {name: date for name, date in dates.items() if date is not None}


class Hosts:
    """The reservable hosts, as dictionaries with the built-in keys and the host's properties."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport  # Horizon's plugin requests allocations through this attribute

    def create(self, name: str, **kwargs: Any) -> dict[str, Any]:
        """Register a hypervisor by its hostname; the other arguments become its properties."""
        return self._host(self.request_manager.post("/os-hosts", {"name": name, **kwargs})[1])

    def get(self, host_id: str) -> dict[str, Any]:
        """Return one host."""
        return self._host(self.request_manager.get(f"/os-hosts/{host_id}")[1])

    def update(self, host_id: str, values: Mapping[str, Any]) -> dict[str, Any] | str:
        """Set properties of a host. Return the host, or a sentence if `values` is empty."""
        if not values:
            return NOTHING_TO_UPDATE
        return self._host(self.request_manager.put(f"/os-hosts/{host_id}", values)[1])

    def create_since_1_15(
        self,
        name: str,
        available_from: str | None = None,
        available_until: str | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Register a hypervisor that is there from a date on, and until a date.

        None says that it is there already, and that it stays. The other arguments become its properties."""
        body = {"name": name, **kwargs, **_lifetime(available_from, available_until)}
        return self._host(self._since_1_15("/os-hosts", "POST", body))

    def create_since_1_26(
        self,
        name: str,
        region: str,
        available_from: str | None = None,
        available_until: str | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Register a hypervisor of a region, as `create_since_1_15` does."""
        body = {"name": name, **kwargs, "region": region, **_lifetime(available_from, available_until)}
        return self._host(self._since(REGIONS, "/os-hosts", "POST", body))

    def list_since_1_26(self, sort_by: str | None = None) -> Rows:
        """Return all hosts, with the `region` of each, and what `list_since_1_15` tells."""
        listed = Listed(self.request_manager, "/os-hosts", "hosts", version=REGIONS)
        return sort_rows([*listed.rows()], sort_by)

    def get_since_1_15(self, host_id: str) -> dict[str, Any]:
        """Return one host, with `available_from` and `available_until`."""
        return self._host(self._since_1_15(f"/os-hosts/{host_id}", "GET"))

    def list_since_1_15(self, sort_by: str | None = None) -> Rows:
        """Return all hosts, with `available_from` and `available_until`."""
        listed = Listed(self.request_manager, "/os-hosts", "hosts", version=LASTING)
        return sort_rows([*listed.rows()], sort_by)

    def update_since_1_15(self, host_id: str, *, force: bool = False, **dates: str | None) -> dict[str, Any]:
        """Change `available_from`, `available_until` or both of a host, and return the `host` and the
        `impact`: what becomes of the leases that have something on it then.

        Where a lease would break, nothing is changed, and the error, whose code is 409, has the `impact`;
        with `force` such leases are degraded."""
        answer: dict[str, Any] = self._since_1_15(f"/os-hosts/{host_id}", "PUT", {**dates, "force": force})
        return answer

    def preview_since_1_15(self, host_id: str, *, force: bool = False, **dates: str | None) -> dict[str, Any]:
        """Return the impact that such a change would have."""
        body = {**dates, "force": force, "dry_run": True}
        impact: dict[str, Any] = self._since_1_15(f"/os-hosts/{host_id}", "PUT", body)["impact"]
        return impact

    def set_buffer(self, host_id: str, is_buffer: bool) -> dict[str, Any]:
        """Keep a host for leases that lose others, or give it back. No request gets it meanwhile. It needs
        version 1.15."""
        return self._host(self._since_1_15(f"/os-hosts/{host_id}", "PUT", {"buffer": is_buffer}))

    def _since_1_15(self, path: str, method: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._since(LASTING, path, method, body)

    def _since(self, version: str, path: str, method: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.request_manager.request(path, method, body=body, version=version)[1]

    def delete(self, host_id: str) -> None:
        """Remove a host from the reservation service."""
        self.request_manager.delete(f"/os-hosts/{host_id}")

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return all hosts; `sort_by` names a key to sort by, on the client's side."""
        return sort_rows([*Listed(self.request_manager, "/os-hosts", "hosts").rows()], sort_by)

    def list_properties(self, detail: bool = False, all: bool = False, sort_by: str | None = None) -> Rows:
        """Return the names of the properties; with `detail` also values, with `all` also private ones."""
        query = [f"{name}=True" for name, wanted in (("detail", detail), ("all", all)) if wanted]
        path = "/os-hosts/properties" + ("?" + "&".join(query) if query else "")
        properties: Rows = self.request_manager.get(path)[1]["resource_properties"]
        if detail:
            for row in properties:
                # The key of client 4.6: callers build objects of it, on which `values` would be a method.
                row["property_values"] = row.pop("values")
        return sort_rows(properties, sort_by)

    def get_property(self, property_name: str) -> dict[str, Any]:
        """Return one property with its values. Raises ResourcePropertyNotFound, also for a private one."""
        for row in self.list_properties(detail=True):
            if row["property"] == property_name:
                return row
        raise exception.ResourcePropertyNotFound()

    def set_property(self, property_name: str, private: bool) -> dict[str, Any]:
        """Make a property private, visible to administrators only, or public."""
        path = f"/os-hosts/properties/{quote(property_name, safe='')}"
        changed: dict[str, Any] = self.request_manager.patch(path, {"private": private})[1][
            "resource_property"
        ]
        return changed

    @staticmethod
    def _host(body: Any) -> dict[str, Any]:
        host: dict[str, Any] = body["host"]
        return host
