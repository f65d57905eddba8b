"""How many hosts or servers a lease has got, over HTTP, since version 1.19."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import House, Send, configured
from .test_waitlist import later
from .wishes import HOST, INSTANCES

BEFORE, SINCE = "1.18", "1.19"
LEASES = "/v1/leases"
DATES = {"start_date": "2050-01-01 09:00", "end_date": "2050-01-01 10:00"}


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    house = House(configured(folder, f"[database]\nconnection = sqlite:///{folder}/blazar.db\n"), hosts=3)
    house.register("compute-1", "compute-2", "compute-3")
    yield house
    house.database.engine.dispose()


@pytest.fixture
def send(house: House) -> Send:
    return house.send


def ask(
    send: Send, method: str, path: str, persona: str = "member", version: str = SINCE, **more: Any
) -> Any:
    answer = send(method, path, persona, headers={"OpenStack-API-Version": f"reservation {version}"}, **more)
    assert answer.status_code < 300, answer.text
    return answer.json


def units(lease: Any) -> list[int]:
    return [each["units"] for each in lease["reservations"]]


def test_a_member_is_told_how_many_and_an_administrator_which_ones(send: Send) -> None:
    body = {"name": "n", **DATES, "reservations": [{**HOST, "max": 2}, {**INSTANCES, "amount": 3}]}
    lease = ask(send, "POST", LEASES, json=body)["lease"]
    path = f"{LEASES}/{lease['id']}"
    assert units(ask(send, "GET", path)["lease"]) == [2, 3]
    assert units(lease) == [2, 3]
    assert all("resources" not in each for each in lease["reservations"])
    hosts, servers = ask(send, "GET", path, "admin")["lease"]["reservations"]
    assert (len(hosts["resources"]), len(servers["resources"])) == (2, 1)
    assert not {*hosts["resources"]} & {*servers["resources"]}
    (listed,) = ask(send, "GET", LEASES, "admin")["leases"]
    assert all("units" not in each for each in listed["reservations"])  # a list does not read them


def test_versions_before_tell_nothing_of_it(send: Send) -> None:
    body = {"name": "n", **DATES, "reservations": [HOST]}
    lease = ask(send, "POST", LEASES, version=BEFORE, json=body)["lease"]
    shown = ask(send, "GET", f"{LEASES}/{lease['id']}", "admin", BEFORE)["lease"]
    for each in (lease, shown):
        assert not {"units", "resources"} & each["reservations"][0].keys()


def test_what_waits_and_what_has_grown(send: Send) -> None:
    body = {"name": "n", **DATES, "reservations": [{**HOST, "min": 2, "max": 2}]}
    first = ask(send, "POST", LEASES, json=body)["lease"]
    waiting = {**body, "on_shortage": {"wait_until": later(60)}}
    second = ask(send, "POST", LEASES, json=waiting)["lease"]
    assert (second["status"], units(second)) == ("WAITING", [0])
    reservation = {"id": first["reservations"][0]["id"], "min": 3, "max": 3}
    grown = ask(send, "PUT", f"{LEASES}/{first['id']}", json={"reservations": [reservation]})["lease"]
    assert units(grown) == [3]
