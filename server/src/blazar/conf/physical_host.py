"""Options of the kind physical:host."""

from oslo_config import cfg

GROUP = "physical:host"
OPTIONS = (
    cfg.StrOpt(
        "blazar_az_prefix",
        default="blazar_",
        help="What the availability zone of a reservation begins with; blazarnova must be told the same.",
    ),
    cfg.StrOpt(
        "before_end",
        default="",
        choices=["", "snapshot"],
        help="What is done before the end of reservations that leave it to the operator.",
    ),
    cfg.BoolOpt(
        "randomize_host_selection",
        default=False,
        help="Choose among the hosts that would do at random, instead of those that are used most already.",
    ),
)
