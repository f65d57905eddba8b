"""physical:host: whole compute hosts, moved from the freepool into an aggregate of the reservation's own."""

from blazar.kinds.host.kind import HostKind

__all__ = ["HostKind"]
