"""A program that works with leases by python-chi, as notebooks do, and prints the results as JSON.

The Python of its environment runs it; OS_* names the cloud and the user.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

os.environ["OS_AUTH_TYPE"] = "v3password"

import chi
from chi import lease, server
from chi.exception import CHIValueError, ResourceError

from blazarclient.exception import BlazarClientException

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBVhZ9t5rF3dTmvmV1LrVZMVJ0bQnkzU0h3kUb3kPZk1 user@notebook"
LENGTH = timedelta(hours=2)


class Lines(logging.Handler):
    """Keeps what a notebook shows its user in the log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record.getMessage())


def refused(call: Callable[[], Any]) -> dict[str, Any]:
    """Return what the user sees of a refusal: the error, and the log."""
    lines = Lines()
    log = logging.getLogger("chi.lease")
    log.addHandler(lines)
    try:
        call()
    except (CHIValueError, ResourceError, BlazarClientException) as error:
        return {"raises": type(error).__name__, "says": str(error), "log": lines.kept}
    finally:
        log.removeHandler(lines)
    return {}


def said(call: Callable[[], Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        call()
    return out.getvalue()


def make(name: str, **hosts: Any) -> lease.Lease:
    made = lease.Lease(name, duration=LENGTH)
    lease.add_node_reservation(made.node_reservations, **hosts)
    return made


def states(reservations: list[dict[str, Any]]) -> list[str]:
    return [each["status"] for each in reservations]


def one_lease() -> dict[str, Any]:
    """Take a lease of all kinds from its creation to its deletion."""
    made = make("of-chi", count=1)
    lease.add_node_reservation(made.node_reservations, count=1, resource_properties=["==", "$gpu", "True"])
    made.add_flavor_reservation(name="m1.tiny", amount=2)
    made.add_fip_reservation(1)
    made.submit(wait_for_active=True)
    results = {
        "active": [made.name, made.status],
        "dates": [made.created_at.microsecond, made.start_date <= made.created_at + timedelta(minutes=1)],
        "reservations": {
            "nodes": states(made.node_reservations),
            "flavors": states(made.flavor_reservations),
            "floating IPs": states(made.fip_reservations),
        },
        "shown": said(lambda: made.show("text")).splitlines()[1:4],
        "listed": [each.name for each in lease.list_leases()],
        "found": [lease.get_lease(made.name).id == made.id, lease.get_lease(made.id).name],
        "floating IPs": made.get_reserved_floating_ips(),
        "flavors": [[each.vcpus, each.ram, each.disk] for each in made.get_reserved_flavors()],
        "servers": servers(made),
    }
    end = made.end_date
    chi.blazar().lease.update(made.id, name="of-chi-longer", prolong_for="1h")
    made.refresh()
    results["changed"] = [made.name, str(made.end_date - end)]
    again = lease.Lease("of-chi-longer", duration=LENGTH)
    results["submitted again"] = "Found existing lease" in said(lambda: again.submit(idempotent=True))
    results["the same"] = again.id == made.id
    made.delete()
    results["deleted"] = [made.status, [each.name for each in lease.list_leases()]]
    return results


def servers(made: lease.Lease) -> list[list[Any]]:
    """Boot on the reserved host and with the reserved flavor, and delete both."""
    server.update_keypair("of-chi", KEY)
    [flavor] = made.get_reserved_flavors()
    booted = [
        boot("inside", reservation_id=made.node_reservations[0]["id"], flavor_name="m1.small"),
        boot("slot", flavor_name=flavor.name),
    ]
    found = [[each.name, each.status] for each in server.list_servers()]
    for each in booted:
        each.delete()
    return sorted(found)


def boot(name: str, **where: str) -> server.Server:
    made = server.Server(name, image_name="dummy", network_name="private", key_name="of-chi", **where)
    made.submit(show=None)
    return made


def floating_ips(count: int) -> lease.Lease:
    made = lease.Lease("big", duration=LENGTH)
    made.add_fip_reservation(count)
    return made


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        results = {
            "lease": one_lease(),
            "hosts are short": refused(make("big", count=99).submit),
            "floating IPs are short": refused(floating_ips(9999).submit),
            "unknown lease": refused(lambda: lease.get_lease("nothing")),
            "hosts are not for members": refused(lambda: chi.blazar().host.list()),
            "left": [each.name for each in lease.list_leases()],
        }
    print(json.dumps(results))
