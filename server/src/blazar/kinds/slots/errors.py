"""The errors about the flavor of a reservation."""

from __future__ import annotations

from blazar.domain.errors import NotFound


class FlavorNotFound(NotFound):
    code = "flavor_not_found"
    template = "Flavor {flavor} could not be found."
