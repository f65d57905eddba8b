"""Fields that several kinds of compute resources have."""

from __future__ import annotations

from blazarclient.kinds.fields import ChoiceField, CountField, RequirementField


def requirement(name: str) -> RequirementField:
    """Return a field with a requirement on the properties of hosts."""
    return RequirementField(
        name=name,
        help='only hosts for which this holds, like ["==", "$gpu", "True"]',
        default="",
        sends_default=True,
    )


BEFORE_END = ChoiceField(
    name="before_end", help="what happens to servers before the end", choices=("default", "snapshot", "")
)
AMOUNT = CountField(name="amount", help="how many instances", required=True, minimum=1)
AFFINITY = ChoiceField(
    name="affinity",
    help="True: all on one host, False: all on different hosts, None: no matter",
    default="None",
    sends_default=True,
    choices=("True", "False", "None"),
)
# Keys of the answers for instances: the flavor to boot with, and where its servers go.
INSTANCE_ANSWER_KEYS = ("flavor_id", "aggregate_id", "server_group_id", "vcpus", "memory_mb", "disk_gb")
