"""What a project's quotas count is read from an index, and not from the leases.

The index begins as the one whose place it takes, so that the version before reads it in the same way.
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    columns = ["project_id", "end_date", "start_date", "status", "expires_at"]
    op.create_index(f"ix_leases_{'_'.join(columns)}", "leases", columns)
    op.drop_index("ix_leases_project_id_end_date_status", "leases")
