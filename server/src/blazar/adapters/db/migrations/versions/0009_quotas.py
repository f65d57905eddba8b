"""Quotas of projects: their limits, and what leases count as.

Expands: the version before neither compares with limits nor writes what a lease counts as. What it stores is
counted when it is compared the next time; what it changes of an amount counts as before until this version
changes the lease.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.add_column("leases", sa.Column("quantities", Json(), nullable=True))
    op.create_index("ix_leases_project_id_end_date_status", "leases", ["project_id", "end_date", "status"])
    op.create_table(
        "quotas",
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("maximum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "name", name="pk_quotas"),
        **options,
    )
    op.create_table(
        "quota_turns",
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_quota_turns"),
        **options,
    )
    op.create_table(
        "spent_uses",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("start_date", UtcDateTime(), nullable=False),
        sa.Column("end_date", UtcDateTime(), nullable=False),
        sa.Column("quantities", Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spent_uses"),
        **options,
    )
    op.create_index("ix_spent_uses_project_id_end_date", "spent_uses", ["project_id", "end_date"])
    op.create_index("ix_spent_uses_end_date", "spent_uses", ["end_date"])
