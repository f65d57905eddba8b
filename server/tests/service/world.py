"""A whole manager in memory: the test moves the clock, and events happen when they are due."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

from blazar.adapters.memory import MemoryDatabase
from blazar.adapters.memory.cloud import FREEPOOL, MemoryCloud
from blazar.domain.errors import ClaimLost
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Registration
from blazar.engine.monitoring import Monitoring
from blazar.engine.reporting import Reporting
from blazar.kinds.flavor import FlavorKind
from blazar.kinds.floatingip import FloatingIPKind
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.floatingip.extension import FloatingIPExtension
from blazar.kinds.floatingip.floatingips import FloatingIPs
from blazar.kinds.host import HostKind
from blazar.kinds.host.actuator import HostKindSettings
from blazar.kinds.host.lending import LendingSettings
from blazar.kinds.instance import InstanceKind
from blazar.kinds.network import NetworkKind
from blazar.kinds.network.extension import NetworkSegmentsExtension
from blazar.kinds.network.names import NetworkType
from blazar.kinds.network.segments import NetworkSegments, SegmentRange
from blazar.kinds.port import PortKind
from blazar.kinds.port.extension import PortPoolExtension
from blazar.kinds.port.port_pool import PortPool
from blazar.kinds.registered_hosts.allocations import Allocations
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.extension import HostsExtension
from blazar.kinds.registered_hosts.hosts import Hosts, HostSettings
from blazar.kinds.registered_hosts.monitor import HostMonitor, MonitorSettings
from blazar.kinds.server import ServerKind
from blazar.kinds.slots import SlotSettings
from blazar.kinds.volume import VolumeKind
from blazar.kinds.volume.extension import VolumeTypesExtension
from blazar.kinds.volume.volume_types import OfferedVolumes, VolumeTypes
from blazar.service.admission import PlanningSettings
from blazar.service.availability import AvailabilityUseCases
from blazar.service.calendars import Calendars, Limits
from blazar.service.capacity import CapacityUseCases
from blazar.service.commands import NOW, CreateLease, ReservationRequest, UpdateLease
from blazar.service.context import Caller
from blazar.service.events import Events, HeldClaim
from blazar.service.explanations import ExplanationUseCases
from blazar.service.healing import Healing, HealingSettings
from blazar.service.leases import (
    DisplacementSettings,
    LateBindingSettings,
    LeaseSettings,
    WaitSettings,
)
from blazar.service.maintenances import Buffers, Lifetimes, Maintenances
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.offers import Offers, OfferSettings
from blazar.service.ports import ClaimedEvent, Database, Flavor, Subnet, UnitOfWork, VolumeType
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Dependencies
from blazar.service.quotas import QuotaSettings
from blazar.service.series import SeriesSettings
from blazar.service.usage_reports import UsageReports
from blazar.service.use_cases import UseCases

T = TypeVar("T")
START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
DEMO = Caller("demo-user", "demo", ("member", "reader"), token="demo-token")
ALT = Caller("alt-user", "alt", ("member", "reader"), token="alt-token")
ADMIN = Caller("admin-user", "admin", ("admin",), is_admin=True)
UNTIMED = Limits(seconds=600)
"""However slow the machine is, the steps decide."""
CLAIM = timedelta(seconds=15)
FAST = VolumeType("fast-id", "fast")
PUBLIC = "public"
"""An external network; its addresses from .100 on are not Neutron's to give out."""


class MovedClock:
    """A clock that only the test moves; a pause moves it too."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def pause(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def move_to(self, moment: datetime) -> None:
        self._now = max(self._now, moment)


class SetClock:
    """A clock that goes on by itself, and may be set."""

    def __init__(self) -> None:
        self.ahead = START - datetime.now(UTC)  # noqa: TID251 - it goes as the machine's

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead  # noqa: TID251 - it goes as the machine's

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class Crash(BaseException):
    """kill -9: nothing catches it."""


class CrashingDatabase:
    """Any database, with a crash before or after the commit of the transactions that the test chose."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner
        self.step: Callable[[], None] = lambda: None

    def read(self) -> Any:
        return self.inner.read()

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        self.step()
        result = self.inner.transact(work)
        self.step()
        return result


@dataclass
class Steps:
    """Counts the steps at which a process can die, and dies at the chosen one."""

    crash_at: int | None = None
    taken: int = 0

    def step(self) -> None:
        self.taken += 1
        if self.taken == self.crash_at:
            raise Crash


class World:
    """Four hosts, one manager. ``restart`` replaces the manager as after a crash: only database and cloud
    survive."""

    def __init__(
        self,
        hosts: int = 4,
        cleaning: timedelta = timedelta(0),
        database: Database | None = None,
        floating_ips: int = 0,
        filters: Sequence[UsageFilter] = (),
        exempt: Collection[str] = (),
        quota: QuotaSettings | None = None,
        offers: OfferSettings | None = None,
        waiting: WaitSettings | None = None,
        displacement: DisplacementSettings | None = None,
        metrics: Metrics = NO_METRICS,
        late_binding: LateBindingSettings | None = None,
        series: SeriesSettings | None = None,
    ) -> None:
        self.series_settings = series
        self.late_binding_settings = late_binding
        self.displacement_settings = displacement
        self.metrics = metrics
        self.wait_settings = waiting
        self.quota = quota
        self.offer_settings = offers
        self.filters = filters
        self.exempt = exempt
        self.clock = MovedClock()
        self.cloud = MemoryCloud(f"host{n}" for n in range(1, hosts + 1))
        for caller in (DEMO, ALT):
            self.cloud.add_token(str(caller.token), caller.user_id, str(caller.project_id), caller.roles)
        self.cloud.add_flavor(Flavor("small", "m1.small", 2, 2048, 10))
        subnet = Subnet("subnet", "203.0.113.0/24", "203.0.113.1", (("203.0.113.10", "203.0.113.99"),))
        self.cloud.add_network(PUBLIC, subnet)
        self.cloud.state.volume_types.append(FAST)
        self.database = CrashingDatabase(database or MemoryDatabase())
        self.selection = PlanningSettings(cleaning=cleaning)
        self.start_retry = timedelta(0)
        self.slots = SlotSettings()
        self.backfill = False
        self.lending: LendingSettings | None = None
        self.monitor_settings = MonitorSettings(most_at_once=50)
        self.healing_settings = HealingSettings(cleaning=cleaning)
        self.restart()
        for n in range(1, hosts + 1):
            self.register(f"host{n}")
        for n in range(1, floating_ips + 1):
            self.register_floating_ip(address(n))

    def beside(self) -> World:
        """Return another manager on the same database and cloud."""
        other = copy(self)
        other.restart()
        return other

    def restart(self) -> None:
        self.kinds = {
            kind.resource_type: kind
            for kind in (
                HostKind(
                    HostKindSettings(
                        backfill=self.backfill,
                        preemptibles_make_way=self.slots.preemptibles_make_way,
                        lending=self.lending,
                    )
                ),
                InstanceKind(self.slots),
                FlavorKind(self.slots),
                FloatingIPKind(),
                ServerKind(preemptibles_make_way=self.slots.preemptibles_make_way),
                VolumeKind(),
                PortKind(),
                NetworkKind(),
            )
        }
        reports = UsageReports(self.filters, self.kinds, self.exempt)
        self.expiry = OfferExpiry(self.database, self.clock, reports)
        self.calendars = Calendars(self.database, self.clock, UNTIMED, expiry=self.expiry)
        dependencies = Dependencies(self.database, self.cloud, self.kinds, self.clock)
        use_cases = UseCases(
            dependencies,
            (
                HostsExtension(HostSettings(FREEPOOL)),
                FloatingIPExtension(),
                VolumeTypesExtension(),
                NetworkSegmentsExtension(),
                PortPoolExtension(),
            ),
            self.calendars,
            self.selection,
            LeaseSettings(delete_wait=timedelta(0)),
            nudge=lambda due=None: None,
            filters=self.filters,
            exempt=self.exempt,
            quota=self.quota,
            offers=self.offer_settings,
            waiting=self.wait_settings,
            healing=self.healing_settings,
            displacement=self.displacement_settings,
            late_binding=self.late_binding_settings,
            metrics=self.metrics,
            series=self.series_settings,
        )
        self.series = use_cases.series
        self.waitlist = use_cases.waitlist
        self.quotas = use_cases.quotas
        self.leases = use_cases.leases
        self.availability: AvailabilityUseCases = use_cases.noun("availability")
        self.offers: Offers = use_cases.noun("offers")
        self.maintenances: Maintenances = use_cases.noun("maintenances")
        self.lifetimes: Lifetimes = use_cases.noun("lifetimes")
        self.buffers: Buffers = use_cases.noun("buffers")
        self.capacity: CapacityUseCases = use_cases.noun("capacity")
        self.explanations: ExplanationUseCases = use_cases.noun("explanations")
        self.hosts: Hosts = use_cases.noun("hosts")
        self.allocations: Allocations = use_cases.noun("allocations")
        self.floatingips: FloatingIPs = use_cases.noun("floatingips")
        self.volume_types: VolumeTypes = use_cases.noun("volume_types")
        self.network_segments: NetworkSegments = use_cases.noun("network_segments")
        self.port_pool: PortPool = use_cases.noun("port_pool")
        self.events = Events(self.database, self.cloud, self.kinds, self.clock, self.start_retry, reports)
        self.reporting = [Reporting(each, dependencies) for each in self.filters]
        self.healing = Healing(
            self.database, self.calendars, self.kinds, self.clock, self.healing_settings, lambda: None
        )
        monitor = HostMonitor(self.database, self.cloud, self.kinds, self.clock, self.monitor_settings)
        self.monitoring = Monitoring(self.database, monitor, self.healing, self.clock)

    def register(self, host: str) -> None:
        self.hosts.register(RegisterHost(host, {}))

    def register_floating_ip(self, address: str, network_id: str = PUBLIC) -> Registration:
        return self.floatingips.register(RegisterFloatingIP(network_id, address))

    def register_volumes(self, gigabytes: int = 1000, volumes: int = 100) -> Registration:
        return self.volume_types.register(FAST.name, OfferedVolumes(gigabytes, volumes))

    def register_ports(self, ports: int = 1000) -> Registration:
        return self.port_pool.set(ports)

    def register_segments(self, count: int = 4) -> Sequence[Registration]:
        """VLANs of the physical network ``physnet1``, from 101 on."""
        wanted = SegmentRange(NetworkType.VLAN, "physnet1", 101, 100 + count)
        return self.network_segments.register(wanted)

    # what users do

    def create(self, name: str = "lease", **fields: Any) -> Lease:
        """A lease of one host reservation: minutes from now by ``start`` and ``end``; the rest are its
        parameters."""
        start, end = fields.pop("start", 0), fields.pop("end", 60)
        warn_at = fields.pop("warn_at", None)
        return self.reserve(
            ReservationRequest("physical:host", host(**fields)),
            name=name,
            start=start,
            end=end,
            warn_at=warn_at,
        )

    def reserve(
        self,
        *requests: ReservationRequest,
        name: str = "lease",
        start: float = 0,
        end: float = 60,
        warn_at: datetime | None = None,
        caller: Caller = DEMO,
    ) -> Lease:
        """A lease of these reservations; minutes from now by ``start`` and ``end``."""
        begin = self.in_minutes(start) if start else NOW
        return self.leases.create(CreateLease(name, begin, self.in_minutes(end), warn_at, requests), caller)

    def update(self, lease: Lease, caller: Caller = DEMO, **changes: Any) -> Lease:
        return self.leases.update(lease.id, UpdateLease(**changes), caller)

    def delete(self, lease: Lease) -> None:
        self.leases.delete(lease.id, DEMO)

    def lease(self, lease: Lease) -> Lease:
        return self.leases.get(lease.id)

    def in_minutes(self, minutes: float) -> datetime:
        return self.clock.now().replace(second=0, microsecond=0) + timedelta(minutes=minutes)

    # what time does

    def run_due(self, rounds: int = 100) -> None:
        """Carry out what is due now, until nothing is."""
        for _ in range(rounds):
            with self.database.read() as uow:
                due = uow.events.due(self.clock.now(), 100)
            if not due:
                return
            for event in due:
                self._work_on(event.id)
        raise AssertionError("events stay due for ever")

    def report(self) -> None:
        """Have the usage filters told what is due, as managers do all the time."""
        for each in self.reporting:
            while each.deliver():
                pass

    def reconcile_all(self) -> int:
        """Compare every active lease with the cloud, as managers do from time to time; returns how many."""
        now = self.clock.now()
        with self.database.read() as uow:
            ids = uow.events.unreconciled(now, now, 1000)
        for lease_id in ids:
            token, until = str(uuid4()), now + CLAIM
            assert self.database.transact(
                lambda u, i=lease_id, t=token, v=until: u.events.claim_lease(i, t, now, v, now)  # type: ignore[misc]
            )
            event = Event(lease_id, lease_id, EventType.CONVERGE, now)
            self.events.reconcile(self.held_claim(ClaimedEvent(event, token, until)))
        return len(ids)

    def advance(self, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass, stopping at each moment at which something is due."""
        self.advance_to(self.clock.now() + timedelta(minutes=minutes, seconds=seconds))

    def advance_to(self, moment: datetime) -> None:
        self.run_due()
        while True:
            with self.database.read() as uow:
                due = uow.events.next_due(self.clock.now())
            if due is None or due > moment:
                break
            self.clock.move_to(max(due, self.clock.now() + timedelta(milliseconds=1)))
            self.run_due()
        self.clock.move_to(moment)

    def look(self, minutes: float = 1) -> None:
        """Let time pass, then let the monitor look at the hosts, and let what it leads to happen."""
        self.advance(minutes)
        self.monitoring.round()
        self.run_due()

    def _work_on(self, event_id: str) -> None:
        with self.database.read() as uow:
            found = [e for e in uow.events.due(self.clock.now(), 1000) if e.id == event_id]
        if not found:
            return
        token, until = str(uuid4()), self.clock.now() + CLAIM
        if self.database.transact(lambda uow: uow.events.claim(event_id, token, self.clock.now(), until)):
            self.events.run(self.held_claim(ClaimedEvent(found[0], token, until)))

    def held_claim(self, claimed: ClaimedEvent) -> HeldClaim:
        def check() -> None:
            if self.clock.now() >= claimed.until:
                raise ClaimLost(event=claimed.event.id)

        return HeldClaim(claimed, check)

    # what can be seen

    def hosts_of(self, lease: Lease) -> set[str]:
        return {a.resource_id for a in self.lease(lease).allocations}

    def floating_ips(self, project_id: str = "demo") -> set[str]:
        """The addresses that the project has in Neutron."""
        return {f.address for f in self.cloud.state.floating_ips.values() if f.project_id == project_id}

    def in_freepool(self) -> set[str]:
        return set(self.cloud.hosts_in(FREEPOOL))

    def notifications(self) -> list[str]:
        with self.database.read() as uow:
            return [notification.event_type for notification in uow.outbox.peek(1000)]

    def event_statuses(self, lease: Lease) -> dict[str, EventStatus]:
        return {e.event_type.value: e.status for e in self.lease(lease).events if e.event_type.is_public}


def host(**fields: Any) -> dict[str, Any]:
    return {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": "", **fields}


def instances(**fields: Any) -> ReservationRequest:
    parameters = {
        "vcpus": 1,
        "memory_mb": 1024,
        "disk_gb": 10,
        "amount": 1,
        "affinity": None,
        "resource_properties": "",
    }
    return ReservationRequest("virtual:instance", parameters | fields)


def servers(**fields: Any) -> ReservationRequest:
    """Servers of the flavor m1.small: 2 VCPUs, 2 GiB, 10 GiB."""
    return ReservationRequest(
        "flavor:instance", {"flavor_id": "small", "amount": 1, "affinity": None} | fields
    )


def whole_hosts(**fields: Any) -> ReservationRequest:
    return ReservationRequest("physical:host", host(**fields))


def address(number: int) -> str:
    return f"203.0.113.{100 + number}"


def floating_ips(**fields: Any) -> ReservationRequest:
    return ReservationRequest("virtual:floatingip", {"network_id": PUBLIC, "amount": 1} | fields)


def networks(**fields: Any) -> ReservationRequest:
    return ReservationRequest("network", fields)


def ports(amount: object = 20, **fields: Any) -> ReservationRequest:
    return ReservationRequest("network:port", {"amount": amount} | fields)


def volumes(**fields: Any) -> ReservationRequest:
    return ReservationRequest("storage:volume", {"volume_type": FAST.name, "gigabytes": 50} | fields)


def without_times(lease: Lease) -> Lease:
    return replace(lease, updated_at=None, revision=0)
