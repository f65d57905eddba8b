"""The region that a reservation lies in.

Expands: the version before takes all reservations for those of the first region, so no other region is
named before it is gone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("reservations", sa.Column("region", sa.String(255)))
