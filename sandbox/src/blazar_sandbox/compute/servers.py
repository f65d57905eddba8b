"""What becomes of a server, from its boot to its end?"""

import heapq
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.holds import Holds
from blazar_sandbox.compute.model import Fault, Pending, Server, Status
from blazar_sandbox.compute.scheduler import BootRequest, NoValidHost, Scheduler
from blazar_sandbox.compute.server_rows import ServerRows
from blazar_sandbox.network.state import Network, PortRequest
from blazar_sandbox.placement.model import Consumer
from blazar_sandbox.placement.state import Placement

# A server that is held is looked at again after this many seconds.
_HELD_RETRY = 0.1


@dataclass(frozen=True, slots=True)
class Delays:
    """How long things take, in seconds."""

    boot: float = 0.2
    delete: float = 0.2


@dataclass(frozen=True, slots=True)
class NewServer:
    """What a caller says of a new server, beside what the scheduler needs."""

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


class Servers:
    """The life of servers."""

    def __init__(
        self,
        clock: Clock,
        rows: ServerRows,
        scheduler: Scheduler,
        placement: Placement,
        network: Network,
        delays: Delays,
    ) -> None:
        self.rows = rows
        self.delays = delays
        self.holds = Holds()
        self._clock = clock
        self._scheduler = scheduler
        self._placement = placement
        self._network = network
        self._agenda: list[tuple[float, str]] = []

    def boot(self, new: NewServer, boot: BootRequest, *, index: int = 0, reservation_id: str = "") -> Server:
        """Schedule a server and start it; if nobody takes it, it is there in status ERROR, as in Nova."""
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
        )
        found = self._scheduler.select(boot)
        if isinstance(found, NoValidHost):
            fault = Fault(500, f"No valid host was found. {found.reason}", now, "NoValidHost")
            server = replace(server, status=Status.ERROR, task_state=None, fault=fault)
            self._put(server)
            return server
        self._placement.allocate(Consumer(server.id, boot.project_id, new.user_id, found.allocations, type="INSTANCE"))
        for port in new.ports:
            self._network.plug(port, server.id, boot.project_id, found.host.name)
        return self._later(replace(server, host=found.host.name), Pending.ACTIVE, self.delays.boot)

    def delete(self, server: Server) -> None:
        """Delete a server; it is gone after the delay, unless it is held."""
        if server.pending is Pending.GONE:
            return
        if not server.host and not self.holds.keeps(server.id, server.host):
            self._forget(server)
            return
        self._later(replace(server, task_state="deleting"), Pending.GONE, self.delays.delete)

    def settle(self, server: Server, status: Status, task_state: str | None = None) -> Server:
        """Put a server into a status at once."""
        server = replace(server, status=status, task_state=task_state, updated=self._clock.now())
        self._put(server)
        return server

    def change(self, server: Server) -> Server:
        """Store a server whose descriptive fields were changed."""
        server = replace(server, updated=self._clock.now())
        self._put(server)
        return server

    def advance(self) -> None:
        """Do what has become due. Cheap when nothing has: it is called with every request."""
        if not self._agenda:
            return
        now = self._clock.now().timestamp()
        while self._agenda and self._agenda[0][0] <= now:
            _due, server_id = heapq.heappop(self._agenda)
            server = self.rows.table.get(server_id)
            if server is not None and server.due is not None and server.due <= now:
                self._do_pending(server, now)

    def resume(self) -> None:
        """After loading from disk: take up what was pending."""
        self._agenda = [(row.due, row.id) for row in self.rows.table if row.due is not None]
        heapq.heapify(self._agenda)

    def _do_pending(self, server: Server, now: float) -> None:
        if server.pending is Pending.GONE:
            if self.holds.keeps(server.id, server.host):
                self._schedule(server, now + _HELD_RETRY)
            else:
                self._forget(server)
            return
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

    def _later(self, server: Server, pending: Pending, delay: float) -> Server:
        now = self._clock.now()
        server = replace(server, pending=pending, updated=now)
        self._schedule(server, now.timestamp() + delay)
        if delay <= 0:
            self._do_pending(server, now.timestamp())
        return self.rows.table.get(server.id) or server

    def _schedule(self, server: Server, due: float) -> None:
        server = replace(server, due=due)
        self._put(server)
        heapq.heappush(self._agenda, (due, server.id))

    def _forget(self, server: Server) -> None:
        self._placement.consumers.drop(server.id)
        self._network.unplug(server.id)
        self.rows.table.drop(server.id)

    def _put(self, server: Server) -> None:
        self.rows.table.put(server.id, server)
