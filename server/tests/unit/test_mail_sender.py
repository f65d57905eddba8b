"""Mail reaches a real SMTP server as it was meant, whatever users have written into it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from smtp_server import PASSWORD, USERNAME, MailServer, knows_account

from blazar.adapters.mail import MailSettings, SmtpSender, templates
from blazar.domain.errors import CloudUnavailable, NotDelivered
from blazar.domain.subscription import LeaseEvent
from blazar.service.mail_texts import MailTexts
from blazar.service.ports import MailBatch, MailItem, OutgoingMail

from .certificates import make_certificate

NOW = datetime(2030, 1, 1, 10, tzinfo=UTC)
MAIL = OutgoingMail("event-1", "anna@example.com", "Lease one", "It starts.\n", NOW, "lease-1")
LEASE = {
    "lease_id": "l1",
    "name": "training",
    "project_id": "p1",
    "start_date": "2030-01-02T10:00:00.000000",
    "end_date": "2030-01-03T10:00:00.000000",
    "status": "PENDING",
    "resource_types": ["physical:host"],
}


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer().running() as server:
        yield server


def settings(server: MailServer, **fields: object) -> MailSettings:
    plain = MailSettings(
        "localhost", server.port, "Réservations <blazar@cloud.example.com>", encryption="none"
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


def item(event: LeaseEvent = LeaseEvent.CREATED, **fields: object) -> MailItem:
    return MailItem("u1", event, {**LEASE, **fields}, NOW, 7)


def texts(dashboard: str = "https://cloud.example.com/dashboard/", **own: str) -> MailTexts:
    return MailTexts({**templates(None), **own}, dashboard)


def test_a_mail_is_read_by_another_parser_as_it_was_meant(server: MailServer) -> None:
    sender = SmtpSender(settings(server))
    assert sender.send(replace(MAIL, subject="Größe 大きい", body="Zeile eins\n\n.\nZeile drei €\n"))
    sender.rest()
    sender.rest()
    (message,) = server.messages
    assert message["From"].addresses[0].display_name == "Réservations"
    assert message["From"].addresses[0].addr_spec == "blazar@cloud.example.com"
    assert (message["To"], server.recipients) == ("anna@example.com", ["anna@example.com"])
    assert message["Subject"] == "Größe 大きい"
    assert parsedate_to_datetime(message["Date"]) == NOW
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    assert message.get_content().replace("\r\n", "\n") == "Zeile eins\n\n.\nZeile drei €\n"


def test_a_mail_that_is_repeated_has_the_same_id_and_those_of_a_lease_a_thread(server: MailServer) -> None:
    sender = SmtpSender(settings(server))
    for each in (MAIL, MAIL, replace(MAIL, name="event-2"), replace(MAIL, name="event-3", thread=None)):
        assert sender.send(each)
    sender.rest()
    first, again, second, third = (each["Message-ID"] for each in server.messages)
    assert first == again
    assert len({first, second, third}) == 3
    assert first.endswith("@cloud.example.com>")
    threads = [each["References"] for each in server.messages]
    assert threads[0] == threads[1] == threads[2]
    assert threads[3] is None
    assert server.connections == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "",
        "anna",
        "anna@example.com\r\nBcc: all@example.com",
        "anna@example.com, all@example.com",
        "Anna <anna@example.com>",
        "@example.com",
        "änna@example.com",
        "anna@",
        "=?utf-8?q?anna=0ABcc:_all?=@example.com",
    ],
)
def test_what_is_no_address_gets_no_mail(server: MailServer, address: str) -> None:
    assert not SmtpSender(settings(server)).send(replace(MAIL, recipient=address))
    assert (server.messages, server.connections) == ([], 0)


def test_a_sender_has_to_be_an_address(server: MailServer) -> None:
    with pytest.raises(ValueError, match=r"\[mail\] sender: 'nonsense' is not one address"):
        SmtpSender(settings(server, sender="nonsense"))


@pytest.mark.parametrize("url", ["https://cloud.example.com/how?to=choose#mail", "mailto:help@example.com"])
def test_mail_programs_are_told_where_to_choose(server: MailServer, url: str) -> None:
    sender = SmtpSender(settings(server, choice_url=url))
    assert sender.send(MAIL)
    sender.rest()
    assert server.messages[0]["List-Unsubscribe"] == f"<{url}>"
    footer = MailTexts(templates(None), "", url).write(MailBatch("u1", [item()], 0, 0, "t")).body
    assert footer.endswith(f"mail set --help\n{url}\n")


@pytest.mark.parametrize("url", ["ftp://a", "https://a>b", "https://a b", "script:x", "https://a\r\nTo: x"])
def test_an_address_where_to_choose_is_one(server: MailServer, url: str) -> None:
    with pytest.raises(ValueError, match=r"\[mail\] choice_url"):
        SmtpSender(settings(server, choice_url=url))


def test_what_the_server_refuses_for_good_and_for_now(server: MailServer) -> None:
    sender = SmtpSender(settings(server))
    server.answers = {"gone@example.com": "550 no such user", "full@example.com": "452 full"}
    assert not sender.send(replace(MAIL, recipient="gone@example.com"))
    with pytest.raises(NotDelivered, match="answered 452"):
        sender.send(replace(MAIL, recipient="full@example.com"))
    assert sender.send(MAIL)
    server.answers = {"DATA": "554 no"}
    assert not sender.send(MAIL)
    server.answers = {"DATA": "451 later"}
    with pytest.raises(NotDelivered, match="answered 451"):
        sender.send(MAIL)
    server.answers = {}
    assert sender.send(MAIL)
    assert server.connections == 1
    server.answers = {"full@example.com": "421 closing"}
    with pytest.raises(NotDelivered):
        sender.send(replace(MAIL, recipient="full@example.com"))
    assert sender.send(MAIL)
    assert server.connections == 2
    sender.rest()
    assert len(server.messages) == 3


def test_a_server_that_takes_nothing_from_us_is_away(server: MailServer) -> None:
    sender = SmtpSender(settings(server))
    server.answers = {"MAIL": "530 Authentication required"}
    with pytest.raises(CloudUnavailable, match="it answered 530 Authentication required"):
        sender.send(MAIL)
    server.answers = {}
    assert sender.send(MAIL)
    sender.rest()


def test_a_recipient_for_whom_the_server_is_slow_fails_by_itself(server: MailServer) -> None:
    sender = SmtpSender(settings(server, timeout=0.2))
    server.is_slow_for = {"slow@example.com"}
    with pytest.raises(NotDelivered, match="The connection failed"):
        sender.send(replace(MAIL, recipient="slow@example.com"))
    assert sender.send(MAIL)
    sender.rest()


def test_without_a_server_none_is_sent_and_later_all() -> None:
    server = MailServer()
    sender = SmtpSender(settings(server))
    with pytest.raises(CloudUnavailable, match="The mail server is not available"):
        sender.send(MAIL)
    with server.running():
        assert sender.send(MAIL)
    with pytest.raises(NotDelivered):
        sender.send(MAIL)
    with pytest.raises(CloudUnavailable):
        sender.send(MAIL)


def test_a_password_goes_over_an_encrypted_connection_only(tmp_path: Path, server: MailServer) -> None:
    cert, key = make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    strict = MailServer()
    with strict.running(tls, require_starttls=True, auth_required=True, authenticator=knows_account):
        safe = settings(strict, encryption="starttls", username=USERNAME, password=PASSWORD, cafile=cert)
        sender = SmtpSender(safe)
        assert sender.send(MAIL)
        sender.rest()
        assert PASSWORD not in repr(safe)
        with pytest.raises(CloudUnavailable, match="it answered 535"):
            SmtpSender(replace(safe, password="wrong")).send(MAIL)
        with pytest.raises(CloudUnavailable, match="its certificate is not accepted"):
            SmtpSender(replace(safe, cafile=None)).send(MAIL)
        with pytest.raises(CloudUnavailable, match="its certificate is not accepted"):
            SmtpSender(replace(safe, host="127.0.0.1")).send(MAIL)
    with pytest.raises(CloudUnavailable, match="STARTTLS"):
        SmtpSender(settings(server, encryption="starttls", username=USERNAME, password=PASSWORD)).send(MAIL)
    assert len(strict.messages) == 1
    assert server.messages == []


def test_each_event_has_a_text_with_what_is_known_of_the_lease() -> None:
    for event in LeaseEvent:
        text = texts().write(MailBatch("u1", [item(event)], 0, 0, "t"))
        assert "training" in text.subject
        assert "training (l1)" in text.body
        assert "2030-01-02 10:00 UTC" in text.body
        assert "https://cloud.example.com/dashboard/#/leases/l1" in text.body
        assert "$" not in text.body
        assert "Reason" not in text.body
    assert "dashboard" not in texts("").write(MailBatch("u1", [item()], 0, 0, "t")).body
    failed = item(LeaseEvent.FAILED, status_reason="The host is gone.")
    assert "Reason:    The host is gone." in texts().write(MailBatch("u1", [failed], 0, 0, "t")).body


def test_many_events_are_told_in_one_mail() -> None:
    items = [item(), item(LeaseEvent.STARTED, name="other", lease_id="l2")]
    text = texts().write(MailBatch("u1", items, 3, 0, "t"))
    assert text.subject == "5 changes of your leases"
    assert "* 2030-01-01 10:00 UTC: Lease training was created\n  https://" in text.body
    assert "* 2030-01-01 10:00 UTC: Lease other has started\n" in text.body
    assert "3 more changes are not told here" in text.body
    assert "not told here" not in texts().write(MailBatch("u1", items, 0, 0, "t")).body


@pytest.mark.parametrize(
    "name",
    [
        "one\r\nBcc: all@example.com",
        "one\n\nBcc: all@example.com\n",
        "one\u2028Bcc: all@example.com",
        "one\x00\x1b[2J",
        "\u202eeno",
        "=?utf-8?q?one=0ABcc:_all?=",
        "$start ${link} $$",
        "x" * 2000,
    ],
)
def test_a_name_of_a_lease_makes_no_header_and_no_line(server: MailServer, name: str) -> None:
    batch = MailBatch("u1", [item(name=name, status_reason=f"because {name}")], 0, 0, "t")
    text = texts().write(batch)
    sender = SmtpSender(settings(server))
    assert sender.send(replace(MAIL, subject=text.subject, body=text.body))
    sender.rest()
    (message,) = server.messages
    assert sorted(message.keys()) == sorted(
        [
            "Auto-Submitted",
            "Content-Transfer-Encoding",
            "Content-Type",
            "Date",
            "From",
            "MIME-Version",
            "Message-ID",
            "References",
            "Subject",
            "To",
        ]
    )
    assert server.recipients == ["anna@example.com"]
    assert message["Subject"] == text.subject.replace("=?", "= ?")
    lines = message.get_content().splitlines()
    assert not [each for each in lines if each.startswith("Bcc")]
    assert len(lines) == len(
        texts().write(MailBatch("u1", [item(status_reason="x")], 0, 0, "t")).body.splitlines()
    )
    assert all(each.isprintable() for each in lines)


def test_an_operators_texts_replace_ours(tmp_path: Path) -> None:
    (tmp_path / "created.txt").write_text(
        "Subject: Neu: $name\n\nHallo, $name kostet $$5.\n", encoding="utf-8"
    )
    found = MailTexts(templates(str(tmp_path)))
    text = found.write(MailBatch("u1", [item()], 0, 0, "t"))
    assert (text.subject, text.body) == ("Neu: training", "Hallo, training kostet $5.\n")
    other = found.write(MailBatch("u1", [item(LeaseEvent.STARTED)], 0, 0, "t"))
    assert other.subject == "Lease training has started"
    (tmp_path / "created.txt").write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"\[mail\] templates: .*created.txt cannot be read"):
        templates(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Subject: $nmae\n", r"The template created has \$nmae, and may have at, claim_by, details"),
        ("Subject: 5 $ for $name\n", r"has a \$ that begins no value"),
        ("Hello $name\n", "must begin with the line Subject:"),
    ],
)
def test_a_text_that_cannot_be_filled_is_found_at_the_start(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        texts(created=text)
