"""Offers are rows of leases, with a status of their own, which expire by themselves.

Expands: the version before counts what such a lease has, shows it as UNKNOWN, and leaves it alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import UtcDateTime

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("leases", sa.Column("expires_at", UtcDateTime()))
    op.create_index("ix_leases_expires_at", "leases", ["expires_at"])
