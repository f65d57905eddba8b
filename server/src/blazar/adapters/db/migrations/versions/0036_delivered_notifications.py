"""Notifications that were delivered may wait to be compared with the subscriptions by another program.

Expands: the version before delivers them once more, and compares them itself.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("delivered", sa.Boolean()))
    op.create_index("ix_outbox_delivered_id", "outbox", ["delivered", "id"])
