"""The kind ``virtual:instance``: capacity for instances of a given size."""

from __future__ import annotations

from blazarclient.kinds.base import Kind
from blazarclient.kinds.compute_fields import AFFINITY, AMOUNT, BEFORE_END, INSTANCE_ANSWER_KEYS, requirement
from blazarclient.kinds.fields import CountField


class InstanceKind(Kind):
    """Instances of a given size."""

    resource_type = "virtual:instance"
    help = "capacity for instances of a size"
    position = 20
    fields = (
        CountField(name="vcpus", help="virtual CPUs of each instance", required=True),
        CountField(name="memory_mb", help="memory of each instance, MiB", required=True),
        CountField(name="disk_gb", help="disk of each instance, GiB", required=True),
        AMOUNT,
        AFFINITY,
        requirement("resource_properties"),
        BEFORE_END,
    )
    answer_keys = INSTANCE_ANSWER_KEYS
