"""virtual:instance: room for servers of a size that the user names."""

from blazar.kinds.instance.kind import InstanceKind

__all__ = ["InstanceKind"]
