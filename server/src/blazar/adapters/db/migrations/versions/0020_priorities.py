"""Leases have a priority.

Expands: the version before does not see the column, and what it stores has no priority, which is normal.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("leases", sa.Column("priority", sa.String(16)))
