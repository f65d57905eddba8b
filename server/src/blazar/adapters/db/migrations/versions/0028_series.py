"""Series: what leases that recur have in common.

Expands: the version before does not see the column, and treats the leases of a series as any others.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "series",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.String(255), nullable=False),
        sa.Column("on_conflict", sa.String(16), nullable=False),
        sa.Column("occurrences", Json(), nullable=False),
        sa.Column("exceptions", Json(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("request_key", sa.String(255)),
        sa.Column("fingerprint", sa.String(64)),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint("project_id", "request_key", name="uq_series_project_id_request_key"),
        **options,
    )
    op.create_index("ix_series_project_id_id", "series", ["project_id", "id"])
    op.create_index("ix_series_ends_at", "series", ["ends_at"])
    op.add_column("leases", sa.Column("series_id", sa.String(36)))
