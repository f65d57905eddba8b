"""What of the quantities of a reservation, such as the gigabytes of volumes, is used.

Expands: the version before leaves the column as it is.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.add_column("utilizations", sa.Column("quantities_now", Json()))
