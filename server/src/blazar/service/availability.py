"""The use case of questions for availability: "when can I have it?". The answers are found by
``service.answers``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from blazar.domain.errors import Busy, CloudRefused, CloudUnavailable, InvalidInput, NotEnoughResources
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease
from blazar.domain.planning.budget import CutShort
from blazar.domain.time import HORIZON, MINUTE, floor_minute
from blazar.service.admission import Admission
from blazar.service.alternatives import Alternative, of_size
from blazar.service.answers import (
    AnswerSearch,
    Availability,
    AvailabilityAnswer,
    Explained,
    Inquiry,
    in_words,
)
from blazar.service.commands import AvailabilityQuestion
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.dates import moment_of
from blazar.service.leases.drafts import draft_reservation
from blazar.service.objections import Objections
from blazar.service.ports import Clock
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation

__all__ = ["Availability", "AvailabilityAnswer", "AvailabilityUseCases", "Explained", "Inquiry", "in_words"]


class AvailabilityUseCases:
    """The use case of questions for availability, in this process."""

    def __init__(
        self,
        admission: Admission,
        preparation: Preparation,
        kinds: Kinds,
        clock: Clock,
        objections: Objections,
    ) -> None:
        self._admission = admission
        self._preparation = preparation
        self._kinds = kinds
        self._clock = clock
        self._objections = objections

    def ask(self, question: AvailabilityQuestion, caller: Caller) -> Availability:
        """Return when the reservations could be had."""
        try:
            inquiry = self.inquiry(question, caller)
        except NotEnoughResources as refusal:  # it asks for a property that the caller may not see
            return Availability((), refusal.message)
        return self.explain(inquiry, caller, with_blocking=False).found

    def explain(self, inquiry: Inquiry, caller: Caller, with_blocking: bool = True) -> Explained:
        """Return what could be had, and what stands in the way."""
        with self._admission.searching(caller) as search:
            looking = AnswerSearch(inquiry, self._admission, self._kinds, search)
            looking.look()
            found = looking.blocking() if with_blocking else ((), 0)
        others = self._other_sizes(looking, caller)
        if others:
            # The cloud was asked for these, for which no turn was kept.
            with self._admission.searching(caller) as search:
                looking.look_at(others, search)
        return Explained(looking.found(), *found)

    def latest_end(self, inquiry: Inquiry, caller: Caller) -> datetime:
        """Return the latest end that the lease can have, up to the one that is asked for; the one that it has
        where that is none. Raises Busy where that is not found out in time."""
        with self._admission.searching(caller) as search:
            try:
                return AnswerSearch(inquiry, self._admission, self._kinds, search).latest_end()
            except CutShort:
                raise Busy() from None

    def inquiry(self, asked: AvailabilityQuestion, caller: Caller) -> Inquiry:
        """Read and check a question."""
        now = self._clock.now()
        draft = self._draft(asked, caller, floor_minute(now))
        latest = now + HORIZON - asked.duration
        if asked.latest_start is not None:
            latest = min(latest, floor_minute(asked.latest_start))
        shortest = asked.duration if asked.shortest is None else asked.shortest
        if asked.latest_start is not None and latest < draft.interval.start:
            raise InvalidInput("The latest start must not be before the earliest one.")
        if not MINUTE <= shortest <= asked.duration:
            raise InvalidInput("The shortest duration must not be longer than the wanted one.")
        lease = self._preparation.complete(None, draft, caller)
        lease = self._admission.in_regions(lease, caller, latest)
        objections = self._objections.of(lease, caller)
        return Inquiry(lease, asked.reservations, latest, shortest, objections, asked.alternatives)

    def _other_sizes(self, looking: AnswerSearch, caller: Caller) -> Sequence[Alternative]:
        """Return the other sizes for what is short. Where the cloud does not tell them, there are none."""
        number = looking.short_number
        if number is None or looking.is_full:
            return ()
        reservation = looking.inquiry.lease.reservations[number]
        kind = self._kinds[reservation.resource_type]
        try:
            sizes = self._preparation.other_sizes(reservation, caller)
        except (CloudUnavailable, CloudRefused):
            looking.is_cut_short = True
            return ()
        return [of_size(number, reservation, kind, each) for each in sizes]

    def _draft(self, asked: AvailabilityQuestion, caller: Caller, minute: datetime) -> Lease:
        if caller.project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        if not asked.reservations:
            raise InvalidInput("The lease has no reservations: there is nothing to look for.")
        start = moment_of(asked.start, minute)
        lease_id = new_id()
        return Lease(
            id=lease_id,
            name="",
            user_id=caller.user_id,
            project_id=caller.project_id,
            interval=change.check_new_interval(start, start + asked.duration, minute),
            reservations=tuple(draft_reservation(lease_id, each, self._kinds) for each in asked.reservations),
        )
