"""The view of a subscription in answers."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp
from blazar.domain.subscription import CapacityCondition, Subscription, SubscriptionStatus


class CapacityConditionView(TypedDict):
    """Which capacity is told, and whether it is low."""

    below: Annotated[int, Field(description="How much is enough.")]
    days: Annotated[int, Field(description="How many days ahead are looked at.")]
    resource_type: Annotated[str, Field(description="The kind of resources.")]
    quantity: Annotated[str, Field(description="What is counted.")]
    resource_properties: Annotated[str, Field(description="Which resources are counted.")]
    is_low: Annotated[bool, Field(description="Whether the receiver was last told that it is low.")]


class SubscriptionView(TypedDict):
    """Who is told what becomes of leases."""

    id: Annotated[str, Field(description="UUID of the subscription.")]
    name: Annotated[str, Field(description="Its name.")]
    project_id: Annotated[str, Field(description="The project that it belongs to.")]
    user_id: Annotated[str, Field(description="Who has made it.")]
    url: Annotated[
        str | None,
        Field(description="Where messages are sent; null where they are kept for clients that ask."),
    ]
    events: Annotated[list[str], Field(description="What is told.")]
    watched_project_id: Annotated[
        str | None, Field(description="The project whose leases it is about; null for those of all projects.")
    ]
    lease_id: Annotated[str | None, Field(description="The lease that it is about; null for all.")]
    resource_type: Annotated[str | None, Field(description="The kind that it is about; null for all.")]
    status: Annotated[
        SubscriptionStatus,
        Field(
            description="`SUSPENDED`: the receiver has failed for too long; nothing is sent and nothing new "
            "is kept until it is resumed."
        ),
    ]
    waiting: Annotated[
        int, Field(description="Messages that are not delivered yet; without a url, those that are kept.")
    ]
    attempts: Annotated[int, Field(description="Failed attempts at the oldest of them.")]
    next_attempt_at: Annotated[str | None, Field(description="When it is tried next, in UTC.")]
    last_error: Annotated[str | None, Field(description="Why the last attempt has failed.")]
    delivered_at: Annotated[str | None, Field(description="When a message was last delivered, in UTC.")]
    suspended_at: Annotated[str | None, Field(description="Since when nothing is sent, in UTC.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC.")]
    capacity: NotRequired[
        Annotated[
            CapacityConditionView,
            Field(description="What it is about, where that is not leases; since 1.14."),
        ]
    ]
    secret: NotRequired[
        Annotated[str, Field(description="With what messages are signed. Shown once, where it is made.")]
    ]


class SubscriptionReply(TypedDict):
    subscription: SubscriptionView


class SubscriptionsReply(TypedDict):
    subscriptions: Annotated[
        list[SubscriptionView], Field(description="Oldest first; since 1.14 by their ids, in pages.")
    ]
    subscriptions_links: NotRequired[
        Annotated[
            list[PageLink], Field(description="The link to the next page, where there is one; since 1.14.")
        ]
    ]


def subscription_reply(subscription: Subscription, secret: str | None = None) -> SubscriptionReply:
    view = subscription_view(subscription)
    return {"subscription": view if secret is None else {**view, "secret": secret}}


def subscription_view(subscription: Subscription) -> SubscriptionView:
    is_active = subscription.status is SubscriptionStatus.ACTIVE
    is_tried = subscription.waiting > 0 and is_active and not subscription.is_stream
    view: SubscriptionView = {
        "id": subscription.id,
        "name": subscription.name,
        "project_id": subscription.project_id,
        "user_id": subscription.user_id,
        "url": subscription.url or None,
        "events": list(subscription.words),
        "watched_project_id": subscription.watched_project,
        "lease_id": subscription.lease_id,
        "resource_type": subscription.resource_type,
        "status": subscription.status,
        "waiting": subscription.waiting,
        "attempts": subscription.attempts,
        "next_attempt_at": stamp(subscription.due) if is_tried else None,
        "last_error": subscription.last_error,
        "delivered_at": stamp(subscription.delivered_at),
        "suspended_at": stamp(subscription.suspended_at),
        "created_at": stamp(subscription.created_at),
        "updated_at": stamp(subscription.updated_at),
    }
    if subscription.capacity is not None:
        view["capacity"] = _capacity_view(subscription.capacity, subscription.level.is_low)
    return view


def _capacity_view(condition: CapacityCondition, is_low: bool) -> CapacityConditionView:
    return {
        "below": condition.below,
        "days": condition.days,
        "resource_type": condition.resource_type,
        "quantity": condition.quantity,
        "resource_properties": condition.resource_properties,
        "is_low": is_low,
    }
