"""Where messages may be sent that users ask for, and how many subscriptions a project may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blazar.domain.errors import InvalidInput, TooManySubscriptions
from blazar.domain.subscription import Target
from blazar.service.ports import UnitOfWork


@dataclass(frozen=True, slots=True)
class SubscriptionSettings:
    """What users may ask for."""

    most: int = 10
    """Subscriptions of a project."""
    allows_http: bool = False
    require_allowed: Callable[[str], None] = lambda url: None
    """Raises InvalidInput for an address that no message is ever sent to."""

    def require_sendable(self, url: str) -> None:
        """Raises InvalidInput for an address that nothing is ever sent to."""
        if Target.parse(url).scheme != "https" and not self.allows_http:
            raise InvalidInput("The url must begin with https://.")
        self.require_allowed(url)


def require_place(uow: UnitOfWork, project_id: str, most: int) -> None:
    """Raise TooManySubscriptions where the project has as many as it may have. Others of the project wait up
    to the end of this transaction."""
    uow.subscriptions.queue_up(project_id)
    if uow.subscriptions.count(project_id) >= most:
        raise TooManySubscriptions(most=most)
