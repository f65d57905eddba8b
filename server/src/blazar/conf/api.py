"""Options of the REST API."""

from oslo_config import cfg

GROUP = "api"
OPTIONS = (
    cfg.IntOpt(
        "threads", default=16, min=1, help="Requests that the built-in server of blazar-api works on at once."
    ),
    cfg.BoolOpt(
        "metrics",
        default=True,
        help="Show metrics for Prometheus at /metrics, to everybody who can reach the API.",
    ),
    cfg.StrOpt(
        "shortage_details",
        default="all",
        choices=[
            ("all", "everybody is told how many resources match and are free, and when a request would fit"),
            ("admin", "only administrators are told; others read that there is not enough"),
        ],
        help="Who is told why there is not enough for a request.",
    ),
    cfg.IntOpt(
        "token_cache_time",
        default=60,
        min=0,
        help="Seconds for which a token that Keystone found valid is not asked about again.",
    ),
    cfg.IntOpt(
        "token_checks_at_once",
        default=8,
        min=1,
        help="Tokens that Keystone is asked about at once. Further requests are answered 503, but for those "
        "whose token was found valid a moment ago, so that a Keystone that hangs does not hold all threads.",
    ),
)
