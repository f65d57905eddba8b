"""Calendar feeds over HTTP, since version 1.17; calendar programs read them without a version and a token."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from wsgiref.util import application_uri

from blazar.api import timeline
from blazar.api.authorization import Authorizer
from blazar.api.calendar_file import calendar_file
from blazar.api.dashboard import PATH as DASHBOARD
from blazar.api.feed_address import PATH, hash_of, new_secret, secret_hash
from blazar.api.lists import listing_by_id
from blazar.api.microversion import MINIMUM
from blazar.api.routing import Answer, PagedList, Request
from blazar.api.schemas.feeds import FeedCreate
from blazar.api.schemas.fields import validated
from blazar.api.schemas.lists import FeedsQuery
from blazar.api.shares import right_of
from blazar.api.views.feeds import FeedReply, feed_reply, feed_view
from blazar.domain.errors import CloudUnavailable, FeedNotFound, InvalidInput, NotFound, PolicyNotAuthorized
from blazar.domain.feed import Feed, FeedScope
from blazar.policies import feeds as rules
from blazar.policies import leases as lease_rules
from blazar.service.commands import CreateFeed
from blazar.service.context import Caller
from blazar.service.interface import FeedsInterface, Service
from blazar.service.pages import ResourcePage

PAGE = 200
"""Feeds that are asked of a manager at once."""
IF_NONE_MATCH = replace(timeline.IF_NONE_MATCH, since=MINIMUM)
STRANGERS = 4
"""Requests with a secret that is not known yet, of which a manager is asked at once."""
WAIT_SECONDS = 0.5
REMEMBERED = 10_000
"""Secrets that are known to be right, at most."""


class FeedTurns:
    """Lets few requests at once ask a manager about secrets that this process has never seen to be right: so
    strangers who guess hold neither threads nor managers. Threads share it."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(STRANGERS)
        self._lock = threading.Lock()
        self._right: dict[str, None] = {}
        """Hashes of secrets, in the order in which they were found to be right."""

    @contextmanager
    def one(self, secret_hash: str) -> Iterator[None]:
        """Ask inside the block. Raises CloudUnavailable where no turn comes in time."""
        if secret_hash in self._right:
            yield
            return
        if not self._free.acquire(timeout=WAIT_SECONDS):
            raise CloudUnavailable(service="feeds", reason="too many requests with unknown addresses")
        try:
            yield
            self._remember(secret_hash)
        finally:
            self._free.release()

    def _remember(self, secret_hash: str) -> None:
        with self._lock:
            self._right[secret_hash] = None
            if len(self._right) > REMEMBERED:
                del self._right[next(iter(self._right))]

    def forget(self, secret_hash: str) -> None:
        """Take the secret for one that was never right."""
        with self._lock:
            self._right.pop(secret_hash, None)


class FeedActions:
    """The actions on feeds. Every rule is asked about the project and the user that have made the feed."""

    def __init__(self, service: Service, authorizer: Authorizer, has_dashboard: bool) -> None:
        self._service = service
        self._authorizer = authorizer
        self._has_dashboard = has_dashboard
        self._turns = FeedTurns()

    def list(self, request: Request) -> PagedList:
        """List the feeds that the caller has made with the project; administrators see those of all."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        query, use_cases = request.exact_query(FeedsQuery), self._use_cases(request)
        project_id = query.project_id if caller.is_admin else caller.project_id
        user_id = query.user_id if caller.is_admin else caller.user_id

        def ask(limit: int, after: str | None) -> Sequence[Feed]:
            return use_cases.list(project_id, user_id, ResourcePage(limit, after))

        listing = listing_by_id(ask, lambda each: each.id, query.limit, query.marker, PAGE)
        allowed = listing.only(lambda each: self._allows(rules.GET, caller, each))
        return allowed.answer(request, "feeds", feed_view)

    def create(self, request: Request) -> FeedReply:
        """Make a calendar feed of leases, for calendar programs.

        The answer has its `url`, which is read without a token. It is not shown again."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked, secret = validated(FeedCreate, request.body), new_secret()
        command = self._command(asked, hash_of(secret), request)
        made = self._use_cases(request).create(command, caller)
        address = PATH.format(feed_secret=secret)
        return feed_reply(made, f"{_base(request)}{address}")

    def delete(self, request: Request) -> None:
        """Delete a feed. Its address is none from then on."""
        caller = request.caller
        self._authorizer.require_project(rules.DELETE, caller)
        feed_id, use_cases = request.id("feed_id"), self._use_cases(request)
        found = use_cases.get(feed_id)
        if not self._allows(rules.GET, caller, found):
            raise FeedNotFound(feed=feed_id)
        if not self._allows(rules.DELETE, caller, found):
            raise PolicyNotAuthorized(action=rules.DELETE)
        use_cases.delete(feed_id, caller)

    def read(self, request: Request) -> Answer:
        """Read the leases of a feed as a calendar file (RFC 5545).

        Its address has a secret, and no token is asked for. An answer has an ETag, for If-None-Match."""
        wanted, url = secret_hash(request.environ), self._dashboard(request)
        told = hashlib.sha256(f"{version('blazar')} {url}".encode()).hexdigest()[:8]
        known = re.findall(rf'"([0-9a-f]{{32}})-{told}"', request.header(IF_NONE_MATCH) or "")
        feeds: FeedsInterface = self._service.noun("feeds")
        try:
            with self._turns.one(wanted):
                content = feeds.read(wanted, tuple(known[:10]))
        except FeedNotFound:
            self._turns.forget(wanted)
            raise
        headers = {"ETag": f'"{content.mark}-{told}"', "Cache-Control": "private, no-cache"}
        if content.entries is None:
            return Answer(304, None, headers)
        return Answer(200, calendar_file(content, content.entries, url), headers)

    def _command(self, asked: FeedCreate, secret_hash: str, request: Request) -> CreateFeed:
        """Raises InvalidInput where there is no such lease that the caller may see, and PolicyNotAuthorized
        where the caller may not see the leases of the project or of the user."""
        caller = request.caller
        if asked.lease_id is not None:
            project_id = self._project_of(asked.lease_id, request)
            return CreateFeed(asked.name, secret_hash, project_id, lease_id=asked.lease_id)
        project_id = asked.project_id or str(caller.project_id)
        user_id = asked.user_id or caller.user_id
        if not self._authorizer.allows(lease_rules.GET, caller, project_id, user_id):
            raise PolicyNotAuthorized(action=lease_rules.GET)
        watched_user = user_id if asked.scope is FeedScope.USER else None
        return CreateFeed(asked.name, secret_hash, project_id, watched_user)

    def _project_of(self, lease_id: str, request: Request) -> str:
        """Return the project whose leases are watched for this one: its own, or the caller's where the lease
        is shared with that one, as long as it is."""
        caller, absent = request.caller, InvalidInput(f"There is no lease {lease_id}.")
        try:
            lease = self._service.called_by(caller).leases.get(lease_id)
        except NotFound:
            raise absent from None
        if self._authorizer.allows(lease_rules.GET, caller, lease.project_id, lease.user_id):
            return lease.project_id
        if right_of(self._service, self._authorizer, caller, lease_id) is None:
            raise absent
        return str(caller.project_id)

    def _dashboard(self, request: Request) -> str | None:
        return f"{_base(request)}{DASHBOARD}/" if self._has_dashboard else None

    def _allows(self, rule: str, caller: Caller, feed: Feed) -> bool:
        return self._authorizer.allows(rule, caller, feed.project_id, feed.user_id)

    def _use_cases(self, request: Request) -> FeedsInterface:
        found: FeedsInterface = self._service.called_by(request.caller).noun("feeds")
        return found


def _base(request: Request) -> str:
    """Return the address that the client used, with the prefix that the API is mounted at."""
    return application_uri(dict(request.environ)).rstrip("/")
