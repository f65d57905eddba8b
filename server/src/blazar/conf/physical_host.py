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
    cfg.BoolOpt(
        "enable_polling_monitor",
        default=False,
        help="Ask Nova from time to time which hosts are down or disabled, and heal what they serve. "
        "Managers share this work; the same at all of them.",
    ),
    cfg.BoolOpt(
        "enable_notification_monitor",
        default=False,
        help="Look at Nova at once when it announces over the message broker that a compute service has "
        "changed, and every polling_interval besides. The same at all managers.",
    ),
    cfg.ListOpt(
        "notification_topics",
        default=["versioned_notifications"],
        help="Topics of Nova's versioned notifications. Each one is taken from the broker once: where other "
        "programs listen as well, give this service a topic of its own in Nova's [notifications] "
        "versioned_notifications_topics.",
    ),
    cfg.StrOpt(
        "notification_exchange",
        default="nova",
        help="The exchange of Nova's notifications: Nova's [DEFAULT] control_exchange.",
    ),
    cfg.StrOpt(
        "notification_transport_url",
        secret=True,
        help="Where Nova sends its notifications. Without it, where this service sends its own: "
        "[oslo_messaging_notifications] transport_url, or else [DEFAULT] transport_url.",
    ),
    cfg.IntOpt("polling_interval", default=60, min=1, help="Seconds between two looks at Nova."),
    cfg.IntOpt(
        "healing_interval",
        default=60,
        min=0,
        help="Minutes ahead for which reservations on failed hosts are healed, at every look; 0 heals all "
        "that is ahead.",
    ),
    cfg.IntOpt(
        "down_seconds_before_moving",
        default=300,
        min=0,
        help="Seconds for which a host must be down before active reservations leave it. What runs on it is "
        "deleted then. Reservations that have not started leave it at once.",
    ),
    cfg.IntOpt(
        "recovery_seconds",
        default=120,
        min=0,
        help="Seconds for which a failed host must be back before it can be reserved again.",
    ),
    cfg.IntOpt(
        "max_failed_percent",
        default=25,
        min=0,
        max=100,
        help="Percentage of the registered hosts that may fail at once, one host at least. Where more do, "
        "Nova itself is taken for failed, and nothing is healed.",
    ),
)
