"""Subscriptions over HTTP, since version 1.11."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.api.authorization import Authorizer
from blazar.api.event_stream import MESSAGES, event_stream, last_event, last_of
from blazar.api.lists import listing_by_id
from blazar.api.microversion import newest
from blazar.api.routing import Answer, PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.lists import SubscriptionsQuery
from blazar.api.schemas.subscriptions import CREATE, UPDATE
from blazar.api.streams import Streams
from blazar.api.views.subscriptions import (
    SubscriptionReply,
    SubscriptionsReply,
    subscription_reply,
    subscription_view,
)
from blazar.domain.errors import InvalidInput, PolicyNotAuthorized, SubscriptionNotFound
from blazar.domain.subscription import Subscription
from blazar.policies import capacity as capacity_rules
from blazar.policies import subscriptions as rules
from blazar.service.context import Caller
from blazar.service.interface import Service, SubscriptionsInterface
from blazar.service.pages import ResourcePage
from blazar.service.subscriptions import StreamPage

PAGE = 200
"""Subscriptions that are asked of a manager at once."""


class SubscriptionActions:
    """The actions on subscriptions. Every rule is asked about the subscription's own project and user."""

    def __init__(self, service: Service, authorizer: Authorizer, streams: Streams | None = None) -> None:
        self._service = service
        self._authorizer = authorizer
        self._streams = streams

    def list(self, request: Request) -> SubscriptionsReply:
        """List the subscriptions of the project; administrators see those of all projects."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        found = self._use_cases(request).list(None if caller.is_admin else caller.project_id)
        return {
            "subscriptions": [
                subscription_view(each) for each in found if self._allows(rules.GET, caller, each)
            ]
        }

    def list_page(self, request: Request) -> PagedList:
        """List a page of the subscriptions, by their ids (1.14)."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        query, use_cases = request.exact_query(SubscriptionsQuery), self._use_cases(request)
        project_id = None if caller.is_admin else caller.project_id

        def ask(limit: int, after: str | None) -> Sequence[Subscription]:
            return use_cases.list(project_id, ResourcePage(limit, after))

        listing = listing_by_id(ask, lambda each: each.id, query.limit, query.marker, PAGE)
        allowed = listing.only(lambda each: self._allows(rules.GET, caller, each))
        return allowed.answer(request, "subscriptions", subscription_view)

    def create(self, request: Request) -> SubscriptionReply:
        """Have what becomes of leases, or of capacity, sent to an address, or kept for clients that ask.

        The answer has the `secret` with which the messages are signed. It is not shown again."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked = validated(newest(CREATE, request.version), request.body)
        if asked.all_projects or asked.project_id not in (None, caller.project_id):
            self._authorizer.require(rules.WATCH_ALL, caller)
        command = asked.command(str(caller.project_id))
        if command.capacity is not None:
            self._authorizer.require(capacity_rules.GET, caller)
        made = self._use_cases(request).create(command, caller)
        return subscription_reply(made.subscription, made.secret)

    def show(self, request: Request) -> SubscriptionReply:
        """Show a subscription: how many messages wait, and why the last one was not taken."""
        return subscription_reply(self._visible(request, rules.GET))

    def events(self, request: Request) -> Answer:
        """Tell what was kept of a subscription without a url, as server-sent events (1.16).

        `id` is that of the message, `event` what has happened, and `data` the body that a receiver would be
        sent. The answer goes on as events happen, or ends with at most 100 of them: the client comes back
        after `retry`, with the last id in `Last-Event-ID`. Where events after that one are no longer kept,
        the event `missed` comes first."""
        self._authorizer.require_project(rules.GET, request.caller)
        subscription_id = request.id("subscription_id")
        after = last_event(request)
        page = self._use_cases(request).read_messages(subscription_id, after, MESSAGES)
        if not self._allows(rules.GET, request.caller, page.subscription):
            raise SubscriptionNotFound(subscription=subscription_id)
        if not page.subscription.is_stream:
            raise InvalidInput("What this subscription tells is sent to its url, and not kept.")
        is_full = len(page.messages) == MESSAGES
        goes_on = not is_full and self._goes_on(request, page, last_of(page, after or 0))
        return event_stream(page, is_full, goes_on)

    def _goes_on(self, request: Request, page: StreamPage, last: int) -> bool:
        """Return whether the connection stays open."""
        project_id = request.caller.project_id
        return self._streams is not None and self._streams.hold(request.environ, page, last, project_id)

    def update(self, request: Request) -> SubscriptionReply:
        """Change a subscription; what is not sent stays.

        `resume` sends what waits at once, also where the subscription is suspended."""
        old = self._permitted(request, rules.PUT)
        asked = validated(newest(UPDATE, request.version), request.body)
        changed = self._use_cases(request).update(old.id, asked.command(), request.caller)
        return subscription_reply(changed.subscription, changed.secret)

    def delete(self, request: Request) -> None:
        """Delete a subscription. What is not under way yet is not sent any more."""
        old = self._permitted(request, rules.DELETE)
        self._use_cases(request).delete(old.id, request.caller)

    def _permitted(self, request: Request, rule: str) -> Subscription:
        """Return the subscription in the path, which the caller may change. Raises SubscriptionNotFound,
        PolicyNotAuthorized."""
        found = self._visible(request, rule)
        if not self._allows(rule, request.caller, found):
            raise PolicyNotAuthorized(action=rule)
        return found

    def _visible(self, request: Request, rule: str) -> Subscription:
        """Return the subscription in the path; ``rule`` names what was tried where the token has no project.
        Raises SubscriptionNotFound, PolicyNotAuthorized."""
        caller = request.caller
        self._authorizer.require_project(rule, caller)
        subscription_id = request.id("subscription_id")
        found = self._use_cases(request).get(subscription_id)
        if not self._allows(rules.GET, caller, found):
            raise SubscriptionNotFound(subscription=subscription_id)
        return found

    def _allows(self, rule: str, caller: Caller, subscription: Subscription) -> bool:
        return self._authorizer.allows(rule, caller, subscription.project_id, subscription.user_id)

    def _use_cases(self, request: Request) -> SubscriptionsInterface:
        found: SubscriptionsInterface = self._service.called_by(request.caller).noun("subscriptions")
        return found
