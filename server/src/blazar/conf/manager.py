"""Options of blazar-manager."""

from oslo_config import cfg

GROUP = "manager"
SHIPPED = (
    "physical.host.plugin",
    "virtual.instance.plugin",
    "flavor.instance.plugin",
    "virtual.floatingip.plugin",
)
"""The names of the kinds that come with this distribution."""
OPTIONS = (
    cfg.ListOpt(
        "plugins",
        default=list(SHIPPED),
        help="The resource kinds that can be reserved: names of the entry point group "
        "blazar.resource.plugins.",
    ),
    cfg.IntOpt(
        "minutes_before_end_lease",
        default=60,
        min=0,
        help="How long before its end a lease is warned of by default (a shorter lease half way); 0 "
        "for never.",
    ),
    cfg.IntOpt(
        "minutes_before_start_lease",
        default=60,
        min=0,
        help="How long before its start it is told that a lease starts soon; 0 for never.",
    ),
    cfg.StrOpt(
        "rpc_topic",
        default="blazar.manager",
        help="Topic of the message broker on which managers are asked; blazar-api must be told the same.",
    ),
    cfg.HostAddressOpt(
        "metrics_host",
        default="127.0.0.1",
        deprecated_name="watch_host",
        help="Address on which /healthcheck and /metrics are served.",
    ),
    cfg.PortOpt(
        "metrics_port",
        deprecated_name="watch_port",
        help="Port on which /healthcheck and /metrics are served; without it they are not.",
    ),
    cfg.IntOpt(
        "event_workers",
        default=16,
        min=1,
        help="Events that one manager works on at once for the first time. Half as many workers come on top "
        "for events that are tried again, an eighth as many for those that have been tried often, and an "
        "eighth as many to compare active leases with the cloud.",
    ),
    cfg.IntOpt(
        "cloud_calls_at_once",
        default=8,
        min=0,
        help="Calls to each service of the cloud that one manager has under way for the hosts of leases, "
        "beside one call of each worker for events; 0 works on the hosts of a lease one after another. The "
        "leases take turns.",
    ),
    cfg.IntOpt(
        "reconcile_seconds",
        default=3600,
        min=0,
        help="How often each active lease is compared with the cloud and repaired, also once after each "
        "start of a manager; 0 for never. Managers share this work.",
    ),
    cfg.IntOpt(
        "drift_check_seconds",
        default=86400,
        min=0,
        help="How often all that the database says is compared with all that is in the cloud; 0 for never. "
        "One manager does so at a time.",
    ),
    cfg.BoolOpt(
        "drift_repair",
        default=False,
        help="Repair what the comparison finds, as blazar-db-manage reconcile --repair does; else it is only "
        "logged and counted.",
    ),
    cfg.IntOpt(
        "usage_seconds",
        default=600,
        min=0,
        max=3600,
        help="How often the cloud is asked what active reservations use, for the usage report and for what "
        "leases show of it; 0 for never. One manager does so at a time.",
    ),
    cfg.IntOpt(
        "claim_seconds",
        default=15,
        min=3,
        help="How long a manager's claim on an event holds after its last sign of life; the same at "
        "all managers.",
    ),
    cfg.IntOpt(
        "start_retry_seconds",
        default=300,
        min=0,
        help="How long the start of a lease that the cloud refuses is tried again before the lease is ERROR.",
    ),
    cfg.IntOpt(
        "delete_wait",
        default=10,
        min=0,
        help="Seconds that a deletion waits for the cloud to be clean before it answers; it goes on "
        "afterwards.",
    ),
    cfg.FloatOpt(
        "planning_seconds",
        default=2.0,
        min=0.1,
        help="Seconds of a processor that one request may be planned, at the most; a shortage says when the "
        "search was cut short.",
    ),
    cfg.IntOpt(
        "plans_at_once",
        default=4,
        min=1,
        help="Requests that one manager plans at once, never two of the same project; the projects "
        "take turns.",
    ),
    cfg.IntOpt(
        "max_reservations_per_lease",
        default=64,
        min=1,
        max=64,
        help="Reservations that a new lease may have, at the most.",
    ),
    cfg.IntOpt(
        "max_offers_per_project",
        default=5,
        min=0,
        help="Offers that a project may have at once, each of which holds resources until it is claimed or "
        "expires; 0 for none.",
    ),
    cfg.IntOpt(
        "max_offer_minutes",
        default=60,
        min=1,
        help="How long an offer may be held, at the most.",
    ),
    cfg.IntOpt(
        "max_waiting_leases_per_project",
        default=5,
        min=0,
        help="Leases of a project that may wait in line at once, until there is enough for them; 0 for none.",
    ),
    cfg.IntOpt(
        "max_wait_hours",
        default=168,
        min=1,
        help="How long a lease may wait in line, at the most.",
    ),
    cfg.BoolOpt(
        "displacement",
        default=True,
        help="Whether a lease of a higher priority may displace leases of lower ones that have not started.",
    ),
    cfg.IntOpt(
        "displacement_notice_minutes",
        default=60,
        min=1,
        help="Leases that start sooner than this are not displaced.",
    ),
    cfg.BoolOpt(
        "late_binding",
        default=True,
        help="Whether leases that have not begun may get other resources to make room for a new one that "
        "would not fit else.",
    ),
    cfg.IntOpt(
        "late_binding_lead_minutes",
        default=15,
        min=1,
        help="Leases that start sooner than this keep the resources on which they are planned.",
    ),
    cfg.ListOpt(
        "late_binding_leads",
        default=[],
        help="The same by kind, in minutes, where it is another one: entries such as physical:host=60. With "
        "virtual:floatingip=never reservations of a kind always keep what they are planned on.",
    ),
    cfg.IntOpt(
        "waitlist_look_seconds",
        default=5,
        min=1,
        help="How often a manager looks whether a lease that waits can be promoted. It plans only where "
        "something has changed since, and once a minute.",
    ),
)
