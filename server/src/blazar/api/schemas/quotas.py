"""The bodies of requests about quotas."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictInt

from blazar.api.schemas.fields import Body
from blazar.domain.quota import UNLIMITED

MOST = 2**53
MAX_LIMITS = 200
Name = Annotated[str, Field(min_length=1, max_length=64)]
Limit = Annotated[StrictInt, Field(ge=UNLIMITED, le=MOST)]


class QuotaUpdate(Body):
    """Limits to give to a project; those that are not sent stay."""

    limits: Annotated[
        dict[Name, Limit | None],
        Field(
            max_length=MAX_LIMITS,
            description="Numbers by the limits' names: -1 for no limit, null for that of all projects.",
            examples=[{"hosts": 10, "leases": None}],
        ),
    ]
