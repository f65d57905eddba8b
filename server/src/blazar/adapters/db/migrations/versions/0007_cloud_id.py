"""Hosts are known by Nova's UUID of their hypervisor, beside the id that clients see.

Expands: the version before leaves the column alone. The hosts that it registers get their cloud_id later.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("resources", sa.Column("cloud_id", sa.String(36)))
    # An index, for SQLite adds no constraint to a table. NULL equals no other NULL.
    op.create_index("ix_resources_pool_cloud_id", "resources", ["pool", "cloud_id"], unique=True)
