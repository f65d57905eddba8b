"""Options of the cloud on which the service acts, and of its own credentials there."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "cloud"
OPTIONS = (
    cfg.StrOpt(
        "region_name",
        deprecated_opts=[cfg.DeprecatedOpt("os_region_name", "DEFAULT")],
        help="Region whose Nova, Placement and Neutron are used; the only one by default.",
    ),
    cfg.ListOpt(
        "more_regions",
        default=[],
        help="Further regions whose Nova and Placement are used, each with a calendar of its own, in the "
        "order in which a reservation that may lie anywhere tries them, after that of region_name, which "
        "has to be named too then. All are in the catalog of one Keystone.",
    ),
    cfg.StrOpt(
        "interface",
        default="internal",
        deprecated_opts=[
            cfg.DeprecatedOpt("endpoint_type", group) for group in ("nova", "placement", "neutron", "DEFAULT")
        ],
        choices=["public", "internal", "admin"],
        help="Which of a service's endpoints in the catalog are used.",
    ),
    cfg.IntOpt(
        "calls_at_once",
        default=8,
        min=1,
        help="Calls to each of Nova, Placement, Neutron, Keystone and an external enforcement service that "
        "the requests of one process have under way at once. More of them are refused, so that one that "
        "hangs does not hold all threads. Events have no such limit.",
    ),
)

FORMER = {"cafile": [cfg.DeprecatedOpt("cafile", "DEFAULT")]}
"""Former places of keystoneauth's options."""
AUTH_TYPES = ("password", "v3applicationcredential")
"""The ways to sign in that the sample configuration shows; all others of keystoneauth work as well."""


def options_to_sign_in() -> list[cfg.Opt]:
    """Return keystoneauth's options of the group, for the sample configuration. Those of an ``auth_type`` are
    registered where it is used."""
    ours = {option.dest for option in OPTIONS}
    theirs = [
        *loading.get_auth_common_conf_options(),
        *loading.get_session_conf_options(FORMER),
        *(option for name in AUTH_TYPES for option in loading.get_auth_plugin_conf_options(name)),
    ]
    return list({option.dest: option for option in theirs if option.dest not in ours}.values())


def register(conf: cfg.ConfigOpts) -> None:
    """Register keystoneauth's options: auth_type, auth_url, username ... and cafile, timeout ..."""
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP, FORMER)
