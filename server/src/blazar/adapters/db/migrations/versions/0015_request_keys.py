"""Leases are created once for each key that a client gives to its request.

Expands: the version before leaves the table alone, and what it removes takes the key with it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

MYSQL_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}


def upgrade() -> None:
    op.create_table(
        "request_keys",
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "name", name="pk_request_keys"),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name="fk_request_keys_lease_id", ondelete="CASCADE"
        ),
        **MYSQL_OPTIONS,
    )
    op.create_index("ix_request_keys_lease_id", "request_keys", ["lease_id"])
