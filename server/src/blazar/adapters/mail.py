"""Mail over SMTP, and the templates of its texts."""

from __future__ import annotations

import contextlib
import hashlib
import re
import smtplib
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from importlib import resources
from pathlib import Path

from blazar.domain.errors import CloudUnavailable, NotDelivered
from blazar.service.mail_texts import TEMPLATES
from blazar.service.ports import OutgoingMail

SERVICE = "The mail server"
CLOSING = 421
"""What a server answers that is about to close the connection, whatever it was asked."""

LINK = re.compile(r"(?:https?://|mailto:)[!-;=?-~]+")
ENCODED = "=?"
"""What begins an encoded word. The standard library decodes them in what it is given, and writes a line's end
that was hidden in one into the header."""


@dataclass(frozen=True, slots=True)
class MailSettings:
    """Where mail goes, and who it comes from."""

    host: str
    port: int
    sender: str
    encryption: str = "starttls"
    """``none``, ``starttls`` or ``tls``."""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    """Seconds within which each answer of the server has to come."""
    cafile: str | None = None
    choice_url: str = ""
    """Where users read how to be told less."""


class SmtpSender:
    """The MailSender over SMTP. Raises ValueError where ``sender`` or ``choice_url`` is no address."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings
        name, address = parseaddr(settings.sender)
        parsed = _address(address)
        if parsed is None:
            raise ValueError(f"[mail] sender: '{settings.sender}' is not one address")
        if settings.choice_url and not LINK.fullmatch(settings.choice_url):
            raise ValueError(f"[mail] choice_url: '{settings.choice_url}' is no address of https: or mailto:")
        self._from = Address(name, addr_spec=parsed.addr_spec)
        self._tls = ssl.create_default_context(cafile=settings.cafile)
        self._connection: smtplib.SMTP | None = None

    def send(self, mail: OutgoingMail) -> bool:
        recipient = _address(mail.recipient)
        if recipient is None:
            return False
        message = self._message(mail, recipient)
        connection = self._connection or self._connected()
        self._connection = connection
        try:
            connection.send_message(message, self._from.addr_spec, [recipient.addr_spec])
        except smtplib.SMTPRecipientsRefused as refusal:
            ((code, _),) = refusal.recipients.values()
            return self._refused(code)
        except smtplib.SMTPDataError as refusal:
            return self._refused(refusal.smtp_code)
        except smtplib.SMTPSenderRefused as refusal:
            self._drop()
            raise CloudUnavailable(service=SERVICE, reason=_words(refusal)) from None
        except (OSError, smtplib.SMTPException) as failure:
            self._drop()
            raise NotDelivered(reason=f"The connection failed ({_words(failure)}).") from None
        return True

    def rest(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                connection.quit()
            connection.close()

    def _refused(self, code: int) -> bool:
        """Return false for what is refused for good. Raises NotDelivered."""
        if code >= 500:
            return False
        if code == CLOSING:
            self._drop()
        raise NotDelivered(reason=f"The server answered {code}.")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> smtplib.SMTP:
        """Raises CloudUnavailable."""
        settings = self._settings
        with contextlib.ExitStack() as stack:
            try:
                connection = self._opened()
                stack.callback(connection.close)
                if settings.encryption == "starttls":
                    connection.starttls(context=self._tls)
                if settings.username is not None:
                    connection.login(settings.username, settings.password or "")
            except (OSError, smtplib.SMTPException) as failure:
                raise CloudUnavailable(service=SERVICE, reason=_words(failure)) from None
            stack.pop_all()
        return connection

    def _opened(self) -> smtplib.SMTP:
        where = (self._settings.host, self._settings.port)
        # The name of this machine without a question to a name server, which may not answer.
        name, seconds = socket.gethostname(), self._settings.timeout
        if self._settings.encryption == "tls":
            return smtplib.SMTP_SSL(*where, name, timeout=seconds, context=self._tls)
        return smtplib.SMTP(*where, name, timeout=seconds)

    def _message(self, mail: OutgoingMail, recipient: Address) -> EmailMessage:
        domain = self._from.domain
        message = EmailMessage()
        message["From"] = self._from
        message["To"] = recipient
        message["Subject"] = mail.subject.replace(ENCODED, "= ?")
        message["Date"] = format_datetime(mail.sent_at)
        message["Message-ID"] = f"<{_token(mail.name)}@{domain}>"
        if mail.thread is not None:
            message["References"] = f"<{_token(mail.thread)}@{domain}>"
        if self._settings.choice_url:
            message["List-Unsubscribe"] = f"<{self._settings.choice_url}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.body, cte="quoted-printable")
        return message


def templates(directory: str | None) -> Mapping[str, str]:
    """Return the texts of all templates: those of files in the directory where they are there, and our own.

    Raises ValueError where a file of the directory cannot be read."""
    own = resources.files("blazar.adapters") / "mail_templates"
    found = {name: (own / f"{name}.txt").read_text(encoding="utf-8") for name in TEMPLATES}
    if directory:
        for name in TEMPLATES:
            path = Path(directory) / f"{name}.txt"
            try:
                if path.exists():
                    found[name] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeError) as failure:
                raise ValueError(f"[mail] templates: {path} cannot be read: {failure}") from None
    return found


def _address(text: str) -> Address | None:
    """Return one address of ASCII characters; None for anything else that was found where one should be."""
    if not text.isascii() or not text.isprintable() or ENCODED in text:
        return None
    try:
        found = Address(addr_spec=text)
    except (ValueError, MessageError, IndexError):
        return None
    return found if found.username and found.domain else None


def _token(text: str) -> str:
    """Return a part of a message's id: no text of a user stands in it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _words(failure: Exception) -> str:
    """Return what failed in plain words."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {failure.verify_message}"
    if isinstance(failure, smtplib.SMTPResponseException):
        said = failure.smtp_error
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        return f"it answered {failure.smtp_code} {text}".strip()[:300]
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror
    return str(failure) or type(failure).__name__
