"""flavor:instance: room for servers of a flavor that the user chooses."""

from blazar.kinds.flavor.kind import FlavorKind

__all__ = ["FlavorKind"]
