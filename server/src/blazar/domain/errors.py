"""The errors, as one tree: each class has a stable code, fields and a sentence; none knows HTTP.

The sentences of errors that API 1.0 clients know are those of the wire specification (chapter 1.7).
"""

from __future__ import annotations

from typing import ClassVar

FieldValue = str | int | float | bool | None | list[str] | list[dict[str, str | int]]


class BlazarError(Exception):
    """The root. ``code`` names the class across processes; ``template`` makes the sentence from
    ``fields``."""

    code: ClassVar[str] = "error"
    template: ClassVar[str] = "{message}"
    _by_code: ClassVar[dict[str, type[BlazarError]]] = {}

    def __init__(self, message: str | None = None, /, **fields: FieldValue) -> None:
        if message is not None:
            fields["message"] = message
        self.fields: dict[str, FieldValue] = fields
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        known = cls._by_code.setdefault(cls.code, cls)
        if known is not cls and "code" in cls.__dict__:
            raise TypeError(f"error code {cls.code!r} is taken by {known.__name__}")

    @property
    def message(self) -> str:
        return self.template.format(**self.fields)

    @staticmethod
    def revive(code: str, fields: dict[str, FieldValue]) -> BlazarError:
        """Return the error that another process described by its code and fields."""
        cls = BlazarError._by_code.get(code)
        if cls is None:
            return Internal(f"The service reported an unknown error {code!r}")
        error = cls.__new__(cls)
        BlazarError.__init__(error, None, **fields)
        return error


class Internal(BlazarError):
    """A defect or an unforeseen condition; its details belong in the log, not in the answer."""

    code = "internal"


# What the caller sent is wrong.


class InvalidInput(BlazarError):
    code = "invalid_input"


class MissingParameter(InvalidInput):
    code = "missing_parameter"
    template = "Missing parameter {param}"


class MalformedParameter(InvalidInput):
    code = "malformed_parameter"
    template = "Malformed parameter {param}"


class MalformedRequirements(InvalidInput):
    """A requirement that does not follow the grammar; ``reason`` says where."""

    code = "malformed_requirements"
    template = "Malformed requirements {requirements}: {reason}"


class InvalidRecurrence(InvalidInput):
    """A recurrence that cannot be one of leases. It has no code of its own: it is InvalidInput on its way
    between processes."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Invalid recurrence: {reason}")


class InvalidDate(InvalidInput):
    code = "invalid_date"
    template = "{date} is an invalid date. Required format: %Y-%m-%d %H:%M"


class UnsupportedResourceType(InvalidInput):
    code = "unsupported_resource_type"
    template = "The {resource_type} resource type is not supported"


class UsageRefused(InvalidInput):
    """A usage filter does not allow the lease. It has no code of its own: an API of the version before knows
    it as InvalidInput."""


class BadAnswer(UsageRefused):
    """A usage filter's answer is neither yes nor no."""


class KeyReused(InvalidInput):
    """The key of a request was given to another one before."""

    code = "key_reused"
    template = (
        "The Idempotency-Key {key} was used for another request of the project. "
        "Give each new request a key of its own."
    )


class InvalidIPFormat(InvalidInput):
    code = "invalid_ip_format"
    template = "IP address {ip} is invalid form."


# The caller may not, or there is no such thing.


class NotAuthorized(BlazarError):
    code = "not_authorized"
    template = "Not authorized"

    @property
    def message(self) -> str:
        return str(self.fields.get("message") or super().message)


class PolicyNotAuthorized(NotAuthorized):
    code = "policy_not_authorized"
    template = "Policy doesn't allow {action} to be performed"


class ClaimByTooLate(NotAuthorized):
    """It has no code of its own: an API of the version before knows it as NotAuthorized."""

    def __init__(self, minutes: int) -> None:
        super().__init__(
            f"claim_by may be from 1 to {minutes} minutes: for more, or for none, you need the right "
            "blazar:leases:put_later_claim_by."
        )


class QuotaExceeded(NotAuthorized):
    """A limit of the project. It has no code of its own: an API of the version before knows it as
    NotAuthorized."""

    def __init__(self, name: str, limit: int, used: int, asked: int) -> None:
        super().__init__(
            f"Quota exceeded for {name}: the limit is {limit}, {used} are in use, and {asked} are asked for.",
            limit_name=name,
            limit=limit,
            used=used,
            asked=asked,
        )


class NotFound(BlazarError):
    """``object`` is the text that API 1.0 shows, such as ``{'lease_id': 'x'}``."""

    code = "not_found"
    template = "Object with {object} not found"


class OfferNotFound(NotFound):
    """No offer has this id, or not any more. What the caller may not see is answered in the same words."""

    code = "offer_not_found"
    template = "There is no offer {offer}: it has expired, was deleted, or never was."


class MaintenanceNotFound(NotFound):
    code = "maintenance_not_found"
    template = "There is no maintenance {maintenance}: it is over, was deleted, or never was."


class SubscriptionNotFound(NotFound):
    """No subscription has this id. What the caller may not see is answered in the same words."""

    code = "subscription_not_found"
    template = "There is no subscription {subscription}."


class SeriesNotFound(NotFound):
    """No series has this id. What the caller may not see is answered in the same words."""

    code = "series_not_found"
    template = "There is no series {series}."


class LeaseShareNotFound(NotFound):
    code = "lease_share_not_found"
    template = "Lease {lease} is not shared with project {project}."


class FeedNotFound(NotFound):
    """No feed has this id, or this address. What the caller may not see is answered in the same words, and
    so is an address that was revoked."""

    code = "feed_not_found"
    template = "There is no calendar feed {feed}."


# What is asked for collides with the state of things.


class Conflict(BlazarError):
    code = "conflict"


class InvalidStatus(Conflict):
    code = "invalid_status"
    template = "Invalid lease status: {reason}"


class CantUpdateParameter(Conflict):
    code = "cant_update_parameter"
    template = "{param} cannot be updated"


class OfferClaimed(Conflict):
    code = "offer_claimed"
    template = "Offer {offer} has been claimed already: a lease has its id."


class WaitlistFull(Conflict):
    code = "waitlist_full"
    template = "The waitlist is full: {places} leases wait already. Try again later."


class TooManySubscriptions(Conflict):
    code = "too_many_subscriptions"
    template = "The project has {most} subscriptions already, which is as many as it may have."


class TooManyFeeds(Conflict):
    code = "too_many_feeds"
    template = "You have {most} calendar feeds of the project already, which is as many as you may have."


class TooManyLeaseShares(Conflict):
    code = "too_many_lease_shares"
    template = "The lease is shared with {most} projects already, which is as many as it may be shared with."


class FeedsDisabled(Conflict):
    code = "feeds_disabled"
    template = "The operator allows no calendar feeds."


class MaintenanceConflict(Conflict):
    """Leases would lose something that no other resource can serve."""

    code = "maintenance_conflict"
    template = (
        "Leases would break ({count}), so nothing was changed. With force, what can be moved "
        "is moved, and the others are degraded."
    )


class MultipleHostsFound(Conflict):
    """A number names hypervisors of several cells; ``names`` are their hypervisor_hostnames."""

    code = "multiple_hosts_found"
    template = (
        "Multiple Hosts found for pattern '{host}': {names} have this id, each in a cell of its own. "
        "Register the host by its name."
    )


class LeaseChanged(Conflict):
    """The lease is not as its editor has read it; ``revision`` is the present one."""

    code = "lease_changed"
    template = 'The lease has changed since you have read it: its ETag is now "{revision}". Read it again.'


class NotEnoughResources(Conflict):
    """A shortage; ``reason`` tells how many matched, how many are free, and when the request would fit."""

    code = "not_enough_resources"
    template = "Not enough {noun} available: {reason}"


class Busy(BlazarError):
    """Too many other requests changed the same resources meanwhile. Nothing was stored; asking again
    helps."""

    code = "busy"
    template = "The resources are being changed by too many requests at once. Please try again."


class LeaseLocked(Busy):
    """Another transaction has changed the lease and is not committed yet. Who asks does not wait for it."""

    code = "lease_locked"
    template = "The lease is being changed at this moment. Please try again."


class TooLate(Busy):
    """The deadline of the caller has passed. Nothing was stored."""

    code = "too_late"
    template = "The request was not carried out in time. Please try again."


class Stale(BlazarError):
    """Another transaction changed the values that this one was decided on. Nothing was stored: read again,
    and decide again."""

    code = "stale"
    template = "Changed by another request meanwhile"


class ClaimLost(BlazarError):
    """The claim on an event has expired, or another manager has it. This manager must not act on the event
    any more."""

    code = "claim_lost"
    template = "The claim on event {event} was lost"


class CloudUnavailable(BlazarError):
    """Another service (Nova, Placement, Keystone, the database ...) failed or did not answer in time."""

    code = "cloud_unavailable"
    template = "{service} is not available: {reason}"


class OutcomeUnknown(CloudUnavailable):
    """The connection to the database was lost during a commit: the change is stored as a whole, or not at
    all."""

    code = "outcome_unknown"
    template = "{service} is not available: {reason}; whether the change was stored is not known"


class CloudRefused(BlazarError):
    """Another service understood our request and refused it; repeating the same request won't help."""

    code = "cloud_refused"
    template = "{service} refused the request: {reason}"


class NotDelivered(BlazarError):
    """A receiver has not taken a message; the reason is told to its subscriber."""

    code = "not_delivered"
    template = "{reason}"
