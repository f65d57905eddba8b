"""What administrators are told of the managers, by the API and by ``blazar-status``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from blazar.cmd import status
from blazar.rpc.codec import Codec
from blazar.service.interface import ServicesInterface
from blazar.service.ports import Presence
from blazar.service.services import ServiceState

from .conftest import House
from .sandboxed import until

VERSION = metadata.version("blazar")


def listed(house: House) -> list[Any]:
    answer = house.send("GET", "/v1/services", "admin")
    assert answer.status_code == 200
    found: list[Any] = answer.json["services"]
    return found


def test_a_manager_that_runs_is_listed_until_it_stops(house: House) -> None:
    assert until(lambda: bool(listed(house)))
    (found,) = listed(house)
    assert (found["binary"], found["state"], found["version"]) == ("blazar-manager", "up", VERSION)
    assert (found["events"], found["plans"]) == (0, 0)
    assert found["late_seconds"] >= 0
    house.manager.stop()
    assert listed(house) == []


def test_a_manager_that_tells_less_is_listed(house: House) -> None:
    """One of another version: what it does not tell is null."""
    assert until(lambda: bool(listed(house)))
    with house.database.read() as uow:
        (own,) = uow.presences.list()
    long_ago = own.seen_at - timedelta(hours=1)
    other = Presence("another", "blazar-manager", "elsewhere", long_ago, long_ago)
    house.database.transact(lambda u: u.presences.put(other))
    (found,) = [each for each in listed(house) if each["id"] == "another"]
    assert found["state"] == "down"
    assert {found[name] for name in ("version", "events", "plans", "late_seconds")} == {None}


def test_a_lateness_is_told(house: House) -> None:
    """Of the events that were begun since it was asked last."""
    loop = house.manager.loop
    house.register("compute-1")
    body = {
        "name": "lease",
        "start_date": "now",
        "end_date": "2099-01-01 00:00",
        "reservations": [
            {"resource_type": "physical:host", "min": 1, "max": 1,
             "hypervisor_properties": "", "resource_properties": ""}
        ],
    }  # fmt: skip
    made = house.send("POST", "/v1/leases", json=body).json["lease"]["id"]
    assert until(lambda: house.send("GET", f"/v1/leases/{made}").json["lease"]["status"] == "ACTIVE")
    loop._greatest_lateness = max(loop._greatest_lateness, 1.5)
    assert loop.greatest_lateness() >= 1.5
    assert loop.greatest_lateness() < 1.5


def test_what_one_manager_tells_another_version_of_the_api_reads() -> None:
    signature = Codec({"services": ServicesInterface}).signature("services", "list")
    now = "2030-01-01T00:00:00Z"
    known = {"id": "1", "program": "blazar-manager", "host": "one", "started_at": now, "seen_at": now}
    (found,) = signature.decode_result([{"presence": {**known, "new": 1}, "is_up": True, "new": 2}])
    assert isinstance(found, ServiceState)
    assert (found.presence.host, found.presence.version, found.is_up) == ("one", None, True)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str, connection: str = "") -> tuple[int, str, str]:
        path = tmp_path / "status.conf"
        path.write_text(f"[database]\nconnection = {connection or f'sqlite:///{tmp_path}/blazar.db'}\n")
        monkeypatch.setattr(sys, "argv", ["blazar-status", "--config-file", str(path), *words])
        code = status.main()
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def test_blazar_status_lists_them_without_an_api(house: House, run: Any) -> None:
    assert until(lambda: bool(listed(house)))
    with house.database.read() as uow:
        (own,) = uow.presences.list()
    unknown = replace(own, id="another", host="elsewhere", version=None)
    house.database.transact(lambda u: u.presences.put(unknown))
    code, out, _ = run("service", "list", "--json")
    assert code == 0
    assert {each["host"] for each in json.loads(out)["services"]} == {own.host, "elsewhere"}
    code, out, _ = run("service", "list")
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == list(status.COLUMNS)
    assert ["blazar-manager", "elsewhere", "up", "-"] in [row[:4] for row in rows]
    assert ["blazar-manager", own.host, "up", VERSION] in [row[:4] for row in rows]


def test_blazar_status_says_in_a_sentence_why_it_cannot(run: Any, tmp_path: Path) -> None:
    code, out, err = run("service", "list", connection=f"sqlite:///{tmp_path}/empty.db")
    assert (code, out) == (2, "")
    assert err.startswith("blazar-status: ")
    assert "it has no schema" in err
    assert len(err.splitlines()) == 1
