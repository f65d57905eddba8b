"""What can a program ask of the reservation service, version 1?"""

from __future__ import annotations

import logging
from typing import Any

from keystoneauth1.session import Session

from blazarclient.v1.allocations import Allocations
from blazarclient.v1.floatingips import FloatingIPs
from blazarclient.v1.hosts import Hosts
from blazarclient.v1.leases import Leases
from blazarclient.v1.transport import SessionTransport, TokenTransport, Transport

_LOG = logging.getLogger(__name__)


class Client:
    """Leases, hosts, floating IPs and allocations, each under its attribute.

    Give it a keystoneauth `session`; further arguments (`interface`, `region_name`, `endpoint_override`, ...) choose
    the endpoint. The older way, `blazar_url` with `auth_token`, still works and logs a warning.
    Raises InsufficientAuthInformation when neither is given.
    """

    def __init__(
        self,
        blazar_url: str | None = None,
        auth_token: str | None = None,
        session: Session | None = None,
        **kwargs: Any,
    ) -> None:
        self.blazar_url = blazar_url
        self.auth_token = auth_token
        self.session = session
        transport = self._transport(**kwargs)
        self.lease = Leases(transport)
        self.host = Hosts(transport)
        self.floatingip = FloatingIPs(transport)
        self.allocation = Allocations(transport)

    def _transport(self, **kwargs: Any) -> Transport:
        if self.session is not None:
            kwargs.setdefault("service_type", "reservation")
            kwargs.setdefault("version", "1")
            return SessionTransport(self.session, **kwargs)
        _LOG.warning(
            "Use a keystoneauth session object for the authentication. "
            "The authentication with blazar_url and auth_token is deprecated."
        )
        return TokenTransport(self.blazar_url, self.auth_token)
