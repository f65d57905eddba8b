"""What a clock that was ahead has put off is found in an index, and not in the events.

The index begins as the one whose place it takes, so that the version before reads it in the same way.
"""

from __future__ import annotations

from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    columns = ["status", "due", "event_type", "time", "id"]
    op.create_index(f"ix_events_{'_'.join(columns)}", "events", columns)
    op.drop_index("ix_events_status_due", "events")
