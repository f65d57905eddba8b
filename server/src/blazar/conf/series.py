"""Options of series: leases that recur by a rule."""

from oslo_config import cfg

GROUP = "series"
OPTIONS = (
    cfg.IntOpt(
        "max_occurrences",
        default=100,
        min=0,
        max=500,
        help="Leases that a series may have at most; 0 for no series at all. All of them are planned in one "
        "request, and committed together.",
    ),
    cfg.IntOpt(
        "horizon_days",
        default=366,
        min=1,
        max=3660,
        help="Days from the first lease of a series up to which the last one may start.",
    ),
)
