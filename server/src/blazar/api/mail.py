"""What a user is told by mail, over HTTP, since version 1.24."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.microversion import Version, newest
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.mail import UPDATE
from blazar.api.views.mail import MailReply, mail_reply
from blazar.policies import mail as rules
from blazar.service.interface import MailInterface, Service

SINCE: Version = (1, 24)


class MailActions:
    """The actions on what the caller is told by mail: of leases in all projects."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def show(self, request: Request) -> MailReply:
        """Show what the caller is told by mail."""
        self._authorizer.require(rules.GET, request.caller)
        return mail_reply(self._use_cases(request).get(request.caller.user_id), request.version)

    def update(self, request: Request) -> MailReply:
        """Choose what the caller is told by mail, of leases in all projects."""
        self._authorizer.require(rules.PUT, request.caller)
        command = validated(newest(UPDATE, request.version), request.body).command()
        return mail_reply(self._use_cases(request).update(command, request.caller), request.version)

    def _use_cases(self, request: Request) -> MailInterface:
        use_cases: MailInterface = self._service.called_by(request.caller).noun("mail")
        return use_cases
