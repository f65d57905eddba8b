"""What a resource kind is: its request, the demands that it makes of the calendar, and four idempotent verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from blazar.domain.demand import Demand, Shortage
from blazar.domain.errors import InvalidInput, NotEnoughResources
from blazar.domain.lease import Lease, Reservation
from blazar.domain.outcome import Outcome
from blazar.domain.resource import Pool, Registration
from blazar.service.context import Caller
from blazar.service.ports import Cloud


@dataclass(frozen=True, slots=True)
class Work:
    """What a verb works on: a reservation of a lease, with the registrations of the resources that it occupies."""

    lease: Lease
    reservation: Reservation
    resources: Mapping[str, Registration]


@dataclass(frozen=True, slots=True)
class Request:
    """A request under way: who asks, and the cloud with the service's own credentials."""

    caller: Caller
    cloud: Cloud

    def own_cloud(self, project_id: str) -> Cloud:
        """The cloud with the caller's rights in the project. Raises InvalidInput where the token is for another one."""
        if self.caller.token is None or self.caller.project_id != project_id:
            raise InvalidInput(f"This needs a token that is scoped to the lease's project {project_id}.")
        return self.cloud.as_user(self.caller.token)


class Kind(Protocol):
    """One resource kind. The verbs may be repeated at any time, and after a crash in the middle of them; each brings the
    cloud to what the reservation's allocations say. They raise CloudUnavailable (retried later) and CloudRefused.

    Implementations derive from this class: what a kind does not need it need not have."""

    resource_type: str
    pool: Pool

    def parse(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Validate a new reservation's parameters: the complete, normalised parameters as JSON values.

        Raises MissingParameter, MalformedParameter, MalformedRequirements, InvalidRange."""
        ...

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The complete parameters after ``changes``. Raises as ``parse`` does, and CantUpdateParameter."""
        ...

    def render(self, reservation: Reservation) -> dict[str, Any]:
        """The fields that this kind adds to a reservation in the answers of API 1.0."""
        ...

    def demand(self, reservation: Reservation) -> Demand:
        """What the calendar is asked for, given the reservation's parameters and what it occupies now."""
        ...

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughResources:
        """What the user is told when the calendar has not enough for the reservation."""
        return NotEnoughResources(noun=shortage.noun, reason=shortage.reason)

    # In the request, while the caller waits

    def complete(self, parameters: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        """The parameters with what the cloud has to say about them: a flavor's size. Called after ``parse`` and
        ``revise``, where they are new or changed, before anything is planned. Raises NotFound, InvalidInput, Conflict."""
        return parameters

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        """What the reservation remembers while ``prepare`` is at work, so that ``deactivate`` finds whatever a crash leaves
        behind; None where nothing has to be prepared. ``old`` is the reservation before an update."""
        return None

    def prepare(self, lease: Lease, reservation: Reservation, request: Request) -> Mapping[str, Any]:
        """Make what the answer must contain or only the caller's own rights can make; what is to be remembered of it."""
        return {}

    def withdraw(self, remembered: Mapping[str, Any], cloud: Cloud) -> None:
        """Remove what ``prepare`` made: the request failed after all, or has replaced it."""

    def acts_for_user(self, reservation: Reservation) -> bool:
        """Whether a verb acts in the user's own name later on, so that the lease needs a trust."""
        return False

    # At events

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        """Make the reserved capacity usable, by those who reserved it and nobody else."""
        ...

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        """What the reservation wants done when its end is near."""
        ...

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Take the capacity back and remove every object made for the reservation."""
        ...
