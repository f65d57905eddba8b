"""Subscribers are told what becomes of leases: at least once, in order, whatever other receivers do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import CloudUnavailable, InvalidInput, NotDelivered, Stale, TooManySubscriptions
from blazar.domain.subscription import LeaseEvent, ServerEvent, Subscription, SubscriptionStatus
from blazar.engine.matching import BURST, MOST_ATTEMPTS, SHARE, Matcher
from blazar.engine.pace import LONGEST_REST, Pace
from blazar.engine.relay import Relay
from blazar.engine.webhooks import HOLD, KEPT, LEFT, WORKERS_OF_PROJECT, Webhooks
from blazar.service.capacity import CapacityQuestion, CapacityReport
from blazar.service.commands import CreateSubscription, UpdateSubscription
from blazar.service.context import Caller
from blazar.service.mails import NO_MAIL
from blazar.service.ports import Notification
from blazar.service.receivers import SubscriptionSettings
from blazar.service.subscriptions import NewSubscription, StreamPage, Subscriptions
from blazar.service.webhooks import MOST_WAITING, PIECE, TRIMMED, lease_event_of

from .world import START, MovedClock

ALL = (*LeaseEvent, *ServerEvent)
URL = "https://receiver.example.com/"
LEASE = {
    "project_id": "p1",
    "status": "PENDING",
    "trust_id": "t",
    "reservations": [{"resource_type": "physical:host"}],
}


class Receivers:
    """All receivers: what they were sent, and what they do."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, str], bytes]] = []
        self.failing: set[str] = set()
        self.meanwhile = lambda: None
        self.hanging: dict[str, threading.Event] = {}

    def require_allowed(self, url: str) -> None: ...

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        if url in self.hanging:
            self.hanging[url].wait(10)
        self.meanwhile()
        if url in self.failing:
            raise NotDelivered(reason="The answer is 500, and not 2xx.")
        self.heard.append((url, headers, body))

    def told(self, url: str = URL) -> list[tuple[str, str]]:
        found = [json.loads(body) for each, _, body in self.heard if each == url]
        return [(each["lease"]["id"], each["event"]) for each in found]


def not_asked(question: CapacityQuestion, caller: Caller) -> CapacityReport:
    raise AssertionError("no subscription is about capacity")


class Site:
    """A database, some use cases, and a manager's webhooks."""

    def __init__(self, **settings: Any) -> None:
        self.database = MemoryDatabase()
        self.clock = MovedClock()
        self.receivers = Receivers()
        kinds: Any = {"physical:host": None}
        self.use_cases = Subscriptions(
            self.database, kinds, self.clock, SubscriptionSettings(**settings), not_asked
        )
        self.webhooks = self.manager()

    def manager(self) -> Webhooks:
        return Webhooks(self.database, self.receivers, self.clock)

    def subscribe(self, project: str = "p1", **fields: Any) -> NewSubscription:
        command = {"name": "ops", "url": URL, "events": ALL, "watched_project": project, **fields}
        return self.use_cases.create(CreateSubscription(**command), Caller("u1", project))

    def happens(self, lease_id: str = "l1", event_type: str = "lease.create", **fields: Any) -> None:
        payload = {**LEASE, "lease_id": lease_id, **fields}
        self.database.transact(lambda u: u.outbox.put(event_type, payload, self.clock.now()))

    def send_all(self, made: NewSubscription, together: int = 1) -> int:
        """Return how many messages were taken."""
        self.webhooks.match()
        number = 0
        while taken := self.webhooks.send(made.subscription.id, together):
            number += taken
        return number

    def get(self, made: NewSubscription) -> Subscription:
        return self.use_cases.get(made.subscription.id)


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_message_is_signed_and_tells_what_was_committed(site: Site) -> None:
    made = site.subscribe()
    site.happens()
    assert site.send_all(made) == 1
    _, headers, body = site.receivers.heard[0]
    document = json.loads(body)
    assert document["lease"] == {"id": "l1", **{k: v for k, v in LEASE.items() if k != "trust_id"}}
    assert (document["event"], document["subscription_id"]) == ("created", made.subscription.id)
    assert document["id"] == headers["webhook-id"]
    assert headers["webhook-timestamp"] == str(int(site.clock.now().timestamp()))
    key = base64.b64decode(str(made.secret).removeprefix("whsec_"))
    assert len(key) == 32
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    assert str(made.secret) not in repr(made)


def test_the_words_of_notifications() -> None:
    def word(event_type: str, status: str = "ACTIVE") -> LeaseEvent | None:
        return lease_event_of(Notification(1, event_type, {"status": status}, START))

    words = {
        "lease.create": "created",
        "lease.update": "updated",
        "lease.delete": "deleted",
        "lease.waitlisted": "waitlisted",
        "lease.promoted": "promoted",
        "lease.moved": "moved",
        "lease.displaced": "displaced",
        "lease.wait_timed_out": "expired",
        "lease.wait_cancelled": "deleted",
        "lease.event.start_lease": "started",
        "lease.event.before_end_lease": "end_soon",
        "lease.event.end_lease": "ended",
        "lease.offered": "offered",
        "lease.start_soon": "start_soon",
        "lease.degraded": "degraded",
        "lease.unclaimed_warning": "unclaimed_warning",
    }
    assert {name: word(name) for name in words} == words
    assert word("lease.event.start_lease", "ERROR") is LeaseEvent.FAILED
    assert word("lease.event.before_end_lease.stop") is None
    assert {LeaseEvent(each) for each in words.values()} | {LeaseEvent.FAILED} == set(LeaseEvent)


def test_filters_leave_out_what_was_not_asked_for(site: Site) -> None:
    wanted = {
        "https://all.example.com/": {"watched_project": None},
        "https://kind.example.com/": {"resource_type": "physical:host"},
        "https://ended.example.com/": {"events": (LeaseEvent.ENDED,)},
        "https://other.example.com/": {"watched_project": "p2"},
    }
    made = {url: site.subscribe(url=url, **fields) for url, fields in wanted.items()}
    site.happens("l1")
    site.happens("l2", reservations=[{"resource_type": "virtual:floatingip"}])
    site.happens("l3", "lease.event.end_lease", project_id="p2")
    for each in made.values():
        site.send_all(each)
    assert {url: site.receivers.told(url) for url in wanted} == {
        "https://all.example.com/": [("l1", "created"), ("l2", "created"), ("l3", "ended")],
        "https://kind.example.com/": [("l1", "created")],
        "https://ended.example.com/": [],
        "https://other.example.com/": [("l3", "ended")],
    }


def test_a_failure_is_told_tried_again_and_given_up(site: Site) -> None:
    made = site.subscribe()
    site.happens("l1")
    site.happens("l2")
    site.receivers.failing = {URL}
    assert site.send_all(made) == 0
    failing = site.get(made)
    assert (failing.attempts, failing.last_error) == (1, "The answer is 500, and not 2xx.")
    assert site.send_all(made) == 0
    assert site.get(made).attempts == 1  # it is not time yet
    pauses = []
    while site.get(made).status is SubscriptionStatus.ACTIVE:
        due = site.get(made).due
        assert due is not None
        pauses.append((due - site.clock.now()).total_seconds())
        site.clock.move_to(due)
        site.webhooks.send(made.subscription.id)
    assert pauses[:3] == [5, 10, 20]
    assert max(pauses) == 3600
    assert timedelta(hours=24) <= site.clock.now() - START < timedelta(hours=26)
    site.happens("missed")
    site.receivers.failing = set()
    assert site.send_all(made) == 0
    site.use_cases.update(made.subscription.id, UpdateSubscription(resume=True), Caller("u1", "p1"))
    assert site.send_all(made) == 2
    assert site.receivers.told() == [("l1", "created"), ("l2", "created")]
    assert (site.get(made).last_error, site.get(made).waiting) == (None, 0)


def test_a_failure_in_the_middle_of_many_keeps_what_was_sent_before(site: Site) -> None:
    made = site.subscribe()
    for number in range(5):
        site.happens(f"l{number}")

    def fail_after_two() -> None:
        site.receivers.failing = {URL} if len(site.receivers.heard) == 2 else set()

    site.receivers.meanwhile = fail_after_two
    site.webhooks.match()
    assert site.webhooks.send(made.subscription.id, 20) == 2
    failing = site.get(made)
    assert (failing.waiting, failing.attempts, failing.delivered_at) == (3, 1, site.clock.now())
    site.receivers.meanwhile = lambda: site.receivers.failing.clear()
    site.clock.pause(5)
    assert site.send_all(made, 20) == 3
    assert [each for each, _ in site.receivers.told()] == [f"l{number}" for number in range(5)]


def test_the_workers_use_a_share_of_a_processor() -> None:
    now = [0.0]
    pace = Pace(0.1, 0.25, lambda: now[0])
    assert [pace.rest(0.125), pace.rest(0.125)] == [0.0, 0.0]
    assert pace.rest(0.02) == pytest.approx(0.2)
    assert pace.rest(0.02) == pytest.approx(0.4)  # another worker, at the same time
    now[0] += 0.4
    assert pace.rest(0.01) == pytest.approx(0.1)
    now[0] += 1000
    assert (pace.rest(0.25), pace.rest(9.0)) == (0.0, LONGEST_REST)


def test_a_manager_that_dies_between_sending_and_settling_sends_twice(site: Site) -> None:
    made = site.subscribe()
    site.happens("l1")
    site.happens("l2")
    site.webhooks.match()

    original = site.receivers.post

    def post_and_die(url: str, headers: Mapping[str, str], body: bytes) -> None:
        original(url, headers, body)
        raise SystemExit

    site.receivers.post = post_and_die  # type: ignore[method-assign]
    with pytest.raises(SystemExit):
        site.webhooks.send(made.subscription.id)
    site.receivers.post = original  # type: ignore[method-assign]
    other = site.manager()
    assert not other.send(made.subscription.id)  # it may still be at it
    site.clock.pause(HOLD.total_seconds())
    while other.send(made.subscription.id):
        pass
    assert [each for each, _ in site.receivers.told()] == ["l1", "l1", "l2"]
    ids = [headers["webhook-id"] for _, headers, _ in site.receivers.heard]
    assert ids[0] == ids[1] != ids[2]


def test_two_managers_send_each_message_once(site: Site) -> None:
    made = site.subscribe()
    for number in range(5):
        site.happens(f"l{number}")
    other = site.manager()
    site.webhooks.match()
    assert other.match() == 0
    site.receivers.meanwhile = lambda: _none(other.send(made.subscription.id))
    while site.webhooks.send(made.subscription.id):
        pass
    assert [each for each, _ in site.receivers.told()] == [f"l{number}" for number in range(5)]


def _none(taken: int) -> None:
    assert not taken


def test_a_subscription_deleted_under_way_is_no_failure(site: Site) -> None:
    made = site.subscribe()
    site.happens()
    site.webhooks.match()
    site.receivers.meanwhile = lambda: site.use_cases.delete(made.subscription.id, Caller("u1", "p1"))
    assert site.webhooks.send(made.subscription.id)
    assert not site.webhooks.send(made.subscription.id)


def test_one_changed_under_way_sends_the_rest_to_the_new_address(site: Site) -> None:
    made, new = site.subscribe(), "https://new.example.com/"
    site.happens("l1")
    site.happens("l2")
    site.webhooks.match()
    change = UpdateSubscription(url=new, renew_secret=True)

    def move() -> None:
        site.receivers.meanwhile = lambda: None
        renewed = site.use_cases.update(made.subscription.id, change, Caller("u1", "p1"))
        assert renewed.secret not in (None, made.secret)

    site.receivers.meanwhile = move
    site.receivers.failing = {URL}
    site.webhooks.send(made.subscription.id)
    assert site.get(made).last_error is None
    assert site.send_all(made) == 2
    assert [each for each, _ in site.receivers.told(new)] == ["l1", "l2"]


def test_too_much_that_waits_suspends(site: Site) -> None:
    made = site.subscribe()
    for number in range(MOST_WAITING + 1):
        site.happens(f"l{number}")
    while site.webhooks.match():
        pass
    full = site.get(made)
    assert (full.status, full.waiting) == (SubscriptionStatus.SUSPENDED, MOST_WAITING + 1)
    assert full.last_error == f"More than {MOST_WAITING} messages wait to be delivered."
    site.happens("more")
    site.webhooks.match()
    assert site.get(made).waiting == MOST_WAITING + 1


def test_a_stream_keeps_the_newest_and_tells_what_is_missed(site: Site) -> None:
    made = site.subscribe(url="")
    assert (made.secret, made.subscription.is_stream) == (None, True)

    def page(after: int | None, limit: int = 9) -> StreamPage:
        return site.use_cases.read_messages(made.subscription.id, after, limit)

    assert (page(None), page(7)) == (StreamPage(made.subscription, []),) * 2
    for number in range(MOST_WAITING + 1):
        site.happens(f"l{number}")
    while site.webhooks.match():
        pass
    kept = site.get(made)
    assert (kept.status, TRIMMED <= kept.waiting <= MOST_WAITING) == (SubscriptionStatus.ACTIVE, True)
    first, second = page(None, 2).messages
    assert second.body["lease"]["id"] == f"l{MOST_WAITING + 2 - kept.waiting}"
    assert (first.event, first.body["id"]) == ("created", f"msg_{first.id}")
    assert (page(None).missed, page(first.id).missed, page(first.id).messages[0]) == (0, 0, second)
    assert page(first.id - 1).missed == 0, "the next one is kept"
    late = page(1)
    assert (late.missed, late.messages[0]) == (first.id - 1, first)
    site.clock.move_to(site.clock.now() + KEPT)
    site.webhooks.round()
    assert page(late.missed).missed == first.id - 1 + kept.waiting
    assert page(first.id - 1 + kept.waiting) == StreamPage(site.get(made), [])
    assert site.receivers.heard == []
    for change in (UpdateSubscription(url=URL), UpdateSubscription(renew_secret=True)):
        with pytest.raises(InvalidInput):
            site.use_cases.update(made.subscription.id, change, Caller("u1", "p1"))


def test_the_relay_lets_nothing_go_that_was_not_compared(site: Site) -> None:
    made = site.subscribe()
    site.happens()

    class Broker:
        def send(self, notification: Notification) -> None: ...

    assert Relay(site.database, Broker(), site.clock).deliver() == 1
    assert site.send_all(made) == 1
    assert site.receivers.told() == [("l1", "created")]


class Taking:
    """A broker that takes all."""

    def send(self, notification: Notification) -> None: ...


def test_what_many_are_told_is_stored_in_pieces_and_once(site: Site) -> None:
    """Another manager compares the notifications behind the first piece in the rest after it."""
    made = [site.subscribe() for _ in range(10)]
    number_of_leases = PIECE // len(made) + 2
    for number in range(number_of_leases):
        site.happens(f"l{number}")
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        site.webhooks.match()

    with site.database.read() as uow:
        found = uow.outbox.unmatched(number_of_leases)
    matcher = Matcher(site.database, site.clock, NO_MAIL, rest, processor=iter(range(100)).__next__)
    with pytest.raises(Stale):
        matcher.compare(found)
    assert len(rests) == 1
    assert rests[0] == pytest.approx((1 - BURST) / SHARE)
    assert {site.get(each).waiting for each in made} == {number_of_leases}


def test_a_relay_gives_back_at_once_what_another_manager_compares(site: Site) -> None:
    site.happens()

    class Overtaken(Matcher):
        def compare(self, notifications: Sequence[Notification]) -> None:
            site.webhooks.match()
            super().compare(notifications)

    relay = Relay(site.database, Taking(), site.clock)
    relay.matcher = Overtaken(site.database, site.clock, NO_MAIL, lambda seconds: None)
    with pytest.raises(Stale):
        relay.deliver()
    assert relay.deliver() == 1


def test_a_notification_that_fails_each_time_is_given_up_and_the_others_are_told(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    made = site.subscribe()
    for lease in ("l1", "l2"):
        site.happens(lease)
    site.happens("poison", reservations=[None])
    site.happens("l3")
    relay = Relay(site.database, Taking(), site.clock)
    for _ in range(MOST_ATTEMPTS - 1):
        with pytest.raises(AttributeError):
            relay.deliver()
    assert site.get(made).waiting == 2
    assert relay.deliver() == 4
    assert "(lease.create) is told to no subscriber" in caplog.text
    assert site.send_all(made) == 3
    assert [lease for lease, _ in site.receivers.told()] == ["l1", "l2", "l3"]


def test_notices_of_servers_are_told_to_their_project(site: Site) -> None:
    ours, others, of_a_kind = (
        site.subscribe(),
        site.subscribe("p2"),
        site.subscribe(resource_type="physical:host"),
    )
    server = {"server_id": "s1", "project_id": "p1", "host": "compute-1", "region": None, "notice": "soon"}
    for event_type in ("server.preemption_notice", "server.preemption_notice.withdrawn", "server.gone"):
        site.database.transact(lambda u, told=event_type: u.outbox.put(told, server, START))
    assert site.send_all(ours) == 2
    assert [site.send_all(each) for each in (others, of_a_kind)] == [0, 0]
    documents = [json.loads(body) for _, _, body in site.receivers.heard]
    assert [each["event"] for each in documents] == ["preemption_notice", "preemption_notice_withdrawn"]
    shown = {"id": "s1", "project_id": "p1", "region": None, "notice": "soon"}
    assert all(each["server"] == shown and "lease" not in each for each in documents)


def test_what_a_relay_compares_soon_is_left_to_it(site: Site) -> None:
    made = site.subscribe()
    site.receivers.failing.add(URL)
    site.happens()
    site.webhooks.round()
    assert site.get(made).waiting == 0
    site.clock.pause(LEFT.total_seconds())
    site.webhooks.round()
    assert site.get(made).waiting == 1


def test_a_program_in_place_of_managers_compares_at_once(site: Site) -> None:
    made = site.subscribe()
    site.receivers.failing.add(URL)
    site.happens()
    program = Webhooks(site.database, site.receivers, site.clock, left=timedelta(0))
    program.round()
    program.stop()
    program.finish()
    assert site.get(made).waiting == 1
    assert site.get(made).last_error == "The answer is 500, and not 2xx."


def test_two_programs_that_compare_at_once_tell_each_message_once(site: Site) -> None:
    made = site.subscribe()
    other = Webhooks(site.database, site.receivers, site.clock, left=timedelta(0))
    relay = Relay(site.database, Taking(), site.clock, compares=False)
    names = [f"l{number}" for number in range(30)]
    for number, name in enumerate(names):
        site.happens(name)
        if number == 20:
            relay.deliver()
    both = [threading.Thread(target=lambda each=each: match(each)) for each in (site.webhooks, other)]
    for each in both:
        each.start()
    for each in both:
        each.join(10)
    relay.deliver()
    assert site.send_all(made, 20) == len(names)
    assert [lease for lease, _ in site.receivers.told()] == names
    with site.database.read() as uow:
        assert (uow.outbox.depth(), uow.outbox.unmatched(1)) == (0, [])


def match(webhooks: Webhooks) -> None:
    with suppress(Stale):
        webhooks.match()


def test_a_clock_that_was_set_back_delays_no_message(site: Site) -> None:
    made = site.subscribe()
    site.receivers.failing.add(URL)
    site.happens()
    site.clock.pause(-3600)
    site.webhooks.round()
    assert site.get(made).waiting == 1


def test_a_notification_that_is_not_understood_holds_up_none(site: Site) -> None:
    made = site.subscribe()
    site.database.transact(lambda uow: uow.outbox.put("lease.create", {"number": 1}, START))
    site.happens()
    assert site.webhooks.match() == 2
    assert site.send_all(made) == 1
    assert site.receivers.told() == [("l1", "created")]


def test_a_broker_that_is_away_delays_no_message(site: Site) -> None:
    made = site.subscribe()
    site.happens()

    class Away:
        def send(self, notification: Notification) -> None:
            raise CloudUnavailable(service="the message broker", reason="away")

    relay = Relay(site.database, Away(), site.clock)
    for _ in range(2):
        with pytest.raises(CloudUnavailable):
            relay.deliver()
    assert site.send_all(made) == 1


@pytest.mark.slow
def test_receivers_that_hang_cost_others_nothing() -> None:
    site = Site(most=100)
    hang = threading.Event()
    for project in range(6):
        for number in range(4):
            url = f"https://hang-{project}-{number}.example.com/"
            site.receivers.hanging[url] = hang
            site.subscribe(f"h{project}", url=url)
    good = site.subscribe("good", url=URL)
    site.happens("l0", project_id="good")
    site.send_all(good)  # it is known to take messages at once
    for project in range(6):
        site.happens("lh", project_id=f"h{project}")
    site.happens("l1", project_id="good")
    site.clock.pause(LEFT.total_seconds())
    arrived = threading.Event()
    site.receivers.meanwhile = lambda: arrived.set() if not hang.is_set() else None
    try:
        site.webhooks.start()
        assert arrived.wait(10)
        assert site.receivers.told() == [("l0", "created"), ("l1", "created")]
        busy = [list(each.busy.values()) for each in site.webhooks._workers]
        assert all(each.count(p) <= WORKERS_OF_PROJECT for each in busy for p in each)
        hang.set()
        assert _soon(lambda: len(site.receivers.heard) == 26)
    finally:
        hang.set()
        site.webhooks.stop()


def _soon(is_so: Any) -> bool:
    pause = threading.Event()
    return any(is_so() or pause.wait(0.05) for _ in range(400))


def test_limits_and_bad_input(site: Site) -> None:
    site = Site(most=2)
    site.subscribe()
    site.subscribe()
    site.subscribe("p2")
    with pytest.raises(TooManySubscriptions, match="has 2 subscriptions already"):
        site.subscribe()
    for fields in (
        {"url": "http://receiver.example.com/"},
        {"lease_id": "none"},
        {"resource_type": "none"},
    ):
        with pytest.raises(InvalidInput):
            site.subscribe("p3", **fields)
    assert Site(allows_http=True).subscribe(url="http://receiver.example.com/")


def test_another_manager_may_be_faster(site: Site) -> None:
    site.happens()
    with site.database.read() as uow:
        seen = uow.outbox.unmatched(9)
    site.webhooks.match()
    with pytest.raises(Stale):
        site.database.transact(lambda u: u.outbox.mark_matched([each.id for each in seen]))
    assert site.webhooks.round() == 1.0
