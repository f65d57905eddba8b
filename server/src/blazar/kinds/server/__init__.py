"""instance:server: a server that exists, for which capacity is kept from the start to the end."""

from blazar.kinds.server.kind import ServerKind

__all__ = ["ServerKind"]
