"""Active leases remember when they were last compared with the cloud, so that managers share that work.

Expands: the version before leaves the column alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import UtcDateTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("leases", sa.Column("reconciled_at", UtcDateTime()))
    op.create_index("ix_leases_status_reconciled_at", "leases", ["status", "reconciled_at"])
