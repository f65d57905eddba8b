"""Whether the resources of a lease are planned or bound, over HTTP, since version 1.23."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from blazar.adapters.clock import SystemClock
from blazar.service.ports import UnitOfWork

from .conftest import House, Send, configured
from .test_lease_units import DATES, LEASES, ask
from .test_waitlist import later
from .wishes import HOST

BEFORE, SINCE = "1.22", "1.23"


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    house = House(configured(folder, f"[database]\nconnection = sqlite:///{folder}/blazar.db\n"), hosts=2)
    house.register("compute-1", "compute-2")
    yield house
    house.database.engine.dispose()


@pytest.fixture
def send(house: House) -> Send:
    return house.send


def bind(house: House, lease_id: str, number: int) -> None:
    """Have the cloud serve so many allocations of the lease, as a start does one after the other."""

    def work(uow: UnitOfWork) -> None:
        lease = uow.leases.get(lease_id)
        assert lease is not None
        (reservation,) = lease.reservations
        rows = tuple(replace(row, bound=n < number) for n, row in enumerate(reservation.allocations))
        new = replace(lease, reservations=(replace(reservation, allocations=rows),))
        uow.leases.save(new, lease, SystemClock().now())

    house.database.transact(work)


def test_hosts_are_planned_until_all_of_them_are_bound(house: House, send: Send) -> None:
    body = {"name": "n", **DATES, "reservations": [{**HOST, "min": 2, "max": 2}]}
    lease = ask(send, "POST", LEASES, version=SINCE, json=body)["lease"]
    path = f"{LEASES}/{lease['id']}"
    assert lease["reservations"][0]["bound"] is False
    for number, is_bound in ((0, False), (1, False), (2, True)):
        bind(house, lease["id"], number)
        shown = ask(send, "GET", path, version=SINCE)["lease"]["reservations"][0]
        assert shown["bound"] is is_bound
    (listed,) = ask(send, "GET", LEASES, version=SINCE)["leases"]
    assert "bound" not in listed["reservations"][0]
    assert "bound" not in ask(send, "GET", path, version=BEFORE)["lease"]["reservations"][0]


def test_what_waits_has_nothing_that_is_bound(send: Send) -> None:
    body = {"name": "n", **DATES, "reservations": [{**HOST, "min": 2, "max": 2}]}
    ask(send, "POST", LEASES, version=SINCE, json=body)
    waiting = {**body, "on_shortage": {"wait_until": later(60)}}
    second = ask(send, "POST", LEASES, version=SINCE, json=waiting)["lease"]
    assert (second["status"], second["reservations"][0]["bound"]) == ("WAITING", False)
