"""What users want to be told by mail.

Expands: the version before tells them what the operator has told.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "mail_choices",
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("events", Json()),
        sa.Column("is_daily", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_mail_choices"),
        **options,
    )
