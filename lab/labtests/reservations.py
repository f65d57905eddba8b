"""A client of the reservation API: plain HTTP with a token that is reused."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import requests
from keystoneauth1.adapter import Adapter
from openstack.connection import Connection

from labtests import workers
from labtests.waiting import text, until

FINAL = {"TERMINATED", "ERROR"}
Json = dict[str, Any]


def hosts(count: int = 1, properties: str = "", **more: Any) -> Json:
    """Return a reservation of whole hosts of this worker."""
    return {
        "resource_type": "physical:host",
        "min": count,
        "max": count,
        "hypervisor_properties": "",
        "resource_properties": workers.requirement(properties),
        **more,
    }


def instances(amount: int, properties: str = "", **more: Any) -> Json:
    """Return a reservation of capacity for small servers on hosts of this worker."""
    return {
        "resource_type": "virtual:instance",
        "vcpus": 1,
        "memory_mb": 256,
        "disk_gb": 1,
        "amount": amount,
        "affinity": None,
        "resource_properties": workers.requirement(properties),
        **more,
    }


def servers(amount: int, flavor_id: str, **more: Any) -> Json:
    """Return a reservation of capacity for servers of a flavor; any host may serve it."""
    return {
        "resource_type": "flavor:instance",
        "flavor_id": flavor_id,
        "amount": amount,
        "affinity": None,
        **more,
    }


def server(server_id: str, *on_end: str) -> Json:
    """Return a reservation of a server that exists, on a host of this worker."""
    return {
        "resource_type": "instance:server",
        "server_id": server_id,
        "on_end": list(on_end),
        "resource_properties": workers.requirement(""),
    }


def floating_ips(network_id: str, amount: int, *required: str) -> Json:
    """Return a reservation of floating IPs that include the required addresses."""
    return {
        "resource_type": "virtual:floatingip",
        "network_id": network_id,
        "amount": amount,
        "required_floatingips": list(required),
    }


def networks(amount: int, physical_network: str) -> Json:
    """Return a reservation of networks on segments of a physical network."""
    return {"resource_type": "network", "amount": amount, "physical_network": physical_network}


def ports(amount: int, **more: Any) -> Json:
    """Return a reservation of ports."""
    return {"resource_type": "network:port", "amount": amount, **more}


def volumes(volume_type: str, gigabytes: int, count: int, **more: Any) -> Json:
    """Return a reservation of capacity of a volume type."""
    return {
        "resource_type": "storage:volume",
        "volume_type": volume_type,
        "gigabytes": gigabytes,
        "volumes": count,
        **more,
    }


@dataclass(frozen=True)
class Answer:
    """The status, parsed body and headers of a response."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        return str(self.body.get("error_message", "")) if isinstance(self.body, dict) else ""


class Reservations:
    """The reservation API as one user calls it."""

    def __init__(self, connection: Connection) -> None:
        self._http = Adapter(connection.session, service_type="reservation", interface="public")

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        version: str = "",
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Send a request, with ``more`` headers."""
        options = {} if body is None else {"json": body}
        headers = {"Accept": "application/json", **more}
        if version:
            headers["OpenStack-API-Version"] = f"reservation {version}"
        response = self._http.request(path, method, raise_exc=False, headers=headers, **options)
        parsed = response.json() if response.content else None
        return Answer(response.status_code, parsed, response.headers)

    def stream(self, path: str, version: str, seconds: float = 2) -> str:
        """Return what a stream of server-sent events tells until it is silent for so long."""
        headers = {"Accept": "text/event-stream", "OpenStack-API-Version": f"reservation {version}"}
        response = self._http.get(path, headers=headers, stream=True, timeout=seconds)
        lines: list[str] = []
        with response, suppress(requests.ConnectionError):
            for line in response.iter_lines(chunk_size=1, decode_unicode=True):
                lines.append(line)
        return "\n".join(lines)

    def post_hosts(
        self,
        name: str,
        start: int | str,
        end: int,
        *,
        count: int = 1,
        properties: str = "",
        snapshot_at: int | None = None,
    ) -> Answer:
        """Request exactly ``count`` hosts of this worker.

        At ``snapshot_at`` the service saves their servers as images."""
        more = {} if snapshot_at is None else {"before_end": "snapshot"}
        return self.post(name, start, end, hosts(count, properties, **more), warn_at=snapshot_at)

    def post(
        self, name: str, start: int | str, end: int, *reservations: Json, warn_at: int | None = None
    ) -> Answer:
        """Request a lease with these reservations."""
        body = {
            "name": name,
            "start_date": start if isinstance(start, str) else text(start),
            "end_date": text(end),
            "before_end_date": None if warn_at is None else text(warn_at),
            "reservations": list(reservations),
            "events": [],
        }
        return self.call("POST", "/leases", body)

    def lease(self, lease_id: str) -> dict[str, Any]:
        answer = self.call("GET", f"/leases/{lease_id}")
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.body["lease"]
        return found

    def status(self, lease_id: str) -> str | None:
        """Return the lease's status; None when there is no such lease or no answer."""
        answer = self.call("GET", f"/leases/{lease_id}")
        return str(answer.body["lease"]["status"]) if answer.status == 200 else None

    def await_status(self, lease_id: str, wanted: str, seconds: float) -> dict[str, Any]:
        """Wait for a status, and return the lease; fail at once when it reaches another final status."""

        def reached() -> bool:
            status = self.status(lease_id)
            assert status == wanted or status not in FINAL, self.lease(lease_id)
            return status == wanted

        until(f"lease {lease_id} {wanted}", seconds, reached)
        return self.lease(lease_id)

    def delete(self, lease_id: str) -> Answer:
        return self.call("DELETE", f"/leases/{lease_id}")

    def deleted(self, lease_id: str) -> bool:
        """Try to delete a lease; tell whether it is deleted or did not exist."""
        return self.delete(lease_id).status in (204, 404)

    def await_gone(self, lease_id: str, seconds: float) -> None:
        """Wait until the lease does not exist; a delete may go on in the background."""
        until(
            f"lease {lease_id} gone", seconds, lambda: self.call("GET", f"/leases/{lease_id}").status == 404
        )

    def hosts_of(self, reservation_id: str) -> list[str]:
        """Return the names of the hosts that serve a reservation; for administrators."""
        allocations = self.call("GET", f"/os-hosts/allocations?reservation_id={reservation_id}").body
        names = {h["id"]: h["hypervisor_hostname"] for h in self.call("GET", "/os-hosts").body["hosts"]}
        return sorted(
            names[allocation["resource_id"]]
            for allocation in allocations["allocations"]
            if any(r["id"] == reservation_id for r in allocation["reservations"])
        )
