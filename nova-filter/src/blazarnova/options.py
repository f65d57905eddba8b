"""The options of the filter in nova.conf."""

from collections.abc import Sequence

from oslo_config import cfg

from blazarnova import service
from blazarnova.reading import PromisesReader
from blazarnova.rule import Settings

GROUP = cfg.OptGroup("blazar:physical:host", title="Reservation filter options")

_DEFAULT = Settings()
OPTIONS = (
    cfg.StrOpt(
        "aggregate_freepool_name",
        default=_DEFAULT.freepool,
        help="Name of the aggregate of all hosts that are in no active reservation.",
    ),
    cfg.BoolOpt(
        "allow_preemptibles",
        default=_DEFAULT.allow_preemptibles,
        help="Let servers whose flavor has the extra spec blazar:preemptible run on free hosts.",
    ),
    cfg.StrOpt(
        "preemptible_aggregate",
        default=_DEFAULT.preemptible_aggregate,
        help="Name of the aggregate whose hosts preemptible servers may use.",
    ),
    cfg.StrOpt(
        "lent_aggregate_name",
        default=_DEFAULT.lent_aggregate,
        help="Name of the aggregate of the hosts that reservations lend to preemptible servers, as [nova] "
        "lent_aggregate_name of the reservation service.",
    ),
    cfg.StrOpt(
        "project_id_key",
        default="blazar:tenant",
        help="Accepted for existing configuration files, and ignored.",
    ),
    cfg.StrOpt(
        "blazar_owner",
        default=_DEFAULT.owner_key,
        help="Aggregate metadata key of the id of the project that owns a reservation.",
    ),
    cfg.StrOpt(
        "blazar_az_prefix",
        default=_DEFAULT.zone_prefix,
        help="Prefix of the availability zones of reservations.",
    ),
    cfg.FloatOpt(
        "match_weight_multiplier",
        default=1000.0,
        help="Weight of the hosts of a reservation that is open to ordinary servers, for the servers of its "
        "projects; hosts that are lent have half of it less. Read by the weigher ReservationWeigher.",
    ),
)

BACKFILL = cfg.OptGroup("blazar:backfill", title="Servers with a known end on hosts of the freepool")
BACKFILL_OPTIONS = (
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Let servers that are booted with the scheduler hint lease_params run on hosts of the freepool, "
        "where they end before the next lease. The reservation service needs [nova] backfill.",
    ),
    cfg.FloatOpt(
        "poll_seconds",
        default=5,
        min=1,
        help="How many seconds pass between two requests for what is promised.",
    ),
    cfg.FloatOpt(
        "max_age_seconds",
        default=60,
        min=5,
        help="How many seconds what was read is good for. After that hosts of the freepool take no such "
        "servers until it is read again.",
    ),
)


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options in ``conf``; repeated calls have no effect."""
    conf.register_group(GROUP)
    conf.register_opts(OPTIONS, group=GROUP)
    conf.register_group(BACKFILL)
    conf.register_opts(BACKFILL_OPTIONS, group=BACKFILL)
    service.register(conf, BACKFILL.name)


def settings_from(conf: cfg.ConfigOpts) -> Settings:
    """Return the current values of the options, which nova-scheduler may reload."""
    group = conf[GROUP.name]
    return Settings(
        freepool=group.aggregate_freepool_name,
        allow_preemptibles=group.allow_preemptibles,
        preemptible_aggregate=group.preemptible_aggregate,
        lent_aggregate=group.lent_aggregate_name,
        owner_key=group.blazar_owner,
        zone_prefix=group.blazar_az_prefix,
    )


def match_weight_multiplier(conf: cfg.ConfigOpts) -> float:
    """Return the weigher's present multiplier."""
    multiplier: float = conf[GROUP.name].match_weight_multiplier
    return multiplier


def reader_from(conf: cfg.ConfigOpts) -> PromisesReader | None:
    """Return the reader of what is promised; None where the operator does not want it."""
    group = conf[BACKFILL.name]
    if not group.enabled:
        return None
    source = service.ReservationService(conf, BACKFILL.name)
    return PromisesReader(source, group.poll_seconds, group.max_age_seconds)


def list_opts() -> list[tuple[cfg.OptGroup, Sequence[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(GROUP, OPTIONS), (BACKFILL, BACKFILL_OPTIONS)]
