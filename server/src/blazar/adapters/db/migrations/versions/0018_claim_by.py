"""Leases may have to be used by some time after their start.

Expands: the version before neither sees the column nor the events by which such leases are looked at.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("leases", sa.Column("claim_by", Json()))
