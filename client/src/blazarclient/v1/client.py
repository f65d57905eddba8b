"""The client for version 1 of the API."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from keystoneauth1.session import Session

from blazarclient.kinds.registry import installed_kinds
from blazarclient.kinds.reservations import needed_version
from blazarclient.transport import SessionTransport, TokenTransport, Transport
from blazarclient.v1.allocations import Allocations
from blazarclient.v1.availability import AvailabilityManager
from blazarclient.v1.capacity import Capacity
from blazarclient.v1.feeds import Feeds
from blazarclient.v1.leases import Leases
from blazarclient.v1.mail import Mail
from blazarclient.v1.maintenances import Maintenances
from blazarclient.v1.offers import Offers
from blazarclient.v1.quotas import Quotas
from blazarclient.v1.series import SeriesManager
from blazarclient.v1.services import Services
from blazarclient.v1.subscriptions import Subscriptions
from blazarclient.v1.usage import Usage
from blazarclient.v1.waitlist import Waitlist

if TYPE_CHECKING:
    from openstack.connection import Connection

_LOG = logging.getLogger(__name__)


class Client:
    """The calls of the API, in groups: `lease`, `allocation`, `capacity`, `availability`, `offer`,
    `waitlist`, `maintenance`, `subscription`, `series`, `feed`, `mail`, `quota`, `service`, `usage`, and
    those of the installed kinds.

    The client takes a keystoneauth `session`; further arguments (`interface`, `region_name`,
    `endpoint_override`, ...) choose the endpoint. The deprecated arguments `blazar_url` and `auth_token`
    still work and log a warning. Raises InsufficientAuthInformation if both ways are missing.
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
        places = {name: kwargs.get(name) for name in ("region_name", "interface")}
        self._place = {name: place for name, place in places.items() if place}
        transport = self._transport(**kwargs)
        transport.needed_version = needed_version
        for kind in installed_kinds():
            for name, manager in kind.managers(transport).items():
                setattr(self, name, manager)
        self.lease = Leases(transport)
        self.allocation = Allocations(transport)
        self.capacity = Capacity(transport)
        self.quota = Quotas(transport)
        self.availability = AvailabilityManager(transport)
        self.offer = Offers(transport)
        self.waitlist = Waitlist(transport)
        self.maintenance = Maintenances(transport)
        self.subscription = Subscriptions(transport)
        self.series = SeriesManager(transport)
        self.feed = Feeds(transport)
        self.mail = Mail(transport)
        self.service = Services(transport)
        self.usage = Usage(transport)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the calls of an installed kind, for example `host`."""

    def cloud(self) -> Connection | None:
        """Return the other services of the cloud, asked by the same caller; None without a session."""
        if self.session is None:
            return None
        from openstack.connection import Connection  # it takes long to load

        return Connection(session=self.session, **self._place)

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
