"""Options of the cloud on which the service acts, and of its own credentials there."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "cloud"
OPTIONS = (
    cfg.StrOpt("region_name", help="Region whose Nova, Placement and Neutron are used; the only one by default."),
    cfg.StrOpt(
        "interface",
        default="internal",
        choices=["public", "internal", "admin"],
        help="Which of a service's endpoints in the catalog are used.",
    ),
)


def register(conf: cfg.ConfigOpts) -> None:
    """keystoneauth's options: auth_type, auth_url, username ... and cafile, timeout ..."""
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
