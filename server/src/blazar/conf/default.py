"""Options of the service as a whole."""

from oslo_config import cfg

GROUP = "DEFAULT"
ADDRESS = (
    cfg.HostAddressOpt("host", default="0.0.0.0", help="Address on which blazar-api listens."),  # noqa: S104
    cfg.PortOpt("port", default=1234, help="Port on which blazar-api listens."),
)
"""Options that blazar-api takes on its command line as well."""
OPTIONS = (
    *ADDRESS,
    cfg.IntOpt(
        "graceful_shutdown_timeout",
        default=60,
        min=1,
        help="Seconds that requests and events under way are given when the service is asked to stop.",
    ),
    cfg.IntOpt(
        "cleaning_time",
        default=0,
        min=0,
        help="Minutes that a resource stays idle before and after each lease.",
    ),
)
