"""Each running manager writes what it is and how it is doing.

Expands: the version before leaves the table alone, so its managers are not listed.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "services",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("program", sa.String(64), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.String(64)),
        sa.Column("events", sa.Integer()),
        sa.Column("plans", sa.Integer()),
        sa.Column("late_seconds", sa.Float()),
        sa.PrimaryKeyConstraint("id", name="pk_services"),
        **options,
    )
