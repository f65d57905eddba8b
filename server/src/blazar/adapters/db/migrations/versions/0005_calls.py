"""Calls that were begun are remembered for a while, so that none is carried out twice.

Expands: the version before leaves the table alone.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import UtcDateTime

revision = "0005"
down_revision = "0004"

MYSQL_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}


def upgrade() -> None:
    op.create_table(
        "calls",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("begun_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_calls"),
        **MYSQL_OPTIONS,
    )
    op.create_index("ix_calls_begun_at", "calls", ["begun_at"])
