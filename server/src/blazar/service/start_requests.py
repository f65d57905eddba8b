"""What a request asks to be started with a lease: checked before the lease is reserved, and stored in the
transaction that makes the lease."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import CloudRefused, CloudUnavailable, InvalidInput
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.start_task import Placeholder, StackRequest, StartTask, StartTaskType, filled_in
from blazar.domain.subscription import LeaseEvent, Subscription
from blazar.service.commands import StartTaskWish, WebhookWish
from blazar.service.context import Caller
from blazar.service.documents import lease_document, without_zone
from blazar.service.ports import Clock, Cloud, NewStack, UnitOfWork
from blazar.service.ports.kind import Kinds, RequestContext
from blazar.service.receivers import SubscriptionSettings, require_place
from blazar.service.request_cloud import for_undo, within_request

LOG = logging.getLogger(__name__)
TOLD = (LeaseEvent.STARTED, LeaseEvent.FAILED, LeaseEvent.ENDED, LeaseEvent.DELETED)
"""What a webhook is told."""
TRUST_MARGIN = timedelta(days=366)
"""How long after the lease's end the trust of a stack expires by itself: an extension makes no other one,
for Heat has passed this one on."""
HEAT_SECONDS = 5.0
"""How long a request waits for each answer of Heat, whose outage delays no lease."""
WITHOUT_HEAT = "on_start: this cloud has no Heat (orchestration) in its catalog, which could make the stack."
DATES = without_zone("seconds")


def wake_start_task(uow: UnitOfWork, lease: Lease, now: datetime) -> None:
    """Have what is started with the lease looked at, for the lease has changed or is removed. Where nothing
    is, nothing is asked."""
    if lease.start_task is not None:
        uow.start_tasks.wake(lease.id, now)


@dataclass(frozen=True, slots=True)
class NewStart:
    """What is to be started with a lease that is about to be made."""

    wish: StartTaskWish
    most: int
    """Subscriptions that a project may have."""
    trust_id: str | None = None

    def put(self, uow: UnitOfWork, lease: Lease, now: datetime) -> None:
        """Store it with the lease. Raises TooManySubscriptions."""
        webhook, stack = self.wish.webhook, self.wish.stack
        task = StartTask(
            lease.id, lease.project_id, lease.user_id, StartTaskType.STACK, due=lease.interval.start
        )
        if webhook is not None:
            require_place(uow, lease.project_id, self.most)
            uow.subscriptions.add(_subscription(webhook, lease), webhook.secret, now)
            task = replace(
                task,
                type=StartTaskType.WEBHOOK,
                subscription_id=webhook.subscription_id,
                url=webhook.url,
                due=lease.interval.end,
            )
        else:
            region = lease.reservations[0].region if lease.reservations else None
            task = replace(task, request=stack, region=region, trust_id=self.trust_id)
        uow.start_tasks.add(task, now)


class StartRequests:
    """The part of a creation that is about what is started with the lease."""

    def __init__(self, cloud: Cloud, kinds: Kinds, clock: Clock, subscriptions: SubscriptionSettings) -> None:
        self._cloud = cloud
        self._kinds = kinds
        self._clock = clock
        self._subscriptions = subscriptions

    def checked(self, wish: StartTaskWish | None, lease: Lease, caller: Caller) -> NewStart | None:
        """Return what is to be started with the lease; None where nothing is. Raises InvalidInput."""
        if wish is None:
            return None
        if wish.webhook is not None:
            self._subscriptions.require_sendable(wish.webhook.url)
        elif wish.stack is not None:
            self._check_stack(wish.stack, lease, caller)
        else:
            raise InvalidInput("on_start needs a stack or a webhook.")
        return NewStart(wish, self._subscriptions.most)

    def trusted(self, start: NewStart | None, lease: Lease, caller: Caller) -> NewStart | None:
        """Return it with the trust by which the service acts in Heat later on. Raises CloudRefused,
        CloudUnavailable."""
        if start is None or start.wish.stack is None:
            return start
        identity = self._own_cloud(lease, caller).identity
        expires_at = lease.interval.end + TRUST_MARGIN
        trust_id = identity.create_trust(
            caller.user_id, lease.project_id, caller.roles, expires_at, may_be_passed_on=True
        )
        return replace(start, trust_id=trust_id)

    def discard(self, start: NewStart | None) -> None:
        """Remove the trust, for the lease is not made. One that cannot be removed now expires."""
        if start is not None and start.trust_id is not None:
            try:
                for_undo(self._cloud).identity.delete_trust(start.trust_id)
            except (CloudUnavailable, CloudRefused) as failure:
                LOG.warning("Trust %s is still there: %s", start.trust_id, failure.message)

    def _check_stack(self, request: StackRequest, lease: Lease, caller: Caller) -> None:
        check_placeholders(request, lambda each: each.of(lease_document(lease, self._kinds, DATES)))
        if not caller.roles:
            raise InvalidInput("on_start needs a token with roles in the lease's project.")
        theirs = self._own_cloud(lease, caller)
        if not within_request(self._cloud, caller, self._clock).orchestration.is_offered():
            raise InvalidInput(WITHOUT_HEAT)
        heat = theirs.for_request(lambda: HEAT_SECONDS).orchestration
        try:
            heat.check_template(new_stack("check", request), lease.project_id)
        except CloudRefused as refusal:
            raise InvalidInput(f"on_start: {refusal.message}") from None
        except CloudUnavailable as failure:
            # Heat is asked again at the start: its outage delays no lease.
            LOG.warning("The template of lease %s is not checked: %s", lease.id, failure.message)

    def _own_cloud(self, lease: Lease, caller: Caller) -> Cloud:
        region = lease.reservations[0].region if lease.reservations else None
        cloud = within_request(self._cloud, caller, self._clock).in_region(region)
        return RequestContext(caller, cloud).own_cloud(lease.project_id)


def check_placeholders(request: StackRequest, fill: Callable[[Placeholder], Any]) -> None:
    """Raise InvalidInput where a parameter has a placeholder that stands for nothing."""
    filled_in(request.parameters, fill)


def new_stack(name: str, request: StackRequest, tags: tuple[str, ...] = ()) -> NewStack:
    """Return what Heat is asked for, with the parameters as they are."""
    return NewStack(
        name,
        request.template,
        request.template_url,
        request.parameters,
        request.environment,
        request.timeout_minutes,
        tags,
    )


def _subscription(webhook: WebhookWish, lease: Lease) -> Subscription:
    return Subscription(
        id=webhook.subscription_id,
        name=f"on_start of {lease.name}"[:255],
        project_id=lease.project_id,
        user_id=lease.user_id,
        url=webhook.url,
        events=TOLD,
        watched_project=lease.project_id,
        lease_id=lease.id,
    )
