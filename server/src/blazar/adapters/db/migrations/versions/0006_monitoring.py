"""Resources remember that they have failed, and managers share work that one of them does at a time.

Expands: the version before leaves the columns and the table alone. It takes a failed host for a reservable
one until it is upgraded.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import UtcDateTime

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.add_column("resources", sa.Column("failure_reason", sa.String(32)))
    op.add_column("resources", sa.Column("failed_at", UtcDateTime()))
    op.add_column("resources", sa.Column("back_at", UtcDateTime()))
    op.create_index("ix_resources_pool_failed_at", "resources", ["pool", "failed_at"])
    op.create_index("ix_leases_degraded_status", "leases", ["degraded", "status"])
    op.create_table(
        "duties",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("token", sa.String(64)),
        sa.Column("held_until", UtcDateTime()),
        sa.Column("done_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("name", name="pk_duties"),
        **options,
    )
