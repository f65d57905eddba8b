"""What a reservation has given up is remembered until it has nothing there any more.

Expands: the version before leaves the table alone. What it changes of a lease gives up nothing that others
wait for, and what it leaves in the table is removed when this version compares the lease with the cloud.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.tables import MYSQL_OPTIONS
from blazar.adapters.db.types import Json, UtcDateTime

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    options: dict[str, Any] = {**MYSQL_OPTIONS}
    op.create_table(
        "surplus",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("resource_id", sa.String(36), nullable=False),
        sa.Column("start_date", UtcDateTime(), nullable=False),
        sa.Column("end_date", UtcDateTime(), nullable=False),
        sa.Column("claim", Json()),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_surplus"),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name="fk_surplus_lease_id_leases", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["reservation_id"],
            ["reservations.id"],
            name="fk_surplus_reservation_id_reservations",
            ondelete="CASCADE",
        ),
        **options,
    )
    op.create_index("ix_surplus_lease_id", "surplus", ["lease_id"])
    op.create_index("ix_surplus_reservation_id", "surplus", ["reservation_id"])
    op.create_index("ix_surplus_resource_id", "surplus", ["resource_id"])
