"""When a server ends that is booted with the scheduler hint ``lease_params``, and what it takes of its host.

Only what the reservation service will surely understand counts: a server that gets no lease for its hint has
to leave the host again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

LEASE_HINT = "lease_params"
DATE = "%Y-%m-%d %H:%M"
KEYS = frozenset({"name", "start", "end", "duration", "events", "reservation"})
LEASES = UUID("6a1d6f0e-4c2b-5d7e-9a53-0c7c1f2e8b94")
"""The name space of the ids of leases that are made by hints."""
HARMLESS = frozenset({"trait", "quota", "hw_rng", "hw_video", "os"})
"""The scopes of extra specs that take nothing of a host beside the flavor's sizes."""
MINUTE = 60
LONGEST = 1_000_000
"""Minutes of a duration."""


@dataclass(frozen=True, slots=True)
class BoundedServer:
    """A server with the hint, or several alike that are booted together.

    ``end`` is when it ends, in seconds since 1970-01-01 UTC, and ``amounts`` what it takes by resource class:
    None where the hint or the flavor does not tell, so that only the host that its lease keeps is left."""

    end: int | None
    amounts: Mapping[str, int] | None
    lease_id: str = ""
    """The id of the lease that its hint makes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a flavor takes: ``memory_mb`` and ``swap_mb`` in MiB, disks in GiB."""

    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0


def end_of(hint: str | Sequence[str] | None, now: int) -> int | None:
    """Return when the server ends; None where it has no such hint, does not start now, or is over."""
    values = [hint] if isinstance(hint, str) else list(hint or ())
    try:
        asked = json.loads(values[0]) if len(values) == 1 else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or not set(asked) <= KEYS or not asked.get("name"):
        return None
    if asked.get("start", "now") != "now" or ("end" in asked) is ("duration" in asked):
        return None
    end = _date(asked["end"]) if "end" in asked else _after(asked["duration"], now)
    return end if end is not None and end > now else None


def amounts_of(sizes: Sizes, extra_specs: Mapping[str, str]) -> Mapping[str, int] | None:
    """Return what a server takes; None where an extra spec asks for more than the flavor's sizes."""
    if any(name.partition(":")[0] not in HARMLESS or ":" not in name for name in extra_specs):
        return None
    disk = sizes.root_gb + sizes.ephemeral_gb - (-sizes.swap_mb // 1024)
    return {"VCPU": sizes.vcpus, "MEMORY_MB": sizes.memory_mb, "DISK_GB": disk}


def lease_id_of(server_id: str) -> str:
    """Return the id of the lease that the hint of this server makes."""
    return str(uuid5(LEASES, server_id))


def _date(value: object) -> int | None:
    try:
        return int(datetime.strptime(str(value), DATE).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _after(minutes: object, now: int) -> int | None:
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 0 < minutes < LONGEST:
        return None
    return now + (minutes + 1) * MINUTE
