"""What is started with leases, step by step: a stack is made when its lease has begun, and deleted before it
ends; a webhook goes some time after its lease.

A step takes what is due of one lease, asks Heat a few things, and writes what has become of it. Nothing of
this is part of an event: no start and no end of a lease waits for Heat. What a step has done is found again
by the name of the stack and its tags, so it may die anywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable, InvalidInput, Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.start_task import (
    LEASE_IS_OVER,
    OVER,
    Need,
    StartTask,
    StartTaskStatus,
    StartTaskType,
    filled_in,
    need_of,
    next_look,
)
from blazar.domain.subscription import SubscriptionStatus
from blazar.service.documents import lease_document
from blazar.service.ids import new_id
from blazar.service.notifications import (
    DATES,
    LEASE_STACK_CREATED,
    LEASE_STACK_DELETED,
    LEASE_STACK_FAILED,
    LEASE_STACK_LATE,
    LEASE_STACK_LEFT,
    payload,
)
from blazar.service.ports import Cloud, Database, NewStack, Orchestration, Stack, UnitOfWork
from blazar.service.ports.kind import Dependencies
from blazar.service.start_requests import DATES as PARAMETER_DATES
from blazar.service.start_requests import new_stack

LOG = logging.getLogger(__name__)
HOLD = timedelta(minutes=5)
"""How long what is started with a lease is one manager's own: longer than a step takes."""
FIRST_LOOK = timedelta(seconds=2)
LONGEST_LOOK = timedelta(seconds=30)
"""Between two looks at a stack while Heat works on it. It grows by half each time."""
FIRST_RETRY = timedelta(seconds=5)
LONGEST_RETRY = timedelta(minutes=5)
"""Between two attempts while Heat fails. It doubles each time."""
UNHEARD = timedelta(minutes=5)
"""After what time a stack is not expected any more that Heat was asked for without an answer."""
WEBHOOK_STAYS = timedelta(hours=1)
"""How long a webhook stays after its lease, so that its last messages are taken."""
UNKNOWN_AGAIN = timedelta(hours=1)
NOT_OURS = "A stack of this name is in the project already, and the service has not made it."
WENT = "The stack was deleted while its lease lasted, and not by the service."
MISSED = "The lease was over before the stack was made."
DELETION = "The stack is not deleted yet: "
TOLD = {
    StartTaskStatus.CREATED: LEASE_STACK_CREATED,
    StartTaskStatus.FAILED: LEASE_STACK_FAILED,
    StartTaskStatus.DELETED: LEASE_STACK_DELETED,
    StartTaskStatus.LEFT: LEASE_STACK_LEFT,
}


@dataclass(frozen=True, slots=True)
class StartTaskSettings:
    """The operator's settings for stacks."""

    lead: timedelta = timedelta(minutes=5)
    """How long before the end of a lease the deletion of its stack begins."""
    patience: timedelta = timedelta(hours=24)
    """How long a deletion is tried after that, also when the lease is over."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step decides by: the task as it was taken, its lease, and the moment."""

    task: StartTask
    lease: Lease | None
    now: datetime
    token: str
    check: Callable[[], None]
    unanswered: list[str] = field(default_factory=list)
    """The reasons of questions that were not answered."""

    @property
    def is_over(self) -> bool:
        """Return whether the lease is over, or removed."""
        return self.lease is None or self.lease.status in LEASE_IS_OVER or self.now >= self.lease.interval.end


class StartTaskUseCases:
    """What callers may be told of what is started with leases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_of_lease(self, lease_id: str) -> StartTask | None:
        with self._database.read() as uow:
            task = uow.start_tasks.get(lease_id)
            if task is None:
                return None
            if task.type is StartTaskType.WEBHOOK and task.subscription_id is not None:
                found = uow.subscriptions.get(task.subscription_id)
                task = replace(task, reason=found.last_error if found is not None else None)
        return replace(task, request=None, trust_id=None)


class StartTasks:
    """Carries out what is started with leases. Several managers may do so at once."""

    def __init__(self, dependencies: Dependencies, settings: StartTaskSettings | None = None) -> None:
        self._database = dependencies.database
        self._cloud = dependencies.cloud
        self._kinds = dependencies.kinds
        self._clock = dependencies.clock
        self._settings = settings or StartTaskSettings()

    def ready(self, limit: int) -> Sequence[StartTask]:
        """Return what is due."""
        with self._database.read() as uow:
            return uow.start_tasks.ready(self._clock.now(), limit)

    def work_on(self, lease_id: str) -> bool:
        """Take a step for what is started with a lease, if it is due. Return false where Heat or Keystone did
        not answer. Raises ClaimLost where it took so long that another manager may have taken it."""
        now, token = self._clock.now(), new_id()
        until = now + HOLD
        task = self._database.transact(lambda uow: uow.start_tasks.take(lease_id, token, now, until))
        if task is None:
            return True
        with self._database.read() as uow:
            lease = uow.leases.get(lease_id)

        def check() -> None:
            if self._clock.now() >= until:
                raise ClaimLost(event=f"the stack of lease {lease_id}")

        step = _Step(task, lease, now, token, check)
        self._commit(step, self._decided(step))
        return not step.unanswered

    def _decided(self, step: _Step) -> StartTask | None:
        """Return the task after the step; None where it is to be removed."""
        task, lease = step.task, step.lease
        if lease is not None and not lease.is_understood:
            return replace(task, due=step.now + UNKNOWN_AGAIN)
        if task.status in OVER:
            return self._finished(step)
        if task.type is StartTaskType.WEBHOOK:
            return self._webhook(step)
        need = need_of(lease, step.now, self._settings.lead)
        if need is Need.GONE or lease is None or task.status is StartTaskStatus.DELETING:
            return self._ending(step)
        if need is Need.THERE and task.status in (StartTaskStatus.PENDING, StartTaskStatus.CREATING):
            return self._creating(step, lease)
        return replace(task, due=next_look(lease, step.now, self._settings.lead), attempts=0)

    # the start

    def _creating(self, step: _Step, lease: Lease) -> StartTask:
        task = step.task
        try:
            heat = self._heat(step)
            stack = heat.stack(task.stack_name)
            if stack is not None:
                return self._made(step, lease, stack)
            if task.stack_id is not None:
                return self._failed(replace(task, stack_id=None, asked_at=None), lease, WENT)
            new = self._new_stack(task, lease)
            # Written before Heat is asked: who ends this lease later on must expect a stack.
            task = replace(task, status=StartTaskStatus.CREATING, asked_at=step.now)
            self._keep(step, task)
            try:
                stack_id = heat.create_stack(new)
            except CloudRefused as refusal:
                # An earlier request, whose answer was lost, may have made it.
                stack = heat.stack(task.stack_name)
                if stack is not None:
                    return self._made(step, lease, stack)
                return self._failed(replace(task, asked_at=None), lease, refusal.message)
        except (CloudRefused, InvalidInput) as refusal:
            return self._failed(task, lease, refusal.message)
        except CloudUnavailable as failure:
            # As it was kept: Heat may have been asked.
            return self._failing(step, task, failure)
        LOG.info("A stack is being made", extra={"action": "stack", "lease": lease.id})
        return replace(task, stack_id=stack_id, reason=None, attempts=0, due=step.now + FIRST_LOOK)

    def _made(self, step: _Step, lease: Lease, stack: Stack) -> StartTask:
        """Return the task where there is a stack of its name."""
        task = replace(step.task, stack_id=stack.id, status=StartTaskStatus.CREATING, asked_at=step.now)
        if not _is_of(stack, task):
            return self._failed(replace(task, stack_id=None, asked_at=None), lease, NOT_OURS)
        if stack.status == "CREATE_IN_PROGRESS":
            return replace(task, reason=None, attempts=task.attempts + 1, due=self._look_again(task))
        if stack.status == "CREATE_FAILED":
            return self._failed(task, lease, f"{stack.status}: {stack.reason}")
        if stack.status.startswith("DELETE"):
            return self._failed(task, lease, WENT)
        # Whatever its user may have had done to it since: it was made.
        due = next_look(lease, step.now, self._settings.lead)
        return replace(task, status=StartTaskStatus.CREATED, request=None, reason=None, attempts=0, due=due)

    def _failed(self, task: StartTask, lease: Lease, reason: str) -> StartTask:
        LOG.warning("The stack of lease %s is not made: %s", lease.id, reason)
        due = next_look(lease, self._clock.now(), self._settings.lead)
        return replace(task, status=StartTaskStatus.FAILED, reason=reason, request=None, attempts=0, due=due)

    def _new_stack(self, task: StartTask, lease: Lease) -> NewStack:
        """Raises InvalidInput where a placeholder has no value."""
        assert task.request is not None  # noqa: S101 - it is kept until the stack is made
        document = lease_document(lease, self._kinds, PARAMETER_DATES)
        parameters = filled_in(task.request.parameters, lambda each: each.value_in(document))
        request = replace(task.request, parameters=parameters)
        return new_stack(task.stack_name, request, ("blazar", _tag(task)))

    # the end

    def _ending(self, step: _Step) -> StartTask | None:
        now = step.now
        # The reason of a failed attempt to make it is no longer one; that of a stack that failed still is.
        is_new = step.task.status is not StartTaskStatus.DELETING
        has_failed = step.task.status is StartTaskStatus.FAILED
        task = replace(
            step.task,
            status=StartTaskStatus.DELETING,
            request=None,
            ending_since=step.task.ending_since or now,
            attempts=0 if is_new else step.task.attempts,
            reason=step.task.reason if has_failed or not is_new else None,
        )
        if not task.may_have_a_stack:
            return self._never_made(step)
        try:
            heat = self._heat(step)
            stack = heat.stack(task.stack_name)
            if stack is None or not _is_of(stack, task):
                is_expected = task.stack_id is None and now < (task.asked_at or now) + UNHEARD
                if not is_expected:
                    return self._gone(step, task)
            elif stack.status != "DELETE_IN_PROGRESS":
                task = replace(task, stack_id=stack.id)
                if stack.status == "DELETE_FAILED":
                    task = replace(task, reason=f"{DELETION}{stack.reason}")
                self._keep(step, task)
                heat.delete_stack(stack)
        except (CloudUnavailable, CloudRefused) as failure:
            if isinstance(failure, CloudUnavailable):
                step.unanswered.append(failure.message)
            task = replace(task, reason=f"{DELETION}{failure.message}")
        return self._still_there(step, task)

    def _never_made(self, step: _Step) -> StartTask | None:
        """Return the task of a lease that is over without a stack."""
        task = self._finished(step)
        if task is None or task.due is not None:
            return task
        if task.status is StartTaskStatus.FAILED:
            return replace(task, request=None)
        return replace(task, request=None, status=StartTaskStatus.DELETED, reason=MISSED)

    def _still_there(self, step: _Step, task: StartTask) -> StartTask:
        since = task.ending_since or step.now
        if step.is_over and step.now - since >= self._settings.patience:
            LOG.warning("The stack of lease %s is left: %s", task.lease_id, task.reason)
            return replace(task, status=StartTaskStatus.LEFT, attempts=0, due=step.now)
        if step.is_over and not task.is_late and step.now - since >= self._settings.lead:
            reason = task.reason or f"{DELETION}Heat is at it."
            LOG.warning("The stack of lease %s is still there after it: %s", task.lease_id, reason)
            task = replace(task, reason=reason, is_late=True)
        is_failing = task.reason is not None and task.reason.startswith(DELETION)
        due = self._retry(task) if is_failing else self._look_again(task)
        return replace(task, attempts=task.attempts + 1, due=due)

    def _gone(self, step: _Step, task: StartTask) -> StartTask:
        """Return the task where its stack is gone. This is written before the trust is removed, without which
        Heat tells nothing any more."""
        is_of_deletion = task.reason is not None and task.reason.startswith(DELETION)
        return replace(
            task,
            status=StartTaskStatus.DELETED,
            reason=None if is_of_deletion else task.reason,
            attempts=0,
            due=step.now,
        )

    def _finished(self, step: _Step) -> StartTask | None:
        """Return the task with nothing left to do; None where its lease is gone."""
        task = step.task
        if not self._drop_trust(step, task):
            return replace(task, attempts=task.attempts + 1, due=self._retry(task))
        return None if step.lease is None else replace(task, trust_id=None, due=None)

    def _drop_trust(self, step: _Step, task: StartTask) -> bool:
        """Return whether the trust is gone; false where that has to be tried again."""
        if task.trust_id is None:
            return True
        try:
            self._cloud.fenced(step.check).identity.delete_trust(task.trust_id)
        except (CloudUnavailable, CloudRefused) as failure:
            LOG.warning("The trust of the stack of lease %s is still there: %s", task.lease_id, failure)
            return False
        return True

    # webhooks

    def _webhook(self, step: _Step) -> StartTask | None:
        task, lease, now = step.task, step.lease, step.now
        if lease is not None and lease.status not in LEASE_IS_OVER:
            return replace(task, due=max(lease.interval.end, now) + LONGEST_RETRY)
        since = task.ending_since or now
        task = replace(task, ending_since=since)
        if now < since + WEBHOOK_STAYS:
            return replace(task, due=since + WEBHOOK_STAYS)
        with self._database.read() as uow:
            found = uow.subscriptions.get(str(task.subscription_id))
        if found is not None and found.waiting and found.status is not SubscriptionStatus.SUSPENDED:
            return replace(task, due=now + LONGEST_RETRY)
        over = replace(task, status=StartTaskStatus.DELETED, due=None)
        return over if lease is not None else None

    # what is written

    def _commit(self, step: _Step, new: StartTask | None) -> None:
        now, old = self._clock.now(), step.task

        def work(uow: UnitOfWork) -> None:
            if old.type is StartTaskType.WEBHOOK and (new is None or new.status is StartTaskStatus.DELETED):
                _remove_subscription(uow, str(old.subscription_id))
            if new is None:
                uow.start_tasks.remove(old.lease_id, step.token)
            elif uow.start_tasks.settle(new, step.token, now):
                self._tell(uow, old, new, now)

        self._database.transact(work)

    def _keep(self, step: _Step, task: StartTask) -> None:
        """Write what is about to be done. Raises ClaimLost where another manager has the task."""
        now = self._clock.now()
        if not self._database.transact(lambda uow: uow.start_tasks.keep(task, step.token, now)):
            raise ClaimLost(event=task.stack_name)

    def _tell(self, uow: UnitOfWork, old: StartTask, new: StartTask, now: datetime) -> None:
        told = [TOLD[new.status]] if new.status is not old.status and new.status in TOLD else []
        told += [LEASE_STACK_LATE] if new.is_late and not old.is_late else []
        if new.status is StartTaskStatus.DELETED and new.stack_id is None:
            told = []  # there never was one
        if new.type is not StartTaskType.STACK or not told:
            return
        lease = uow.leases.get(new.lease_id)
        of_lease = (
            {"lease_id": new.lease_id, "project_id": new.project_id, "user_id": new.user_id}
            if lease is None
            else payload(lease, self._kinds)
        )
        document = {**of_lease, "on_start": start_task_document(new)}
        uow.outbox.put_all([(each, document) for each in told], now)

    def _heat(self, step: _Step) -> Orchestration:
        """Return Heat as it is for the user. Raises CloudUnavailable, CloudRefused."""
        cloud: Cloud = self._cloud.fenced(step.check).in_region(step.task.region)
        return cloud.as_trustee(str(step.task.trust_id)).orchestration

    def _failing(self, step: _Step, task: StartTask, failure: CloudUnavailable) -> StartTask:
        step.unanswered.append(failure.message)
        LOG.info("The stack of lease %s has to wait: %s", task.lease_id, failure.message)
        return replace(task, reason=failure.message, attempts=task.attempts + 1, due=self._retry(task))

    def _retry(self, task: StartTask) -> datetime:
        pause: timedelta = FIRST_RETRY * 2 ** min(task.attempts, 16)
        return self._clock.now() + min(pause, LONGEST_RETRY)

    def _look_again(self, task: StartTask) -> datetime:
        pause: timedelta = FIRST_LOOK * 1.5 ** min(task.attempts, 16)
        return self._clock.now() + min(pause, LONGEST_LOOK)


def start_task_document(task: StartTask) -> dict[str, Any]:
    """Return what is told of a stack."""
    return {
        "type": task.type.value,
        "status": task.status.value,
        "reason": task.reason,
        "stack_id": task.stack_id,
        "stack_name": task.stack_name,
        "region": task.region,
        "updated_at": DATES.stamp(task.updated_at),
    }


def _tag(task: StartTask) -> str:
    return f"lease:{task.lease_id}"


def _is_of(stack: Stack, task: StartTask) -> bool:
    return _tag(task) in stack.tags


def _remove_subscription(uow: UnitOfWork, subscription_id: str) -> None:
    try:
        uow.subscriptions.remove(subscription_id)
    except Stale:
        LOG.debug("Subscription %s is gone already", subscription_id)
