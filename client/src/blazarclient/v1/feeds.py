"""The calls of the v1 client for calendar feeds."""

from __future__ import annotations

from typing import Any

from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows
from blazarclient.v1.paging import Listed

MICROVERSION = "1.17"
"""The version of the API that brought these calls."""


class Feeds:
    """Calendars of leases, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def create(
        self,
        scope: str = "project",
        *,
        name: str | None = None,
        project_id: str | None = None,
        user_id: str | None = None,
        lease_id: str | None = None,
    ) -> dict[str, Any]:
        """Make a calendar feed of the leases of a project, of a user in it, or of one lease: `scope` is
        `project`, `user` or `lease`. The project and the user are the caller's where none is named.

        The answer has the `url`, which calendar programs read without a token. It is not shown again."""
        named = {"name": name, "project_id": project_id, "user_id": user_id, "lease_id": lease_id}
        body = {"scope": scope, **{key: value for key, value in named.items() if value is not None}}
        _, answer = self.request_manager.request("/feeds", "POST", body=body, version=MICROVERSION)
        made: dict[str, Any] = answer["feed"]
        return made

    def list(
        self, sort_by: str | None = None, *, project_id: str | None = None, user_id: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the feeds that the caller has made with the project; administrators get those of all, or of
        the project and the user that they name."""
        named = {"project_id": project_id, "user_id": user_id}
        query = {key: value for key, value in named.items() if value is not None}
        rows = Listed(self.request_manager, "/feeds", "feeds", query, version=MICROVERSION).rows()
        return sort_rows(list(rows), sort_by)

    def delete(self, feed_id: str) -> None:
        """Delete a feed. Its address is none from then on."""
        self.request_manager.request(f"/feeds/{feed_id}", "DELETE", version=MICROVERSION)
