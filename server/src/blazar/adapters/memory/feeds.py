"""Calendar feeds in memory, and the deleted leases that they still tell of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldFeed, State
from blazar.domain.errors import Stale
from blazar.domain.feed import CancelledLease, Feed
from blazar.service.ports import LeaseRevision, SharedRevision


class MemoryFeeds:
    """The FeedRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def queue_up(self, project_id: str) -> None:
        """Do nothing: there is one writer at a time."""

    def count(self, project_id: str, user_id: str) -> int:
        return len(self._made(project_id, user_id))

    def add(self, feed: Feed, secret_hash: str, now: datetime) -> Feed:
        stored = replace(feed, created_at=now)
        self._state.feeds[stored.id] = HeldFeed(stored, secret_hash)
        return stored

    def get(self, feed_id: str) -> Feed | None:
        held = self._state.feeds.get(feed_id)
        return None if held is None else held.feed

    def find(self, secret_hash: str) -> Feed | None:
        found = (each.feed for each in self._state.feeds.values() if each.secret_hash == secret_hash)
        return next(found, None)

    def page(
        self, project_id: str | None, user_id: str | None, limit: int, after: str | None
    ) -> Sequence[Feed]:
        in_order = sorted(self._made(project_id, user_id), key=lambda each: each.id)
        return [each for each in in_order if after is None or each.id > after][:limit]

    def _made(self, project_id: str | None, user_id: str | None) -> Sequence[Feed]:
        found = (held.feed for held in self._state.feeds.values())
        return [
            each
            for each in found
            if project_id in (None, each.project_id) and user_id in (None, each.user_id)
        ]

    def remove(self, feed_id: str) -> None:
        if self._state.feeds.pop(feed_id, None) is None:
            raise Stale()

    def revisions(self, feed: Feed, since: datetime, now: datetime, limit: int) -> Sequence[LeaseRevision]:
        shown = sorted(
            (
                each
                for each in self._state.leases.values()
                if since < each.interval.end and feed.shows(each.id, each.project_id, each.user_id)
            ),
            key=lambda each: (each.interval.end, each.id),
        )
        ahead = [each for each in shown if now < each.interval.end]
        over = [each for each in reversed(shown) if each.interval.end <= now]
        return [LeaseRevision(each.id, each.revision) for each in (*ahead, *over)][:limit]

    def shared(self, feed: Feed, since: datetime, limit: int) -> Sequence[SharedRevision]:
        found = [
            (self._state.leases[each.lease_id], each.right)
            for shares in self._state.shares.values()
            for each in shares
            if each.project_id == feed.watched_project and feed.lease_id in (None, each.lease_id)
        ]
        newest = sorted(found, key=lambda each: each[0].key, reverse=True)[:limit]
        return [
            SharedRevision(lease.id, lease.revision, right)
            for lease, right in newest
            if since < lease.interval.end
        ]

    def keep_cancelled(self, lease: CancelledLease) -> None:
        told = lease.lease_id, lease.project_id, lease.user_id
        if any(held.feed.shows(*told) for held in self._state.feeds.values()):
            self._state.cancelled[lease.lease_id] = lease

    def cancelled(self, feed: Feed, since: datetime, limit: int) -> Sequence[CancelledLease]:
        found = [
            each
            for each in self._state.cancelled.values()
            if since < each.cancelled_at and feed.shows(each.lease_id, each.project_id, each.user_id)
        ]
        return sorted(found, key=lambda each: (each.cancelled_at, each.lease_id), reverse=True)[:limit]

    def forget_cancelled(self, before: datetime) -> None:
        for each in list(self._state.cancelled.values()):
            if each.cancelled_at <= before:
                del self._state.cancelled[each.lease_id]
