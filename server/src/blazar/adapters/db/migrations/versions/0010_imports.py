"""What was taken from another database is recorded, so that nothing is taken twice.

Expands: the version before leaves the table alone.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "imports",
        sa.Column("noun", sa.String(16), nullable=False),
        sa.Column("source_id", sa.String(36), nullable=False),
        sa.Column("target_id", sa.String(36), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("noun", "source_id", name="pk_imports"),
        **options,
    )
