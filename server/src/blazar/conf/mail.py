"""Options of mail to the users of leases."""

from oslo_config import cfg, types

from blazar.domain.subscription import LeaseEvent

GROUP = "mail"
EVENTS = (
    "created",
    "waitlisted",
    "promoted",
    "expired",
    "start_soon",
    "started",
    "failed",
    "end_soon",
    "ended",
    "degraded",
    "moved",
    "displaced",
    "unclaimed_warning",
)
OPTIONS = (
    cfg.HostAddressOpt(
        "host",
        help="The SMTP server that takes mail to the users of leases. Without it no mail is sent.",
    ),
    cfg.PortOpt("port", default=25, help="The port of the SMTP server."),
    cfg.StrOpt(
        "encryption",
        default="starttls",
        choices=[
            ("none", "no encryption, for a server on the same machine"),
            ("starttls", "the connection is encrypted after it is made; a server that cannot is not used"),
            ("tls", "the connection is encrypted from the start, as on port 465"),
        ],
        help="How the connection to the SMTP server is protected.",
    ),
    cfg.StrOpt(
        "cafile",
        help="File with the certificates of authorities that the SMTP server's certificate is verified with; "
        "by default those of the system.",
    ),
    cfg.StrOpt("username", help="Who to log in as at the SMTP server. Without it there is no login."),
    cfg.StrOpt("password", secret=True, help="The password of this account."),
    cfg.StrOpt(
        "sender",
        help="Who mail comes from, such as Reservations <reservations@example.com>. Has to be set with host.",
    ),
    cfg.ListOpt(
        "events",
        item_type=types.String(choices=[each.value for each in LeaseEvent]),
        default=list(EVENTS),
        help="What users are told of their own leases who have not chosen anything else: words that "
        "subscriptions have, such as created or end_soon.",
    ),
    cfg.IntOpt(
        "daily_hour",
        default=6,
        min=0,
        max=23,
        help="When the mails of users go out who want one a day: the hour, in UTC.",
    ),
    cfg.StrOpt(
        "templates",
        help="A directory with texts that replace ours: created.txt for the event created, and so on.",
    ),
    cfg.StrOpt(
        "dashboard_url",
        default="",
        help="The address of the calendar page for users, such as "
        "https://reservation.example.com/dashboard. Mails then have links to leases, by which they can be "
        "extended.",
    ),
    cfg.StrOpt(
        "choice_url",
        default="",
        help="Where users choose what they are told, or whom they may ask: an address of a page, or mailto: "
        "with an address of mail. By default it is that page of dashboard_url. Mail programs offer it as a "
        "way to unsubscribe.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=10.0,
        min=1.0,
        max=20.0,
        help="Seconds within which each answer of the SMTP server has to come.",
    ),
    cfg.IntOpt(
        "keep_hours",
        default=24,
        min=1,
        max=168,
        help="How long it is tried to tell an event by mail. After that it is not told any more.",
    ),
)
