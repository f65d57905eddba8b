"""The options of the filter in nova.conf."""

from collections.abc import Sequence

from oslo_config import cfg

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
)


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options in ``conf``; repeated calls have no effect."""
    conf.register_group(GROUP)
    conf.register_opts(OPTIONS, group=GROUP)


def settings_from(conf: cfg.ConfigOpts) -> Settings:
    """Return the current values of the options, which nova-scheduler may reload."""
    group = conf[GROUP.name]
    return Settings(
        freepool=group.aggregate_freepool_name,
        allow_preemptibles=group.allow_preemptibles,
        preemptible_aggregate=group.preemptible_aggregate,
        owner_key=group.blazar_owner,
        zone_prefix=group.blazar_az_prefix,
    )


def list_opts() -> list[tuple[cfg.OptGroup, Sequence[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(GROUP, OPTIONS)]
