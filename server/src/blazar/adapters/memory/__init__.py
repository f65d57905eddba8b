"""The store of leases, resources, events and notifications that lives as long as the process, in memory."""

from blazar.adapters.memory.database import MemoryDatabase

__all__ = ["MemoryDatabase"]
