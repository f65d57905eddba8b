"""Shares of leases: other projects that may see them, or change them.

Expands: the version before does not see the table, and shows a lease to its own project only. When it removes
a lease, the shares go with it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "lease_shares",
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("lease_created_at", UtcDateTime(), nullable=False),
        sa.Column("access", sa.String(16), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("lease_id", "project_id", name="pk_lease_shares"),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name="fk_lease_shares_lease_id", ondelete="CASCADE"
        ),
        **options,
    )
    op.create_index(
        "ix_lease_shares_project_id_lease_created_at_lease_id",
        "lease_shares",
        ["project_id", "lease_created_at", "lease_id"],
    )
