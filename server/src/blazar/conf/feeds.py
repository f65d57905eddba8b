"""Options of calendar feeds: who may read leases at an address with a secret in it, without a token."""

from oslo_config import cfg

GROUP = "feeds"
OPTIONS = (
    cfg.BoolOpt(
        "enabled",
        default=True,
        help="Whether users may make calendar feeds, which are read without a token by everybody who has "
        "their address. Where this is false, no feed is answered, those that there are included.",
    ),
    cfg.IntOpt(
        "max_per_user",
        default=10,
        min=0,
        help="Feeds that a user may have at once of a project; 0 for no new ones.",
    ),
    cfg.IntOpt(
        "past_days",
        default=14,
        min=1,
        max=366,
        help="Days for which a feed tells of leases that are over or were deleted.",
    ),
    cfg.IntOpt(
        "max_leases",
        default=500,
        min=1,
        max=5000,
        help="Leases that a feed tells of: those first that end next, then those that have ended last, then "
        "those that were deleted last.",
    ),
)
