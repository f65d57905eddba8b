"""Idempotency-Key at a create over HTTP, since version 1.5."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
BODY = {
    "name": "a",
    "start_date": "2050-01-01 10:00",
    "end_date": "2050-01-01 11:00",
    "reservations": [HOST],
}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture(autouse=True)
def _nothing_is_left(at: Sandboxed) -> Iterator[None]:
    yield
    for lease in at.send("GET", "/v1/leases", "admin").json["leases"]:
        assert at.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204


def create(at: Sandboxed, key: str, user: str = "demo", minor: int = 5, **body: Any) -> Any:
    headers = {"OpenStack-API-Version": f"reservation 1.{minor}", "Idempotency-Key": key}
    return at.send("POST", "/v1/leases", user, json={**BODY, **body}, headers=headers)


def count(at: Sandboxed) -> int:
    return len(at.send("GET", "/v1/leases", "admin").json["leases"])


def test_a_repeated_create_is_answered_as_the_first(at: Sandboxed) -> None:
    key = str(uuid4())
    first = create(at, key)
    again = create(at, f" {key} ", **dict(reversed(BODY.items())))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json == first.json
    assert again.headers["etag"] == first.headers["etag"]
    assert count(at) == 1


def test_another_request_with_the_key_is_refused(at: Sandboxed) -> None:
    assert create(at, "k").status_code == 201
    for refused in (create(at, "k", name="b"), create(at, "k", user="colleague")):
        assert refused.status_code == 422
        assert refused.json["error_message"] == (
            "The Idempotency-Key k was used for another request of the project. "
            "Give each new request a key of its own."
        )
    assert count(at) == 1
    assert create(at, "k", user="alt").status_code == 201  # another project's keys are its own


@pytest.mark.parametrize("minor", range(5))
def test_versions_before_ignore_it(at: Sandboxed, minor: int) -> None:
    made = [create(at, "k", minor=minor).json["lease"]["id"] for _ in range(2)]
    assert made[0] != made[1]


def test_a_dry_run_needs_no_key_and_uses_none_up(at: Sandboxed) -> None:
    assert create(at, "k", dry_run=True).status_code == 200
    assert create(at, "k", name="another").status_code == 201


def test_a_refused_request_may_be_corrected_under_its_key(at: Sandboxed) -> None:
    assert create(at, "k", reservations=[{**HOST, "min": 3, "max": 3}]).status_code == 409
    assert create(at, "k").status_code == 201


@pytest.mark.parametrize(
    ("key", "status"), [("x" * 255, 201), ("x" * 256, 400), ("", 400), ("caf\xe9", 400), ("a b", 201)]
)
def test_keys(at: Sandboxed, key: str, status: int) -> None:
    answer = create(at, key)
    assert answer.status_code == status
    if status == 400:
        assert answer.json["error_message"].startswith("Malformed header Idempotency-Key: ")


def test_requests_at_once_make_one_lease(at: Sandboxed) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda _: create(at, "k", reservations=[{**HOST, "min": 2, "max": 2}]), range(4))
        )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json["lease"]["id"] for answer in answers}) == count(at) == 1
