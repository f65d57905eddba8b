"""The first schema: leases and what belongs to them, resources, their properties, and the outbox."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from blazar.adapters.db.types import Json, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MYSQL_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("start_date", UtcDateTime(), nullable=False),
        sa.Column("end_date", UtcDateTime(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", sa.Text()),
        sa.Column("degraded", sa.Boolean(), nullable=False),
        sa.Column("trust_id", sa.String(length=64)),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("claimed_event_id", sa.String(length=36)),
        sa.Column("claim_token", sa.String(length=64)),
        sa.Column("claimed_until", UtcDateTime()),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_leases_claimed_until"), "leases", ["claimed_until"])
    op.create_index(op.f("ix_leases_project_id_created_at"), "leases", ["project_id", "created_at"])
    op.create_index(op.f("ix_leases_status"), "leases", ["status"])

    op.create_table(
        "outbox",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("event_type", sa.String(length=255), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sqlite_autoincrement=True,
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "resource_properties",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("resource_type", sa.String(length=66), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource_properties")),
        sa.UniqueConstraint("resource_type", "name", name=op.f("uq_resource_properties_resource_type_name")),
        **MYSQL_OPTIONS,
    )
    op.create_table(
        "resources",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("pool", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("facts", Json(), nullable=False),
        sa.Column("capabilities", Json(), nullable=False),
        sa.Column("traits", Json(), nullable=False),
        sa.Column("inventory", Json(), nullable=False),
        sa.Column("reservable", sa.Boolean(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("touched_at", UtcDateTime(), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resources")),
        sa.UniqueConstraint("pool", "name", name=op.f("uq_resources_pool_name")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_resources_pool_touched_at"), "resources", ["pool", "touched_at"])

    op.create_table(
        "events",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("event_type", sa.String(length=66), nullable=False),
        sa.Column("time", UtcDateTime(), nullable=False),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name=op.f("fk_events_lease_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_events_lease_id"), "events", ["lease_id"])
    op.create_index(op.f("ix_events_status_due"), "events", ["status", "due"])

    op.create_table(
        "reservations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("resource_type", sa.String(length=66), nullable=False),
        sa.Column("parameters", Json(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", sa.Text()),
        sa.Column("missing_resources", sa.Boolean(), nullable=False),
        sa.Column("resources_changed", sa.Boolean(), nullable=False),
        sa.Column("cloud", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.Column("updated_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name=op.f("fk_reservations_lease_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_reservations_lease_id"), "reservations", ["lease_id"])

    op.create_table(
        "allocations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("reservation_id", sa.String(length=36), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("start_date", UtcDateTime(), nullable=False),
        sa.Column("end_date", UtcDateTime(), nullable=False),
        sa.Column("claim", Json()),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("bound", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["leases.id"], name=op.f("fk_allocations_lease_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["reservation_id"],
            ["reservations.id"],
            name=op.f("fk_allocations_reservation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allocations")),
        **MYSQL_OPTIONS,
    )
    op.create_index(op.f("ix_allocations_lease_id"), "allocations", ["lease_id"])
    op.create_index(op.f("ix_allocations_reservation_id"), "allocations", ["reservation_id"])
    op.create_index(op.f("ix_allocations_resource_id_end_date"), "allocations", ["resource_id", "end_date"])
