"""Streams: subscriptions whose messages are kept for clients that ask, and are sent nowhere.

Expands: the version before cannot send the messages of a stream, whose url is empty. It leaves them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("forgotten", sa.BigInteger()))
    op.create_index("ix_webhook_messages_created_at", "webhook_messages", ["created_at"])
