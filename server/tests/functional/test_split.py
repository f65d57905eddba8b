"""Leases that are split, over HTTP, with everything real but the hardware, since version 1.40."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.40"}
BEFORE = {"OpenStack-API-Version": "reservation 1.38"}
DATES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
TWO_HOSTS = {**HOST, "min": 2, "max": 2}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("split"))
    for name in ("compute-01", "compute-02", "compute-03"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for lease in site.send("GET", "/v1/leases", "admin").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, **headers: str) -> Any:
    return at.send(method, path, user, json=json, headers={**VERSION, **headers})


def make(at: Sandboxed, *lines: Mapping[str, Any], **more: Any) -> Any:
    body = {"name": "lab", **DATES, "reservations": lines or [TWO_HOSTS], **more}
    made = ask(at, "POST", "/v1/leases", json=body)
    assert made.status_code == 201, made.text
    return made.json["lease"]


def split(at: Sandboxed, lease: Mapping[str, Any], *going: Any, user: str = "demo", **headers: str) -> Any:
    reservations = going or [{"id": lease["reservations"][0]["id"], "units": 1}]
    body = {"name": "part", "reservations": list(reservations)}
    return ask(at, "POST", f"/v1/leases/{lease['id']}/split", user, body, **headers)


def refusal(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json["error_message"])


def test_a_lease_becomes_two(at: Sandboxed) -> None:
    lease = make(at, TWO_HOSTS, INSTANCES)
    hosts, slots = lease["reservations"]
    answer = split(at, lease, {"id": hosts["id"], "units": 1}, {"id": slots["id"]})
    assert answer.status_code == 201, answer.text
    part = answer.json["lease"]
    assert (part["name"], part["status"], part["project_id"]) == ("part", "PENDING", lease["project_id"])
    assert [part[name] for name in ("start_date", "end_date")] == [
        lease[name] for name in ("start_date", "end_date")
    ]
    shown = ask(at, "GET", f"/v1/leases/{part['id']}")
    assert shown.json["lease"] == part
    assert shown.headers["ETag"] == answer.headers["ETag"]
    assert [each["units"] for each in part["reservations"]] == [1, 1]
    assert part["reservations"][1]["id"] == slots["id"]
    rest = ask(at, "GET", f"/v1/leases/{lease['id']}").json["lease"]
    assert [(each["id"], each["min"], each["max"]) for each in rest["reservations"]] == [(hosts["id"], 1, 1)]


def test_only_the_lease_that_was_read_is_split(at: Sandboxed) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    tag = ask(at, "GET", path).headers["ETag"]
    assert ask(at, "PUT", path, json={"name": "renamed"}).status_code == 200
    assert "changed" in refusal(split(at, lease, **{"If-Match": tag}), 412)
    tag = ask(at, "GET", path).headers["ETag"]
    assert split(at, lease, **{"If-Match": tag}).status_code == 201


def test_a_request_with_a_key_is_carried_out_once(at: Sandboxed) -> None:
    lease = make(at)
    made = split(at, lease, **{"Idempotency-Key": "one"})
    again = split(at, lease, **{"Idempotency-Key": "one"})
    assert (again.status_code, again.json) == (made.status_code, made.json)
    going = {"id": lease["reservations"][0]["id"]}
    assert split(at, lease, going, **{"Idempotency-Key": "one"}).status_code == 422


def test_what_is_refused(at: Sandboxed) -> None:
    lease = make(at)
    reservation = lease["reservations"][0]["id"]
    bodies: list[tuple[Any, str]] = [
        ({"reservations": [{"id": reservation}]}, "name"),
        ({"name": "", "reservations": [{"id": reservation}]}, "name"),
        ({"name": "part"}, "reservations"),
        ({"name": "part", "reservations": []}, "From 1 to"),
        ({"name": "part", "reservations": [reservation]}, "list of objects"),
        ({"name": "part", "reservations": [{}]}, "ID"),
        ({"name": "part", "reservations": [{"id": 7}]}, "Malformed parameter id"),
        ({"name": "part", "reservations": [{"id": reservation, "units": 0}]}, "Malformed parameter units"),
        ({"name": "part", "reservations": [{"id": reservation, "units": True}]}, "Malformed parameter units"),
        ({"name": "part", "reservations": [{"id": reservation, "units": 1}] * 2}, "only once"),
        ({"name": "part", "reservations": [{"id": reservation, "units": 3}]}, "has 2 units"),
        ({"name": "part", "reservations": [{"id": reservation, "units": 2}]}, "has to stay"),
        ({"name": "part", "reservations": [{"id": "elsewhere"}]}, "elsewhere"),
    ]
    path = f"/v1/leases/{lease['id']}"
    for body, word in bodies:
        assert word in refusal(ask(at, "POST", f"{path}/split", json=body), 400), body
    assert split(at, lease, **BEFORE).status_code == 404
    assert ask(at, "GET", path).json["lease"] == lease
    assert split(at, lease, user="alt").status_code == 404


def test_one_that_has_begun_stays_whole(at: Sandboxed) -> None:
    lease = make(at, TWO_HOSTS, start_date="now")
    path = f"/v1/leases/{lease['id']}"
    assert until(lambda: ask(at, "GET", path).json["lease"]["status"] == "ACTIVE")
    assert "before it starts" in refusal(split(at, lease), 409)


def test_a_project_that_it_is_shared_with_does_not_split_it(at: Sandboxed) -> None:
    lease = make(at)
    other = ask(at, "POST", "/v1/leases", "alt", json={"name": "own", **DATES, "reservations": [HOST]})
    project = other.json["lease"]["project_id"]
    share = f"/v1/leases/{lease['id']}/shares/{project}"
    assert ask(at, "PUT", share, json={"right": "use_and_change"}).status_code == 200
    assert "blazar:leases:split" in refusal(split(at, lease, user="alt"), 403)


def test_a_part_is_handed_over(at: Sandboxed) -> None:
    lease = make(at)
    other = ask(at, "POST", "/v1/leases", "alt", json={"name": "own", **DATES, "reservations": [HOST]})
    project = other.json["lease"]["project_id"]
    part = f"/v1/leases/{split(at, lease).json['lease']['id']}"
    assert ask(at, "PUT", f"{part}/shares/{project}", json={"right": "take_over"}).status_code == 200
    assert ask(at, "POST", f"{part}/take_over", "alt").json["lease"]["project_id"] == project
    assert ask(at, "GET", part).status_code == 404
    assert ask(at, "GET", f"/v1/leases/{lease['id']}").status_code == 200


def test_the_number_of_leases_is_limited(at: Sandboxed) -> None:
    lease = make(at)
    quota = f"/v1/quotas/{lease['project_id']}"
    assert ask(at, "PUT", quota, "admin", json={"limits": {"leases": 1, "hosts": 2}}).status_code == 200
    assert "leases" in refusal(split(at, lease), 403)
    assert ask(at, "PUT", quota, "admin", json={"limits": {"leases": 2, "hosts": 2}}).status_code == 200
    assert split(at, lease).status_code == 201
    assert ask(at, "DELETE", quota, "admin").status_code == 204
