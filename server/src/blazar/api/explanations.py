"""What a refusal tells beside its reasons: what could be had instead, and which leases stand in the way.

One for a shortage does since version 1.6, one by a quota since 1.15."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from blazar.api.authorization import Authorizer
from blazar.api.errors import EXPLANATION
from blazar.api.microversion import Version
from blazar.api.routing import Request
from blazar.api.views.explanations import NOT_EXPLAINED, NOTHING_FOUND, explanation_view
from blazar.domain.errors import BlazarError, NotAuthorized, NotEnoughResources
from blazar.policies import leases as rules
from blazar.service.context import Caller
from blazar.service.explanations import Explanation, LeaseOwner
from blazar.service.interface import ExplanationsInterface, Service

LOG = logging.getLogger(__name__)
SINCE: Version = (1, 6)
OF_QUOTAS_SINCE: Version = (1, 15)

Explain = Callable[[ExplanationsInterface], Explanation]


class Explanations:
    """Explains refusals. ``tells_shortages``: callers who are not administrators may know how much is
    free."""

    def __init__(self, service: Service, authorizer: Authorizer, tells_shortages: bool) -> None:
        self._service = service
        self._authorizer = authorizer
        self._tells_shortages = tells_shortages

    @contextmanager
    def explained(self, request: Request, explain: Explain, is_update: bool = False) -> Iterator[None]:
        """Carry out a request inside the block. Where it is refused for a shortage, or by a quota, put what
        ``explain`` returns into the answer; a refusal that cannot be explained now is told without."""
        try:
            yield
        except (NotEnoughResources, NotAuthorized) as refusal:
            if is_explained(refusal, request.version) and self.are_told(request.caller):
                found = self._found(request, explain)
                view = explanation_view(found, self._may_see(request), is_update)
                request.environ[EXPLANATION] = view
            raise

    def are_told(self, caller: Caller) -> bool:
        """Return whether the caller may know of leases that it may not see when and how much they have."""
        return self._tells_shortages or caller.is_admin

    def _found(self, request: Request, explain: Explain) -> Explanation:
        try:
            return explain(self._service.called_by(request.caller).noun("explanations"))
        except NotEnoughResources:
            # Of a private property, which is told as one that no resource has: nothing could be had.
            return NOTHING_FOUND
        except BlazarError as failure:
            LOG.info("A refusal is told without suggestions: %s", failure.message)
            return NOT_EXPLAINED

    def _may_see(self, request: Request) -> Callable[[LeaseOwner], bool]:
        def may_see(owner: LeaseOwner) -> bool:
            return self._authorizer.allows(
                rules.GET_BLOCKING, request.caller, owner.project_id, owner.user_id
            )

        return may_see


def is_explained(refusal: BlazarError, version: Version) -> bool:
    """Return whether a refusal is explained in this version. What comes from a manager is a QuotaExceeded by
    its fields."""
    if isinstance(refusal, NotEnoughResources):
        return version >= SINCE
    return version >= OF_QUOTAS_SINCE and refusal.fields.get("limit_name") is not None
