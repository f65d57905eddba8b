"""Leases may wait in line, with a status of their own and what they need to be planned again.

Expands: the version before shows such a lease as UNKNOWN, and leaves it alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("leases", sa.Column("waiting", Json()))
