"""Options of subscriptions, whom users may have told what becomes of leases, and of blazar-webhooks."""

from oslo_config import cfg

GROUP = "subscriptions"
OPTIONS = (
    cfg.IntOpt(
        "max_per_project",
        default=10,
        min=0,
        help="Subscriptions that a project may have at once; 0 for none.",
    ),
    cfg.BoolOpt(
        "allow_http",
        default=False,
        help="Whether messages may be sent without encryption, to an address that begins with http://.",
    ),
    cfg.ListOpt(
        "allowed_networks",
        default=[],
        help="Networks to which messages may be sent although they are not public, such as 10.20.0.0/16. "
        "Who may subscribe can have this service connect to each address and port in them.",
    ),
    cfg.ListOpt(
        "forbidden_networks",
        default=[],
        help="Networks to which no message is sent although they are public, such as those of the cloud's "
        "own services. They count more than allowed_networks.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=10.0,
        min=1.0,
        max=30.0,
        help="Seconds within which a receiver has to take a message.",
    ),
    cfg.IntOpt(
        "give_up_hours",
        default=24,
        min=1,
        max=168,
        help="How long a message is tried before the subscription is suspended.",
    ),
    cfg.StrOpt(
        "cafile",
        help="File with the certificates of authorities that receivers' certificates are verified with; by "
        "default those of the system.",
    ),
    cfg.BoolOpt(
        "deliver_in_manager",
        default=True,
        help="Whether managers compare what happens with the subscriptions, and send messages. Without it "
        "blazar-webhooks has to run, for else no subscriber is told, and nothing is told by mail.",
    ),
    cfg.HostAddressOpt(
        "metrics_host",
        default="127.0.0.1",
        help="Address on which blazar-webhooks serves /healthcheck and /metrics.",
    ),
    cfg.PortOpt(
        "metrics_port",
        help="Port on which blazar-webhooks serves /healthcheck and /metrics; without it they are not.",
    ),
)
