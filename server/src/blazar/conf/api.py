"""Options of the REST API."""

from oslo_config import cfg

GROUP = "api"
OPTIONS = (
    cfg.IntOpt("threads", default=16, min=1, help="Requests that the built-in server of blazar-api works on at once."),
    cfg.BoolOpt(
        "metrics",
        default=True,
        help="Show figures for Prometheus at /metrics, to everybody who can reach the API.",
    ),
    cfg.IntOpt(
        "token_cache_time",
        default=60,
        min=0,
        help="Seconds for which a token that Keystone found valid is not asked about again.",
    ),
)
