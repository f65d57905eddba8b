"""Users who request the same hosts at the same time: each host is given once, the others are refused."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from labtests.reservations import Answer, Reservations
from labtests.waiting import boundary
from openstack.connection import Connection

HOUR = 3600


def at_once(requests: list[Callable[[], Answer]]) -> list[Answer]:
    with ThreadPoolExecutor(max_workers=len(requests)) as pool:
        return [running.result() for running in [pool.submit(request) for request in requests]]


def test_two_users_after_the_same_hosts(
    hosts: dict[str, str], demo: Connection, alt: Connection, name: str
) -> None:
    start = boundary(HOUR)
    users = [Reservations(demo), Reservations(alt)]
    answers = at_once(
        [
            lambda user=user: user.post_hosts(name, start, start + HOUR, count=len(hosts))  # type: ignore[misc]
            for user in users
        ]
    )
    assert sorted(answer.status for answer in answers) == [201, 400]
    refusal = next(answer for answer in answers if answer.status == 400)
    assert refusal.message


def test_more_clients_than_hosts(
    hosts: dict[str, str], admin: Connection, demo: Connection, alt: Connection, name: str
) -> None:
    start = boundary(HOUR)
    clients = [Reservations((demo, alt)[number % 2]) for number in range(2 * len(hosts))]
    answers = at_once(
        [
            lambda client=client: client.post_hosts(name, start, start + HOUR)  # type: ignore[misc]
            for client in clients
        ]
    )
    assert sorted(answer.status for answer in answers) == [201] * len(hosts) + [400] * len(hosts)
    operator = Reservations(admin)
    taken = [
        operator.hosts_of(answer.body["lease"]["reservations"][0]["id"])
        for answer in answers
        if answer.status == 201
    ]
    assert sorted(host for each in taken for host in each) == sorted(hosts)


@pytest.mark.minutes(1)
def test_back_to_back_leases_of_all_hosts(
    hosts: dict[str, str], demo: Connection, alt: Connection, name: str
) -> None:
    """Check that the end that frees the hosts comes before the start that needs them."""
    first, second = Reservations(demo), Reservations(alt)
    change = boundary(30)
    one = first.post_hosts(name, "now", change, count=len(hosts))
    assert one.status == 201, one
    two = second.post_hosts(name, change, change + HOUR, count=len(hosts))
    assert two.status == 201, two
    first.await_status(one.body["lease"]["id"], "TERMINATED", 120)
    second.await_status(two.body["lease"]["id"], "ACTIVE", 60)
