"""Indexes by which the leases of a series are found, and series by their names."""

from __future__ import annotations

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_index("ix_leases_series_id", "leases", ["series_id"])
    op.create_index("ix_series_name_project_id_id", "series", ["name", "project_id", "id"])
