"""The programs of the lab: their command lines, their order and their health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blazar_lab.api import Api, ApiError
from blazar_lab.daemon import Daemon, Supervisor, is_listening, started_at
from blazar_lab.settings import SIZES, Settings

# WSGI application of each API
APIS = {
    "keystone": "keystone.wsgi.api:application",
    "placement": "placement.wsgi.api:application",
    "glance": "glance.wsgi.api:application",
    "neutron": "neutron.wsgi.api:application",
    "nova": "nova.wsgi.osapi_compute:application",
    "cinder": "cinder.wsgi.api:application",
}
NOVA_WORKERS = ("nova-conductor", "nova-scheduler")
CINDER_WORKERS = ("cinder-scheduler", "cinder-volume")

# The commands of the reservation service; {conf} is its configuration file.
BLAZAR_MIGRATE = ("blazar-db-manage", "--config-file", "{conf}", "upgrade", "head")
BLAZAR_COMMANDS = {
    "blazar-manager": ("blazar-manager", "--config-file", "{conf}"),
    "blazar-api": ("blazar-api", "--config-file", "{conf}"),
}
BLAZAR_HEALTH = "/healthcheck"

CATALOG = {
    "placement": ("placement", "placement", ""),
    "nova": ("nova", "compute", "/v2.1"),
    "neutron": ("neutron", "network", ""),
    "glance": ("glance", "image", ""),
    "cinder": ("cinder", "block-storage", "/v3"),
    "blazar": ("blazar", "reservation", "/v1"),
}


def endpoints(settings: Settings) -> dict[str, tuple[str, str]]:
    return {name: (kind, settings.url(port) + path) for name, (port, kind, path) in CATALOG.items()}


def api(settings: Settings, name: str) -> Daemon:
    etc = settings.folder("etc", name)
    environment = {f"OS_{name.upper()}_CONFIG_DIR": str(etc)}
    if name == "neutron":
        environment["OS_NEUTRON_CONFIG_FILES"] = "neutron.conf"
    environment |= NATIVE_THREADS.get(name, {})
    command = (
        *(str(settings.venv / "bin" / "python"), "-m", "blazar_lab_parts.serve", APIS[name]),
        *(str(settings.port(name)), str(settings.folder("log", f"{name}.access"))),
        str(fault_file(settings, name)),
        # the others look into the folder that their environment names
        *([f"--config-file={etc / 'cinder.conf'}"] if name == "cinder" else []),
    )
    return Daemon(name, command, port=settings.port(name), environment=environment)


def fault_file(settings: Settings, name: str) -> str:
    """Return the path of the fault file: while it exists, the API answers with the statuses in it."""
    return str(settings.folder("faults", name))


# Nova and Cinder run on native threads; the other mode needs eventlet, which OpenStack abandons.
NATIVE_THREADS = {
    name: {f"OS_{name.upper()}_DISABLE_EVENTLET_PATCHING": "true"} for name in ("nova", "cinder")
}


def workers(settings: Settings) -> list[str]:
    """Return the names of all that serve no port: Nova's and Cinder's own processes."""
    return [*NOVA_WORKERS, *computes(settings), *CINDER_WORKERS]


def worker(settings: Settings, name: str) -> Daemon:
    """Return a process of Nova or Cinder; the name of a nova-compute ends in its number."""
    program = name.rstrip("0123456789")
    service = program.partition("-")[0]
    file = f"{service}.conf"
    environment = NATIVE_THREADS[service]
    if program == "nova-compute":
        number = int(name.removeprefix(program))
        file = f"compute{number}.conf"
        vcpus, memory, disk = SIZES[(number - 1) % len(SIZES)]
        size = {"LAB_VCPUS": str(vcpus), "LAB_MEMORY_MB": str(memory), "LAB_DISK_GB": str(disk)}
        environment = {**environment, **size}
    command = (str(settings.venv / "bin" / program), f"--config-file={settings.folder('etc', service, file)}")
    return Daemon(name, command, environment=environment)


def computes(settings: Settings) -> list[str]:
    return [f"nova-compute{number}" for number in range(1, settings.computes + 1)]


def blazar_daemons(settings: Settings) -> list[Daemon]:
    return [
        Daemon(
            name,
            blazar_command(settings, words),
            port=settings.port("blazar") if name == "blazar-api" else None,
        )
        for name, words in BLAZAR_COMMANDS.items()
    ]


def blazar_command(settings: Settings, words: tuple[str, ...]) -> tuple[str, ...]:
    program, *arguments = (word.format(conf=settings.blazar_conf) for word in words)
    return (str(settings.venv_blazar / "bin" / program), *arguments)


@dataclass(frozen=True)
class Health:
    """The health of one service, as ``status`` prints it."""

    name: str
    pid: int | None
    port: int | None
    healthy: bool
    remark: str = ""


WORKERS_OF = {"nova": "/v2.1/os-services", "cinder": "/v3/os-services"}
"""Where the services that have workers tell about them."""


def _service_of(worker: str) -> str | None:
    """Return the service that hears of a worker; None for all else."""
    service, dash, _ = worker.partition("-")
    return service if dash and service in WORKERS_OF else None


class HealthChecker:
    """Checks services; asks Nova and Cinder once about all of their workers."""

    def __init__(self, settings: Settings, supervisor: Supervisor) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._api = Api(settings)

    def check(self, names: list[str]) -> list[Health]:
        heard = {service: self._heard(service) for service in {*filter(None, map(_service_of, names))}}
        return [self._one(name, heard) for name in names]

    def responds(self, name: str) -> bool:
        """Tell whether this API answers, with any status but a server error."""
        path = BLAZAR_HEALTH if name == "blazar-api" else "/v3" if name == "keystone" else "/"
        port = "blazar" if name == "blazar-api" else name
        return self._api.status(self._settings.url(port) + path) < 500

    def working(self, names: list[str]) -> Callable[[str], bool]:
        """Return a condition for Supervisor.wait: its service has heard of the worker since it started."""

        def ready(name: str) -> bool:
            return {health.name: health for health in self.check(names)}[name].healthy

        return ready

    def _one(self, name: str, heard: Mapping[str, Mapping[str, float] | None]) -> Health:
        settings = self._settings
        port = settings.port("blazar") if name == "blazar-api" else None
        if name in APIS or name in ("mariadb", "rabbitmq"):
            port = settings.port(name)
        found = self._supervisor.running(name)
        if not found:
            return Health(name, None, port, healthy=False, remark="not running")
        if found.frozen:
            return Health(name, found.pid, port, healthy=False, remark="stopped by a signal")
        if service := _service_of(name):
            times, noun = heard[service], service.capitalize()
            fresh = times is not None and times.get(name, 0.0) >= started_at(found) - 1
            unknown = f"not known: {noun} does not answer"
            remark = unknown if times is None else f"{noun} has not heard of it yet"
            return Health(name, found.pid, port, fresh, "" if fresh else remark)
        if name in APIS or name == "blazar-api":
            healthy = self.responds(name)
            return Health(name, found.pid, port, healthy, "" if healthy else "does not answer properly")
        healthy = port is None or is_listening(port)
        return Health(name, found.pid, port, healthy, "" if healthy else "does not listen")

    def unmapped(self) -> bool:
        """Tell whether Nova has computes that are not mapped to a cell yet."""
        try:
            hypervisors = self._api.get("nova", "/v2.1/os-hypervisors/detail")["hypervisors"]
        except ApiError:
            return True
        return len(hypervisors) < self._settings.computes

    def _heard(self, name: str) -> dict[str, float] | None:
        """Return when a service last heard of each of its workers that it considers up."""
        try:
            found = self._api.get(name, WORKERS_OF[name])["services"]
        except ApiError:
            return None
        heard: dict[str, float] = {}
        for service in found:
            number = service["host"].removeprefix("host") if service["binary"] == "nova-compute" else ""
            if service["state"] == "up" and service["updated_at"]:
                heard[service["binary"] + number] = self._api.moment(service["updated_at"])
        return heard
