"""The sizes of a whole host, by resource class."""

from __future__ import annotations

from collections.abc import Mapping

from blazar.domain.resource import Registration

FACTS = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "local_gb"}


def sizes(host: Registration) -> Mapping[str, int]:
    """Return what the host has. Its CPUs, memory and disk are counted as they are, whatever the ratio by
    which Placement multiplies them."""
    facts = {name: host.facts.get(fact) for name, fact in FACTS.items()}
    known = {name: value for name, value in facts.items() if isinstance(value, int)}
    of_classes = {name: known.get(name, each.capacity) for name, each in host.inventory.items()}
    return of_classes or known
