"""Options for leases that are unused."""

from oslo_config import cfg

GROUP = "claim_by"
OPTIONS = (
    cfg.ListOpt(
        "minutes",
        default=[],
        help="How soon after its start a lease has to be used, by kind: entries such as "
        "physical:host=120. One that is unused then is released. Leases of kinds that are not named "
        "are kept; of several kinds in one lease, the most counts.",
    ),
    cfg.ListOpt(
        "exempt_projects", default=[], help="Ids of projects whose leases need not be used by any time."
    ),
    cfg.IntOpt(
        "warning_minutes",
        default=15,
        min=1,
        help="How long before its release an unused lease is warned of; half way where the time in "
        "which it has to be used is not longer than that.",
    ),
)
