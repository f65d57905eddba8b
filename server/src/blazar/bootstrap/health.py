"""Whether a program is healthy, by what its use cases tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from blazar.api.health import Health
from blazar.service.interface import HealthInterface


class HasHealth(Protocol):
    """All use cases of a program, or some of them."""

    @property
    def health(self) -> HealthInterface: ...


def health_of(service: HasHealth, **details: str) -> Callable[[], Health]:
    """Return how to check ``service``: it is healthy when its program and the database answer, there is room
    for changes, and each thread of the program works. Late events, and a Keystone that gives no token, are
    reported for the operator to judge: requests are carried out all the same where they need no cloud."""

    def health() -> Health:
        found = service.health.read()
        threads = {thread.name: str(thread.state) for thread in found.threads}
        return Health(
            found.works,
            {
                "database": "OK" if found.takes_changes else "FULL",
                **details,
                **_keystone(found.has_token),
                "event_lag_seconds": found.event_lag_seconds,
                "outbox": found.outbox,
                "subscription_lag_seconds": found.subscription_lag_seconds,
                **({"threads": threads} if threads else {}),  # a manager of the version before sends none
            },
        )

    return health


def _keystone(has_token: bool | None) -> dict[str, str]:
    """Return what is told of Keystone: nothing where the manager has not looked."""
    return {} if has_token is None else {"keystone": "OK" if has_token else "UNAVAILABLE"}
