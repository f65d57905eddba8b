"""blazar-standalone: API, manager and a sandbox cloud in one process, for trying the service out on one
machine."""

from __future__ import annotations

import argparse
import configparser
import contextlib
import fcntl
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

import yaml
from oslo_config import cfg

from blazar import conf as options
from blazar.adapters.db.schema import upgrade
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.dashboard import SandboxUsers
from blazar.bootstrap.api import build_api
from blazar.bootstrap.database import build_database
from blazar.bootstrap.manager import Manager, build_manager
from blazar.bootstrap.tracing import build_tracing
from blazar.cmd.listener import Listener
from blazar.cmd.process import (
    VERSION,
    Refused,
    bound,
    keep_freed_memory,
    loading,
    run,
    switch_threads_often,
    until_signalled,
)
from blazar.conf.manager import SHIPPED
from blazar.domain.errors import BlazarError
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.floatingip.floatingips import FloatingIPs
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.hosts import Hosts
from blazar.service.context import Caller
from blazar.service.enabled_kinds import KindDisabled

if TYPE_CHECKING:  # the sandbox is an extra, so it is imported where it is used
    from blazar_sandbox.cloud import Cloud as SandboxCloud
    from blazar_sandbox.server import SandboxServer

HOST = "127.0.0.1"
LEFT_OUT = 2
"""The number of the sandbox's hosts that are left for the user to register."""
RACKS = 4
FLOATING_IPS = tuple(f"203.0.113.{n}" for n in range(101, 105))
"""The addresses that are registered at the start, of those that the sandbox's Neutron does not give out
itself."""
OPERATOR = Caller("standalone", None, ("admin",), is_admin=True)
OWNER_ONLY = 0o077
"""The umask: databases and log hold tokens and passwords."""
TRIED_OUT = ("instance.server.plugin", "storage.volume.plugin", "network.plugin", "network.port.plugin")
"""Kinds that are here to be tried out, and elsewhere only where an operator enables them."""
OURS = ("blazar.db*", "sandbox.db*", "blazar.log", "blazar.conf", "lock")
PASSWORD = "sandbox"  # noqa: S105 - everybody may know it: the sandbox listens on loopback only
USERS = ("admin", "demo", "alt")
EVENT_WORKERS = 1
"""Service and cloud share one interpreter here: more workers would only wait for each other."""
CLIENTS = ("python-openstackclient==10.5.0", "python-blazarclient==4.6.0")


@dataclass(frozen=True, slots=True)
class Arguments:
    port: int
    cloud_port: int
    hosts: int
    var: Path
    config_file: Path | None = None
    """Options of the operator, beside those of the sandbox."""


def main() -> None:
    run(lambda: serve(_arguments(sys.argv[1:])))


def _arguments(argv: Sequence[str]) -> Arguments:
    parser = argparse.ArgumentParser("blazar-standalone", description=__doc__)
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--port", type=_port, default=1234, help="port of the reservation API")
    parser.add_argument("--cloud-port", type=_port, default=5000, help="port of the sandbox cloud")
    parser.add_argument(
        "--hosts", type=_hosts, default=8, help="how many compute hosts the sandbox cloud has"
    )
    parser.add_argument(
        "--var", type=Path, default=Path("var"), help="folder of the database and all other state"
    )
    parser.add_argument(
        "--config-file", type=Path, help="further options, which count more than the sandbox's own"
    )
    parsed = parser.parse_args(argv)
    if parsed.port == parsed.cloud_port:
        parser.error("the reservation API and the sandbox cloud need different ports")
    return Arguments(parsed.port, parsed.cloud_port, parsed.hosts, parsed.var, parsed.config_file)


def _port(text: str) -> int:
    return _between(text, 1, 65535)


def _hosts(text: str) -> int:
    return _between(text, 1, 100_000)


def _between(text: str, least: int, most: int) -> int:
    if not text.isdigit() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
    return int(text)


def serve(arguments: Arguments) -> None:
    """Start all parts, tell the user, run until SIGTERM or Ctrl-C, stop the parts in the opposite order."""
    _require_sandbox()
    from blazar_sandbox.persistence import Persistence

    os.umask(OWNER_ONLY)
    switch_threads_often()
    keep_freed_memory()
    _prepare_folder(arguments.var)
    _log_to(arguments.var / "blazar.log")
    stopped = until_signalled()
    conf = _configuration(arguments)
    with _alone_in(arguments.var), contextlib.ExitStack() as parts:
        cloud = _cloud(arguments)
        kept = Persistence(cloud.cloud, arguments.var / "sandbox.db").open()
        parts.callback(kept.close)
        _listen("the sandbox cloud", arguments.cloud_port, cloud.start)
        parts.callback(cloud.stop)
        metrics = PrometheusMetrics()
        tracing = build_tracing(conf, "blazar-standalone")
        parts.callback(tracing.close)
        database = build_database(conf, metrics, tracing)
        parts.callback(database.close)
        upgrade(database.engine)
        manager = build_manager(conf, database, metrics, tracing)
        api = build_api(conf, manager.use_cases, metrics, tracing, SandboxUsers(USERS, PASSWORD))
        name = "the reservation API"
        port = parts.enter_context(bound(name, HOST, arguments.port))
        listener = Listener(name, port, api, conf.api.threads)
        listener.start()
        parts.callback(listener.stop)
        _start(manager)
        parts.callback(manager.stop)
        if "hosts" in manager.codec.nouns:
            _register_hosts(manager.use_cases.noun("hosts"), cloud.cloud, stopped)
        if "floatingips" in manager.codec.nouns:
            _register_floating_ips(manager.use_cases.noun("floatingips"), cloud.cloud)
        _write_clouds(arguments)
        print(_welcome(arguments), flush=True)
        stopped.wait()
        print("Stopping ...", flush=True)


def _require_sandbox() -> None:
    """Raises Refused where this distribution was installed without the sandbox."""
    if find_spec("blazar_sandbox") is None:
        raise Refused("the sandbox cloud is not installed. The extra blazar[standalone] has it.")


def _cloud(arguments: Arguments) -> SandboxServer:
    from blazar_sandbox.cloud import Cloud as SandboxCloud
    from blazar_sandbox.server import SandboxServer

    cloud = SandboxCloud(
        hosts=arguments.hosts,
        password=PASSWORD,
        reservation_url=f"http://{HOST}:{arguments.port}/v1",
    )
    # The calendar page signs its users in there.
    page = {f"http://{name}:{arguments.port}" for name in (HOST, "localhost")}
    return SandboxServer(cloud, host=HOST, port=arguments.cloud_port, origins=page)


def _listen(name: str, port: int, start: Callable[[], object]) -> None:
    try:
        start()
    except OSError as failure:
        raise Refused(
            f"cannot listen on {HOST}:{port} for {name}: {failure.strerror or failure}"
        ) from failure


def _prepare_folder(var: Path) -> None:
    try:
        var.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=var):
            pass
        for path in (path for pattern in OURS for path in var.glob(pattern)):
            path.chmod(0o600)  # an earlier version let others read them
    except OSError as failure:
        raise Refused(f"cannot write to the folder {var}: {failure.strerror or failure}") from failure


@contextlib.contextmanager
def _alone_in(var: Path) -> Iterator[None]:
    """Lock the folder. Raises Refused where another program runs on it: both would take the same hosts."""
    with (var / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as failure:
            raise Refused(f"another blazar-standalone is running on the folder {var}") from failure
        yield


def _log_to(path: Path) -> None:
    logging.basicConfig(
        filename=path, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )


def _configuration(arguments: Arguments) -> cfg.ConfigOpts:
    """Write a blazar.conf as an operator would, and load it."""
    path = arguments.var / "blazar.conf"
    credentials = {
        "auth_type": "password",
        "auth_url": f"http://{HOST}:{arguments.cloud_port}/v3",
        "username": "blazar",
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    groups: Mapping[str, Mapping[str, str]] = {
        "DEFAULT": {"host": HOST, "port": str(arguments.port), "graceful_shutdown_timeout": "5"},
        "database": {"connection": f"sqlite:///{(arguments.var / 'blazar.db').resolve()}"},
        "cloud": {**credentials, "interface": "public"},
        "keystone_authtoken": {
            **credentials,
            "interface": "public",
            "service_token_roles_required": "true",
            "www_authenticate_uri": credentials["auth_url"],
        },
        "manager": {
            "claim_seconds": "5",
            "event_workers": str(EVENT_WORKERS),
            "plugins": ", ".join([*SHIPPED, *TRIED_OUT]),
        },
        "lease_hints": {"enabled": "true", "look_seconds": "1"},
    }
    written = configparser.RawConfigParser()
    written.read_dict(groups)
    with _private(path) as file:
        written.write(file)
    further = [str(arguments.config_file)] if arguments.config_file else []
    return options.load(files=[str(path), *further])


def _start(manager: Manager) -> None:
    try:
        with loading():
            manager.start()
    except KindDisabled as refusal:
        raise Refused(refusal.message) from refusal


def _register_hosts(hosts: Hosts, cloud: SandboxCloud, stopped: threading.Event) -> None:
    """Register all but the last two hosts of the sandbox, unless an earlier start did so."""
    with cloud.lock:
        names = [host.name for host in cloud.compute.hosts.table]
    known = {host.name for host in hosts.list(OPERATOR)}
    missing = [name for name in names[: max(len(names) - LEFT_OUT, 0)] if name not in known]
    if (known and known & set(names[-LEFT_OUT:])) or not missing:
        return
    for number, name in enumerate(missing):
        if stopped.is_set():
            return
        if sys.stdout.isatty() and len(missing) > LEFT_OUT:
            print(f"\rRegistering hosts: {number + 1} of {len(missing)}", end="", flush=True)
        hosts.register(RegisterHost(name, _properties(names.index(name))))
    if sys.stdout.isatty():
        print(flush=True)


def _register_floating_ips(floatingips: FloatingIPs, cloud: SandboxCloud) -> None:
    """Register some addresses of the sandbox's external network, unless some are registered already."""
    with cloud.lock:
        external = [net.id for net in cloud.network.networks if net.external]
    if not external or floatingips.list():
        return
    for address in FLOATING_IPS:
        # One that a user of the sandbox has taken since is left to that user.
        with contextlib.suppress(BlazarError):
            floatingips.register(RegisterFloatingIP(external[0], address))


def _properties(index: int) -> dict[str, str]:
    """Return resource properties such as an operator might give: rack, disks, GPUs."""
    properties = {"rack": f"r{index % RACKS + 1}", "ssd": str(index % 3 != 0)}
    return properties | ({"gpu": "True", "gpus": str(index % 4 + 1)} if index % 2 else {})


def _write_clouds(arguments: Arguments) -> None:
    def access(user: str) -> dict[str, object]:
        return {
            "auth": {
                "auth_url": f"http://{HOST}:{arguments.cloud_port}/v3",
                "username": user,
                "password": PASSWORD,
                "project_name": user,
                "user_domain_id": "default",
                "project_domain_id": "default",
            },
            "region_name": "RegionOne",
        }

    clouds = {"clouds": {f"sandbox-{user}": access(user) for user in USERS}}
    with _private(arguments.var / "clouds.yaml") as file:
        yaml.safe_dump(clouds, file, sort_keys=False)


def _private(path: Path) -> IO[str]:
    """Open a file for writing that only its owner can read: it holds a password."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    return path.open("w")


def _welcome(arguments: Arguments) -> str:
    var = arguments.var.resolve()
    return f"""
Blazar is ready.
  calendar      http://{HOST}:{arguments.port}/dashboard/
  reservations  http://{HOST}:{arguments.port}/v1
  sandbox cloud http://{HOST}:{arguments.cloud_port}  (identity at /v3)
  state and log {var}

In another shell:
  export OS_CLIENT_CONFIG_FILE={var}/clouds.yaml
  export OS_CLOUD=sandbox-demo    # a user; sandbox-admin is the operator, sandbox-alt another user
{_own_client()}
The official clients:
  python3 -m venv {var}/clients
  {var}/clients/bin/pip install {" ".join(CLIENTS)}
  {var}/clients/bin/openstack reservation lease list

Ctrl-C stops it; what was reserved is still there at the next start."""


def _own_client() -> str:
    """Return what to type with our own client, where it is installed beside this program."""
    program = Path(sys.executable).parent / "blazar"
    if not program.exists():
        return ""
    return f"""  {program} availability-show --reservation resource_type=physical:host,min=1,max=1
  {program} lease-create first --wait --duration 2h --reservation resource_type=physical:host,min=1,max=1
  {program} calendar-show
  {program} help
"""
