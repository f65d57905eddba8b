"""Where leases, resources, events and notices are kept while the process lives: in memory."""

from blazar.adapters.memory.database import MemoryDatabase

__all__ = ["MemoryDatabase"]
