"""Whether Keystone knows the service: without hosts and leases, nothing else asks Keystone for days."""

from __future__ import annotations

import logging

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.engine.background import Background
from blazar.service.ports import Cloud

LOG = logging.getLogger(__name__)
LOOK = 60.0
"""Seconds between two looks. The token is kept, so that a look costs a request only where it has expired."""
AGAIN = 15.0
"""Seconds until the next look where there is no token."""
PATIENCE = 20.0
"""Seconds that Keystone may take for each request: both of them together are less than the silence of a dead
thread."""


class Authenticating(Background):
    """Gets the service's own token at the start, keeps it, and logs once where there is none."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__("keystone")
        self._identity = cloud.for_request(lambda: PATIENCE).identity
        self._has_token: bool | None = None

    @property
    def has_token(self) -> bool | None:
        """Return whether Keystone has given a token when it was asked last; None before that."""
        return self._has_token

    def round(self) -> float:
        """Look for a token. Return the seconds to wait until the next round."""
        before = self._has_token
        try:
            self._identity.own_token()
        except (CloudUnavailable, CloudRefused) as failure:
            if before is not False:  # the words differ each time, for they have the id of the request
                LOG.error(
                    "Nothing can be done in the cloud with the credentials in [cloud]: %s",
                    failure,
                    extra={"action": "authenticate"},
                )
            self._has_token = False
            return AGAIN
        if before is False:
            LOG.info("Keystone gives tokens again", extra={"action": "authenticate"})
        self._has_token = True
        return LOOK
