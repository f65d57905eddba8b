"""The store of leases, resources, events and notifications: SQLite, PostgreSQL, MariaDB or MySQL."""

from blazar.adapters.db.database import SqlDatabase

__all__ = ["SqlDatabase"]
