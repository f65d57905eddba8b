"""How little does the service ask of the cloud?"""

from __future__ import annotations

from typing import Any

import pytest
from labtests import accesses
from labtests.machinery import Machinery
from labtests.reservations import Reservations
from labtests.waiting import boundary
from openstack.connection import Connection

HOUR = 3600
CREATES = 5
ROUNDS = 3


def trusts(admin: Connection) -> int:
    answer: Any = admin.identity.get("/OS-TRUST/trusts")
    return len(answer.json()["trusts"])


@pytest.mark.disturbing
def test_a_warm_create_asks_keystone_nothing_and_makes_no_trust(
    hosts: dict[str, str], machinery: Machinery, admin: Connection, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    before = trusts(admin)
    log = machinery.settings.folder("log", "keystone.access")
    start = boundary(HOUR)

    def create(number: int) -> None:
        begin = start + number * HOUR
        answer = service.post_hosts(f"{name}-{number}", begin, begin + HOUR)
        assert answer.status == 201, answer

    create(0)
    rounds = []
    for number in range(ROUNDS):
        seen = len(accesses.of_others(log))
        for step in range(1, CREATES + 1):
            create(number * CREATES + step)
        rounds.append(accesses.of_others(log)[seen:])
    # a service of the cloud that renews its token looks like any other client: one quiet round is proof
    assert [] in rounds, rounds
    assert trusts(admin) == before
