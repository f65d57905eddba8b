"""What users are to be told by mail of their leases.

Expands: what the version before delivers is told by no mail.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "mail_lanes",
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(64)),
        sa.Column("last_item", sa.BigInteger()),
        sa.PrimaryKeyConstraint("user_id", name="pk_mail_lanes"),
        **options,
    )
    op.create_index("ix_mail_lanes_waiting_due", "mail_lanes", ["waiting", "due"])
    op.create_table(
        "mail_items",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("document", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_mail_items"),
        sqlite_autoincrement=True,
        **options,
    )
    op.create_index("ix_mail_items_user_id_id", "mail_items", ["user_id", "id"])
    op.create_index("ix_mail_items_due", "mail_items", ["due"])
