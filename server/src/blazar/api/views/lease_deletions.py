"""The view of several leases that are deleted by one request."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.domain.lease.lease import Lease


class Outcome(StrEnum):
    """What became of a lease that was to be deleted."""

    FOUND = "found"
    """It would be deleted: the request is a dry run."""
    DELETED = "deleted"
    DELETING = "deleting"
    """It is deleted when the cloud has given back what it had."""
    REFUSED = "refused"


class DeletionView(TypedDict):
    """A lease, and what became of it."""

    id: Annotated[str, Field(description="UUID of the lease.")]
    name: Annotated[str, Field(description="Its user's name for it.")]
    outcome: Annotated[
        str,
        Field(
            description="`deleted`; `deleting`, as long as the cloud gives back what it had; `refused`; "
            "`found` in a dry run."
        ),
    ]
    error_message: NotRequired[Annotated[str, Field(description="Why it was refused.")]]


class DeletionsReply(TypedDict):
    leases: Annotated[list[DeletionView], Field(description="The leases that meet the filters.")]
    marker: Annotated[
        str | None,
        Field(description="Where the next request goes on; null where there are no further leases."),
    ]


def deletion_view(lease: Lease, outcome: Outcome, message: str | None = None) -> DeletionView:
    shown: DeletionView = {"id": lease.id, "name": lease.name, "outcome": outcome.value}
    return shown if message is None else {**shown, "error_message": message}
