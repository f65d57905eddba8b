"""A real SMTP server for the tests, which keeps what it takes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword
from free_ports import free_port

USERNAME, PASSWORD = "blazar", "correct horse"


class MailServer:
    """What was taken, in order, and what is answered."""

    def __init__(self) -> None:
        self.port = free_port()
        self.messages: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.answers: dict[str, str] = {}
        """By recipient, or ``MAIL`` or ``DATA``."""
        self.connections = 0
        self.is_slow_for: set[str] = set()

    async def handle_EHLO(  # noqa: N802 - the name is aiosmtpd's
        self, server: Any, session: Any, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = hostname
        return responses

    async def handle_MAIL(  # noqa: N802 - the name is aiosmtpd's
        self, server: Any, session: Any, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.answers.get("MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802 - the name is aiosmtpd's
        self, server: Any, session: Any, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.is_slow_for:
            await asyncio.sleep(60)
        envelope.rcpt_tos.append(address)
        return self.answers.get(address, "250 OK")

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: N802
        answer = self.answers.get("DATA", "250 OK")
        if answer.startswith("250"):
            assert isinstance(envelope.content, bytes)
            self.messages.append(message_from_bytes(envelope.content, EmailMessage, policy=policy.default))
            self.recipients += envelope.rcpt_tos
        return answer

    @contextmanager
    def running(self, tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[MailServer]:
        controller = Controller(
            self, hostname="127.0.0.1", port=self.port, tls_context=tls, data_size_limit=100_000, **options
        )
        controller.start()
        try:
            yield self
        finally:
            controller.stop()


def knows_account(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    assert isinstance(data, LoginPassword)
    is_right = (data.login, data.password) == (USERNAME.encode(), PASSWORD.encode())
    return AuthResult(success=is_right, handled=False)
