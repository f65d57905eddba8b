"""The cloud of the site: the shipped MemoryCloud behind calls that take time, fail before or after they act,
hang, and are refused; and servers that take their time to die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from blazar.adapters.memory.cloud import MemoryCloud
from blazar.domain.errors import CloudRefused, CloudUnavailable

from .scheduler import SECOND, Process
from .world import World, unforeseen

LATENCY = 0.05
FACETS = {
    "compute": "Nova",
    "placement": "Placement",
    "identity": "Keystone",
    "network": "Neutron",
    "images": "Glance",
    "orchestration": "Heat",
}
LOOKS = (
    "find",
    "hypervisors",
    "server",
    "preemptible_servers",
    "images_with",
    "aggregate",
    "flavor",
    "provider",
    "is_",
    "network",
    "ports",
    "subnets",
    "floating_ip",
    "reserv",
    "resource_classes",
    "stack",
    "check_template",
)
"""How the names of methods begin that change nothing."""
TAKE_TIME = (
    "shelve_server",
    "offload_server",
    "unshelve_server",
    "create_image",
    "suspend_server",
    "stop_server",
)
"""What Nova does later, where it is slow."""


class Servers:
    """The servers in the cloud on their way out. ``asked`` is told of every request to delete one."""

    def __init__(self, world: World, cloud: MemoryCloud) -> None:
        self._world = world
        self._cloud = cloud
        self._state = cloud.state
        self.dying: set[str] = set()
        self.stubborn_until: dict[str, int] = {}
        """Until when a deletion of the server has no effect."""
        self.asked: Callable[[str, str], None] = lambda server_id, by: None

    def delete(self, server_id: str, by: Process) -> None:
        """Ask for the deletion: nearly always the server goes, within seconds."""
        if server_id not in self._state.servers:
            return
        self.asked(server_id, by.name)
        if server_id in self.dying or self._world.scheduler.now < self.stubborn_until.get(server_id, 0):
            return
        is_first = server_id not in self.stubborn_until
        if self._world.weather.strike("server", by) or (is_first and self._is_stubborn()):
            length = self._world.dice.uniform(5, 100)
            self.stubborn_until[server_id] = self._world.scheduler.now + round(length * SECOND)
            if self._world.dice.random() < 0.5:
                self._hang(server_id)
            return
        self.dying.add(server_id)
        delay = self._world.dice.choice((0.0, 0.5, 3.0, 12.0)) * self._world.dice.random()
        self._world.scheduler.after(delay, lambda: self._die(server_id))

    def _hang(self, server_id: str) -> None:
        """Show the server as one that is being deleted. It may have to be asked for once more all the
        same."""
        self._state.servers[server_id] = replace(self._state.servers[server_id], is_being_deleted=True)

    def _is_stubborn(self) -> bool:
        return not self._world.weather.is_over and self._world.dice.random() < 0.1

    def complete(self, server_id: str) -> None:
        """Have Nova be done some time later with what it was asked for."""
        if server_id in self._state.tasks:
            delay = self._world.dice.choice((0.5, 3.0, 15.0, 40.0)) * self._world.dice.random()
            self._world.scheduler.after(delay, lambda: self._cloud.settle(server_id))

    def _die(self, server_id: str) -> None:
        self._state.servers.pop(server_id, None)
        self._state.flavor_of.pop(server_id, None)
        self._state.tasks.pop(server_id, None)
        self._state.server_metadata.pop(server_id, None)
        self._state.tags.pop(server_id, None)
        self.dying.discard(server_id)
        self._world.tell(f"server {server_id}", "gone", actor="cloud")


class SimulatedCloud:
    """The Cloud port of one process. ``changed`` is told of every call that changed something, after it."""

    def __init__(
        self,
        world: World,
        process: Process,
        inner: MemoryCloud,
        servers: Servers,
        changed: Callable[[str, tuple[Any, ...]], None],
    ) -> None:
        self.world = world
        self.process = process
        self.inner = inner
        self.servers = servers
        self.changed = changed
        for facet, service in FACETS.items():
            setattr(self, facet, Facet(self, getattr(inner, facet), service))

    @property
    def regions(self) -> Sequence[str]:
        return ()

    def in_region(self, region: str | None) -> SimulatedCloud:
        if region is not None:
            raise ValueError(f"the simulated cloud has no region {region}")
        return self

    def as_user(self, token: str) -> SimulatedCloud:
        return self._on(self.inner.as_user(token))

    def as_trustee(self, trust_id: str) -> SimulatedCloud:
        return self._on(self.inner.as_trustee(trust_id))

    def fenced(self, check: Callable[[], None]) -> SimulatedCloud:
        return self._on(self.inner.fenced(check))

    def for_request(self, seconds_left: Callable[[], float]) -> SimulatedCloud:
        return self._on(self.inner.for_request(seconds_left))

    def _on(self, inner: MemoryCloud) -> SimulatedCloud:
        return SimulatedCloud(self.world, self.process, inner, self.servers, self.changed)


class Facet:
    """One service of the cloud: each method is a request."""

    def __init__(self, cloud: SimulatedCloud, inner: Any, service: str) -> None:
        self._cloud = cloud
        self._inner = inner
        self._service = service

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._request(method, args, kwargs)

    def _request(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        world, process = self._cloud.world, self._cloud.process
        name = f"{method}({', '.join(short(a) for a in (*args, *kwargs.values()))})"
        is_quiet = method.startswith(LOOKS)
        # The fence is checked when the request arrives: no fence closes the gap between the two, so it is not
        # simulated.
        world.step(process, LATENCY)
        try:
            trouble = world.weather.strike("cloud", process)
            if trouble is not None:
                self._fail(trouble, name, method, args, kwargs)
            result = self._act(method, args, kwargs)
        except Exception as failure:
            world.tell(name, f"{type(failure).__name__}: {failure}")
            raise
        world.tell(name, "ok" if not is_quiet else short(result), is_quiet)
        world.step(process, LATENCY)
        if method == "hypervisors":
            result = self._as_seen(result)
        if world.weather.strike("answer", process):
            world.tell(name, "the answer is lost")
            raise CloudUnavailable(service=self._service, reason="the connection was lost")
        return result

    def _act(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if method == "delete_server":
            self._inner.server("")  # the same fence and the same rights, and no server at once
            return self._cloud.servers.delete(args[0], self._cloud.process)
        result = getattr(self._inner, method)(*args, **kwargs)
        if method in TAKE_TIME:
            self._cloud.servers.complete(args[0])
        self._cloud.changed(method, args)
        return result

    def _as_seen(self, hypervisors: Any) -> Any:
        """Return what a Nova sees that has lost its broker, or its cells."""
        trouble = self._cloud.world.weather.strike("list", self._cloud.process)
        if trouble is None:
            return hypervisors
        self._cloud.world.tell("hypervisors", trouble.kind)
        is_silent = trouble.kind == "nova takes all for down"
        return [replace(each, is_up=False) for each in hypervisors] if is_silent else []

    def _fail(
        self, trouble: Any, name: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        world, random = self._cloud.world, self._cloud.world.weather.random_of(trouble)
        match trouble.kind:
            case "cloud away":
                raise CloudUnavailable(service=self._service, reason="no route to host")
            case "cloud refuses":
                raise CloudRefused(service=self._service, reason="Policy does not allow it. (HTTP 403)")
            case "cloud hangs":
                if random.random() < 0.5:
                    self._act(method, args, kwargs)
                    world.tell(name, "acts, and hangs")
                world.scheduler.sleep(random.uniform(5, 60))
                raise CloudUnavailable(service=self._service, reason="no answer within 60 s")
            case "slow cloud":
                world.scheduler.sleep(random.uniform(0, 8))
            case _:
                raise unforeseen(random, "the body of the answer is not JSON")


def short(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, str):
        return value[:4] if len(value) == 36 else value
    if isinstance(value, list | tuple):
        return "[" + " ".join(short(v) for v in value) + "]"
    if isinstance(value, set | frozenset):
        return "{" + " ".join(sorted(short(v) for v in value)) + "}"  # the same in each process
    for name in ("hosts", "id", "name"):
        if hasattr(value, name):
            return short(getattr(value, name))
    return str(value)[:40]
