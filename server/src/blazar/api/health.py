"""The health check for load balancers and operators, without a token."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.routing import Answer, Request
from blazar.domain.errors import BlazarError, CloudUnavailable, Internal

LOG = logging.getLogger(__name__)
PARTS = {"database": "database", "the message broker": "broker", "blazar-manager": "manager"}
"""The names of the parts in the health check, by the service that an error names."""


@dataclass(frozen=True, slots=True)
class Health:
    """The findings of the composition root. ``details`` is public, so it has no addresses and no secrets."""

    healthy: bool
    details: Mapping[str, Any] = field(default_factory=dict)


class HealthReply(TypedDict):
    """The state of the service."""

    status: Annotated[str, Field(description="`OK` or `UNAVAILABLE`.")]
    details: Annotated[dict[str, Any], Field(description="What was looked at, and how it is.")]


class HealthActions:
    """Answers health checks."""

    def __init__(self, health: Callable[[], Health]) -> None:
        self._health = health

    def check(self, request: Request) -> Answer:
        """Check the health of the service: 200 where it can work, else 503."""
        health = checked(self._health)
        return Answer(200 if health.healthy else 503, health_reply(health))


def checked(health: Callable[[], Health]) -> Health:
    """Return the findings of ``health``; what it cannot reach is named, and makes it unhealthy."""
    try:
        return health()
    except CloudUnavailable as error:
        LOG.warning("The health check failed: %s", error.message)
        part = PARTS.get(str(error.fields.get("service")), "cloud")
        return Health(healthy=False, details={part: "UNAVAILABLE"})
    except BlazarError as error:
        LOG.warning("The health check failed: %s", error.message)
        return Health(healthy=False, details={"reason": error.code})
    except Exception:
        # The edge of a health check: what it cannot find out is not healthy, whatever the reason.
        LOG.exception("The health check failed unexpectedly")
        return Health(healthy=False, details={"reason": Internal.code})


def health_reply(health: Health) -> HealthReply:
    return {"status": "OK" if health.healthy else "UNAVAILABLE", "details": dict(health.details)}
