"""Options of the stacks that are started with leases."""

from oslo_config import cfg

GROUP = "orchestration"
OPTIONS = (
    cfg.IntOpt(
        "minutes_before_end_lease",
        default=5,
        min=0,
        max=1440,
        help="How many minutes before the end of a lease the deletion of its stack begins; at most a quarter "
        "of the lease.",
    ),
    cfg.IntOpt(
        "give_up_hours",
        default=24,
        min=1,
        max=720,
        help="How long the deletion of a stack is tried. Its lease ends all the same.",
    ),
)
