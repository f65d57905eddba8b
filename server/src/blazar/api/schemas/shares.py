"""The body of a request about a share of a lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from blazar.api.microversion import Version
from blazar.api.schemas.fields import Body, sentence
from blazar.domain.lease.share import ShareRight

EARLIER = (ShareRight.READ, ShareRight.CHANGE)
"""The rights that there were before version 1.36."""
WITH_USE = tuple(each for each in ShareRight if each is not ShareRight.TAKE_OVER)
"""Those before 1.38."""


def _earlier_right(value: object) -> ShareRight:
    return _one_of(EARLIER, value)


def _right(value: object) -> ShareRight:
    return _one_of(WITH_USE, value)


def _any_right(value: object) -> ShareRight:
    return _one_of(tuple(ShareRight), value)


def _one_of(rights: tuple[ShareRight, ...], value: object) -> ShareRight:
    if not isinstance(value, str) or value not in set(rights):
        raise sentence(f"The right is one of {', '.join(rights)}.")
    return ShareRight(value)


class ShareUpdate(Body):
    """What the other project may do with the lease. Unknown keys are ignored."""

    right: Annotated[
        ShareRight,
        BeforeValidator(_earlier_right),
        WithJsonSchema(
            {
                "type": "string",
                "enum": list(EARLIER),
                "description": "`read` to see the lease, `change` to change its name and its dates besides.",
            }
        ),
    ]


class ShareUpdateUse(ShareUpdate):
    """What the other project may do with the lease, since version 1.36: use it, too. Unknown keys are
    ignored."""

    right: Annotated[
        ShareRight,
        BeforeValidator(_right),
        WithJsonSchema(
            {
                "type": "string",
                "enum": list(WITH_USE),
                "description": "`read` to see the lease; `use` to put servers onto what it reserves besides, "
                "`change` to change its name and its dates besides, `use_and_change` for both.",
            }
        ),
    ]


class ShareUpdateTakeOver(ShareUpdate):
    """What the other project may do with the lease, since version 1.38: take it over, too. Unknown keys are
    ignored."""

    right: Annotated[
        ShareRight,
        BeforeValidator(_any_right),
        WithJsonSchema(
            {
                "type": "string",
                "enum": list(ShareRight),
                "description": "`read` to see the lease; `use` to put servers onto what it reserves besides, "
                "`change` to change its name and its dates besides, `use_and_change` for both; `take_over` "
                "to see it and to make it one's own before it starts.",
            }
        ),
    ]


BODIES: Mapping[Version, type[ShareUpdate]] = {
    (1, 34): ShareUpdate,
    (1, 36): ShareUpdateUse,
    (1, 38): ShareUpdateTakeOver,
}
"""The bodies, by the version that brought them."""
