"""Options of the names of objects in Nova."""

from oslo_config import cfg

GROUP = "nova"
OPTIONS = (
    cfg.StrOpt(
        "aggregate_freepool_name",
        default="freepool",
        deprecated_group="physical:host",
        help="Aggregate of the hosts in our care that are in no active reservation; the operator makes it.",
    ),
    cfg.StrOpt(
        "blazar_owner",
        default="blazar:owner",
        deprecated_group="physical:host",
        help="Aggregate metadata key that holds the lease's project.",
    ),
    cfg.StrOpt(
        "image_prefix",
        default="reserved_",
        deprecated_group="DEFAULT",
        help="What the names of snapshots begin with.",
    ),
    cfg.BoolOpt(
        "end_preemptibles",
        default=False,
        help="Delete preemptible servers, whose flavor has the extra spec blazar:preemptible, from hosts on "
        "which reservations of instances and of servers start. For a filter in nova-scheduler with "
        "allow_preemptibles.",
    ),
)
