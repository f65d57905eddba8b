"""Does what an operator writes into blazar.conf reach the code that it is about?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar.bootstrap.settings import engine_settings, lease_settings, planning_settings
from blazar.domain.errors import CloudRefused
from blazar.domain.planning.demand import Order
from blazar.plugins import load_plugins

from .conftest import House, configured

WHOLE = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
DATES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}


@contextmanager
def opened(directory: Path, text: str) -> Iterator[House]:
    """The service as an operator configures it, with three hosts."""
    connection = f"[database]\nconnection = sqlite:///{directory}/blazar.db\n"
    house = House(configured(directory, connection + text), hosts=3)
    house.manager.start()
    try:
        house.register("compute-1", "compute-2", "compute-3")
        yield house
    finally:
        house.manager.stop()
        house.database.engine.dispose()


def settled(house: House, lease_id: str) -> Any:
    """Return the lease as soon as it tells a reason."""
    end = time.monotonic() + 20
    while True:
        lease = house.send("GET", f"/v1/leases/{lease_id}").json["lease"]
        if lease.get("status_reason"):
            return lease
        assert time.monotonic() < end, lease
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("text", "status"), [("", "STARTING"), ("[manager]\nstart_retry_seconds = 0\n", "ERROR")]
)
def test_how_long_a_start_that_is_refused_is_tried_again(tmp_path: Path, text: str, status: str) -> None:
    with opened(tmp_path, text) as house:

        def refuse(call: str) -> None:
            raise CloudRefused(service="Nova", reason="Forbidden (HTTP 403)")

        house.cloud.before = refuse
        lease = {"name": "a", **DATES, "start_date": "now", "reservations": [WHOLE]}
        made = house.send("POST", "/v1/leases", json=lease)
        assert made.status_code == 201
        found = settled(house, made.json["lease"]["id"])
        house.cloud.before = lambda call: None
    assert (found["status"], found["status_reason"]) == (
        status,
        "Nova refused the request: Forbidden (HTTP 403)",
    )


@pytest.mark.parametrize(
    ("text", "status"), [("", 201), ("[manager]\nmax_reservations_per_lease = 1\n", 400)]
)
def test_how_many_reservations_a_lease_may_have(tmp_path: Path, text: str, status: int) -> None:
    with opened(tmp_path, text) as house:
        lease = {"name": "a", **DATES, "reservations": [WHOLE, WHOLE]}
        assert house.send("POST", "/v1/leases", json=lease).status_code == status


def test_how_long_and_how_many_at_once_requests_are_planned(tmp_path: Path) -> None:
    with opened(tmp_path, "[manager]\nplanning_seconds = 0.5\nplans_at_once = 3\n") as house:
        calendars = house.manager._calendars
        assert calendars._limits.seconds == 0.5
        assert calendars._turns._free == 3


def test_what_the_options_of_the_engine_mean(tmp_path: Path) -> None:
    text = "[manager]\nclaim_seconds = 7\nevent_workers = 24\nreconcile_seconds = 60\n"
    settings = engine_settings(configured(tmp_path, text))
    assert settings.claim == timedelta(seconds=7)
    assert (settings.workers, settings.retry_workers) == (24, 12)
    assert (settings.stuck_workers, settings.reconcile_workers) == (3, 3)
    assert settings.reconcile == timedelta(seconds=60)


def test_what_the_options_of_planning_and_deletions_mean(tmp_path: Path) -> None:
    text = "[DEFAULT]\ncleaning_time = 5\n[physical:host]\nrandomize_host_selection = true\n"
    conf = configured(tmp_path, f"{text}[manager]\ndelete_wait = 3\n")
    settings = planning_settings(conf)
    assert (settings.cleaning, settings.order) == (timedelta(minutes=5), Order.RANDOM)
    assert lease_settings(conf, {}).delete_wait == timedelta(seconds=3)


def test_how_soon_leases_have_to_be_used_is_set_by_kind(tmp_path: Path) -> None:
    text = "minutes = physical:host=120, virtual:floatingip=30\nexempt_projects = a, b\nwarning_minutes = 5\n"
    conf = configured(tmp_path, f"[claim_by]\n{text}")
    settings = lease_settings(conf, load_plugins(conf).kinds).claim_by
    after = {"physical:host": timedelta(hours=2), "virtual:floatingip": timedelta(minutes=30)}
    assert (settings.after, settings.exempt) == (after, {"a", "b"})
    assert settings.warning == timedelta(minutes=5)


@pytest.mark.parametrize(
    "entry",
    [
        "physical:host",
        "physical:host=",
        "physical:host=0",
        "physical:host=-1",
        "physical:host=1.5",
        "physical:host=99999999999",
        "hosts=60",
    ],
)
def test_an_entry_that_names_no_kind_or_no_minutes_is_refused(tmp_path: Path, entry: str) -> None:
    conf = configured(tmp_path, f"[claim_by]\nminutes = {entry}\n")
    with pytest.raises(ValueError, match="is not a kind of"):
        lease_settings(conf, load_plugins(conf).kinds)
