"""Subscriptions over HTTP, since version 1.11."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.subscriptions import SubscriptionCreate, SubscriptionUpdate
from blazar.api.views.subscriptions import (
    SubscriptionReply,
    SubscriptionsReply,
    subscription_reply,
    subscription_view,
)
from blazar.domain.errors import PolicyNotAuthorized, SubscriptionNotFound
from blazar.domain.subscription import Subscription
from blazar.policies import subscriptions as rules
from blazar.service.context import Caller
from blazar.service.interface import Service, SubscriptionsInterface


class SubscriptionActions:
    """The actions on subscriptions. Every rule is asked about the subscription's own project and user."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

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

    def create(self, request: Request) -> SubscriptionReply:
        """Have what becomes of leases sent to an address.

        The answer has the `secret` with which the messages are signed. It is not shown again."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked = validated(SubscriptionCreate, request.body)
        if asked.all_projects or asked.project_id not in (None, caller.project_id):
            self._authorizer.require(rules.WATCH_ALL, caller)
        made = self._use_cases(request).create(asked.command(str(caller.project_id)), caller)
        return subscription_reply(made.subscription, made.secret)

    def show(self, request: Request) -> SubscriptionReply:
        """Show a subscription: how many messages wait, and why the last one was not taken."""
        return subscription_reply(self._visible(request, rules.GET))

    def update(self, request: Request) -> SubscriptionReply:
        """Change a subscription; what is not sent stays.

        `resume` sends what waits at once, also where the subscription is suspended."""
        old = self._permitted(request, rules.PUT)
        asked = validated(SubscriptionUpdate, request.body)
        changed = self._use_cases(request).update(old.id, asked.command(), request.caller)
        return subscription_reply(changed.subscription, changed.secret)

    def delete(self, request: Request) -> None:
        """Delete a subscription. What was not sent yet is not sent any more."""
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
