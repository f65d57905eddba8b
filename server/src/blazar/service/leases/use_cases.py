"""The use cases of leases in this process, as LeasesInterface names them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from blazar.domain.lease.lease import Lease
from blazar.service.admission import Admission
from blazar.service.commands import (
    ByDuration,
    ClaimByWish,
    CreateLease,
    PriorityWish,
    RequestKey,
    ReservationsChange,
    SplitLease,
    StartTaskWish,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.leases.confirm import LeaseConfirmation
from blazar.service.leases.create import DisplacingPreview, LeaseCreation
from blazar.service.leases.delete import LeaseDeletion
from blazar.service.leases.displace import LeaseDisplacement
from blazar.service.leases.late_binding import LateBinding
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.settings import (
    DisplacementSettings,
    LateBindingSettings,
    LeaseSettings,
    WaitSettings,
)
from blazar.service.leases.split import LeaseSplit
from blazar.service.leases.store import LeaseStore
from blazar.service.leases.take_over import LeaseTakeover
from blazar.service.leases.update import LeaseUpdate
from blazar.service.leases.wait import LeaseWait
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.objections import Objections
from blazar.service.ports import Clock, Database, LeasePage, LeaseQuery, ListPage, Nudge
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation
from blazar.service.quotas import Quotas
from blazar.service.start_requests import StartRequests
from blazar.service.usage_reports import UsageReports


class Leases:
    """The use cases of leases. ``nudge`` wakes the event engine after a commit that gives it work.

    The use cases of offers share ``store``, ``creation`` and ``confirmation``, those of series
    ``store``, ``creation`` and ``deletion``, those of explanations ``changes``."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        preparation: Preparation,
        kinds: Kinds,
        clock: Clock,
        nudge: Nudge,
        settings: LeaseSettings,
        enforcement: Enforcement,
        reports: UsageReports,
        quotas: Quotas,
        waiting: WaitSettings,
        displacement: DisplacementSettings,
        late_binding: LateBindingSettings,
        starts: StartRequests,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self.store = LeaseStore(database, kinds, clock, quotas, reports)
        self.deletion = LeaseDeletion(self.store, admission, clock, nudge)
        objections = Objections(database, kinds, clock, enforcement, quotas)
        self.confirmation = LeaseConfirmation(
            self.store, admission, preparation, self.deletion, kinds, clock, nudge, starts
        )
        self.late_binding = LateBinding(database, admission, kinds, clock, late_binding, metrics)
        wait = LeaseWait(self.store, admission, clock, waiting)
        self.creation = LeaseCreation(
            self.store,
            admission,
            preparation,
            self.confirmation,
            kinds,
            clock,
            nudge,
            enforcement,
            objections,
            wait,
            LeaseDisplacement(database, admission, clock, displacement, metrics),
            self.late_binding,
            starts,
        )
        self.changes = LeaseUpdate(
            self.store, admission, preparation, kinds, clock, nudge, enforcement, wait, self.late_binding
        )
        self._split = LeaseSplit(self.store, admission, enforcement, kinds, clock, nudge)
        self._takeover = LeaseTakeover(
            database, self.store, admission, preparation, enforcement, kinds, clock
        )
        self.settings = settings
        """May be replaced at any time; a request under way goes on with those that it began with."""

    def get(self, lease_id: str) -> Lease:
        return self.store.load(lease_id)

    def list(self, project_id: str | None, page: ListPage | None = None) -> Sequence[Lease]:
        return self.store.list(project_id, page)

    def find(self, query: LeaseQuery) -> LeasePage:
        return self.store.search(query)

    def create(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        key: RequestKey | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        return self.creation.create(
            command, caller, self.settings, by_duration, key, wait_until, claim_by, priority, start
        )

    def preview_create(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        return self.creation.preview(command, caller, self.settings, by_duration, claim_by, priority, start)

    def preview_displacing(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> DisplacingPreview:
        return self.creation.preview_displacing(
            command, caller, self.settings, by_duration, claim_by, priority, start
        )

    def update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        revisions: tuple[int, ...] | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        expected = Precondition(revisions)
        return self.changes.update(
            lease_id,
            command,
            caller,
            duration,
            expected,
            self.settings,
            wait_until,
            claim_by,
            membership,
            priority,
        )

    def preview_update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        revisions: tuple[int, ...] | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        expected = Precondition(revisions)
        return self.changes.preview(
            lease_id,
            command,
            caller,
            duration,
            expected,
            self.settings,
            wait_until,
            claim_by,
            membership,
            priority,
        )

    def split(
        self,
        lease_id: str,
        command: SplitLease,
        caller: Caller,
        revisions: tuple[int, ...] | None = None,
        key: RequestKey | None = None,
    ) -> Lease:
        return self._split.split(lease_id, command, caller, Precondition(revisions), key)

    def take_over(self, lease_id: str, caller: Caller) -> Lease:
        return self._takeover.take_over(lease_id, caller)

    def delete(self, lease_id: str, caller: Caller, revisions: tuple[int, ...] | None = None) -> None:
        self.deletion.delete(lease_id, caller, self.settings, Precondition(revisions))

    def begin_deletion(self, lease_id: str, caller: Caller) -> bool:
        return self.deletion.begin(lease_id, caller, Precondition(None))
