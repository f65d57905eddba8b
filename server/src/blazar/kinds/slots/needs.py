"""The needs of a server of a flavor on its host: amounts by resource class and traits, read from its numbers
and extra specs.

The rules are those of Nova's documentation on flavors and extra specs. An extra spec that narrows down where
a server can run in a way that the calendar does not know is refused: the service could not promise that
the server will start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from blazar.domain.errors import Conflict, MalformedParameter
from blazar.kinds.slots.kind import MOST
from blazar.kinds.slots.source_flavor import SourceFlavor

CLASS_NAME = re.compile(r"[A-Z0-9_]{1,255}")
RESERVED_CLASS = "CUSTOM_RESERVATION_"
HYPERTHREADING = "HW_CPU_HYPERTHREADING"
MIB_IN_GIB = 1024

NOT_HONOURED = re.compile(
    r"resources[^:]+:.*"  # grouped requests: on which provider of a host they must lie together is not known
    r"|trait[^:]+:.*"
    r"|group_policy"
    r"|aggregate_instance_extra_specs:.*"  # other aggregates' hosts are not known
    r"|capabilities:.*"
    r"|pci_passthrough:.*"  # devices are not in the inventory that is registered
    r"|accel:.*"
    r"|hw:pmem"
    r"|hw:mem_encryption"
    r"|hw:cpu_dedicated_mask"
    r"|hw:numa_.*"  # how a host's memory and CPUs are divided is not known
    r"|hw:pci_.*"
    r"|[^:]+",  # without a scope: read as aggregate metadata
)
LIMITED = {
    "hw:cpu_policy": frozenset({"shared", "dedicated"}),
    "hw:mem_page_size": frozenset({"small", "any"}),
    "hw:cpu_thread_policy": frozenset({"prefer", "isolate", "require"}),
    "hw:emulator_threads_policy": frozenset({"share", "isolate"}),
}
"""Extra specs of which some values can be honoured."""


@dataclass(frozen=True, slots=True)
class Needs:
    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]


def needs_of(flavor: SourceFlavor) -> Needs:
    """Return the needs of a flavor. Raises Conflict for an extra spec that cannot be honoured,
    MalformedParameter for one that means nothing and for a flavor that needs nothing."""
    specs = flavor.extra_specs
    for name, value in specs.items():
        _check(flavor, name, value)
    swap_gib = -(-flavor.swap // MIB_IN_GIB)
    amounts = {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.ram,
        "DISK_GB": flavor.disk + flavor.ephemeral + swap_gib,
    }
    traits = {
        name.removeprefix("trait:"): value for name, value in specs.items() if name.startswith("trait:")
    }
    if specs.get("hw:cpu_policy") == "dedicated":
        # A CPU of its own for the emulator's threads comes on top.
        isolated = specs.get("hw:emulator_threads_policy") == "isolate"
        amounts["PCPU"] = amounts.pop("VCPU") + int(isolated)
        match specs.get("hw:cpu_thread_policy"):
            case "require":
                traits.setdefault(HYPERTHREADING, "required")
            case "isolate":
                traits.setdefault(HYPERTHREADING, "forbidden")
    amounts |= {n.removeprefix("resources:"): int(v) for n, v in specs.items() if n.startswith("resources:")}
    amounts = {name: amount for name, amount in amounts.items() if amount}
    if not amounts:
        raise MalformedParameter(param=f"flavor_id (flavor {flavor.id} asks for no resources at all)")
    return Needs(
        amounts,
        frozenset(name for name, word in traits.items() if word == "required"),
        frozenset(name for name, word in traits.items() if word == "forbidden"),
    )


def guaranteed(flavor: SourceFlavor) -> SourceFlavor:
    """Return the flavor without the extra specs that cannot be honoured, or mean nothing."""
    return flavor.model_copy(
        update={"extra_specs": {n: v for n, v in flavor.extra_specs.items() if _is_honoured(flavor, n, v)}}
    )


def _is_honoured(flavor: SourceFlavor, name: str, value: str) -> bool:
    try:
        _check(flavor, name, value)
    except (Conflict, MalformedParameter):
        return False
    return True


def _check(flavor: SourceFlavor, name: str, value: str) -> None:
    reserved = name.startswith(f"resources:{RESERVED_CLASS}")
    if reserved or NOT_HONOURED.fullmatch(name) or value not in LIMITED.get(name, {value}):
        raise Conflict(
            f"Flavor {flavor.id} cannot be reserved: its extra spec {name}={value} cannot be "
            "guaranteed in advance."
        )
    scope, _, key = name.partition(":")
    if scope == "resources":
        known = CLASS_NAME.fullmatch(key) and value.isascii() and value.isdigit() and len(value) <= 10
        if not known or int(value) > MOST:
            raise MalformedParameter(
                param=f"flavor_id (flavor {flavor.id} has the extra spec {name}={value})"
            )
    if scope == "trait" and (value not in ("required", "forbidden") or not CLASS_NAME.fullmatch(key)):
        raise MalformedParameter(param=f"flavor_id (flavor {flavor.id} has the extra spec {name}={value})")
