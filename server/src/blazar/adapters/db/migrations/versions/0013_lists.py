"""Lists are read by an index in each of their orders, and resources in the order of their numbers.

Expands: the version before uses the same tables, and the database itself fills the new column.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

# Replaced one after the other, no character of a number remains.
WITHOUT_DIGITS = "id"
for digit in range(10):
    WITHOUT_DIGITS = f"replace({WITHOUT_DIGITS}, '{digit}', '')"
DIGITS = f"CASE WHEN {WITHOUT_DIGITS} = '' THEN length(id) ELSE 99 END"

INDEXES = (
    ("start_date", "id"),
    ("end_date", "id"),
    ("name", "created_at", "id"),
    ("status", "created_at", "id"),
)


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    # PostgreSQL has an index on such a column only where it is stored, SQLite adds only one that is not.
    computed = sa.Computed(DIGITS, persisted=is_postgresql or None)
    op.add_column("resources", sa.Column("digits", sa.Integer(), computed))
    op.create_index("ix_resources_pool_digits_id", "resources", ["pool", "digits", "id"])
    if is_postgresql:
        # Names are sorted by their characters' numbers, as in the other databases.
        op.execute('ALTER TABLE leases ALTER COLUMN name TYPE VARCHAR(255) COLLATE "C"')
    for columns in INDEXES:
        for whole in (columns, ("project_id", *columns)):
            op.create_index(f"ix_leases_{'_'.join(whole)}", "leases", list(whole))
