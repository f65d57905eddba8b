"""Options of version 18 and before: those that still say how to reach the cloud, and those that are not read
any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keystoneauth1 import loading
from oslo_config import cfg

from blazar.conf import cloud

GROUP = "DEFAULT"
PLUGIN = "password"
ADDRESS: Mapping[str, str] = {
    "os_auth_protocol": "http",
    "os_auth_host": "127.0.0.1",
    "os_auth_port": "5000",
    "os_auth_prefix": "",
    "os_auth_version": "v3",
}
"""The parts of Keystone's address, with what stands for those that are not given."""
USER: Mapping[str, tuple[str, str | None]] = {
    "os_admin_username": ("username", "admin"),
    "os_admin_password": ("password", None),
    "os_admin_project_name": ("project_name", "admin"),
    "os_admin_user_domain_name": ("user_domain_name", "Default"),
    "os_admin_project_domain_name": ("project_domain_name", "Default"),
}
"""The parts of the service's user by the option of [cloud], with what stands for those that are not given."""


def _former(name: str, present: str) -> cfg.StrOpt:
    return cfg.StrOpt(
        name,
        secret=name.endswith("password"),
        deprecated_for_removal=True,
        deprecated_reason=f"Use [cloud] {present}, which counts more where both are given",
        help=f"The former place of [cloud] {present}.",
    )


OPTIONS = (
    *(_former(name, "auth_url") for name in ADDRESS),
    *(_former(name, present) for name, (present, _) in USER.items()),
)


@dataclass(frozen=True, slots=True)
class Removed:
    """An option that is not read any more, and what to do instead."""

    group: str
    name: str
    instead: str

    def __str__(self) -> str:
        return f"[{self.group}] {self.name} is not read any more: {self.instead}"


REMOVED = (
    Removed("DEFAULT", "log_exchange", "each request is one line of the log; [DEFAULT] debug tells more"),
    Removed("DEFAULT", "enable_v1_api", "version 1 of the API is always there"),
    Removed("DEFAULT", "identity_service", "[cloud] auth_url is Keystone's address"),
    Removed("DEFAULT", "keystone_client_version", "version 3 of Keystone is used"),
    Removed("DEFAULT", "auth_strategy", "[keystone_authtoken] says how tokens are checked"),
    Removed("DEFAULT", "db_driver", "[database] connection says which database is used"),
    Removed("api", "api_v2_controllers", "there is no version 2 of the API"),
    Removed("manager", "event_max_retries", "[manager] start_retry_seconds says how long a start is tried"),
    *(
        Removed(group, "nova_client_version", "each call to Nova has the microversion that it needs")
        for group in ("nova", "DEFAULT")
    ),
    *(
        Removed(group, "compute_service", "the service of type compute in the catalog is used")
        for group in ("nova", "DEFAULT")
    ),
    *(
        Removed(group, "project_id_key", "no other projects are put on an aggregate")
        for group in ("nova", "physical:host")
    ),
    Removed("nova", "az_aware", "the zone that a host was in is always kept"),
)


def register(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS)
    for each in REMOVED:
        conf.register_opt(cfg.StrOpt(each.name), None if each.group == "DEFAULT" else each.group)


def removed(conf: cfg.ConfigOpts) -> Iterator[Removed]:
    """Yield what the operator gives in vain."""
    for each in REMOVED:
        values = conf if each.group == "DEFAULT" else conf[each.group]
        if values[each.name] is not None:
            yield each


def adopt(conf: cfg.ConfigOpts) -> None:
    """Take the former options for those of [cloud] that are not given."""
    given = {name for name in (*ADDRESS, *USER) if conf[name] is not None}
    if not given or conf.cloud.auth_type not in (None, PLUGIN) or conf.cloud.auth_section:
        return
    conf.register_opts(loading.get_auth_plugin_conf_options(PLUGIN), cloud.GROUP)
    conf.set_default("auth_type", PLUGIN, cloud.GROUP)
    if given & ADDRESS.keys():
        conf.set_default("auth_url", _address(conf), cloud.GROUP)
    if given & USER.keys() and conf.cloud.username is None:
        for name, (present, usual) in USER.items():
            conf.set_default(present, usual if conf[name] is None else conf[name], cloud.GROUP)


def _address(conf: cfg.ConfigOpts) -> str:
    parts = {name: usual if conf[name] is None else conf[name] for name, usual in ADDRESS.items()}
    protocol, host, port, prefix, version = parts.values()
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return "/".join(filter(None, (f"{protocol}://{host}:{port}", prefix.strip("/"), version)))
