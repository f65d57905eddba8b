"""The choice of a user: what is told by mail, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace

from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.service.commands import UNSET, UpdateMail
from blazar.service.context import Caller
from blazar.service.mails import USUAL, MailPlan
from blazar.service.ports import Clock, Database, UnitOfWork


@dataclass(frozen=True, slots=True)
class OwnMail:
    """What a user is told by mail."""

    is_sent: bool
    """Whether the operator has mail sent at all."""
    choice: MailChoice
    usual: tuple[LeaseEvent, ...]
    """What users are told who have not chosen."""
    daily_hour: int


class MailChoices:
    """The use cases of users' own choices."""

    def __init__(self, database: Database, clock: Clock, plan: MailPlan) -> None:
        self._database = database
        self._clock = clock
        self._plan = plan

    def get(self, user_id: str) -> OwnMail:
        with self._database.read() as uow:
            return self._own(uow.mails.choices([user_id]).get(user_id, USUAL))

    def update(self, command: UpdateMail, caller: Caller) -> OwnMail:
        """Store what the caller wants. What waits and is not wanted any more is removed."""

        def work(uow: UnitOfWork) -> MailChoice:
            old, now = uow.mails.choices([caller.user_id]).get(caller.user_id, USUAL), self._clock.now()
            new = replace(
                old,
                events=old.events if command.events is UNSET else command.events,
                is_daily=old.is_daily if command.is_daily is UNSET else command.is_daily,
            )
            unwanted = [each for each in LeaseEvent if not new.wants(each, self._plan.events)]
            due = new.due(now, self._plan.daily_hour)
            uow.mails.choose(caller.user_id, new, unwanted, due)
            caller.require_time(self._clock.now())  # as late as possible
            return new

        return self._own(self._database.transact(work))

    def _own(self, choice: MailChoice) -> OwnMail:
        plan = self._plan
        usual = tuple(each for each in LeaseEvent if each in plan.events)
        return OwnMail(plan.is_sent, choice, usual, plan.daily_hour)
