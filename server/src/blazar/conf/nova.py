"""Options of the names of objects in Nova."""

from oslo_config import cfg

GROUP = "nova"
OPTIONS = (
    cfg.StrOpt(
        "aggregate_freepool_name",
        default="freepool",
        deprecated_group="physical:host",
        help="Aggregate of the hosts in our care that are in no active reservation; the operator makes it.",
    ),
    cfg.StrOpt(
        "blazar_owner",
        default="blazar:owner",
        deprecated_group="physical:host",
        help="Aggregate metadata key that holds the lease's project.",
    ),
    cfg.StrOpt(
        "image_prefix",
        default="reserved_",
        deprecated_group="DEFAULT",
        help="What the names of snapshots begin with.",
    ),
    cfg.BoolOpt(
        "end_preemptibles",
        default=False,
        help="Have preemptible servers, whose flavor has the extra spec blazar:preemptible, leave hosts on "
        "which reservations of instances and of servers start, and shelve those whose extra spec says so on "
        "all hosts. For a filter in nova-scheduler with allow_preemptibles.",
    ),
    cfg.BoolOpt(
        "backfill",
        default=False,
        help="Let servers with a known end, by the scheduler hint lease_params, run on hosts of the freepool "
        "until the next lease of these. For a filter in nova-scheduler with [blazar:backfill] enabled. Needs "
        "[lease_hints] enabled.",
    ),
    cfg.IntOpt(
        "backfill_days",
        default=7,
        min=1,
        max=90,
        help="How many days ahead nova-scheduler is told what is promised: servers that run longer do not "
        "run on these hosts.",
    ),
    cfg.IntOpt(
        "backfill_margin_seconds",
        default=600,
        min=0,
        help="How many seconds the end of such a server lies before the next lease of its host, at the "
        "least: as long as shelving takes.",
    ),
    cfg.IntOpt(
        "preemptible_notice_minutes",
        default=0,
        min=0,
        max=7 * 24 * 60,
        help="How many minutes before a lease starts preemptible servers on its hosts are given notice in "
        "their metadata, as blazar_notice; one manager does it at a time. 0 for never.",
    ),
    cfg.BoolOpt(
        "lend_idle_hosts",
        default=False,
        help="Let users have their reservations of hosts lend hosts that they do not use to preemptible "
        "servers of others. For a filter in nova-scheduler with allow_preemptibles.",
    ),
    cfg.StrOpt(
        "lent_aggregate_name",
        default="lent",
        help="Aggregate of the hosts that are lent, which the service makes. The filter has an option of "
        "this name, too.",
    ),
    cfg.IntOpt(
        "lend_after_minutes",
        default=10,
        min=0,
        help="How many minutes a host has to be unused before it is lent.",
    ),
    cfg.FloatOpt(
        "lend_look_seconds",
        default=10.0,
        min=1.0,
        help="How many seconds pass between two looks at the hosts of reservations that lend: a host that "
        "the reservation needs is taken back at the next one.",
    ),
    cfg.IntOpt(
        "shelved_images_seconds",
        default=3600,
        min=0,
        help="How often, in seconds, managers remove the images that Nova made of servers which the service "
        "had shelved and which are gone; one manager does it at a time. 0 for never. Done where "
        "end_preemptibles, backfill or lend_idle_hosts is set.",
    ),
)
