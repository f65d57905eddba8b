"""The lab's processes as stories disturb them: freeze, kill, stop, start, and make an API fail."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from blazar_lab import configuration, infrastructure, reservation, services
from blazar_lab.daemon import Supervisor
from blazar_lab.settings import Settings, read_record

from labtests.relay import Relay
from labtests.waiting import until

MANAGER = "blazar-manager"
MANAGE_SECONDS = 120


class Interruptible(Protocol):
    """A server that a story can stop and start again."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class LabProcesses:
    """The lab's processes by name. `restore` undoes everything that was done through this object."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.supervisor = Supervisor(settings.folder("run"), settings.folder("log"))
        self._checker = services.HealthChecker(settings, self.supervisor)
        self._frozen: set[str] = set()
        self._ended: set[str] = set()

    def unhealthy(self) -> list[str]:
        """Return a sentence for each service that is not healthy."""
        names = [*services.APIS, *services.workers(self.settings)]
        examined = self._checker.check([*names, *services.BLAZAR_COMMANDS])
        return [f"{health.name}: {health.remark}" for health in examined if not health.healthy]

    def freeze(self, name: str) -> None:
        self._frozen.add(name)
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)
        self._frozen.discard(name)

    def kill(self, name: str) -> None:
        """Send SIGKILL to the process and all its children."""
        self._ended.add(name)
        self._signal(name, signal.SIGKILL)
        until(f"{name} gone", 10, lambda: not self.supervisor.running(name))

    def stop(self, name: str) -> None:
        self._ended.add(name)
        self.supervisor.stop([name])

    def start_blazar(self) -> None:
        """Start the processes of the reservation service that do not run; wait until the API answers."""
        reservation.launch(self.settings, self.supervisor)
        self._ended.clear()

    @contextmanager
    def without_compute(self, host: str) -> Iterator[None]:
        """Stop the nova-compute of a host. Its servers are lost, as in a power cut."""
        self.supervisor.stop([compute_of(host)])
        try:
            yield
        finally:
            self.start_compute(host)
            self.supervisor.wait([compute_of(host)], self._checker.working([compute_of(host)]), seconds=90)

    def start_compute(self, host: str) -> None:
        """Start the nova-compute of a host where it does not run."""
        self.supervisor.start(services.worker(self.settings, compute_of(host)))

    @contextmanager
    def configured(self, group: str, **options: object) -> Iterator[None]:
        """Have the manager run with these options of a group that the lab leaves alone."""
        lines = [f"[{group}]", *(f"{name} = {value}" for name, value in options.items())]
        conf = self.settings.blazar_conf
        try:
            conf.write_text("\n".join([conf.read_text(), *lines, ""]))
            self._restart_manager()
            yield
        finally:
            configuration.write(self.settings)
            self._restart_manager()

    @contextmanager
    def empty_database(self, name: str) -> Iterator[str]:
        """Make a database beside those of the lab, and yield its URL. It is dropped at the end."""
        infrastructure.recreate_database(self.settings, name)
        try:
            yield self.settings.database_url(name)
        finally:
            infrastructure.drop_database(self.settings, name)

    @contextmanager
    def on_empty_database(self, name: str) -> Iterator[None]:
        """Stop the reservation service, and give it another database, in which there is nothing yet."""
        conf, own = self.settings.blazar_conf, self.settings.database_url("blazar")
        with self.empty_database(name) as url:
            self.supervisor.stop(services.BLAZAR_COMMANDS)
            try:
                conf.write_text(conf.read_text().replace(own, url))
                self.manage("upgrade")
                yield
            finally:
                self.supervisor.stop(services.BLAZAR_COMMANDS)
                configuration.write(self.settings)
                self.start_blazar()

    def manage(self, *words: str) -> str:
        """Run blazar-db-manage, which has to succeed, and return what it prints."""
        done = self._managed(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def reconcile(self, *words: str) -> tuple[int, list[str]]:
        """Compare the database with the cloud, as an operator does. Return the exit code and the lines that
        are printed, one for each difference."""
        done = self._managed("reconcile", *words)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.returncode, done.stdout.splitlines()

    def _managed(self, *words: str) -> subprocess.CompletedProcess[str]:
        program = ("blazar-db-manage", "--config-file", "{conf}", *words)
        command = services.blazar_command(self.settings, program)
        return subprocess.run(command, capture_output=True, text=True, timeout=MANAGE_SECONDS, check=False)

    @contextmanager
    def policies(self, rules: str) -> Iterator[Path]:
        """Have the API find these rules in its policy file, whose path is yielded; afterwards there are none.

        The API is not told: it looks by itself."""
        path = self.settings.policy_yaml
        try:
            path.write_text(rules)
            yield path
        finally:
            path.write_text("")

    @contextmanager
    def rules(self, api: str, rules: str) -> Iterator[None]:
        """Have one of the cloud's APIs find these rules in the place of those that the lab gives it.

        The API looks by itself. A rule that it finds only here counts for it until it is restarted."""
        path = self.settings.folder("etc", api, "policy.yaml")
        usual = path.read_text()
        try:
            path.write_text(rules)
            yield
        finally:
            path.write_text(usual)

    def log(self, name: str) -> str:
        """Return what a process has logged so far."""
        return self.supervisor.log_path(name).read_text()

    def _restart_manager(self) -> None:
        self.supervisor.stop([MANAGER])
        for daemon in services.blazar_daemons(self.settings):
            self.supervisor.start(daemon)
        self.supervisor.wait(["blazar-api"], self._checker.responds, seconds=60)

    @contextmanager
    def failing(self, api: str, statuses: str) -> Iterator[None]:
        """Let one of the cloud's APIs answer all requests with these statuses in turn."""
        path = Path(services.fault_file(self.settings, api))
        path.write_text(statuses)
        try:
            yield
        finally:
            path.unlink()

    @contextmanager
    def interruptible(self, servers: Sequence[str]) -> Iterator[dict[str, Interruptible]]:
        """Yield MariaDB and RabbitMQ as servers that a story can stop.

        A private server of the lab is really stopped. A server that other programs of this machine share is
        reached through a relay, and only the relay is stopped."""
        ports = {server: read_record(self.settings.root)[f"{server}_port"] for server in servers}
        relays = {
            server: Relay(port) for server, port in ports.items() if port == infrastructure.SHARED[server]
        }
        own = {server: OwnServer(self, server) for server in servers if server not in relays}
        for relay in relays.values():
            relay.start()
        conf = self.settings.blazar_conf
        try:
            if relays:
                self.supervisor.stop(services.BLAZAR_COMMANDS)
                text = conf.read_text()
                for server, relay in relays.items():
                    text = text.replace(f":{ports[server]}/", f":{relay.port}/")
                conf.write_text(text)
                self.start_blazar()
            yield {**relays, **own}
        finally:
            for server in own.values():
                server.start()
            if relays:
                self.supervisor.stop(services.BLAZAR_COMMANDS)
                for relay in relays.values():
                    relay.stop()
                configuration.write(self.settings)
                self.start_blazar()

    def restore(self) -> None:
        """Bring all processes back that a story has frozen, stopped or killed."""
        for name in list(self._frozen):
            self.thaw(name)
        if self._ended:
            self.start_blazar()

    def _signal(self, name: str, number: signal.Signals) -> None:
        found = self.supervisor.running(name)
        assert found, f"{name} does not run"
        os.killpg(found.pid, number)


def compute_of(host: str) -> str:
    """Return the name of the nova-compute of a host."""
    return f"nova-compute{host.removeprefix('host')}"


class OwnServer:
    """A private MariaDB or RabbitMQ of the lab, which really stops and starts."""

    def __init__(self, processes: LabProcesses, name: str) -> None:
        self._machinery = processes
        self._name = name

    def stop(self) -> None:
        self._machinery.supervisor.stop([self._name])

    def start(self) -> None:
        infrastructure.ensure(self._machinery.settings, self._machinery.supervisor)
