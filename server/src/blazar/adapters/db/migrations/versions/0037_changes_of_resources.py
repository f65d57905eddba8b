"""Beside the generation of a resource stands which leases have raised it lately.

Expands: the version before raises generations without telling, and reads all that is on a resource.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.add_column("resources", sa.Column("changes", sa.String(1000)))
