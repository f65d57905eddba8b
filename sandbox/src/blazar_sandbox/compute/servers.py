"""The life cycle of servers."""

import heapq
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.model import Pending, Server, ServerFault, Status
from blazar_sandbox.compute.scheduler import BootRequest, NoValidHost, Scheduler
from blazar_sandbox.compute.server_table import ServerTable
from blazar_sandbox.compute.stuck_servers import StuckServers
from blazar_sandbox.network.state import Network, PortRequest
from blazar_sandbox.placement.model import Consumer
from blazar_sandbox.placement.state import Placement

# Seconds after which a hanging deletion is tried again.
_STUCK_RETRY = 0.1
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Delays:
    """The durations of a boot, of a deletion, and of each half of shelving, in seconds.

    A negative ``offload`` leaves shelved servers on their hosts, as Nova's ``shelved_offload_time`` of -1.
    For the seconds of ``leave`` a server is SHELVED_OFFLOADED already, and still told to be on its host."""

    boot: float = 0.2
    delete: float = 0.2
    shelve: float = 0.1
    offload: float = 0.1
    leave: float = 0.05


@dataclass(frozen=True, slots=True)
class NewServer:
    """The fields of a new server that do not concern the scheduler."""

    name: str
    user_id: str
    image_id: str
    ports: Sequence[PortRequest] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    key_name: str | None = None
    description: str | None = None
    user_data: str | None = None
    config_drive: str = ""
    security_groups: tuple[str, ...] = ("default",)
    hints: Mapping[str, list[str]] = field(default_factory=dict)


class Servers:
    """The life cycle of servers."""

    def __init__(
        self,
        clock: Clock,
        table: ServerTable,
        scheduler: Scheduler,
        placement: Placement,
        network: Network,
        delays: Delays,
    ) -> None:
        self._table = table
        self.delays = delays
        self.stuck = StuckServers()
        self.deleted: deque[Server] = deque(maxlen=_KEPT)
        """The last servers that were deleted, until the sandbox ends."""
        self._clock = clock
        self._scheduler = scheduler
        self._placement = placement
        self._network = network
        self.when_gone: Callable[[str], None] = lambda server_id: None
        """What is called with the id of each server that is gone."""
        self._due_times: list[tuple[float, str]] = []

    def boot(self, new: NewServer, boot: BootRequest, *, index: int = 0, reservation_id: str = "") -> Server:
        """Create a server on the host that the scheduler chooses.

        As in Nova, its status is ERROR if no host fits.
        """
        now = self._clock.now()
        server = Server(
            id=str(uuid.uuid4()),
            name=new.name,
            project_id=boot.project_id,
            user_id=new.user_id,
            flavor=boot.flavor,
            created=now,
            updated=now,
            reservation_id=reservation_id or f"r-{uuid.uuid4().hex[:8]}",
            task_state="spawning",
            image_id=new.image_id,
            launch_index=index,
            metadata=new.metadata,
            tags=new.tags,
            key_name=new.key_name,
            description=new.description,
            user_data=new.user_data,
            config_drive=new.config_drive,
            group_id=boot.group.id if boot.group is not None else None,
            pinned_zone=boot.zone,
            security_groups=new.security_groups,
            hints=new.hints,
        )
        found = self._scheduler.select(boot)
        if isinstance(found, NoValidHost):
            fault = ServerFault(500, f"No valid host was found. {found.reason}", now, "NoValidHost")
            server = replace(server, status=Status.ERROR, task_state=None, fault=fault)
            self._put(server)
            return server
        self._placement.allocate(
            Consumer(server.id, boot.project_id, new.user_id, found.allocations, type="INSTANCE")
        )
        for port in new.ports:
            self._network.plug(port, server.id, boot.project_id, found.host.name)
        return self._later(replace(server, host=found.host.name), Pending.ACTIVE, self.delays.boot)

    def delete(self, server: Server) -> None:
        """Delete a server after the delay, unless its deletion hangs."""
        if server.pending is Pending.DELETED:
            return
        if not server.host and not self.stuck.contains(server.id, server.host):
            self._forget(server)
            return
        self._later(replace(server, task_state="deleting"), Pending.DELETED, self.delays.delete)

    def shelve(self, server: Server) -> Server:
        """Shelve a server after the delay, and offload it then as Nova is configured to."""
        return self._later(replace(server, task_state="shelving"), Pending.SHELVED, self.delays.shelve)

    def offload(self, server: Server) -> Server:
        """Take a shelved server from its host after the delay."""
        return self._later(
            replace(server, task_state="shelving_offloading"), Pending.OFFLOADED, max(self.delays.offload, 0)
        )

    def unshelve(self, server: Server, boot: BootRequest) -> Server:
        """Bring a shelved server back: where it is, or, once it is offloaded, on the host that the scheduler
        chooses. As in Nova, it stays offloaded if no host fits."""
        if server.status is Status.SHELVED:
            return self._later(replace(server, task_state="unshelving"), Pending.ACTIVE, self.delays.boot)
        found = self._scheduler.select(boot)
        if isinstance(found, NoValidHost):
            return self.change(replace(server, pinned_zone=boot.zone))
        self._placement.allocate(
            Consumer(server.id, server.project_id, server.user_id, found.allocations, type="INSTANCE")
        )
        landed = replace(server, host=found.host.name, pinned_zone=boot.zone, task_state="spawning")
        return self._later(landed, Pending.ACTIVE, self.delays.boot)

    def migrate(self, server: Server, boot: BootRequest) -> Server:
        """Move a running server to the host that the scheduler chooses. As in Nova, it stays where it is if
        no host fits."""
        found = self._scheduler.select(boot)
        if isinstance(found, NoValidHost):
            return server
        self._placement.allocate(
            Consumer(server.id, server.project_id, server.user_id, found.allocations, type="INSTANCE")
        )
        moving = replace(server, next_host=found.host.name, task_state="migrating")
        return self._later(moving, Pending.MIGRATED, self.delays.boot)

    def set_status(self, server: Server, status: Status, task_state: str | None = None) -> Server:
        """Set the status of a server at once."""
        server = replace(server, status=status, task_state=task_state, updated=self._clock.now())
        self._put(server)
        return server

    def change(self, server: Server) -> Server:
        """Store a server whose descriptive fields have changed."""
        server = replace(server, updated=self._clock.now())
        self._put(server)
        return server

    def advance(self) -> None:
        """Apply every change that is due. Every request calls this, so it is cheap when nothing is due."""
        if not self._due_times:
            return
        now = self._clock.now().timestamp()
        while self._due_times and self._due_times[0][0] <= now:
            _due, server_id = heapq.heappop(self._due_times)
            server = self._table.get(server_id)
            if server is not None and server.due is not None and server.due <= now:
                self._do_pending(server, now)

    def resume(self) -> None:
        """Continue the changes that were pending when the state was saved."""
        self._due_times = [(row.due, row.id) for row in self._table if row.due is not None]
        heapq.heapify(self._due_times)

    def _do_pending(self, server: Server, now: float) -> None:
        if server.pending is Pending.DELETED:
            if self.stuck.contains(server.id, server.host):
                self._schedule(server, now + _STUCK_RETRY)
            else:
                self._forget(server)
            return
        if server.pending in (Pending.SHELVED, Pending.OFFLOADED):
            self._put_away(server)
            return
        if server.pending is Pending.LEFT:
            self._put(replace(server, host="", pending=None, due=None, updated=self._clock.now()))
            return
        if server.pending is Pending.MIGRATED:
            server = replace(server, host=server.next_host, next_host="")
        launched = server.launched_at or self._clock.now()
        self._put(
            replace(
                server,
                status=Status.ACTIVE,
                task_state=None,
                pending=None,
                due=None,
                launched_at=launched,
                updated=self._clock.now(),
            )
        )

    def _put_away(self, server: Server) -> None:
        """Complete a half of shelving. A server that is offloaded gives its allocations back."""
        is_offloaded = server.pending is Pending.OFFLOADED
        if is_offloaded:
            self._placement.consumers.drop(server.id)
        done = replace(
            server,
            status=Status.SHELVED_OFFLOADED if is_offloaded else Status.SHELVED,
            task_state=None,
            pending=None,
            due=None,
            updated=self._clock.now(),
        )
        self._put(done)
        if is_offloaded:
            self._later(done, Pending.LEFT, self.delays.leave)
        elif self.delays.offload >= 0:
            self.offload(done)

    def _later(self, server: Server, pending: Pending, delay: float) -> Server:
        now = self._clock.now()
        server = replace(server, pending=pending, updated=now)
        self._schedule(server, now.timestamp() + delay)
        if delay <= 0:
            self._do_pending(server, now.timestamp())
        return self._table.get(server.id) or server

    def _schedule(self, server: Server, due: float) -> None:
        server = replace(server, due=due)
        self._put(server)
        heapq.heappush(self._due_times, (due, server.id))

    def _forget(self, server: Server) -> None:
        self._placement.consumers.drop(server.id)
        self._network.unplug(server.id)
        self.when_gone(server.id)
        self._table.drop(server.id)
        now = self._clock.now()
        self.deleted.append(replace(server, status=Status.DELETED, task_state=None, host="", updated=now))

    def _put(self, server: Server) -> None:
        self._table.put(server.id, server)
