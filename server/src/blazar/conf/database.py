"""Options of the database."""

from oslo_config import cfg

GROUP = "database"
OPTIONS = (
    cfg.StrOpt(
        "connection",
        secret=True,
        default="sqlite:///blazar.db",
        help="SQLAlchemy URL of the database: mysql+pymysql://, postgresql+psycopg:// or sqlite:///.",
    ),
    cfg.IntOpt("max_pool_size", default=10, min=1, help="Connections that are kept open."),
    cfg.IntOpt(
        "max_overflow", default=20, min=0, help="Connections that may be opened beyond those, for a while."
    ),
    cfg.IntOpt(
        "retention_days",
        default=0,
        min=0,
        max=36500,
        help="Days for which leases are kept after they are over; managers remove older ones. "
        "0 keeps them for ever.",
    ),
    cfg.IntOpt(
        "usage_days",
        default=400,
        min=1,
        max=36500,
        help="Days for which it is kept what reservations were promised and have used, after they are over: "
        "a row for each, also where the lease itself is removed.",
    ),
)
