"""Ordinary servers that get leases by themselves, and are reclaimed unless their users ask for more time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import boundary, text, until
from openstack.connection import Connection

pytestmark = pytest.mark.alone
BOOT_SECONDS = 120
LEASE_SECONDS = 60
END_SECONDS = 180
TERMS = {
    "enabled": True,
    "reservation_length_days": 0,
    "reservation_length_hours": 2,
    "warn_hours": 1,
    "on_end": "delete",
    "look_seconds": 3,
}
EXEMPT = "no-lease"


@pytest.mark.minutes(4)
def test_what_is_forgotten_is_reclaimed_and_what_is_extended_or_exempt_runs_on(
    kept: str,
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    def ordinary() -> Any:
        server = boot(demo)
        if server.status == "ACTIVE":
            return server
        demo.compute.delete_server(server.id)
        return None

    with processes.configured("default_leases", **TERMS):
        exempt = until("an ordinary server", BOOT_SECONDS, ordinary)
        demo.compute.add_tag_to_server(exempt, EXEMPT)
        forgotten, extended = ordinary(), ordinary()

        def lease_of(server: Any) -> str | None:
            return admin.compute.get_server(server.id).metadata.get("blazar_lease")

        service = Reservations(demo)
        first = until("a lease of the first server", LEASE_SECONDS, lambda: lease_of(forgotten))
        second = until("a lease of the second server", LEASE_SECONDS, lambda: lease_of(extended))
        lease = service.await_status(first, "ACTIVE", LEASE_SECONDS)
        assert lease["reservations"][0]["resource_type"] == "instance:server"
        for lease_id, end in ((first, boundary(60)), (second, boundary(4 * 3600))):
            changed = service.call("PUT", f"/leases/{lease_id}", {"end_date": text(end)})
            assert changed.status == 200, changed

        service.await_status(first, "TERMINATED", END_SECONDS)
        assert admin.compute.find_server(forgotten.id, ignore_missing=True) is None
        assert admin.compute.get_server(extended.id).status == "ACTIVE"
        assert admin.compute.get_server(exempt.id).status == "ACTIVE"
        assert service.call("GET", f"/leases/{second}").body["lease"]["status"] == "ACTIVE"
        if found := lease_of(exempt):  # before its tag was set: at the end it stays as it is
            assert service.call("PUT", f"/leases/{found}", {"end_date": "now"}).status == 200
            service.await_status(found, "TERMINATED", END_SECONDS)
            assert admin.compute.get_server(exempt.id).status == "ACTIVE"
        for server in (extended, exempt):  # their hosts go back to the service
            demo.compute.delete_server(server)
            demo.compute.wait_for_delete(server, interval=0.3, wait=BOOT_SECONDS)
