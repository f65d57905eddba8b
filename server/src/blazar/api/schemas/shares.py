"""The body of a request about a share of a lease."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from blazar.api.schemas.fields import Body, sentence
from blazar.domain.lease.share import ShareRight


def _right(value: object) -> ShareRight:
    if not isinstance(value, str) or value not in set(ShareRight):
        raise sentence(f"The right is one of {', '.join(ShareRight)}.")
    return ShareRight(value)


class ShareUpdate(Body):
    """What the other project may do with the lease. Unknown keys are ignored."""

    right: Annotated[
        ShareRight,
        BeforeValidator(_right),
        WithJsonSchema(
            {
                "type": "string",
                "enum": list(ShareRight),
                "description": "`read` to see the lease, `change` to change its name and its dates besides.",
            }
        ),
    ]
