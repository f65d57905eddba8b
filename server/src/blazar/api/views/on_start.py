"""The view of what is started with a lease."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp
from blazar.domain.lease.start_task import StartTask, StartTaskStatus, StartTaskType


class OnStartView(TypedDict):
    """What is started with a lease. In lists it has its type only, and where managers do not tell more."""

    type: Annotated[str, Field(description="`stack` or `webhook`.")]
    status: NotRequired[
        Annotated[
            str,
            Field(
                description="`PENDING`, `CREATING`, `CREATED`, `FAILED`, `DELETING`, `DELETED` or `LEFT`, "
                "which is a stack that Heat did not delete in time. Of a webhook, `PENDING` or `DELETED`."
            ),
        ]
    ]
    reason: NotRequired[
        Annotated[str | None, Field(description="Why it is so, in the words of Heat, or of the receiver.")]
    ]
    stack_id: NotRequired[Annotated[str | None, Field(description="Heat's id of the stack.")]]
    stack_name: NotRequired[Annotated[str, Field(description="Its name in Heat.")]]
    region: NotRequired[
        Annotated[str | None, Field(description="Where the stack is; null is the first region.")]
    ]
    url: NotRequired[Annotated[str | None, Field(description="Where messages are sent.")]]
    subscription_id: NotRequired[
        Annotated[str | None, Field(description="UUID of the subscription that the webhook is.")]
    ]
    secret: NotRequired[
        Annotated[
            str,
            Field(
                description="The secret with which messages are signed, in the answer that makes the lease "
                "only."
            ),
        ]
    ]
    updated_at: NotRequired[
        Annotated[str | None, Field(description="When something became of it last, in UTC.")]
    ]


def on_start_view(task: StartTask, secret: str | None = None) -> OnStartView:
    """Return what is started with a lease, with the secret of a webhook where it is told."""
    shown: OnStartView = {"type": task.type.value, "status": task.status.value, "reason": task.reason}
    if task.type is StartTaskType.WEBHOOK:
        is_there = task.status is not StartTaskStatus.DELETED
        shown["url"] = task.url
        shown["subscription_id"] = task.subscription_id if is_there else None
        if secret is not None:
            shown["secret"] = secret
    else:
        shown["stack_id"] = task.stack_id
        shown["stack_name"] = task.stack_name
        shown["region"] = task.region
    shown["updated_at"] = stamp(task.updated_at)
    return shown
