"""The view of a share of a lease in answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.microversion import Version
from blazar.api.views.dates import stamp
from blazar.domain.lease.share import LeaseShare, ShareRight

USE: Version = (1, 36)
"""The version that brought the right to use a lease."""
TAKE_OVER: Version = (1, 38)
"""The version that brought the right to take one over."""


class ShareView(TypedDict):
    """What another project may do with a lease."""

    lease_id: Annotated[str, Field(description="UUID of the lease.")]
    project_id: Annotated[str, Field(description="The project that it is shared with.")]
    right: Annotated[
        ShareRight,
        Field(
            description="What that project may do. Before 1.36, `use` is told as `read`, and "
            "`use_and_change` as `change`; before 1.38, `take_over` is told as `read`."
        ),
    ]
    user_id: Annotated[str, Field(description="Who has shared it, or has changed the right last.")]
    created_at: Annotated[str | None, Field(description="Since when it is shared, in UTC.")]
    updated_at: Annotated[str | None, Field(description="When the right was changed, in UTC; null if never.")]


class ShareReply(TypedDict):
    share: Annotated[ShareView, Field(description="The share.")]


class SharesReply(TypedDict):
    shares: Annotated[list[ShareView], Field(description="The shares of the lease, by project.")]


def share_reply(share: LeaseShare, version: Version) -> ShareReply:
    return {"share": _view(share, version)}


def shares_reply(shares: Iterable[LeaseShare], version: Version) -> SharesReply:
    return {"shares": [_view(each, version) for each in shares]}


def told_right(right: ShareRight, version: Version) -> ShareRight:
    """Return the right as clients of this version know it."""
    if version >= TAKE_OVER:
        return right
    return right.without_take_over if version >= USE else right.without_use


def _view(share: LeaseShare, version: Version) -> ShareView:
    return {
        "lease_id": share.lease_id,
        "project_id": share.project_id,
        "right": told_right(share.right, version),
        "user_id": share.user_id,
        "created_at": stamp(share.created_at),
        "updated_at": stamp(share.updated_at),
    }
