"""What is started with leases: a stack of Heat, or a webhook.

Expands: the version before does not see the table, and leaves the column of leases as it is. What it starts
or ends meanwhile is found at the next look.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.add_column("leases", sa.Column("start_task", sa.String(16)))
    op.create_table(
        "start_tasks",
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("request", Json()),
        sa.Column("region", sa.String(255)),
        sa.Column("trust_id", sa.String(64)),
        sa.Column("stack_id", sa.String(64)),
        sa.Column("subscription_id", sa.String(36)),
        sa.Column("url", sa.Text()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("asked_at", UtcDateTime()),
        sa.Column("ending_since", UtcDateTime()),
        sa.Column("is_late", sa.Boolean(), nullable=False),
        sa.Column("due", UtcDateTime()),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(36)),
        sa.Column("held_until", UtcDateTime()),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("lease_id", name="pk_start_tasks"),
        **options,
    )
    op.create_index("ix_start_tasks_due", "start_tasks", ["due"])
