"""Subscriptions over HTTP, with everything real but the hardware, since version 1.11."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.11"}
BEFORE = {"OpenStack-API-Version": "reservation 1.8"}
PATH = "/v1/subscriptions"
URL = "https://receiver.example.com/leases"
TIMES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}


class Receiver(BaseHTTPRequestHandler):
    """Takes each message, and keeps it."""

    heard: list[Any] = []  # noqa: RUF012 - one receiver in one test

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    options = {"allow_http": True, "allowed_networks": "127.0.0.0/8", "max_per_project": 3}
    site = Sandboxed(tmp_path_factory.mktemp("sandboxed"), subscriptions=options)
    assert site.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    yield site
    site.stop()


@pytest.fixture(autouse=True)
def tidy(at: Sandboxed) -> Iterator[None]:
    yield
    for each in ask(at, "GET", PATH, "admin").json["subscriptions"]:
        assert ask(at, "DELETE", f"{PATH}/{each['id']}", "admin").status_code == 204


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None) -> Any:
    return at.send(method, path, user, json=json, headers=VERSION)


def test_a_lease_is_told_to_a_receiver(at: Sandboxed) -> None:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        made = ask(at, "POST", PATH, json={"url": url, "events": ["deleted", "created"]}).json["subscription"]
        assert made["events"] == ["created", "deleted"]
        lease = {"name": "training", **TIMES, "reservations": [HOST]}
        lease_id = at.send("POST", "/v1/leases", "demo", json=lease).json["lease"]["id"]
        assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204
        pause = threading.Event()
        assert any(len(Receiver.heard) == 2 or pause.wait(0.1) for _ in range(200))
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    assert [(each["event"], each["lease"]["id"]) for each in Receiver.heard] == [
        ("created", lease_id),
        ("deleted", lease_id),
    ]
    assert "trust_id" not in Receiver.heard[0]["lease"]


def test_the_secret_is_shown_once(at: Sandboxed) -> None:
    answer = ask(at, "POST", PATH, json={"url": URL, "name": "ops"})
    assert answer.status_code == 201, answer.text
    made = answer.json["subscription"]
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert (made["status"], made["waiting"], made["last_error"]) == ("ACTIVE", 0, None)
    assert made["watched_project_id"] == made["project_id"]
    path = f"{PATH}/{made['id']}"
    assert ask(at, "GET", path).json == {"subscription": made}
    assert ask(at, "GET", PATH).json == {"subscriptions": [made]}
    changed = ask(at, "PUT", path, json={"name": "other", "events": ["ended"]}).json["subscription"]
    assert changed == {**made, "name": "other", "events": ["ended"], "updated_at": changed["updated_at"]}
    renewed = ask(at, "PUT", path, json={"renew_secret": True}).json["subscription"]
    assert renewed["secret"] not in (secret, None)
    assert ask(at, "DELETE", path).status_code == 204
    gone = ask(at, "GET", path)
    assert (gone.status_code, gone.json["error_message"]) == (404, f"There is no subscription {made['id']}.")


def test_a_project_has_so_many(at: Sandboxed) -> None:
    for _ in range(3):
        assert ask(at, "POST", PATH, json={"url": URL}).status_code == 201
    refused = ask(at, "POST", PATH, json={"url": URL})
    assert refused.status_code == 409
    assert refused.json["error_message"] == (
        "The project has 3 subscriptions already, which is as many as it may have."
    )


def test_only_administrators_watch_other_projects(at: Sandboxed) -> None:
    for body in ({"all_projects": True}, {"project_id": "another"}):
        assert ask(at, "POST", PATH, json={"url": URL, **body}).status_code == 403
        made = ask(at, "POST", PATH, "admin", json={"url": URL, **body}).json["subscription"]
        assert made["watched_project_id"] == body.get("project_id")
    assert ask(at, "GET", PATH).json == {"subscriptions": []}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Missing parameter url"),
        ({"url": 5}, "The url is a string of at most 2000 characters."),
        ({"url": "https://" + "a" * 2000}, "The url is a string of at most 2000 characters."),
        ({"url": "ftp://a.example.com/"}, "The url must be https://host/path, with or without a port."),
        ({"url": "https://10.0.0.1/"}, "The url must not lead to a network that is not public."),
        ({"url": "https://169.254.169.254/"}, "The url must not lead to a network that is not public."),
        ({"url": URL, "events": []}, "The events are a list of words: created, "),
        ({"url": URL, "events": ["displaced"]}, "There is no such event. The events are created, "),
        ({"url": URL, "lease_id": "none"}, "There is no lease none."),
        ({"url": URL, "resource_type": "none"}, "There is no resource type none."),
    ],
)
def test_bad_input_is_told(at: Sandboxed, body: Any, message: str) -> None:
    refused = ask(at, "POST", PATH, json=body)
    assert (refused.status_code, refused.json["error_message"][: len(message)]) == (400, message)


def test_the_version_before_has_no_subscriptions(at: Sandboxed) -> None:
    assert at.send("GET", PATH, "demo", headers=BEFORE).status_code == 404
