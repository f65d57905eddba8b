"""Changes of leases are told to subscribers: subscriptions, the messages that wait for them, and which
notifications were compared with them.

Expands: the version before tells subscribers nothing.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.add_column("outbox", sa.Column("matched", sa.Boolean()))
    op.create_index("ix_outbox_matched_id", "outbox", ["matched", "id"])
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(128), nullable=False),
        sa.Column("events", Json(), nullable=False),
        sa.Column("watched_project", sa.String(255), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("resource_type", sa.String(66)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("is_prompt", sa.Boolean(), nullable=False),
        sa.Column("token", sa.String(64)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.Column("failing_since", UtcDateTime()),
        sa.Column("last_error", sa.Text()),
        sa.Column("delivered_at", UtcDateTime()),
        sa.Column("suspended_at", UtcDateTime()),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_subscriptions"),
        **options,
    )
    op.create_index(
        "ix_subscriptions_project_id_created_at_id", "subscriptions", ["project_id", "created_at", "id"]
    )
    op.create_index(
        "ix_subscriptions_watched_project_lease_id", "subscriptions", ["watched_project", "lease_id"]
    )
    op.create_index("ix_subscriptions_waiting_status", "subscriptions", ["waiting", "status"])
    op.create_index("ix_subscriptions_status", "subscriptions", ["status"])
    op.create_table(
        "webhook_messages",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True
        ),
        sa.Column("subscription_id", sa.String(36), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("document", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_messages"),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.id"],
            name="fk_webhook_messages_subscription_id",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
        **options,
    )
    op.create_index("ix_webhook_messages_subscription_id_id", "webhook_messages", ["subscription_id", "id"])
