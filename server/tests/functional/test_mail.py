"""Users get mail of their leases where the operator has named an SMTP server, and only there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from smtp_server import MailServer

from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.bootstrap.mail import build_mailing
from blazar.conf.mail import EVENTS
from blazar.domain.subscription import LeaseEvent
from blazar.engine.upkeep import Upkeep
from blazar.service.metrics import NO_METRICS
from blazar.service.ports import MailItem

from .conftest import House, configured
from .sandboxed import until
from .wishes import HOST

BODY = {
    "name": "=?utf-8?q?training=0D=0ABcc:_all@example.com?=",
    "start_date": "2050-01-01 10:00",
    "end_date": "2050-01-01 12:00",
    "reservations": [HOST],
    "events": [],
}


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer().running() as server:
        yield server


@contextmanager
def house_with(directory: Path, options: str) -> Iterator[tuple[House, cfg.ConfigOpts]]:
    database = f"[database]\nconnection = sqlite:///{directory}/blazar.db\n"
    conf = configured(directory, database + options)
    house = House(conf, hosts=1)
    try:
        yield house, conf
    finally:
        house.manager.stop()
        house.database.engine.dispose()


def test_from_a_request_to_a_mail(tmp_path: Path, server: MailServer) -> None:
    options = (
        f"[mail]\nhost = localhost\nport = {server.port}\nencryption = none\nsender = b@example.com\n"
        "dashboard_url = https://cloud.example.com/dashboard\n"
    )
    with house_with(tmp_path, options) as (house, conf):
        house.cloud.state.emails["u1"] = "anna@example.com"
        house.manager.start()
        house.register("compute-1")
        made = house.send("POST", "/v1/leases", "member", json=BODY)
        assert made.status_code == 201
        (mailing,) = build_mailing(conf, house.database, house.cloud, SystemClock(), NO_METRICS)

        def has_mail() -> bool:
            mailing.round()
            return bool(server.messages)

        assert until(has_mail)
        (message,) = server.messages
        assert message["To"] == "anna@example.com"
        assert message["Subject"] == "Lease = ?utf-8?q?training=0D=0ABcc:_all@example.com?= was created"
        assert message["Bcc"] is None
        assert message["List-Unsubscribe"] == "<https://cloud.example.com/dashboard/#/mail>"
        assert f"https://cloud.example.com/dashboard/#/leases/{made.json['lease']['id']}" in (
            message.get_content()
        )
        assert "mailing" in [each.name for each in house.manager.use_cases.health.read().threads]


def test_without_a_server_nothing_is_kept_and_no_thread_runs(tmp_path: Path) -> None:
    with house_with(tmp_path, "") as (house, _):
        house.manager.start()
        house.register("compute-1")
        assert house.send("POST", "/v1/leases", "member", json=BODY).status_code == 201

        def is_compared() -> bool:
            with house.database.read() as uow:
                return not uow.outbox.unmatched(1)

        assert until(is_compared)
        with house.database.read() as uow:
            assert uow.mails.count() == 0
        assert "mailing" not in [each.name for each in house.manager.use_cases.health.read().threads]


def test_what_is_too_old_is_forgotten_also_where_mail_was_switched_off(tmp_path: Path) -> None:
    with house_with(tmp_path, "[mail]\nkeep_hours = 2\n") as (house, _):
        now = SystemClock().now()
        item = MailItem("u1", LeaseEvent.CREATED, {}, now)
        for age in (1, 3):
            due = now - timedelta(hours=age)
            house.database.transact(lambda u, due=due: u.mails.put("u1", [item], 0, due))
        (upkeep,) = (each for each in house.manager._background if isinstance(each, Upkeep))
        upkeep.round()
        with house.database.read() as uow:
            assert uow.mails.count() == 1


def ask(house: House, method: str, persona: str = "member", version: str = "1.32", **more: Any) -> Any:
    headers = {"OpenStack-API-Version": f"reservation {version}"}
    return house.send(method, "/v1/mail", persona, headers=headers, **more)


def test_a_user_chooses_what_is_told(house: House) -> None:
    usual = ask(house, "GET").json["mail"]
    assert usual == {
        "enabled": False,
        "events": [each for each in LeaseEvent if each in EVENTS],
        "chosen": False,
        "daily": False,
        "daily_hour": 6,
    }
    chosen = ask(house, "PUT", json={"events": ["ended", "end_soon", "ended"], "other": 1}).json["mail"]
    assert chosen == {**usual, "events": ["end_soon", "ended"], "chosen": True}
    assert ask(house, "PUT", json={"daily": True}).json["mail"] == {**chosen, "daily": True}
    assert ask(house, "GET").json["mail"] == {**chosen, "daily": True}
    assert ask(house, "GET", "colleague").json["mail"] == usual
    assert ask(house, "PUT", json={"events": []}).json["mail"]["events"] == []
    assert ask(house, "PUT", json={"events": None, "daily": False}).json["mail"] == usual


def test_an_earlier_version_knows_fewer_events(house: House) -> None:
    usual = ask(house, "GET", version="1.24").json["mail"]["events"]
    assert usual == [each for each in LeaseEvent if each in EVENTS[:-1]]
    wanted = {"events": ["ended", "unclaimed_warning"]}
    assert ask(house, "PUT", version="1.24", json=wanted).status_code == 400
    assert ask(house, "PUT", json=wanted).json["mail"]["events"] == wanted["events"]
    assert ask(house, "GET", version="1.24").json["mail"]["events"] == ["ended"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"events": "ended"}, "The events are a list of words, or null: created, "),
        ({"events": [1]}, "The events are a list of words, or null: created, "),
        ({"events": ["sold"]}, "There is no such event. The events are created, "),
        ({"daily": 1}, "daily"),
        ({"daily": None}, "daily"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(house: House, body: Any, told: str) -> None:
    refused = ask(house, "PUT", json=body)
    assert refused.status_code == 400
    assert told in refused.json["error_message"]


def test_the_version_before_has_no_mail(house: House) -> None:
    assert ask(house, "GET", version="1.23").status_code == 404


def test_operators_see_what_waits_and_what_became_of_it() -> None:
    metrics = PrometheusMetrics()
    metrics.mails_waiting(3)
    metrics.mails_settled("sent", 2)
    text = metrics.exposition()[1].decode()
    assert "blazar_mail_events 3.0" in text
    assert 'blazar_mailed_events_total{outcome="sent"} 2.0' in text
