"""Calendar feeds: addresses at which calendar programs read what becomes of leases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import FeedNotFound, FeedsDisabled, Stale, TooManyFeeds
from blazar.domain.feed import CancelledLease, Feed
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.share import ShareRight
from blazar.domain.lease.start_task import StartTaskType
from blazar.domain.time import Interval
from blazar.service.commands import CreateFeed
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.pages import ResourcePage
from blazar.service.ports import Clock, Database, LeaseQuery, LeaseRevision, SharedRevision, UnitOfWork
from blazar.service.ports.kind import Kinds

THIS_ADDRESS = "with this address"


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """What the operator allows."""

    are_enabled: bool = True
    most: int = 10
    """Feeds that a user may have made with a project."""
    past: timedelta = timedelta(days=14)
    """How long what is over, and what was deleted, is told."""
    longest: int = 500
    """Leases in an answer."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """What a calendar is told of a lease."""

    lease_id: str
    name: str
    interval: Interval
    status: LeaseStatus
    revision: int
    changed_at: datetime
    is_cancelled: bool = False
    """It does not take place, or no longer."""
    reserved: tuple[str, ...] = ()
    """What is reserved, a line for each reservation."""
    reason: str | None = None
    right: ShareRight | None = None
    """What the project of the feed may do with the lease of another one."""
    starts: StartTaskType | None = None
    """What is started with it, of a lease of the feed's project."""


@dataclass(frozen=True, slots=True)
class FeedContent:
    """What a feed tells. ``entries`` is None where the reader knows it already.

    Two answers with the same ``mark`` tell the same."""

    name: str
    mark: str
    entries: tuple[FeedEntry, ...] | None = None


class Feeds:
    """The use cases of feeds."""

    def __init__(self, database: Database, kinds: Kinds, clock: Clock, settings: FeedSettings) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._settings = settings

    def create(self, command: CreateFeed, caller: Caller) -> Feed:
        """Raises FeedsDisabled, TooManyFeeds, and TooLate where the caller has stopped to wait."""
        if not self._settings.are_enabled:
            raise FeedsDisabled()
        feed = Feed(
            id=new_id(),
            name=command.name,
            project_id=str(caller.project_id),
            user_id=caller.user_id,
            watched_project=command.watched_project,
            watched_user=command.watched_user,
            lease_id=command.lease_id,
        )

        def work(uow: UnitOfWork) -> Feed:
            uow.feeds.queue_up(feed.project_id)
            if uow.feeds.count(feed.project_id, feed.user_id) >= self._settings.most:
                raise TooManyFeeds(most=self._settings.most)
            stored = uow.feeds.add(feed, command.secret_hash, self._clock.now())
            caller.require_time(self._clock.now())  # as late as possible
            return stored

        return self._database.transact(work)

    def get(self, feed_id: str) -> Feed:
        with self._database.read() as uow:
            found = uow.feeds.get(feed_id)
        if found is None:
            raise FeedNotFound(feed=feed_id)
        return found

    def list(self, project_id: str | None, user_id: str | None, page: ResourcePage) -> Sequence[Feed]:
        with self._database.read() as uow:
            return uow.feeds.page(project_id, user_id, page.limit, page.after)

    def delete(self, feed_id: str, caller: Caller) -> None:
        def work(uow: UnitOfWork) -> None:
            try:
                uow.feeds.remove(feed_id)
            except Stale:
                raise FeedNotFound(feed=feed_id) from None

        self._database.transact(work)

    def read(self, secret_hash: str, known: tuple[str, ...] = ()) -> FeedContent:
        """Return what the feed with this secret tells. A secret that never was, one that is revoked and one
        of feeds that are disabled cost the same question, and have the same answer."""
        now, most = self._clock.now(), self._settings.longest
        since = now - self._settings.past
        with self._database.read() as uow:
            feed = uow.feeds.find(secret_hash)
            if feed is None or not self._settings.are_enabled:
                raise FeedNotFound(feed=THIS_ADDRESS)
            revisions = uow.feeds.revisions(feed, since, now, most)
            shared = uow.feeds.shared(feed, since, most) if feed.shows_shared else ()
            shared = shared[: most - len(revisions)]
            there = {each.lease_id for each in (*revisions, *shared)}
            gone = [each for each in uow.feeds.cancelled(feed, since, most) if each.lease_id not in there]
            gone = gone[: most - len(there)]
            mark = _mark(feed, revisions, shared, gone)
            if mark in known:
                return FeedContent(feed.name, mark)
            leases = uow.leases.find(LeaseQuery(most, ids=tuple(there))).leases if there else ()
        rights = {each.lease_id: each.right for each in shared}
        entries = [*(self._entry(each, rights.get(each.id)) for each in leases), *map(_cancelled, gone)]
        entries.sort(key=lambda each: (each.interval.start, each.lease_id))
        return FeedContent(feed.name, mark, tuple(entries))

    def forget_cancelled(self) -> None:
        """Remove what is no longer told of deleted leases."""
        before = self._clock.now() - self._settings.past
        self._database.transact(lambda uow: uow.feeds.forget_cancelled(before))

    def _entry(self, lease: Lease, right: ShareRight | None) -> FeedEntry:
        return FeedEntry(
            lease.id,
            lease.name,
            lease.interval,
            lease.status,
            lease.revision,
            lease.updated_at or lease.created_at or lease.interval.start,
            _is_cancelled(lease),
            tuple(self._reserved(each) for each in lease.reservations),
            lease.status_reason,
            right,
            StartTaskType(lease.start_task) if lease.start_task is not None and right is None else None,
        )

    def _reserved(self, reservation: Reservation) -> str:
        """Return what was asked for, in the words of the API."""
        kind = self._kinds.get(reservation.resource_type)
        if kind is None:
            return reservation.resource_type
        asked = kind.parameters_schema.get("properties", {}).items()
        shown = [name for name, about in asked if not about.get("writeOnly")]
        found = [(name, reservation.parameters.get(name)) for name in shown]
        words = ", ".join(f"{name} {_text(value)}" for name, value in found if _says(value))
        return f"{reservation.resource_type}: {words}" if words else reservation.resource_type


def _says(value: Any) -> bool:
    """Return whether the value says anything that its absence would not."""
    return value not in (None, "", "default", [], {})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _is_cancelled(lease: Lease) -> bool:
    """Return whether the lease does not take place: it is being deleted, or has waited in vain."""
    if lease.status is LeaseStatus.TERMINATED:
        return lease.event(EventType.START) is None
    return lease.status is LeaseStatus.DELETING


def _cancelled(lease: CancelledLease) -> FeedEntry:
    return FeedEntry(
        lease.lease_id,
        lease.name,
        lease.interval,
        LeaseStatus.DELETING,
        lease.revision,
        lease.cancelled_at,
        is_cancelled=True,
    )


def _mark(
    feed: Feed,
    revisions: Sequence[LeaseRevision],
    shared: Sequence[SharedRevision],
    gone: Sequence[CancelledLease],
) -> str:
    """Return a short text that is another one where the answer is."""
    told = [feed.name, *(f"{each.lease_id} {each.revision}" for each in revisions)]
    told += [f"{each.lease_id} {each.revision} {each.right}" for each in shared]
    told += [f"{each.lease_id} {each.revision} gone" for each in gone]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:32]
