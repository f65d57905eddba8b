"""Indexes for lists that are read page by page, and for finding what was over long ago.

Expands: the version before uses the same tables.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_index("ix_leases_created_at_id", "leases", ["created_at", "id"])
    op.create_index("ix_leases_project_id_created_at_id", "leases", ["project_id", "created_at", "id"])
    op.drop_index("ix_leases_project_id_created_at", "leases")  # begins as the new one
    op.create_index("ix_leases_status_end_date", "leases", ["status", "end_date"])
