"""Notifications that a relay is delivering are held, so that no other relay delivers them too.

Expands: the version before leaves the column alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("held_until", UtcDateTime()))
