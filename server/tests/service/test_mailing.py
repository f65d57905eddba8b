"""Users are told by mail what becomes of their leases: by a real SMTP server, at least once, and whatever
else fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from smtp_server import MailServer

from blazar.adapters.mail import MailSettings, SmtpSender, templates
from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import CloudRefused, CloudUnavailable, TooLate
from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.engine.mailing import (
    AWAY,
    BETWEEN,
    BURST,
    HOLD,
    KNOWN,
    KNOWN_FOR,
    SHORTEST_PAUSE,
    USERS,
    Addresses,
    Mailing,
)
from blazar.engine.relay import Relay
from blazar.engine.webhooks import Webhooks
from blazar.service.commands import UpdateMail
from blazar.service.context import Caller
from blazar.service.mail_choices import MailChoices, OwnMail
from blazar.service.mail_texts import MailTexts
from blazar.service.mails import MOST_WAITING, MailPlan
from blazar.service.metrics import NoMetrics

from .test_webhooks import Receivers
from .world import MovedClock

LEASE = {
    "name": "training",
    "project_id": "p1",
    "status": "PENDING",
    "start_date": "2030-01-02T10:00:00.000000",
    "end_date": "2030-01-03T10:00:00.000000",
    "trust_id": "t",
    "reservations": [{"resource_type": "physical:host"}],
}
MAILED = MailPlan(True, frozenset(LeaseEvent) - {LeaseEvent.UPDATED})


class Counted(NoMetrics):
    def __init__(self) -> None:
        self.settled: Counter[str] = Counter()
        self.waiting = 0

    def mails_settled(self, outcome: str, number: int) -> None:
        self.settled[outcome] += number

    def mails_waiting(self, number: int) -> None:
        self.waiting = number


class Notifier:
    """A broker that takes everything."""

    def send(self, notification: Any) -> None: ...


class Site:
    """A database, and managers that send what it holds to one SMTP server."""

    def __init__(self, server: MailServer) -> None:
        self.server = server
        self.database = MemoryDatabase()
        self.clock = MovedClock()
        self.metrics = Counted()
        self.addresses: dict[str, str | None] = {f"u{n}": f"u{n}@example.com" for n in range(50)}
        self.keystone_fails: Exception | None = None
        self.used = 0.0
        self.mailing = self.manager()

    def manager(self, timeout: float = 10) -> Mailing:
        """Return a manager that waits so many seconds for the server."""
        settings = MailSettings("localhost", self.server.port, "b@example.com", "none", timeout=timeout)
        return Mailing(
            self.database,
            SmtpSender(settings),
            MailTexts(templates(None)),
            self.address,
            self.clock,
            MAILED,
            self.metrics,
            monotonic=lambda: 0.0,
            processor=lambda: self.used,
        )

    def address(self, user_id: str) -> str | None:
        if self.keystone_fails is not None:
            raise self.keystone_fails
        return self.addresses.get(user_id)

    def happens(self, user: str = "u1", event: str = "lease.create", lease: str = "l1", **more: Any) -> None:
        payload = {**LEASE, "lease_id": lease, "user_id": user, **more}
        self.database.transact(lambda u: u.outbox.put(event, payload, self.clock.now()))

    def match(self) -> None:
        webhooks = Webhooks(self.database, Receivers(), self.clock, mail=MAILED)
        while webhooks.match():
            pass

    def choose(self, user: str = "u1", **command: Any) -> OwnMail:
        use_cases = MailChoices(self.database, self.clock, MAILED)
        chosen = use_cases.update(UpdateMail(**command), Caller(user, "p1"))
        assert use_cases.get(user) == chosen
        return chosen

    def round(self, manager: Mailing | None = None) -> float:
        self.match()
        return (manager or self.mailing).round()

    def passes(self, time: timedelta = BETWEEN) -> None:
        self.clock.pause(time.total_seconds())

    def waiting(self) -> int:
        with self.database.read() as uow:
            return uow.mails.count()

    @property
    def subjects(self) -> list[tuple[str, str]]:
        return [(each["To"], each["Subject"]) for each in self.server.messages]


@pytest.fixture
def site() -> Iterator[Site]:
    with MailServer().running() as server:
        yield Site(server)


def test_the_user_of_a_lease_is_told_once(site: Site) -> None:
    site.happens()
    site.happens("u2", "lease.event.start_lease", status="ERROR", status_reason="The cloud refuses.")
    site.happens("u1", "lease.update")
    site.happens("u1", "lease.event.before_end_lease.stop")
    assert site.round() == 5.0
    assert site.subjects == [
        ("u1@example.com", "Lease training was created"),
        ("u2@example.com", "Lease training could not be started"),
    ]
    assert "The cloud refuses." in site.server.messages[1].get_content()
    site.passes()
    site.round()
    assert len(site.server.messages) == 2
    assert (site.metrics.settled, site.waiting()) == ({"sent": 2}, 0)
    assert site.server.connections == 1


def test_the_relay_keeps_what_is_mailed_before_it_delivers(site: Site) -> None:
    site.happens()
    Relay(site.database, Notifier(), site.clock, mail=MAILED).deliver()
    site.match()
    assert site.waiting() == 1
    site.round()
    assert len(site.server.messages) == 1


def test_without_mail_nothing_is_kept_for_it(site: Site) -> None:
    site.happens()
    Relay(site.database, Notifier(), site.clock).deliver()
    assert site.waiting() == 0


def test_what_comes_between_two_mails_is_told_together(site: Site) -> None:
    site.happens()
    site.round()
    for number in range(3):
        site.happens(lease=f"l{number}", event="lease.event.start_lease", name=f"n{number}")
    site.round()
    assert len(site.server.messages) == 1
    site.passes()
    site.round()
    assert site.subjects[1] == ("u1@example.com", "3 changes of your leases")
    text = site.server.messages[1].get_content()
    assert [f"Lease n{number} has started" in text for number in range(3)] == [True] * 3


def test_a_user_with_a_thousand_leases_gets_few_mails_and_delays_no_other(site: Site) -> None:
    for number in range(MOST_WAITING + 30):
        site.happens(lease=f"l{number}")
    site.happens("u2")
    site.round()
    assert site.subjects == [
        ("u1@example.com", f"{MOST_WAITING + 30} changes of your leases"),
        ("u2@example.com", "Lease training was created"),
    ]
    assert "30 more changes are not told here" in site.server.messages[0].get_content()
    assert site.metrics.settled == {"sent": MOST_WAITING + 1, "left_out": 30}


def test_a_mail_that_is_refused_for_now_is_tried_again_behind_the_others(site: Site) -> None:
    site.happens()
    site.server.answers = {"u1@example.com": "450 try again"}
    site.round()
    site.happens("u2")
    site.happens("u1", "lease.event.start_lease")
    site.passes(SHORTEST_PAUSE)
    site.server.answers = {}
    site.round()
    assert site.subjects == [
        ("u2@example.com", "Lease training was created"),
        ("u1@example.com", "Lease training was created"),
    ]
    site.passes()
    site.round()
    assert site.subjects[2] == ("u1@example.com", "Lease training has started")


@pytest.mark.slow
def test_the_pause_between_attempts_grows(site: Site) -> None:
    site.happens()
    site.server.answers = {"u1@example.com": "450 try again"}
    attempts = []
    for minute in range(200):
        before = site.server.connections
        site.round()
        if site.server.connections > before:
            attempts.append(minute)
        site.passes(timedelta(minutes=1))
    assert attempts[0] == 0
    pauses = [after - before for before, after in pairwise(attempts)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60


@pytest.mark.slow
def test_a_bad_recipient_and_a_slow_one_delay_no_other(site: Site) -> None:
    for user in ("u1", "u2", "u3", "u4"):
        site.happens(user)
    site.mailing = site.manager(timeout=1)
    site.server.is_slow_for = {"u1@example.com"}
    site.server.answers = {"u2@example.com": "550 no such user"}
    site.addresses["u3"] = None
    site.round()
    assert site.subjects == [("u4@example.com", "Lease training was created")]
    assert site.metrics.settled == {"refused": 1, "no_address": 1, "sent": 1}
    site.server.is_slow_for = set()
    site.passes()
    site.round()
    assert site.subjects[1] == ("u1@example.com", "Lease training was created")


def test_while_the_server_is_away_all_wait_and_are_told_afterwards() -> None:
    server = MailServer()
    site = Site(server)
    site.happens("u1")
    site.happens("u2")
    for _ in range(5):
        with pytest.raises(CloudUnavailable, match="The mail server is not available"):
            site.round()
        site.passes(AWAY)
    assert (site.metrics.waiting, site.metrics.settled) == (2, {})
    with server.running():
        site.round()
        assert sorted(site.subjects) == [
            ("u1@example.com", "Lease training was created"),
            ("u2@example.com", "Lease training was created"),
        ]


@pytest.mark.parametrize(
    "failure",
    [
        CloudUnavailable(service="Keystone", reason="no answer"),
        CloudRefused(service="Keystone", reason="You are not authorized (HTTP 403)"),
    ],
)
def test_while_keystone_tells_no_addresses_mail_waits(site: Site, failure: Exception) -> None:
    site.happens()
    site.keystone_fails = failure
    with pytest.raises(type(failure)):
        site.round()
    site.keystone_fails = None
    site.passes(AWAY)
    site.round()
    assert len(site.server.messages) == 1


def test_a_manager_that_dies_has_its_mail_sent_again_with_the_same_id(site: Site) -> None:
    """It has sent the mail, and dies before it writes so."""
    site.happens()
    site.match()
    dies = site.manager()
    transact, calls = site.database.transact, []

    def once(work: Any) -> Any:
        calls.append(work)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return transact(work)

    site.database.transact = once  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        dies.round()
    site.database.transact = transact  # type: ignore[method-assign]
    site.happens("u1", "lease.event.start_lease")
    site.round()
    assert len(site.server.messages) == 1
    site.passes(HOLD)
    site.round()
    first, again = site.server.messages
    assert first["Message-ID"] == again["Message-ID"]
    assert first.get_content() == again.get_content()
    site.passes()
    site.round()
    assert site.subjects[2] == ("u1@example.com", "Lease training has started")


@pytest.mark.slow
def test_two_managers_send_each_mail_once(site: Site) -> None:
    for number in range(USERS + 5):
        site.happens(f"u{number}")
    other = site.manager()
    site.round()
    site.round(other)
    assert len({to for to, _ in site.subjects}) == len(site.subjects) == USERS + 5


def test_a_manager_rests_for_what_it_has_used(site: Site) -> None:
    for number in range(USERS):
        site.happens(f"u{number}")
    site.match()
    tick = iter([0.0, BURST + 1.0])
    mailing = site.manager()
    mailing._processor = lambda: next(tick)
    assert mailing.round() == 5.0  # the longest rest; more may wait


def test_an_address_is_asked_for_again_after_a_while(site: Site) -> None:
    asked: list[str] = []

    def ask(user_id: str) -> str | None:
        asked.append(user_id)
        return None if user_id == "u0" else f"{user_id}@example.com"

    addresses = Addresses(ask, site.clock)
    for _ in range(2):
        assert (addresses.of("u0"), addresses.of("u1")) == (None, "u1@example.com")
    assert asked == ["u0", "u1"]
    site.passes(KNOWN_FOR)
    addresses.of("u1")
    assert asked == ["u0", "u1", "u1"]
    for number in range(KNOWN + 1):
        addresses.of(f"v{number}")
    addresses.of("u1")
    assert asked.count("u1") == 3
    assert len(addresses._known) == KNOWN


def test_a_lease_without_a_user_is_told_to_none(site: Site) -> None:
    site.happens(user="")
    site.round()
    assert (site.subjects, site.waiting()) == ([], 0)


def test_each_user_is_told_what_this_user_wants(site: Site) -> None:
    site.choose("u1", events=(LeaseEvent.ENDED, LeaseEvent.UPDATED))
    site.choose("u2", events=())
    for user in ("u1", "u2", "u3"):
        site.happens(user)
        site.happens(user, "lease.update")
    site.round()
    assert site.subjects == [
        ("u1@example.com", "Lease training was changed"),
        ("u3@example.com", "Lease training was created"),
    ]


def test_a_choice_is_changed_bit_by_bit_and_given_up(site: Site) -> None:
    assert site.choose(is_daily=True).choice == MailChoice(None, True)
    assert site.choose(events=(LeaseEvent.ENDED,)).choice == MailChoice((LeaseEvent.ENDED,), True)
    assert site.choose(is_daily=False).choice == MailChoice((LeaseEvent.ENDED,), False)
    own = site.choose(events=None)
    assert own.choice == MailChoice()
    assert (own.is_sent, set(own.usual)) == (True, MAILED.events)


def test_a_user_who_wants_no_mail_gets_none_of_what_waits(site: Site) -> None:
    site.happens()
    site.match()
    site.choose(events=())
    site.round()
    assert (site.subjects, site.waiting()) == ([], 0)


def test_a_choice_that_comes_too_late_is_not_made(site: Site) -> None:
    use_cases = MailChoices(site.database, site.clock, MAILED)
    with pytest.raises(TooLate):
        use_cases.update(UpdateMail(events=()), Caller("u1", "p1", deadline=site.clock.now()))
    assert use_cases.get("u1").choice == MailChoice()


def test_a_user_who_wants_one_mail_a_day_gets_it_at_the_hour(site: Site) -> None:
    site.choose(is_daily=True)
    hour = timedelta(hours=1)
    mails: list[datetime] = []
    for number in range(60):
        if number in (0, 1, 2, 30):
            site.happens(lease=f"l{number}", name=f"n{number}")
        site.round()
        if len(site.server.messages) > len(mails):
            mails.append(site.clock.now())
        site.passes(hour)
    assert [subject for _, subject in site.subjects] == ["3 changes of your leases", "Lease n30 was created"]
    assert [each.hour for each in mails] == [MAILED.daily_hour] * 2
    assert site.metrics.settled == {"sent": 4}


def test_who_wants_each_mail_again_gets_at_once_what_waits(site: Site) -> None:
    site.choose(is_daily=True)
    site.happens()
    site.round()
    assert site.subjects == []
    site.choose(is_daily=False)
    site.round()
    assert len(site.subjects) == 1


def test_what_happens_while_the_daily_mail_is_sent_waits_for_the_next(site: Site) -> None:
    site.choose(is_daily=True)
    site.happens()
    site.match()
    site.passes(timedelta(days=1))
    asked = site.address

    def meanwhile(user_id: str) -> str | None:
        site.happens(lease="l2", name="later")
        site.match()
        return asked(user_id)

    site.mailing._addresses = Addresses(meanwhile, site.clock)
    site.round()
    site.passes(timedelta(hours=1))
    site.round()
    assert [subject for _, subject in site.subjects] == ["Lease training was created"]
    site.passes(timedelta(days=1))
    site.round()
    assert site.subjects[1][1] == "Lease later was created"
