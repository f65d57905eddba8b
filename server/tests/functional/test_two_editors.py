"""Entity tags of leases and If-Match over HTTP, since version 1.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
START = "2050-01-01 10:00"
BODY = {"name": "a", "start_date": START, "end_date": "2050-01-01 11:00", "reservations": [HOST]}


def at_version(minor: int, **more: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"reservation 1.{minor}", **more}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def made(at: Sandboxed) -> Iterator[Any]:
    made = at.send("POST", "/v1/leases", "demo", json=BODY, headers=at_version(5))
    assert made.status_code == 201
    yield made
    at.send("DELETE", path_of(made), "demo")


def path_of(made: Any) -> str:
    return f"/v1/leases/{made.json['lease']['id']}"


def rename(at: Sandboxed, made: Any, name: str, *tags: str, minor: int = 5) -> Any:
    headers = at_version(minor, **({"If-Match": ", ".join(tags)} if tags else {}))
    return at.send("PUT", path_of(made), "demo", json={"name": name}, headers=headers)


def test_each_answer_with_a_lease_names_its_state(at: Sandboxed, made: Any) -> None:
    first = made.headers["etag"]
    for user in ("demo", "admin"):
        assert at.send("GET", path_of(made), user, headers=at_version(5)).headers["etag"] == first
    changed = rename(at, made, "b")
    assert changed.headers["etag"] != first
    assert rename(at, made, "b").headers["etag"] == changed.headers["etag"]  # nothing has changed
    head = at.send("HEAD", path_of(made), "demo", headers=at_version(5))
    assert head.headers["etag"] == changed.headers["etag"]


@pytest.mark.parametrize("minor", range(5))
def test_versions_before_know_neither_the_tag_nor_the_condition(at: Sandboxed, made: Any, minor: int) -> None:
    for answer in (
        at.send("GET", path_of(made), "demo", headers=at_version(minor)),
        rename(at, made, f"v{minor}", '"none"', minor=minor),
        rename(at, made, "again", "malformed", minor=minor),
    ):
        assert (answer.status_code, "etag" in answer.headers) == (200, False)


def test_the_second_of_two_editors_is_told(at: Sandboxed, made: Any) -> None:
    tag = made.headers["etag"]
    theirs = rename(at, made, "theirs", tag)
    assert theirs.status_code == 200
    refused = rename(at, made, "mine", tag)
    assert refused.status_code == 412
    assert refused.json == {
        "error_message": "The lease has changed since you have read it: its ETag is now "
        f"{theirs.headers['etag']}. Read it again.",
        "error_code": 412,
        "error_name": 412,
    }
    assert (
        at.send("DELETE", path_of(made), "demo", headers=at_version(5, **{"If-Match": tag})).status_code
        == 412
    )
    assert at.send("GET", path_of(made), "demo").json["lease"]["name"] == "theirs"
    assert rename(at, made, "mine", theirs.headers["etag"]).status_code == 200


def test_a_dry_run_is_refused_too_and_has_no_tag(at: Sandboxed, made: Any) -> None:
    def ask(tag: str) -> Any:
        headers = at_version(5, **{"If-Match": tag})
        return at.send("PUT", path_of(made), "demo", json={"name": "x", "dry_run": True}, headers=headers)

    answer = ask(made.headers["etag"])
    assert (answer.status_code, "etag" in answer.headers) == (200, False)
    assert ask('"999"').status_code == 412


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("*", 200),
        ('"other", {}', 200),
        ('{}\t,"other"', 200),
        ("W/{}", 200),
        ('"{-}-gzip"', 200),
        ('"other"', 412),
        ('""', 412),
        ('W/"0"', 412),
        ("{-}", 400),
        ("'{-}'", 400),
        ('"open', 400),
        ('{}"', 400),
        ("", 400),
        ('"caf\xe9"', 400),
        (", ".join(['"other"'] * 11), 400),
        (f'"{"9" * 64}"', 412),
        (f'"{"9" * 65}"', 400),
    ],
)
def test_conditions(at: Sandboxed, made: Any, condition: str, status: int) -> None:
    rename(at, made, "later")
    tag = at.send("GET", path_of(made), "demo", headers=at_version(5)).headers["etag"]
    sent = condition.replace("{}", tag).replace("{-}", tag.strip('"'))
    answer = rename(at, made, "b", sent)
    assert answer.status_code == status, answer.json
    if status == 400:
        assert answer.json["error_message"].startswith("Malformed header If-Match: ")


def test_what_is_not_there_or_not_to_be_seen_is_not_found_first(at: Sandboxed, made: Any) -> None:
    headers = at_version(5, **{"If-Match": '"0"'})
    for path, user in ((path_of(made), "alt"), ("/v1/leases/none", "demo")):
        assert at.send("PUT", path, user, json={}, headers=headers).status_code == 404
        assert at.send("DELETE", path, user, headers=headers).status_code == 404


def test_a_deletion_of_what_was_read(at: Sandboxed, made: Any) -> None:
    headers = at_version(5, **{"If-Match": made.headers["etag"]})
    assert at.send("DELETE", path_of(made), "demo", headers=headers).status_code == 204
