"""What reservations were promised and have used.

Expands: the version before writes nothing of it. The next look finds what it has ended or
removed.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "utilizations",
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("start_second", sa.BigInteger(), nullable=False),
        sa.Column("until_second", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("promised", sa.BigInteger(), nullable=False),
        sa.Column("known", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.Column("used_now", sa.Integer()),
        sa.Column("looked_at", UtcDateTime()),
        sa.Column("is_over", sa.Boolean(), nullable=False),
        sa.Column("is_no_show", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("reservation_id", name="pk_utilizations"),
        **options,
    )
    for columns in (
        ["lease_id"],
        ["is_over", "until_second"],
        ["project_id", "until_second"],
        ["until_second"],
    ):
        op.create_index(f"ix_utilizations_{'_'.join(columns)}", "utilizations", columns)
