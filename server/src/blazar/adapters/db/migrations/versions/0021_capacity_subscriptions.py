"""Subscriptions to capacity: their condition, and what they were told last.

Expands: the version before takes them for subscriptions to leases that are told of none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json, UtcDateTime

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("capacity", Json()))
    op.add_column("subscriptions", sa.Column("is_low", sa.Boolean()))
    op.add_column("subscriptions", sa.Column("back_since", UtcDateTime()))
    op.create_index("ix_subscriptions_is_low", "subscriptions", ["is_low"])
