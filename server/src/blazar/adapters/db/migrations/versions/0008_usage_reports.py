"""Usage filters are told what becomes of leases, at least once.

Expands: the version before leaves the table alone, so the ends that it carries out are not told. Enable
filters when all managers are upgraded.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "usage_reports",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("filter", sa.String(64), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("documents", Json(), nullable=False),
        sa.Column("only_if_absent", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_usage_reports"),
        sqlite_autoincrement=True,
        **options,
    )
    op.create_index("ix_usage_reports_filter_due", "usage_reports", ["filter", "due"])
    op.create_index("ix_usage_reports_lease_id", "usage_reports", ["lease_id"])
