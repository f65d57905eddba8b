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
LATER = {"OpenStack-API-Version": "reservation 1.14"}
NEWEST = {"OpenStack-API-Version": "reservation 1.32"}
NOTICES = {"OpenStack-API-Version": "reservation 1.41"}
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
        ({"url": URL, "events": ["degraded"]}, "There is no such event. The events are created, "),
        ({"url": URL, "lease_id": "none"}, "There is no lease none."),
        ({"url": URL, "resource_type": "none"}, "There is no resource type none."),
    ],
)
def test_bad_input_is_told(at: Sandboxed, body: Any, message: str) -> None:
    refused = ask(at, "POST", PATH, json=body)
    assert (refused.status_code, refused.json["error_message"][: len(message)]) == (400, message)


def test_later_words_are_of_a_later_version(at: Sandboxed) -> None:
    body = {"url": URL, "events": ["moved", "offered", "created"]}
    refused = ask(at, "POST", PATH, json=body)
    assert refused.status_code == 400
    assert "moved" not in refused.json["error_message"]
    made = at.send("POST", PATH, "demo", json=body, headers=LATER).json["subscription"]
    assert made["events"] == ["created", "offered", "moved"]
    path = f"{PATH}/{made['id']}"
    body = {"events": ["degraded", "start_soon"]}
    assert ask(at, "PUT", path, json=body).status_code == 400
    changed = at.send("PUT", path, "demo", json=body, headers=LATER).json["subscription"]
    assert changed["events"] == ["start_soon", "degraded"]
    all_events = at.send("POST", PATH, "demo", json={"url": URL}, headers=LATER).json["subscription"][
        "events"
    ]
    first = ask(at, "POST", PATH, json={"url": URL}).json["subscription"]["events"]
    assert all_events == [*first, "offered", "start_soon", "degraded", "moved", "displaced"]


def test_the_last_word_is_of_version_1_32(at: Sandboxed) -> None:
    body = {"url": URL, "events": ["unclaimed_warning"]}
    assert at.send("POST", PATH, "demo", json=body, headers=LATER).status_code == 400
    made = at.send("POST", PATH, "demo", json={"url": URL}, headers=NEWEST).json["subscription"]
    earlier = at.send("POST", PATH, "demo", json={"url": URL}, headers=LATER).json["subscription"]
    assert made["events"] == [*earlier["events"], "unclaimed_warning"]
    path = f"{PATH}/{earlier['id']}"
    assert at.send("PUT", path, "demo", json=body, headers=LATER).status_code == 400
    changed = at.send("PUT", path, "demo", json=body, headers=NEWEST).json["subscription"]
    assert changed["events"] == body["events"]


def test_notices_of_servers_are_of_version_1_41(at: Sandboxed) -> None:
    words = ["preemption_notice", "preemption_notice_withdrawn"]
    body = {"url": URL, "events": words}
    assert at.send("POST", PATH, "demo", json=body, headers=NEWEST).status_code == 400
    made = at.send("POST", PATH, "demo", json={"url": URL}, headers=NOTICES).json["subscription"]
    earlier = at.send("POST", PATH, "demo", json={"url": URL}, headers=NEWEST).json["subscription"]
    assert made["events"] == [*earlier["events"], *words]
    path = f"{PATH}/{earlier['id']}"
    assert at.send("PUT", path, "demo", json=body, headers=NEWEST).status_code == 400
    changed = at.send("PUT", path, "demo", json=body, headers=NOTICES).json["subscription"]
    assert changed["events"] == words


def test_a_subscription_to_capacity(at: Sandboxed) -> None:
    capacity = {"below": 3, "days": 2}
    made = at.send("POST", PATH, "demo", json={"url": URL, "capacity": capacity}, headers=LATER)
    assert made.status_code == 201
    shown = made.json["subscription"]
    assert shown["events"] == ["capacity_low", "capacity_back"]
    assert shown["capacity"] == {
        **capacity,
        "resource_type": "physical:host",
        "quantity": "hosts",
        "resource_properties": "",
        "is_low": False,
    }
    path = f"{PATH}/{shown['id']}"
    refused = at.send("PUT", path, "demo", json={"events": ["created"]}, headers=LATER)
    assert refused.status_code == 400
    assert at.send("PUT", path, "demo", json={"name": "few"}, headers=LATER).status_code == 200
    before = ask(at, "POST", PATH, json={"url": URL, "capacity": capacity}).json["subscription"]
    assert "capacity" not in before, "an unknown key is ignored"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"capacity": 5}, "The capacity is an object with below, and perhaps days and more."),
        ({"capacity": {}}, "In capacity, below is a number from 1 to 2147483647."),
        ({"capacity": {"below": True}}, "In capacity, below is a number from 1 to 2147483647."),
        ({"capacity": {"below": 1, "days": 367}}, "In capacity, days is a number from 1 to 366."),
        (
            {"capacity": {"below": 1, "quantity": ""}},
            "In capacity, quantity is a string of at most 66 characters.",
        ),
        ({"capacity": {"below": 1, "quantity": "cores"}}, "There is no quantity cores; there are hosts"),
        (
            {"capacity": {"below": 1, "resource_properties": '["==", "$x", "y"]'}},
            "No resource has the property x.",
        ),
        ({"capacity": {"below": 1}, "events": ["created"]}, "With capacity there are no events, lease_id, "),
        ({"capacity": {"below": 1}, "all_projects": True}, "With capacity there are no events, lease_id, "),
    ],
)
def test_bad_conditions_are_told(at: Sandboxed, more: Any, message: str) -> None:
    refused = at.send("POST", PATH, "demo", json={"url": URL, **more}, headers=LATER)
    assert (refused.status_code, refused.json["error_message"][: len(message)]) == (400, message)


def test_the_list_has_pages(at: Sandboxed) -> None:
    made = {
        ask(at, "POST", PATH, user, json={"url": URL}).json["subscription"]["id"] for user in ("demo", "alt")
    }
    made.add(ask(at, "POST", PATH, json={"url": URL}).json["subscription"]["id"])
    found: list[str] = []
    path = f"{PATH}?limit=2"
    for size in (2, 1):
        page = at.send("GET", path, "admin", headers=LATER).json
        found += [each["id"] for each in page["subscriptions"]]
        assert len(page["subscriptions"]) == size
        links = page.get("subscriptions_links", [])
        path = links[0]["href"].partition("/v1/")[2] if links else ""
        path = f"/v1/{path}"
    assert (found, links) == (sorted(made), [])
    own = at.send("GET", PATH, "alt", headers=LATER).json
    assert ([each["project_id"] for each in own["subscriptions"]], list(own)) == (
        [own["subscriptions"][0]["project_id"]],
        ["subscriptions"],
    )
    assert at.send("GET", f"{PATH}?limit=0", "admin", headers=LATER).status_code == 400
    assert {each["id"] for each in ask(at, "GET", PATH, "admin").json["subscriptions"]} == made


def test_the_version_before_has_no_subscriptions(at: Sandboxed) -> None:
    assert at.send("GET", PATH, "demo", headers=BEFORE).status_code == 404
