"""network:port: a number of ports, by which the project's quota is raised for the time of the lease."""

from blazar.kinds.port.kind import PortKind

__all__ = ["PortKind"]
