"""What the leases of a series were asked to be, so that one that was skipped can be made later.

Expands: the version before does not see the column. A series that it makes has none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.add_column("series", sa.Column("request", Json()))
