"""Where leases, resources, events and notices are kept: SQLite, PostgreSQL, MariaDB or MySQL."""

from blazar.adapters.db.database import SqlDatabase

__all__ = ["SqlDatabase"]
