"""The kind ``flavor:instance``: capacity for instances of a flavor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind
from blazarclient.kinds.compute_fields import AFFINITY, AMOUNT, BEFORE_END, INSTANCE_ANSWER_KEYS
from blazarclient.kinds.fields import RequirementField, TextField

if TYPE_CHECKING:
    from openstack.connection import Connection

_NO_FLAVOR = re.compile(r"Flavor .* could not be found")


class FlavorKind(Kind):
    """Instances of a flavor."""

    resource_type = "flavor:instance"
    help = "capacity for instances of a flavor"
    position = 30
    fields = (
        TextField(name="flavor_id", help="id or name of the flavor", required=True),
        AMOUNT,
        AFFINITY,
        RequirementField(name="resource_properties", help="as for virtual:instance"),
        BEFORE_END,
    )
    answer_keys = INSTANCE_ANSWER_KEYS

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        name = str(reservation.get("flavor_id"))
        return name if f"Flavor {name} could not be found" in str(error) else None

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        found = cloud.compute.find_flavor(reservation["flavor_id"], ignore_missing=True)
        return {**reservation, "flavor_id": found.id} if found else dict(reservation)

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and _NO_FLAVOR.search(str(error)):
            return "See the flavors with `openstack flavor list`."
        return ""
