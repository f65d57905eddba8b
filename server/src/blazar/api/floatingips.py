"""Floating IPs over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.floatingips import FloatingIPCreate
from blazar.api.views import floatingips as views
from blazar.policies import floatingips as rules
from blazar.service.interface import FloatingIPsInterface


class FloatingIPActions:
    """What can be done with the floating IPs in our care."""

    def __init__(self, floatingips: FloatingIPsInterface, authorizer: Authorizer) -> None:
        self._floatingips = floatingips
        self._authorizer = authorizer

    def list(self, request: Request) -> views.FloatingIPsReply:
        """List the registered floating IPs."""
        self._authorizer.require(rules.GET, request.caller)
        return views.floatingips_reply(self._floatingips.list(request.caller))

    def create(self, request: Request) -> views.FloatingIPReply:
        """Register an address of an external network that Neutron does not give out itself."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(FloatingIPCreate, request.body).command()
        return views.made_reply(self._floatingips.register(command, request.caller))

    def show(self, request: Request) -> views.FloatingIPReply:
        """Show a floating IP."""
        self._authorizer.require(rules.GET, request.caller)
        return views.floatingip_reply(self._floatingips.get(request.id("floatingip_id"), request.caller))

    def delete(self, request: Request) -> None:
        """Forget a floating IP without reservations."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._floatingips.unregister(request.id("floatingip_id"), request.caller)
