"""Options of notifications."""

from oslo_config import cfg

GROUP = "notifications"
OPTIONS = (
    cfg.StrOpt(
        "publisher_id",
        default="blazar.lease",
        help="Who notifications come from. Whether and where they are sent is said in "
        "[oslo_messaging_notifications].",
    ),
)
