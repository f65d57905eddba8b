"""The number by which managers see that other projects may use a lease, or no longer.

Expands: the version before leaves the column as it is. It takes a right that it does not know for the one to
read, and gives no project access in the cloud.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.add_column("leases", sa.Column("access_revision", sa.Integer()))
