"""virtual:floatingip: addresses of an external network, made floating IPs of the user's project for the time
of the lease."""

from blazar.kinds.floatingip.kind import FloatingIPKind

__all__ = ["FloatingIPKind"]
