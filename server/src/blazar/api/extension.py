"""The additions of a kind to the REST API: routes and policies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from oslo_policy import policy

from blazar.api.authorization import Authorizer
from blazar.api.routing import Route
from blazar.service.interface import Service
from blazar.service.ports.kind import Extension


class ApiExtension(Extension):
    """Use cases that are reached over HTTP."""

    policies: ClassVar[Sequence[policy.RuleDefault]] = ()
    """The default rules of the routes."""

    @abstractmethod
    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        """Return the rows of the route table that ``service`` answers."""
