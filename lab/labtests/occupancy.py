"""What is registered, reserved or running in the lab before the tests begin; it would make them fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openstack.connection import Connection

from labtests.reservations import Reservations

NAMED = 3
"""How many objects of a kind the message names."""


def found(admin: Connection) -> dict[str, list[str]]:
    """Return the names of what is registered, of leases, of servers and of volumes."""
    service = Reservations(admin)

    def listed(path: str, key: str, name: str, version: str = "") -> list[str]:
        answer = service.call("GET", path, version=version)
        assert answer.status == 200, answer
        return [each[name] for each in answer.body[key]]

    def ports() -> list[str]:
        answer = service.call("GET", "/portpool", version="1.42")
        assert answer.status in (200, 404), answer
        return [str(answer.body["portpool"]["ports"])] if answer.status == 200 else []

    return {
        "registered host": listed("/os-hosts", "hosts", "hypervisor_hostname"),
        "registered floating IP": listed("/floatingips", "floatingips", "floating_ip_address"),
        "registered network segment": listed("/networksegments", "networksegments", "name", "1.28"),
        "number of ports": ports(),
        "registered volume type": listed("/volumetypes", "volumetypes", "name", "1.25"),
        "lease": listed("/leases", "leases", "name"),
        "server": [server.name for server in admin.compute.servers(all_projects=True)],
        "volume": [volume.name for volume in admin.block_storage.volumes(all_projects=True)],
    }


def refusal(objects: Mapping[str, Sequence[str]]) -> str:
    """Return a message that names the objects and tells how to reset the lab; "" if there are none."""
    parts = [_counted(noun, names) for noun, names in objects.items() if names]
    if not parts:
        return ""
    return (
        f"The lab is in use: it has {', '.join(parts)}. The tests need a lab without them: remove them, or "
        "run 'python3 lab/lab.py reset', which deletes all leases, registrations and servers."
    )


def _counted(noun: str, names: Sequence[str]) -> str:
    shown = [*sorted(names)[:NAMED], *(["..."] if len(names) > NAMED else [])]
    return f"{len(names)} {noun}{'s' if len(names) > 1 else ''} ({', '.join(shown)})"
