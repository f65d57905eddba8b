"""What can a story do to the lab's processes: freeze, kill, stop, start, make an API fail?"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from blazar_lab import configuration, infrastructure, reservation, services
from blazar_lab.daemon import Supervisor
from blazar_lab.settings import Settings, read_record

from labtests.relay import Relay
from labtests.waiting import until


class Severable(Protocol):
    """Something that can be taken down and brought back."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class Machinery:
    """The lab's processes by name. Everything done here is undone by `mend`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.supervisor = Supervisor(settings.folder("run"), settings.folder("log"))
        self._doctor = services.Doctor(settings, self.supervisor)
        self._frozen: set[str] = set()
        self._ended: set[str] = set()

    def ailing(self) -> list[str]:
        """One sentence per service that a story could not rely on."""
        names = [*services.APIS, *services.NOVA_WORKERS, *services.computes(self.settings)]
        examined = self._doctor.examine([*names, *services.BLAZAR_COMMANDS])
        return [f"{health.name}: {health.remark}" for health in examined if not health.healthy]

    def freeze(self, name: str) -> None:
        self._frozen.add(name)
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)
        self._frozen.discard(name)

    def kill(self, name: str) -> None:
        """kill -9 of the process with all its children."""
        self._ended.add(name)
        self._signal(name, signal.SIGKILL)
        until(f"{name} gone", 10, lambda: not self.supervisor.running(name))

    def stop(self, name: str) -> None:
        self._ended.add(name)
        self.supervisor.stop([name])

    def start_blazar(self) -> None:
        """Start those of our processes that do not run, and wait until the API answers."""
        reservation.launch(self.settings, self.supervisor)
        self._ended.clear()

    @contextmanager
    def failing(self, api: str, statuses: str) -> Iterator[None]:
        """An API of the cloud answers with these statuses in turn, to everybody, for a while."""
        path = Path(services.fault_file(self.settings, api))
        path.write_text(statuses)
        try:
            yield
        finally:
            path.unlink()

    @contextmanager
    def severable(self, servers: Sequence[str]) -> Iterator[dict[str, Severable]]:
        """MariaDB and RabbitMQ as something that a story may take down.

        The lab's own server is really stopped. One that others on this machine use too is put behind
        a relay for our processes, and the relay is stopped."""
        ports = {server: read_record(self.settings.root)[f"{server}_port"] for server in servers}
        relays = {server: Relay(port) for server, port in ports.items() if port == infrastructure.SHARED[server]}
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

    def mend(self) -> None:
        """Whatever a story did here and left: everything runs again."""
        for name in list(self._frozen):
            self.thaw(name)
        if self._ended:
            self.start_blazar()

    def _signal(self, name: str, number: signal.Signals) -> None:
        found = self.supervisor.running(name)
        assert found, f"{name} does not run"
        os.killpg(found.pid, number)


class OwnServer:
    """A private MariaDB or RabbitMQ of the lab: the real thing stops and starts."""

    def __init__(self, machinery: Machinery, name: str) -> None:
        self._machinery = machinery
        self._name = name

    def stop(self) -> None:
        self._machinery.supervisor.stop([self._name])

    def start(self) -> None:
        infrastructure.ensure(self._machinery.settings, self._machinery.supervisor)
