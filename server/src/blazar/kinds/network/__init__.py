"""network: segments, such as VLANs, each with a network in the user's project for the time of the lease."""

from blazar.kinds.network.kind import NetworkKind

__all__ = ["NetworkKind"]
