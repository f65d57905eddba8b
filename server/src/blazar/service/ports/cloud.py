"""The port of the use cases to OpenStack: the facets of one cloud."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from blazar.service.ports.compute import Compute
from blazar.service.ports.identity import Identity
from blazar.service.ports.images import Images
from blazar.service.ports.network import Network
from blazar.service.ports.orchestration import Orchestration
from blazar.service.ports.placement import Placement
from blazar.service.ports.storage import Storage


class Cloud(Protocol):
    """The facets of one OpenStack cloud, on kept sessions; with the service's own credentials unless said
    otherwise."""

    @property
    def compute(self) -> Compute: ...
    @property
    def placement(self) -> Placement: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def network(self) -> Network: ...
    @property
    def images(self) -> Images: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def orchestration(self) -> Orchestration: ...

    @property
    def regions(self) -> Sequence[str]:
        """Return the names of its regions, the first one first; none where there is but one, without a
        name."""
        ...

    def in_region(self, region: str | None) -> Cloud:
        """Return the same cloud with the services of another region; None is the first one. Raises
        CloudUnavailable for a region that the operator does not name."""
        ...

    def as_user(self, token: str) -> Cloud:
        """Return the same cloud with the rights of a user's token. What these rights don't allow is
        CloudRefused."""
        ...

    def as_trustee(self, trust_id: str) -> Cloud:
        """Return the same cloud, acting as the user who made the trust. A trust that is no longer valid is
        CloudRefused at the first request."""
        ...

    def fenced(self, check: Callable[[], None]) -> Cloud:
        """Return the same cloud, where ``check`` is called before each request and may raise to prevent it: a
        manager that was asleep for longer than its claim must not act on it."""
        ...

    def for_request(self, seconds_left: Callable[[], float]) -> Cloud:
        """Return the same cloud, for a request whose caller waits for ``seconds_left``, which is asked at
        each call.

        No call takes longer, and all requests share a bounded number of calls to each service.
        Raises TooLate where no time is left, CloudUnavailable if the service does not answer in time or too
        many calls wait for it."""
        ...
