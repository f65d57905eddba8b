"""Options of blazar-manager."""

from oslo_config import cfg

GROUP = "manager"
OPTIONS = (
    cfg.ListOpt(
        "plugins",
        default=[
            "physical.host.plugin",
            "virtual.instance.plugin",
            "flavor.instance.plugin",
            "virtual.floatingip.plugin",
        ],
        help="The resource kinds that can be reserved: names of the entry point group blazar.resource.plugins.",
    ),
    cfg.IntOpt(
        "minutes_before_end_lease",
        default=60,
        min=0,
        help="How long before its end a lease is warned of by default (a shorter lease half way); 0 for never.",
    ),
    cfg.StrOpt(
        "rpc_topic",
        default="blazar.manager",
        help="Topic of the message broker on which managers are asked; blazar-api must be told the same.",
    ),
    cfg.HostAddressOpt(
        "watch_host", default="127.0.0.1", help="Address on which /healthcheck and /metrics are served."
    ),
    cfg.PortOpt("watch_port", help="Port on which /healthcheck and /metrics are served; without it they are not."),
    cfg.IntOpt("event_workers", default=16, min=1, help="Events that one manager works on at once."),
    cfg.IntOpt(
        "claim_seconds",
        default=15,
        min=3,
        help="How long a manager's claim on an event holds after its last sign of life; the same at all managers.",
    ),
    cfg.IntOpt(
        "delete_wait",
        default=10,
        min=0,
        help="Seconds that a deletion waits for the cloud to be clean before it answers; it goes on afterwards.",
    ),
)
