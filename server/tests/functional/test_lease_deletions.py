"""Several leases are deleted by one request, since version 1.18."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import pytest
from falcon.testing import Result
from oslo_config import cfg

from blazar.domain.errors import CloudUnavailable, InvalidStatus, NotFound
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.context import Caller

from .canned import Canned, CannedLeases
from .conftest import House, Send, configured, edge
from .test_list_pages import STORED
from .wishes import HOST

AWAY = CloudUnavailable(service="database", reason="it is away")


def delete(send: Send, persona: str = "member", version: str = "1.18", **filters: Any) -> Result:
    headers = {"OpenStack-API-Version": f"reservation {version}"}
    return send("DELETE", f"/v1/leases?{urlencode(filters)}", persona, headers=headers)


def outcomes(answer: Result) -> dict[str, str]:
    assert answer.status_code == 200, answer.text
    return {each["name"]: each["outcome"] for each in answer.json["leases"]}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    house = House(configured(folder, f"[database]\nconnection = sqlite:///{folder}/blazar.db\n"), hosts=3)
    house.register("compute-1", "compute-2", "compute-3")
    yield house
    house.database.engine.dispose()


@pytest.fixture
def leases(house: House) -> Iterator[dict[str, str]]:
    """Leases of the next decades by their names, and the ids of these."""

    def create(name: str, year: int, persona: str) -> str:
        body = {"name": name, "start_date": f"{year}-01-01 10:00", "end_date": f"{year}-01-01 11:00"}
        made = house.send("POST", "/v1/leases", persona, json={**body, "reservations": [HOST]})
        assert made.status_code == 201, made.text
        return str(made.json["lease"]["id"])

    yield {
        "mine": create("mine", 2050, "member"),
        "later": create("later", 2060, "member"),
        "last": create("last", 2070, "member"),
        "theirs": create("theirs", 2050, "stranger"),
    }
    for persona in ("member", "stranger"):
        delete(house.send, persona, status="PENDING")


def left(house: House) -> set[str]:
    return {each["name"] for each in house.send("GET", "/v1/leases", "admin").json["leases"]}


def test_by_ids(house: House, leases: dict[str, str]) -> None:
    ids = ",".join((leases["mine"], leases["last"], "5e1f0000-0000-4000-8000-000000000000"))
    answer = delete(house.send, id=ids)
    assert outcomes(answer) == {"mine": "deleted", "last": "deleted"}
    assert answer.json["marker"] is None
    assert left(house) == {"later", "theirs"}


def test_by_what_they_have_in_common(house: House, leases: dict[str, str]) -> None:
    assert outcomes(delete(house.send, starts_after="2055-01-01 00:00")) == {
        "later": "deleted",
        "last": "deleted",
    }
    assert left(house) == {"mine", "theirs"}


def test_a_dry_run_only_tells_which_these_are(house: House, leases: dict[str, str]) -> None:
    found = delete(house.send, status="PENDING", dry_run="true")
    assert outcomes(found) == {"mine": "found", "later": "found", "last": "found"}
    assert left(house) == set(leases)


def test_those_of_others_are_not_found(house: House, leases: dict[str, str]) -> None:
    assert outcomes(delete(house.send, id=leases["theirs"])) == {}
    assert outcomes(delete(house.send, name="theirs")) == {}
    refused = delete(house.send, project_id="p2", name="theirs")
    assert refused.status_code == 403
    assert left(house) == set(leases)
    assert outcomes(delete(house.send, "admin", name="theirs")) == {"theirs": "deleted"}


def test_the_marker_leads_on(house: House, leases: dict[str, str]) -> None:
    first = delete(house.send, limit=2, status="PENDING")
    assert outcomes(first) == {"mine": "deleted", "later": "deleted"}
    second = delete(house.send, status="PENDING", marker=first.json["marker"])
    assert outcomes(second) == {"last": "deleted"}
    assert second.json["marker"] is None


def test_without_a_filter_nothing_is_deleted(house: House, leases: dict[str, str]) -> None:
    for filters in ({}, {"dry_run": "false"}, {"limit": 5}, {"name": ""}):
        refused = delete(house.send, **filters)
        assert refused.status_code == 400
        assert "Say which leases" in refused.json["error_message"]
    for filters in ({"name": "mine", "limit": 101}, {"name": "mine", "sort": "name"}, {"nmae": "mine"}):
        assert delete(house.send, **filters).status_code == 400
    assert left(house) == set(leases)


@pytest.mark.parametrize("version", ["1.0", "1.17"])
def test_earlier_versions_know_no_such_method(house: House, leases: dict[str, str], version: str) -> None:
    refused = delete(house.send, version=version, name="mine")
    assert refused.status_code == 405
    assert refused.json["error_message"] == "The method is not allowed for the requested URL."
    assert "DELETE" not in refused.headers["allow"]
    assert left(house) == set(leases)


def numbered(answer: Result) -> list[tuple[int, str]]:
    assert answer.status_code == 200, answer.text
    return [(int(each["id"][:8]), each["outcome"]) for each in answer.json["leases"]]


class DeletingLeases(CannedLeases):
    def begin_deletion(self, lease_id: str, caller: Caller) -> bool:
        outcome = self.service.outcomes.get(int(lease_id[:8]), True)  # type: ignore[attr-defined]  # it is Deleting
        if isinstance(outcome, Exception):
            raise outcome
        return bool(outcome)


@dataclass
class Deleting(Canned):
    """Deletes leases, but for those of which something else is said: an error, or False for later."""

    outcomes: dict[int, Exception | bool] = field(default_factory=dict)

    @property
    def leases(self) -> CannedLeases:
        return DeletingLeases(self)


@pytest.fixture
def service() -> Deleting:
    return Deleting(stored=STORED)


def test_each_is_told_of_and_one_that_is_refused_keeps_no_other(
    service: Deleting, conf: cfg.ConfigOpts
) -> None:
    gone = NotFound(object="it")
    service.outcomes = {0: False, 2: InvalidStatus(reason="a newer version is at work"), 3: gone}
    answer = delete(edge(service, conf), "admin", ends_after="2020-01-01 00:00")
    expected = ["deleting", "deleted", "refused", "deleted", "deleted", "deleted"]
    assert numbered(answer) == list(enumerate(expected))
    assert answer.json["leases"][2]["error_message"] == "Invalid lease status: a newer version is at work"


def test_leases_that_are_over_stay_unless_they_are_asked_for(service: Deleting, conf: cfg.ConfigOpts) -> None:
    service.stored = [replace(STORED[0], status=LeaseStatus.TERMINATED), STORED[1]]
    send = edge(service, conf)
    assert [n for n, _ in numbered(delete(send, "admin", ends_after="2020-01-01 00:00"))] == [1]
    assert [n for n, _ in numbered(delete(send, "admin", status="TERMINATED"))] == [0]
    assert [n for n, _ in numbered(delete(send, "admin", id=STORED[0].id))] == [0]


def test_where_a_service_is_away_the_rest_is_left_for_the_next_request(
    service: Deleting, conf: cfg.ConfigOpts
) -> None:
    send, service.outcomes = edge(service, conf), {2: AWAY}
    answer = delete(send, "admin", ends_after="2020-01-01 00:00")
    assert numbered(answer) == [(0, "deleted"), (1, "deleted")]
    again = {"ends_after": "2020-01-01 00:00", "marker": answer.json["marker"]}
    assert delete(send, "admin", **again).status_code == 503
    service.outcomes = {}
    assert numbered(delete(send, "admin", **again)) == [(n, "deleted") for n in range(2, 6)]
