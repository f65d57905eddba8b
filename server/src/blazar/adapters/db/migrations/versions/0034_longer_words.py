"""Messages to subscribers whose words are longer than 16 characters.

Expands: the version before stores shorter words.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        return  # it keeps texts of any length
    op.alter_column(
        "webhook_messages",
        "event",
        type_=sa.String(32),
        existing_type=sa.String(16),
        existing_nullable=False,
    )
