"""The view of the programs of the service in answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.service.services import ServiceState


class ServiceView(TypedDict):
    """A program of the service. What the program does not tell is null."""

    id: Annotated[str, Field(description="UUID, a new one at each start of the program.")]
    binary: Annotated[str, Field(description="The program: `blazar-manager` or `blazar-webhooks`.")]
    host: Annotated[str, Field(description="The name of the machine or the container that it runs on.")]
    state: Annotated[str, Field(description="`up`, or `down` where it was not seen for a minute.")]
    version: Annotated[str | None, Field(description="Its version.")]
    events: Annotated[int | None, Field(description="Events that it works on.")]
    plans: Annotated[int | None, Field(description="Requests that wait there for their turn to be planned.")]
    late_seconds: Annotated[
        float | None, Field(description="By how much it was late with an event in the last minute, at most.")
    ]
    started_at: Annotated[str, Field(description="When it started, in UTC: `2050-01-01T10:00:00.000000`.")]
    seen_at: Annotated[str, Field(description="When it was last seen, in UTC: `2050-01-01T10:00:00.000000`.")]


class ServicesReply(TypedDict):
    services: Annotated[list[ServiceView], Field(description="The programs by name and host.")]


def service_view(found: ServiceState) -> ServiceView:
    presence = found.presence
    return {
        "id": presence.id,
        "binary": presence.program,
        "host": presence.host,
        "state": "up" if found.is_up else "down",
        "version": presence.version,
        "events": presence.events,
        "plans": presence.plans,
        "late_seconds": presence.late_seconds,
        "started_at": wire_date(presence.started_at),
        "seen_at": wire_date(presence.seen_at),
    }
