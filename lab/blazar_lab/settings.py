"""Settings of a lab: names, ports and folders."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from blazar_lab.console import LabError

# All ports, as offsets from LAB_PORT_BASE, so that a second lab or `make run` fits beside this one.
DEFAULT_PORT_BASE = 15500
PORTS = {
    "keystone": 0,
    "nova": 1,
    "placement": 2,
    "neutron": 3,
    "glance": 4,
    "cinder": 5,
    "mariadb": 6,  # the last four only where the lab starts servers of its own
    "rabbitmq": 7,
    "rabbitmq-distribution": 8,
    "epmd": 9,
    "blazar": 12,
}

# All databases of the lab. OpenStack's schemas are made for three-byte characters, ours for all of Unicode.
DATABASES = {
    "keystone": "utf8mb3",
    "placement": "utf8mb3",
    "nova_api": "utf8mb3",
    "nova_cell0": "utf8mb3",
    "nova_cell1": "utf8mb3",
    "neutron": "utf8mb3",
    "glance": "utf8mb3",
    "cinder": "utf8mb3",
    "blazar": "utf8mb4",
}

# vCPUs, MiB of memory and GB of disk of the computes, in turn: some are equal, some differ.
SIZES = ((8, 16384, 200), (8, 16384, 200), (16, 32768, 400), (4, 8192, 100))

HOST = "127.0.0.1"
REGION = "RegionOne"
# Everything listens on the loopback interface only; the password protects nothing.
PASSWORD = "secret"
DEFAULT_COMPUTES = 4


@dataclass(frozen=True)
class Settings:
    """The settings of one lab.

    ``record.json`` keeps decisions of the first start that later commands must not change."""

    repository: Path
    root: Path
    name: str
    port_base: int
    computes: int
    infrastructure: str

    @classmethod
    def load(cls, environ: dict[str, str] | None = None) -> Settings:
        env = dict(os.environ) if environ is None else environ
        repository = Path(__file__).resolve().parents[2]
        root = Path(env.get("LAB_DIR", repository / "var" / "lab")).absolute()
        name = env.get("LAB_NAME", "blazar_lab")
        if not name.replace("_", "").isalnum():
            raise LabError(f"LAB_NAME is {name!r}, but may only have letters, digits and underscores.")
        infrastructure = env.get("LAB_INFRA", "auto")
        if infrastructure not in ("auto", "own"):
            raise LabError(f"LAB_INFRA is {infrastructure!r}, but must be 'auto' or 'own'.")
        record = read_record(root)
        return cls(
            repository=repository,
            root=root,
            name=name,
            port_base=_number(env, "LAB_PORT_BASE", DEFAULT_PORT_BASE, 1024, 65500),
            # computes are added, never taken away: Nova would go on waiting for those that are gone
            computes=max(_number(env, "NCOMPUTE", DEFAULT_COMPUTES, 1, 64), record.get("computes", 1)),
            infrastructure=infrastructure,
        )

    def port(self, service: str) -> int:
        return self.port_base + PORTS[service]

    def url(self, service: str) -> str:
        return f"http://{HOST}:{self.port(service)}"

    def folder(self, *parts: str) -> Path:
        return self.root.joinpath(*parts)

    @property
    def record_path(self) -> Path:
        return self.root / "record.json"

    @property
    def venv(self) -> Path:
        return self.root / "venv"

    @property
    def venv_blazar(self) -> Path:
        return self.root / "venv-blazar"

    @property
    def venv_clients(self) -> Path:
        return self.root / "venv-clients"

    @property
    def blazar_conf(self) -> Path:
        return self.root / "blazar.conf"

    @property
    def policy_yaml(self) -> Path:
        return self.root / "policy.yaml"

    @property
    def clouds_yaml(self) -> Path:
        return self.root / "clouds.yaml"

    def database(self, name: str) -> str:
        return f"{self.name}_{name}"

    def database_url(self, name: str) -> str:
        port = read_record(self.root).get("mariadb_port", 3306)
        return f"mysql+pymysql://{self.name}:{PASSWORD}@{HOST}:{port}/{self.database(name)}"

    def transport_url(self) -> str:
        port = read_record(self.root).get("rabbitmq_port", 5672)
        return f"rabbit://{self.name}:{PASSWORD}@{HOST}:{port}/{self.name}"


def read_record(root: Path) -> dict[str, int]:
    path = root / "record.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_record(root: Path, **changes: int) -> None:
    record = read_record(root) | changes
    (root / "record.json").write_text(json.dumps(record, indent=1) + "\n")


def _number(env: dict[str, str], name: str, default: int, low: int, high: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdigit() or not low <= int(text) <= high:
        raise LabError(f"{name} is {text!r}, but must be a number from {low} to {high}.")
    return int(text)
