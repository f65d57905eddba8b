"""The configuration files of all services.

The lab needs every line; docs/operator/lab.md tells which of them a site needs as well.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence

from blazar_lab.settings import HOST, PASSWORD, REGION, Settings

Value = str | int | bool | Sequence[str]
Group = Mapping[str, Value]
Groups = Mapping[str, Group]

# The database servers of a developer's machine allow few connections; each service takes a small pool.
POOL: Group = {"max_pool_size": 5, "max_overflow": 10}

SCHEDULER_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "AggregateMultiTenancyIsolation",
    "AggregateInstanceExtraSpecsFilter",
    "BlazarFilter",
)

PHYSICAL_NETWORKS = tuple(f"physnet{number}" for number in range(1, 13))
"""One for each worker that tests; none has a range, so all their VLANs are left to reservations."""

POLICY = re.compile(r"```yaml\n# policy.yaml of (?P<service>\w+)\n(?P<rules>.*?)```", re.DOTALL)


def write(settings: Settings) -> None:
    """Write all configuration files; the same settings give the same files."""
    _write(settings, "keystone/keystone.conf", _keystone(settings))
    _write(settings, "placement/placement.conf", _placement(settings))
    _write(settings, "glance/glance-api.conf", _glance(settings))
    _write(settings, "neutron/neutron.conf", _neutron(settings))
    _write(settings, "cinder/cinder.conf", _cinder(settings))
    _write(settings, "nova/nova.conf", {**_nova(settings), **_nova_databases(settings)})
    for name, rules in policies(settings).items():
        settings.folder("etc", name, "policy.yaml").write_text(rules)
    for number in range(1, settings.computes + 1):
        _write(settings, f"nova/compute{number}.conf", _compute(settings, number))
        settings.folder("data", f"compute{number}").mkdir(parents=True, exist_ok=True)
    # nova's WSGI module looks for it beside nova.conf
    paste = settings.venv / "etc" / "nova" / "api-paste.ini"
    shutil.copy(paste, settings.folder("etc", "nova", "api-paste.ini"))
    for name in ("glance", "cinder"):
        settings.folder("data", name).mkdir(parents=True, exist_ok=True)
    settings.clouds_yaml.write_text(clouds_yaml(settings))
    settings.blazar_conf.write_text(ini(_blazar(settings)))
    settings.policy_yaml.touch()  # empty, for stories to write into


def ini(groups: Groups) -> str:
    """Format groups of options for oslo.config; a sequence is an option that is given several times."""
    lines: list[str] = []
    for group, options in groups.items():
        lines.append(f"[{group}]")
        for name, value in options.items():
            values = [str(value)] if isinstance(value, str | int) else list(value)
            lines += [f"{name} = {text}" for text in values]
        lines.append("")
    return "\n".join(lines)


def policies(settings: Settings) -> Mapping[str, str]:
    """Return the rules of other services by which the page on hardening lets the service's user do with less
    than ``admin``: all blocks of a service, one after the other."""
    page = settings.repository / "docs" / "operator" / "hardening.md"
    rules: dict[str, str] = {}
    for each in POLICY.finditer(page.read_text()):
        name = each["service"].lower()
        rules[name] = rules.get(name, "") + each["rules"]
    return rules


def clouds_yaml(settings: Settings) -> str:
    people = {"lab-admin": "admin", "lab-demo": "demo", "lab-alt": "alt"}
    lines = ["clouds:"]
    for cloud, name in people.items():
        lines += [
            f"  {cloud}:",
            f"    region_name: {REGION}",
            "    identity_api_version: 3",
            "    auth:",
            f"      auth_url: {settings.url('keystone')}/v3",
            f"      username: {name}",
            f"      password: {PASSWORD}",
            f"      project_name: {name}",
            "      user_domain_name: Default",
            "      project_domain_name: Default",
        ]
    return "\n".join(lines) + "\n"


def _write(settings: Settings, name: str, groups: Groups) -> None:
    path = settings.folder("etc", *name.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ini(groups))


def _credentials(settings: Settings, user: str) -> Group:
    """Return a section of keystoneauth: the credentials with which the service calls others."""
    return {
        "auth_type": "password",
        "auth_url": settings.url("keystone"),
        "username": user,
        "password": PASSWORD,
        "user_domain_name": "Default",
        "project_name": "service",
        "project_domain_name": "Default",
    }


def _client(settings: Settings, user: str) -> Group:
    return {**_credentials(settings, user), "region_name": REGION}


def _authtoken(settings: Settings, user: str) -> Group:
    return {
        **_credentials(settings, user),
        "www_authenticate_uri": settings.url("keystone"),
        "service_token_roles": "service",
        "service_token_roles_required": True,
    }


def _database(settings: Settings, name: str) -> Group:
    return {"connection": settings.database_url(name), **POOL}


def _keystone(settings: Settings) -> Groups:
    keys = settings.folder("etc", "keystone")
    return {
        "database": _database(settings, "keystone"),
        "token": {"provider": "fernet"},
        "fernet_tokens": {"key_repository": f"{keys}/fernet-keys"},
        "credential": {"key_repository": f"{keys}/credential-keys"},
        # one process, so its own memory is a coherent cache and memcached is not needed
        "cache": {"enabled": True, "backend": "dogpile.cache.memory"},
    }


def _placement(settings: Settings) -> Groups:
    return {
        "api": {"auth_strategy": "keystone"},
        "placement_database": _database(settings, "placement"),
        "keystone_authtoken": _authtoken(settings, "placement"),
    }


def _glance(settings: Settings) -> Groups:
    return {
        "DEFAULT": {"bind_host": HOST, "enabled_backends": "files:file", "use_keystone_limits": False},
        "database": _database(settings, "glance"),
        "glance_store": {"default_backend": "files"},
        "files": {"filesystem_store_datadir": str(settings.folder("data", "glance"))},
        "oslo_concurrency": {"lock_path": str(settings.folder("run", "locks"))},
        "paste_deploy": {
            "flavor": "keystone",
            "config_file": str(settings.venv / "etc" / "glance" / "glance-api-paste.ini"),
        },
        "keystone_authtoken": _authtoken(settings, "glance"),
    }


def _neutron(settings: Settings) -> Groups:
    return {
        "DEFAULT": {
            "transport_url": settings.transport_url(),
            "core_plugin": "ml2",
            "service_plugins": "router",
            "state_path": str(settings.folder("data", "neutron")),
            "api_paste_config": str(settings.venv / "etc" / "neutron" / "api-paste.ini"),
            "auth_strategy": "keystone",
        },
        "database": _database(settings, "neutron"),
        "oslo_concurrency": {"lock_path": str(settings.folder("run", "locks"))},
        "ml2": {
            "type_drivers": "flat,local,vlan",
            "tenant_network_types": "local",
            "mechanism_drivers": "lab",
            "extension_drivers": "port_security",
        },
        "ml2_type_flat": {"flat_networks": "public"},
        "ml2_type_vlan": {"network_vlan_ranges": ",".join(PHYSICAL_NETWORKS)},
        "quotas": dict.fromkeys(
            (f"quota_{noun}" for noun in ("network", "subnet", "port", "router", "floatingip")), -1
        ),
        "keystone_authtoken": _authtoken(settings, "neutron"),
        "nova": _client(settings, "nova"),
    }


def _cinder(settings: Settings) -> Groups:
    return {
        "DEFAULT": {
            "transport_url": settings.transport_url(),
            "my_ip": HOST,
            "host": "storage",
            "state_path": str(settings.folder("data", "cinder")),
            "api_paste_config": str(settings.venv / "etc" / "cinder" / "api-paste.ini"),
            "resource_query_filters_file": str(settings.venv / "etc" / "cinder" / "resource_filters.json"),
            "auth_strategy": "keystone",
            "glance_api_servers": settings.url("glance"),
            "enabled_backends": "lab",
            "default_volume_type": "standard",
            "report_interval": 5,
            "service_down_time": 60,
        },
        "lab": {
            "volume_driver": "blazar_lab_parts.storage.LabVolumeDriver",
            "volume_backend_name": "lab",
        },
        "database": _database(settings, "cinder"),
        "oslo_concurrency": {"lock_path": str(settings.folder("run", "locks"))},
        "keystone_authtoken": _authtoken(settings, "cinder"),
        "service_user": {**_credentials(settings, "cinder"), "send_service_user_token": True},
        "nova": {**_client(settings, "cinder"), "interface": "public"},
    }


def _nova(settings: Settings) -> Groups:
    unlimited = ("instances", "cores", "ram", "server_groups", "server_group_members", "key_pairs")
    return {
        "DEFAULT": {
            "transport_url": settings.transport_url(),
            "my_ip": HOST,
            "state_path": str(settings.folder("data", "nova")),
            "compute_driver": "lab.LabDriver",
            # what a hypervisor reports is what servers can have, so that capacity can be exhausted
            "initial_cpu_allocation_ratio": "1.0",
            "report_interval": 5,
            "service_down_time": 60,
        },
        "api": {"auth_strategy": "keystone"},
        "notifications": {"notification_format": "versioned"},
        "oslo_messaging_notifications": {"driver": "messagingv2"},
        "scheduler": {"workers": 1},
        "conductor": {"workers": 1},
        "filter_scheduler": {
            "available_filters": (
                "nova.scheduler.filters.all_filters",
                "blazarnova.scheduler.filters.blazar_filter.BlazarFilter",
            ),
            "enabled_filters": ",".join(SCHEDULER_FILTERS),
            "weight_classes": (
                "nova.scheduler.weights.all_weighers,"
                "blazarnova.scheduler.weights.reservation.ReservationWeigher"
            ),
        },
        "blazar:physical:host": {"allow_preemptibles": True},
        "blazar:backfill": {
            **_client(settings, "nova"),
            "enabled": True,
            "poll_seconds": 2,
            "valid_interfaces": "public",
        },
        "quota": dict.fromkeys(unlimited, -1),
        "vnc": {"enabled": False},
        "glance": {"api_servers": settings.url("glance")},
        "oslo_concurrency": {"lock_path": str(settings.folder("run", "locks"))},
        "keystone_authtoken": _authtoken(settings, "nova"),
        "service_user": {**_credentials(settings, "nova"), "send_service_user_token": True},
        "placement": _client(settings, "placement"),
        "neutron": _client(settings, "neutron"),
        "cinder": {**_client(settings, "cinder"), "catalog_info": "block-storage::publicURL"},
    }


def _nova_databases(settings: Settings) -> Groups:
    return {"api_database": _database(settings, "nova_api"), "database": _database(settings, "nova_cell1")}


def _compute(settings: Settings, number: int) -> Groups:
    """Return the whole configuration of a nova-compute, which may not know the databases."""
    nova = _nova(settings)
    own = {"host": f"host{number}", "state_path": str(settings.folder("data", f"compute{number}"))}
    return {
        **nova,
        "DEFAULT": {**nova["DEFAULT"], **own},
        "oslo_concurrency": {"lock_path": str(settings.folder("run", f"locks{number}"))},
    }


KINDS = (
    "physical.host.plugin",
    "virtual.instance.plugin",
    "flavor.instance.plugin",
    "virtual.floatingip.plugin",
    "instance.server.plugin",
    "network.plugin",
    "network.port.plugin",
    "storage.volume.plugin",
)


def _blazar(settings: Settings) -> Groups:
    return {
        "DEFAULT": {
            "host": HOST,
            "port": settings.port("blazar"),
            "transport_url": settings.transport_url(),
        },
        "manager": {
            "start_retry_seconds": 5,  # so that a story need not wait for minutes
            "plugins": ",".join(KINDS),
        },
        "database": _database(settings, "blazar"),
        "keystone_authtoken": _authtoken(settings, "blazar"),
        "cloud": {**_client(settings, "blazar"), "interface": "public"},
        "nova": {
            "end_preemptibles": True,
            "backfill": True,
            "backfill_margin_seconds": 30,
            "lend_idle_hosts": True,
            "lend_after_minutes": 0,
            "lend_look_seconds": 3,
            "preemptible_notice_minutes": 2,
        },
        "lease_hints": {"enabled": True, "look_seconds": 3},
        "oslo_messaging_notifications": {"driver": "messagingv2"},
    }
