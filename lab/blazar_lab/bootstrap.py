"""The steps that are done once: schemas, keys, service catalog, first data.

Each step leaves a stamp in ``state``, so that a second start skips it; each may be repeated after a failure.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from blazar_lab import services
from blazar_lab.console import step
from blazar_lab.environment import fingerprint, run
from blazar_lab.settings import PASSWORD, REGION, Settings

IMAGE_BYTES = 1024 * 1024


def schemas(settings: Settings) -> None:
    """Create the tables of all OpenStack databases, at the installed versions."""
    wanted = fingerprint(settings.repository / "lab" / "constraints.txt")

    def migrate() -> None:
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
            chains = (
                *(_neutron_schema, _nova_schemas, _cinder_schema, _keystone_schema),
                *(_placement_schema, _glance_schema),
            )
            for done in [pool.submit(chain, settings) for chain in chains]:
                done.result()

    _once(settings, "schemas", wanted, migrate, "made the schemas of six services")


def identity(settings: Settings) -> None:
    """Create catalog, users and projects; needs Keystone."""
    endpoints = services.endpoints(settings)
    specification = {"region": REGION, "password": PASSWORD, "endpoints": endpoints}
    _populate(settings, "identity", specification, "filled Keystone: catalog, users, projects")


def cloud(settings: Settings) -> None:
    """Create image, flavors, networks, freepool and volume types; needs all APIs."""
    image = settings.folder("data", "dummy.img")
    image.write_bytes(bytes(IMAGE_BYTES))
    made = "made image, flavors, networks, freepool, volume types"
    _populate(settings, "cloud", {"image": str(image)}, made)


def map_computes(settings: Settings) -> None:
    """Map new computes to their cell; they must have registered with Nova before."""
    with step("mapped the computes to their cell"):
        _manage(settings, "nova-manage", "nova/nova.conf", "cell_v2", "discover_hosts")


def as_admin(settings: Settings) -> dict[str, str]:
    """Return the environment of a program that acts as the cloud's administrator."""
    return {**os.environ, "OS_CLIENT_CONFIG_FILE": str(settings.clouds_yaml), "OS_CLOUD": "lab-admin"}


def _populate(settings: Settings, part: str, specification: Mapping[str, object], message: str) -> None:
    text = json.dumps(specification, sort_keys=True)
    source = settings.repository / "lab" / "parts" / "src" / "blazar_lab_parts" / "populate.py"
    command = [str(settings.venv / "bin" / "python"), "-m", "blazar_lab_parts.populate", part, text]
    log = settings.folder("log", f"populate-{part}.log")
    _once(settings, part, fingerprint(source) + text, lambda: run(command, log, as_admin(settings)), message)


def _once(settings: Settings, name: str, wanted: str, action: Callable[[], None], message: str) -> None:
    stamp = settings.folder("state", name)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    with step(message):
        action()
    stamp.write_text(wanted)


def _keystone_schema(settings: Settings) -> None:
    keys = settings.folder("etc", "keystone")
    for repository in ("fernet-keys", "credential-keys"):
        (keys / repository).mkdir(mode=0o700, exist_ok=True)
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    owner = [f"--keystone-user={user}", f"--keystone-group={group}"]
    urls = [
        f"--bootstrap-{kind}-url={settings.url('keystone')}/v3" for kind in ("public", "internal", "admin")
    ]
    password = [f"--bootstrap-password={PASSWORD}", f"--bootstrap-region-id={REGION}"]
    for words in (
        ["db_sync"],
        ["fernet_setup", *owner],
        ["credential_setup", *owner],
        ["bootstrap", *password, *urls],
    ):
        _manage(settings, "keystone-manage", "keystone/keystone.conf", *words)


def _placement_schema(settings: Settings) -> None:
    _manage(settings, "placement-manage", "placement/placement.conf", "db", "sync")


def _glance_schema(settings: Settings) -> None:
    _manage(settings, "glance-manage", "glance/glance-api.conf", "db_sync")


def _cinder_schema(settings: Settings) -> None:
    _manage(settings, "cinder-manage", "cinder/cinder.conf", "db", "sync")


def _neutron_schema(settings: Settings) -> None:
    _manage(settings, "neutron-db-manage", "neutron/neutron.conf", "upgrade", "heads")


def _nova_schemas(settings: Settings) -> None:
    conf = "nova/nova.conf"
    _manage(settings, "nova-manage", conf, "api_db", "sync")
    cell0 = f"--database_connection={settings.database_url('nova_cell0')}"
    _manage(settings, "nova-manage", conf, "cell_v2", "map_cell0", cell0)
    _manage(settings, "nova-manage", conf, "db", "sync")
    stamp = settings.folder("state", "cell")
    if not stamp.exists():
        _manage(settings, "nova-manage", conf, "cell_v2", "create_cell", "--name=cell1")
        stamp.touch()


def _manage(settings: Settings, program: str, conf: str, *words: str) -> None:
    path = settings.folder("etc", *conf.split("/"))
    command = [str(settings.venv / "bin" / program), f"--config-file={path}", *words]
    environment = {**os.environ, **services.NATIVE_THREADS.get(program.partition("-")[0], {})}
    run(command, settings.folder("log", f"{program}.log"), environment)
