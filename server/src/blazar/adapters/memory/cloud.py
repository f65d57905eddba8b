"""A cloud in memory: the Cloud port with the rules of the real services as far as reservations can feel them.

For trying out the service and for its tests; the sandbox is the same over HTTP. Threads may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import NAMESPACE_DNS, uuid5

from blazar.adapters.memory.cloud_state import USERS_MAY, Actor, CloudState
from blazar.adapters.memory.compute import MemoryCompute
from blazar.adapters.memory.identity import MemoryIdentity, actor_by_trust
from blazar.adapters.memory.image import MemoryImages
from blazar.adapters.memory.network import MemoryNetwork
from blazar.adapters.memory.orchestration import MemoryOrchestration
from blazar.adapters.memory.placement import MemoryPlacement
from blazar.adapters.memory.storage import MemoryStorage, settle_volumes
from blazar.domain.errors import CloudRefused, CloudUnavailable, TooLate
from blazar.domain.resource import Inventory, PropertyValue
from blazar.service.ports import CloudNetwork, Flavor, Hypervisor, Provider, Server, Subnet

FREEPOOL = "freepool"


class MemoryCloud:
    """The Cloud port. ``calls`` names every request in order; a test may put a fault into ``before``."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self.state = CloudState()
        self.calls: list[str] = []
        self.faults: list[Callable[[str], None]] = [lambda call: None]
        self._checks: tuple[Callable[[], None], ...] = ()
        self._actor: Callable[[], Actor | None] = lambda: None
        self._elsewhere: dict[str, MemoryCloud] = {}
        self.first_region: str | None = None
        self._open_facets()
        self.compute.create_aggregate(FREEPOOL, None, {})
        for number, host in enumerate(hosts, start=1):
            self.add_hypervisor(str(number), host)

    def _open_facets(self) -> None:
        self.compute = MemoryCompute(self.state, self.called)
        self.placement = MemoryPlacement(self.state, self.called)
        self.identity = MemoryIdentity(self.state, self.called)
        self.network = MemoryNetwork(self.state, self.called)
        self.images = MemoryImages(self.state, self.called)
        self.storage = MemoryStorage(self.state, self.called)
        self.orchestration = MemoryOrchestration(self.state, self.called)

    def add_region(self, name: str, first: str = "RegionOne") -> MemoryCloud:
        """Add a region, with services of its own, and return its cloud."""
        added = MemoryCloud()
        self._elsewhere[name] = added
        self.first_region = first
        return added

    @property
    def regions(self) -> Sequence[str]:
        return (str(self.first_region), *self._elsewhere) if self._elsewhere else ()

    def in_region(self, region: str | None) -> MemoryCloud:
        if region is None or region == self.first_region:
            return self
        if region not in self._elsewhere:
            raise CloudUnavailable(service="Nova", reason=f"there is no region {region}")
        other = self._elsewhere[region]
        return other._twin(checks=self._checks, actor=self._actor)

    @property
    def before(self) -> Callable[[str], None]:
        """Return what is called before each request, of any client."""
        return self.faults[0]

    @before.setter
    def before(self, fault: Callable[[str], None]) -> None:
        self.faults[0] = fault

    def fenced(self, check: Callable[[], None]) -> MemoryCloud:
        return self._twin(checks=(*self._checks, check))

    def for_request(self, seconds_left: Callable[[], float]) -> MemoryCloud:
        def in_time() -> None:
            if seconds_left() <= 0:
                raise TooLate()

        return self.fenced(in_time)

    def as_user(self, token: str) -> MemoryCloud:
        return self._twin(actor=lambda: self._by_token(token))

    def as_trustee(self, trust_id: str) -> MemoryCloud:
        return self._twin(actor=lambda: actor_by_trust(self.state, trust_id))

    def _by_token(self, token: str) -> Actor:
        if token not in self.state.tokens:
            raise CloudRefused(
                service="Nova", reason="The request you have made requires authentication. (HTTP 401)"
            )
        return self.state.tokens[token]

    def _twin(
        self,
        checks: tuple[Callable[[], None], ...] | None = None,
        actor: Callable[[], Actor | None] | None = None,
    ) -> MemoryCloud:
        twin = object.__new__(MemoryCloud)
        twin.__dict__.update(self.__dict__)
        twin._checks = self._checks if checks is None else checks
        twin._actor = self._actor if actor is None else actor
        twin._open_facets()
        return twin

    def called(self, call: str) -> Actor | None:
        """Pass a request by the fences, the faults and the rights. Return the user who sends it; None is the
        service."""
        for check in self._checks:
            check()
        self.calls.append(call)
        self.before(call)
        actor = self._actor()
        if actor is not None and call not in USERS_MAY:
            raise CloudRefused(
                service="Nova", reason=f"Policy doesn't allow {call} to be performed. (HTTP 403)"
            )
        return actor

    # what happens in the cloud without us

    def add_hypervisor(
        self, number: str, host: str, vcpus: int = 8, memory_mb: int = 16384, local_gb: int = 100
    ) -> None:
        sizes = {"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": local_gb}
        facts: dict[str, PropertyValue] = {
            "vcpus": vcpus,
            "memory_mb": memory_mb,
            "local_gb": local_gb,
            "cpu_info": "{}",
            "hypervisor_type": "QEMU",
            "hypervisor_version": 8000000,
            "hypervisor_hostname": host,
            "service_name": host,
            "availability_zone": "nova",
        }
        uuid = str(uuid5(NAMESPACE_DNS, host))
        self.state.hypervisors[host] = Hypervisor(uuid, number, host, host, facts)
        self.set_provider(host, sizes)

    def set_service(self, host: str, is_up: bool = True, is_enabled: bool = True) -> None:
        """Let the nova-compute of a host report or not, and take new servers or not."""
        for name, known in self.state.hypervisors.items():
            if known.service_name == host:
                self.state.hypervisors[name] = replace(known, is_up=is_up, is_enabled=is_enabled)

    def set_provider(self, host: str, sizes: Mapping[str, int], traits: Iterable[str] = ()) -> None:
        """Set what Placement tells of a host that is registered from now on."""
        inventory = {name: Inventory(size, size) for name, size in sizes.items()}
        self.state.providers[host] = Provider(host, frozenset({"COMPUTE_NODE", *traits}), inventory)

    def add_flavor(self, flavor: Flavor, projects: Iterable[str] = ()) -> None:
        self.state.flavors[flavor.id] = flavor
        self.state.access[flavor.id] = set(projects)

    def add_network(self, network_id: str, *subnets: Subnet, is_external: bool = True) -> None:
        self.state.networks[network_id] = CloudNetwork(network_id, network_id, is_external)
        self.state.subnets[network_id] = list(subnets)

    def add_token(
        self, token: str, user_id: str, project_id: str, roles: Sequence[str] = ("member",)
    ) -> None:
        self.state.tokens[token] = Actor(user_id, project_id, tuple(roles))

    def boot(self, server_id: str, host: str, project_id: str = "demo") -> None:
        self.state.servers[server_id] = Server(server_id, server_id, host, "ACTIVE", project_id)

    def settle(self, server_id: str) -> None:
        """Let Nova complete what it is doing to a server that is slow."""
        state = self.state
        with state.lock:
            if (task := state.tasks.pop(server_id, None)) is not None:
                state.servers[server_id] = task.after
            state.made_images[:] = [
                replace(made, image=replace(made.image, status="active")) for made in state.made_images
            ]

    def settle_volumes(self) -> None:
        """Let Cinder and Nova complete what they do with volumes."""
        with self.state.lock:
            settle_volumes(self.state)

    def settle_stacks(self) -> None:
        """Let Heat complete what it does."""
        state, fails = self.state, self.state.stack_fails
        completed = ("CREATE_COMPLETE", "") if fails is None else ("CREATE_FAILED", fails)
        with state.lock:
            for stack_id, made in list(state.stacks.items()):
                if made.stack.status == "CREATE_IN_PROGRESS":
                    after = replace(made.stack, status=completed[0], reason=completed[1])
                    state.stacks[stack_id] = replace(made, stack=after)
                elif made.stack.status == "DELETE_IN_PROGRESS":
                    del state.stacks[stack_id]

    def boot_reserved(self, server_id: str, flavor_id: str, project_id: str = "demo") -> str:
        """Boot a server of a reservation's flavor on a host that has a slot left, and return the host. Raises
        CloudRefused."""
        return self.compute.boot(server_id, flavor_id, project_id)

    def hosts_in(self, aggregate: str) -> tuple[str, ...]:
        return next((a.hosts for a in self.state.aggregates.values() if a.name == aggregate), ())
