"""Calendar feeds, and the deleted leases that they still tell of.

Expands: the version before deletes leases without a word to calendars, which then no longer show them.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "feeds",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("watched_project", sa.String(255), nullable=False),
        sa.Column("watched_user", sa.String(255)),
        sa.Column("lease_id", sa.String(36)),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_feeds"),
        **options,
    )
    op.create_index("ix_feeds_secret_hash", "feeds", ["secret_hash"], unique=True)
    op.create_index("ix_feeds_project_id_user_id", "feeds", ["project_id", "user_id"])
    op.create_index("ix_feeds_watched_project", "feeds", ["watched_project"])
    op.create_table(
        "cancelled_leases",
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("start_date", UtcDateTime(), nullable=False),
        sa.Column("end_date", UtcDateTime(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("cancelled_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", name="pk_cancelled_leases"),
        **options,
    )
    op.create_index(
        "ix_cancelled_leases_project_id_cancelled_at", "cancelled_leases", ["project_id", "cancelled_at"]
    )
    op.create_index("ix_cancelled_leases_cancelled_at", "cancelled_leases", ["cancelled_at"])
