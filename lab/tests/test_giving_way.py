"""Leases that wait for others, give way to others, or leave hosts that are taken away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from labtests.reservations import Answer, Reservations
from labtests.reservations import hosts as whole_hosts
from labtests.waiting import SOON, boundary, text
from openstack.connection import Connection

HOUR = 3600
DAY = 24 * HOUR


def create(service: Reservations, name: str, start: int | str, end: int, count: int, **more: Any) -> Answer:
    body = {
        "name": name,
        "start_date": start if isinstance(start, str) else text(start),
        "end_date": text(end),
        "reservations": [whole_hosts(count)],
    }
    return service.call("POST", "/leases", {**body, **more}, version="1.13")


def test_who_waits_gets_what_is_given_back(
    hosts: dict[str, str], demo: Connection, alt: Connection, boot: Callable[..., Any], name: str
) -> None:
    first, second = Reservations(demo), Reservations(alt)
    end = boundary(HOUR)
    one = create(first, name, "now", end, len(hosts))
    assert one.status == 201, one
    first.await_status(one.body["lease"]["id"], "ACTIVE", SOON)
    two = create(second, name, "now", end, 1, on_shortage={"wait_until": text(end - HOUR // 2)})
    assert two.status == 201, two
    assert (two.body["lease"]["status"], two.body["lease"]["waiting"]["position"]) == ("WAITING", 1)
    assert first.delete(one.body["lease"]["id"]).status == 204
    lease = second.await_status(two.body["lease"]["id"], "ACTIVE", SOON)
    assert boot(alt, lease["reservations"][0]["id"]).status == "ACTIVE"


def test_what_is_more_urgent_has_others_give_way_before_they_start(
    hosts: dict[str, str], demo: Connection, alt: Connection, name: str
) -> None:
    patient, urgent = Reservations(demo), Reservations(alt)
    start, number = boundary(DAY), len(hosts)
    low = create(patient, name, start, start + HOUR, number, priority="low")
    assert low.status == 201, low
    assert create(urgent, name, start, start + HOUR, 1).status == 409
    made = create(urgent, name, start, start + HOUR, 1, on_shortage={"displace": True})
    assert made.status == 201, made
    assert patient.status(low.body["lease"]["id"]) == "WAITING"
    assert urgent.delete(made.body["lease"]["id"]).status == 204
    patient.await_status(low.body["lease"]["id"], "PENDING", SOON)


def test_hosts_that_are_taken_away_are_left_before(
    hosts: dict[str, str], admin: Connection, demo: Connection, name: str
) -> None:
    service, operator = Reservations(demo), Reservations(admin)
    start = boundary(DAY)
    moves = create(service, name, start, start + HOUR, 1)
    runs = create(service, f"{name}-runs", "now", start - HOUR, 1)
    service.await_status(runs.body["lease"]["id"], "ACTIVE", SOON)
    reservations = [answer.body["lease"]["reservations"][0]["id"] for answer in (moves, runs)]
    (planned,), (running,) = (operator.hosts_of(each) for each in reservations)

    def take_away(host: str, **more: Any) -> Answer:
        dates = {"start_date": text(start - 2 * HOUR), "end_date": text(start + 2 * HOUR)}
        body = {"hosts": [hosts[host]], "reason": name, **dates, **more}
        return operator.call("POST", "/maintenances", body, version="1.8")

    refused = take_away(running)
    assert refused.status == 409, refused
    broken = [each for each in refused.body["impact"]["leases"] if each["effect"] == "breaks"]
    assert [(each["lease_id"], each["reason"]) for each in broken] == [
        (runs.body["lease"]["id"], "has_begun")
    ]
    assert service.delete(runs.body["lease"]["id"]).status == 204
    made = take_away(planned)
    assert made.status == 201, made
    try:
        (now,) = operator.hosts_of(reservations[0])
        assert now != planned
        assert service.status(moves.body["lease"]["id"]) == "PENDING"
    finally:
        maintenance = made.body["maintenance"]["id"]
        assert operator.call("DELETE", f"/maintenances/{maintenance}", version="1.8").status == 204


def test_hosts_that_go_on_a_date_are_promised_until_then_only(
    hosts: dict[str, str], admin: Connection, demo: Connection, name: str
) -> None:
    service, operator, goes = Reservations(demo), Reservations(admin), boundary(DAY)

    def go(host_id: str, moment: int | None) -> Answer:
        date = None if moment is None else text(moment)
        return operator.call("PUT", f"/os-hosts/{host_id}", {"available_until": date}, version="1.15")

    try:
        for host_id in hosts.values():
            set_to = go(host_id, goes)
            assert set_to.status == 200, set_to
        beyond = service.post_hosts(name, goes - HOUR, goes + HOUR)
        assert (beyond.status, "Not enough hosts available" in beyond.message) == (400, True), beyond
        before = create(service, name, goes - 2 * HOUR, goes - HOUR, len(hosts))
        lease_id = before.body["lease"]["id"]
        refused = go(next(iter(hosts.values())), goes - 90 * 60)
        assert refused.status == 409, refused
        assert [each["lease_id"] for each in refused.body["impact"]["leases"]] == [lease_id]
    finally:
        for host_id in hosts.values():
            assert go(host_id, None).status == 200
    assert service.post_hosts(f"{name}-beyond", goes - HOUR, goes + HOUR).status == 201


@pytest.mark.thorough
@pytest.mark.minutes(3)
def test_what_is_not_used_in_time_is_released(
    hosts: dict[str, str], demo: Connection, boot: Callable[..., Any], name: str
) -> None:
    service, end = Reservations(demo), boundary(HOUR)
    used = create(service, name, "now", end, 1, claim_by=1)
    unused = create(service, f"{name}-unused", "now", end, 1, claim_by=1)
    for answer in (used, unused):
        service.await_status(answer.body["lease"]["id"], "ACTIVE", SOON)
    assert boot(demo, used.body["lease"]["reservations"][0]["id"]).status == "ACTIVE"
    service.await_status(unused.body["lease"]["id"], "TERMINATED", 4 * 60)
    assert "used" in service.lease(unused.body["lease"]["id"])["status_reason"]
    assert service.status(used.body["lease"]["id"]) == "ACTIVE"
