"""The number of calls to the cloud that a request causes."""

from __future__ import annotations

from typing import Any

import pytest
from labtests import access_log
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import boundary
from openstack.connection import Connection

HOUR = 3600
CREATES = 5
ROUNDS = 3


def trusts(admin: Connection) -> int:
    answer: Any = admin.identity.get("/OS-TRUST/trusts")
    return len(answer.json()["trusts"])


@pytest.mark.alone  # every client of the cloud asks Keystone
def test_a_warm_create_asks_keystone_nothing_and_makes_no_trust(
    hosts: dict[str, str], processes: LabProcesses, admin: Connection, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    before = trusts(admin)
    log = processes.settings.folder("log", "keystone.access")
    start = boundary(HOUR)

    def create(number: int) -> None:
        begin = start + number * HOUR
        answer = service.post_hosts(f"{name}-{number}", begin, begin + HOUR)
        assert answer.status == 201, answer

    create(0)
    rounds = []
    for number in range(ROUNDS):
        seen = len(access_log.client_requests(log))
        for step in range(1, CREATES + 1):
            create(number * CREATES + step)
        rounds.append(access_log.client_requests(log)[seen:])
    # a service of the cloud that renews its token looks like any other client: one quiet round is proof
    assert [] in rounds, rounds
    assert trusts(admin) == before
