"""The errors about ports and their reservations."""

from __future__ import annotations

from blazar.domain.errors import Conflict, NotEnoughResources, NotFound


class PortPoolNotFound(NotFound):
    code = "port_pool_not_found"
    template = "No ports can be reserved: their number was not set."


class PortPoolReserved(Conflict):
    """What is promised stays."""

    code = "port_pool_reserved"
    template = "The number of ports cannot be {change}. Promised at once: {promised}."


class NotEnoughPorts(NotEnoughResources):
    """Fewer ports are free in the window than were asked for."""

    code = "not_enough_ports"
