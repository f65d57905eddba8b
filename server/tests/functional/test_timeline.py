"""The timeline over HTTP: rows of resources, and what occupies them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.clock import SystemClock
from blazar.kinds.registered_hosts.pool import POOL
from blazar.rpc.codec import Codec
from blazar.service.context import Caller
from blazar.service.interface import INTERFACES as CORE
from blazar.service.timeline import TimelineQuestion

from .conftest import House, configured

VERSION = {"OpenStack-API-Version": "reservation 1.10"}
SHARES = {"OpenStack-API-Version": "reservation 1.34"}
RIGHTS = {"OpenStack-API-Version": "reservation 1.40"}
NEWER = {"OpenStack-API-Version": "reservation 1.8"}
HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
NOW = SystemClock().now()


def at(days: float) -> str:
    return (NOW + timedelta(days=days)).strftime("%Y-%m-%d %H:%M")


WEEK = {"start_date": at(-1), "end_date": at(6)}


def ask(house: House, persona: str = "admin", tag: str = "", **query: Any) -> Any:
    condition = {"If-None-Match": tag} if tag else {}
    params = {name: str(value) for name, value in {**WEEK, **query}.items()}
    return house.send("GET", "/v1/timeline", persona, params=params, headers=VERSION | condition)


def show(house: House, persona: str = "admin", **query: Any) -> Any:
    answer = ask(house, persona, **query)
    assert answer.status_code == 200, answer.text
    return answer.json["timeline"]


def create(house: House, name: str, first: float, last: float, persona: str = "member", **asked: Any) -> Any:
    body = {
        "name": name,
        "start_date": at(first),
        "end_date": at(last),
        "reservations": [{**HOST, **asked}],
        "events": [],
    }
    made = house.send("POST", "/v1/leases", persona, json=body)
    assert made.status_code == 201, made.text
    return made.json["lease"]


def bars(timeline: Any) -> list[tuple[str, str, str]]:
    """Return the bars: the name of the row, the type, and the name of the occupant."""
    rows, found, occupants = timeline["rows"], timeline["bars"], timeline["occupants"]
    return [
        (rows["name"][row], occupants["type"][each], occupants["name"][each])
        for row, each in zip(found["row"], found["occupant"], strict=True)
    ]


@pytest.fixture(autouse=True)
def hosts(house: House) -> None:
    house.register("compute-1", "compute-2", "compute-3")


def test_a_row_for_each_resource_of_each_kind(house: House) -> None:
    house.register_floating_ip("203.0.113.150")
    shown = show(house)
    assert shown["rows"]["name"] == ["compute-1", "compute-2", "compute-3", "203.0.113.150"]
    assert shown["total"] == 4
    assert [(each["first"], each["rows"]) for each in shown["groups"]] == [(0, 3), (3, 1)]
    assert "virtual:instance" in shown["groups"][0]["resource_types"]
    assert shown["groups"][1]["resource_types"] == ["virtual:floatingip"]
    assert shown["rows"]["capacity"][0]["VCPU"] > 0


def test_a_lease_is_a_bar_on_its_host(house: House) -> None:
    lease = create(house, "mine", 1, 2)
    shown = show(house)
    assert bars(shown) == [("compute-1", "lease", "mine")]
    assert shown["occupants"]["id"] == [lease["id"]]
    assert shown["bars"]["start"] == [2 * 24 * 60]
    assert shown["bars"]["end"] == [3 * 24 * 60]


def test_what_is_outside_the_window_is_not_told(house: House) -> None:
    create(house, "mine", 1, 2)
    assert bars(show(house, start_date=at(2), end_date=at(3))) == []
    assert bars(show(house, start_date=at(1.5), end_date=at(3))) == [("compute-1", "lease", "mine")]


def test_a_page_has_the_rows_that_were_asked_for(house: House) -> None:
    create(house, "both", 1, 2, min=2, max=2)
    shown = show(house, first=1, rows=1)
    assert (shown["first"], shown["total"], shown["rows"]["name"]) == (1, 3, ["compute-2"])
    assert bars(shown) == [("compute-2", "lease", "both")]
    assert show(house, first=99)["rows"]["name"] == []


def test_rows_are_grouped_and_searched_by_properties(house: House) -> None:
    for host, rack in (("1", "r2"), ("2", "r10"), ("3", "r2")):
        done = house.send("PUT", f"/v1/os-hosts/{host}", "admin", json={"rack": rack})
        assert done.status_code == 200, done.text
    shown = show(house, group_by="rack")
    assert [(each["value"], each["rows"]) for each in shown["groups"]] == [("r10", 1), ("r2", 2)]
    assert shown["rows"]["name"] == ["compute-2", "compute-1", "compute-3"]
    assert show(house, search="R2")["rows"]["name"] == ["compute-1", "compute-3"]
    assert show(house, search="UTE-3")["rows"]["name"] == ["compute-3"]
    assert show(house, search="nowhere")["total"] == 0


def test_servers_of_a_reservation_on_a_host_are_one_bar(house: House) -> None:
    servers = {
        "resource_type": "virtual:instance",
        "amount": 3,
        "vcpus": 1,
        "memory_mb": 1,
        "disk_gb": 0,
        "affinity": True,
        "resource_properties": "",
    }
    create(house, "web", 1, 2, **servers)
    create(house, "whole", 1, 2)
    shown = show(house)
    assert bars(shown) == [("compute-1", "lease", "web"), ("compute-2", "lease", "whole")]
    assert shown["bars"]["slots"] == [3, 0]


def test_the_shortest_bars_are_left_out_where_there_are_too_many(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.service.timeline.MOST_BARS", 2)
    for number, length in enumerate((2, 1, 3), 1):
        create(house, f"lease {number}", 1, 1 + length)
    shown = show(house)
    assert [name for _, _, name in bars(shown)] == ["lease 1", "lease 3"]
    assert shown["left_out"] == 1


def test_a_resource_that_no_lease_may_get_tells_why(house: House) -> None:
    with house.database.read() as uow:
        (host,) = uow.resources.list(POOL, ["2"])
    now = SystemClock().now()
    house.database.transact(lambda uow: uow.resources.save(replace(host, reservable=False), now))
    assert show(house)["rows"]["trouble"] == ["", "not reservable", ""]


def test_a_kind_is_chosen(house: House) -> None:
    house.register_floating_ip("203.0.113.150")
    assert show(house, resource_type="virtual:floatingip")["rows"]["name"] == ["203.0.113.150"]
    assert ask(house, resource_type="virtual:nothing").status_code == 400


def test_maintenances_and_offers_are_told_without_what_is_not_for_all(house: House) -> None:
    taken = {"name": "new disks", "hosts": ["2"], "start_date": at(1), "end_date": at(2)}
    made = house.send("POST", "/v1/maintenances", "admin", json=taken, headers=NEWER)
    assert made.status_code == 201, made.text
    held = {"start_date": at(1), "end_date": at(2), "reservations": [HOST]}
    offer = house.send("POST", "/v1/offers", "member", json=held, headers=NEWER)
    assert offer.status_code == 201, offer.text
    shown = show(house)
    assert bars(shown) == [("compute-1", "held", ""), ("compute-2", "maintenance", "new disks")]
    assert shown["occupants"]["id"][0] == ""


def test_an_answer_that_is_known_is_not_sent_again(house: House) -> None:
    lease = create(house, "mine", 1, 2)
    tag = ask(house).headers["etag"]
    again = ask(house, tag=tag)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    renamed = house.send("PUT", f"/v1/leases/{lease['id']}", "member", json={"name": "ours"})
    assert renamed.status_code == 200
    assert ask(house, tag=tag).status_code == 200


def test_by_default_only_administrators_see_resources(house: House) -> None:
    assert ask(house, "member").status_code == 403
    assert ask(house, "reader").status_code == 403


def test_it_is_there_since_its_version(house: House) -> None:
    answer = house.send("GET", "/v1/timeline", "admin", params=WEEK, headers=NEWER)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        {"end_date": at(-2)},
        {"end_date": at(900)},
        {"start_date": "soon"},
        {"rows": 201},
        {"rows": 0},
        {"first": -1},
        {"first": "x"},
        {"search": "x" * 101},
    ],
)
def test_what_makes_no_sense_is_refused(house: House, query: dict[str, Any]) -> None:
    assert ask(house, **query).status_code == 400


def test_it_comes_over_the_broker_as_it_is(house: House) -> None:
    create(house, "mine", 1, 2)
    question = TimelineQuestion(NOW, NOW + timedelta(days=3), group_by="vcpus")
    caller = Caller("user", "project", is_admin=True)
    timeline = house.manager.use_cases.noun("timeline").get(question, caller)
    assert timeline.bars and timeline.groups
    call = Codec(CORE).signature("timeline", "get")
    assert call.decode_result(json.loads(json.dumps(call.encode_result(timeline)))) == timeline
    sent = json.loads(json.dumps(call.encode_arguments(question, caller)))
    assert call.decode_arguments(sent)["question"] == question


def test_a_week_from_now_on_is_shown_by_default(house: House) -> None:
    create(house, "soon", 6, 8)
    create(house, "late", 8, 9)
    answer = house.send("GET", "/v1/timeline", "admin", headers=VERSION)
    assert bars(answer.json["timeline"]) == [("compute-1", "lease", "soon")]


def test_where_the_operator_allows_it_others_see_when_but_not_what(tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"blazar:timeline:get": "rule:project_reader_or_admin"\n')
    database = f"[database]\nconnection = sqlite:///{tmp_path}/open.db\n"
    house = House(configured(tmp_path, f"{database}[oslo_policy]\npolicy_file = {rules}\n"), hosts=2)
    house.manager.start()
    try:
        house.register("compute-1", "compute-2")
        mine = create(house, "mine", 1, 2)
        theirs = create(house, "theirs", 1, 2, "admin")
        shown = show(house, "member")
        share = f"/v1/leases/{theirs['id']}/shares/{mine['project_id']}"
        put = house.send("PUT", share, "admin", json={"right": "read"}, headers=SHARES)
        assert put.status_code == 200, put.text
        shared = show(house, "member")
        rights = [
            house.send("GET", "/v1/timeline", who, headers=RIGHTS).json["timeline"]["occupants"]
            for who in ("member", "admin")
        ]
        described = house.send("PUT", "/v1/os-hosts/1", "admin", json={"secret": "hush"})
        assert described.status_code == 200
        hidden = house.send("PATCH", "/v1/os-hosts/properties/secret", "admin", json={"private": True})
        assert hidden.status_code == 200, hidden.text
        found = [
            [show(house, who, search="hush")["total"], len(show(house, who, group_by="secret")["groups"])]
            for who in ("admin", "member")
        ]
    finally:
        house.manager.stop()
        house.database.engine.dispose()
    assert found == [[1, 2], [0, 1]]
    assert bars(shown) == [("compute-1", "lease", "mine"), ("compute-2", "lease", "")]
    assert [bool(text) for text in shown["occupants"]["project_id"]] == [True, False]
    assert "theirs" not in str(shown)
    assert bars(shared) == [("compute-1", "lease", "mine"), ("compute-2", "lease", "theirs")]
    assert "shared_right" not in shared["occupants"]
    assert [each["shared_right"] for each in rights] == [["", "read"], ["", ""]]
