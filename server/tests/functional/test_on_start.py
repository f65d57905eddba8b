"""What is started with a lease, over HTTP and with a Heat behind it, since version 1.37."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from blazar.service.webhook_signature import SECRET_PREFIX
from blazar_sandbox.faults import Effect, Fault, When
from blazar_sandbox.orchestration.state import Conduct

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.37"}
BEFORE = {"OpenStack-API-Version": "reservation 1.36"}
SECRET = "very-secret-word"
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {
        "flavor": {"type": "string", "default": ""},
        "password": {"type": "string", "hidden": True, "default": ""},
    },
    "resources": {"thing": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}},
}
STACK = {"type": "stack", "template": TEMPLATE, "parameters": {"password": SECRET}, "timeout_minutes": 10}
URL = "https://receiver.example.com/leases"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    options = {"allow_http": True, "allowed_networks": "127.0.0.0/8", "max_per_project": 3}
    site = Sandboxed(tmp_path_factory.mktemp("on_start"), subscriptions=options)
    for number in (1, 2):
        body = {"name": f"compute-0{number}"}
        assert site.send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201
    yield site
    site.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    site.state.faults.clear()
    site.state.orchestration.conduct = Conduct()
    for lease in site.send("GET", "/v1/leases", "admin").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204
    assert until(lambda: not stacks(site))
    for each in ask(site, "GET", "/v1/subscriptions", "admin").json["subscriptions"]:
        assert ask(site, "DELETE", f"/v1/subscriptions/{each['id']}", "admin").status_code == 204
    site.clock.ahead = timedelta(0)


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", body: Any = None, **headers: str) -> Any:
    return at.send(method, path, user, json=body, headers={**VERSION, **headers})


def body_of(on_start: Any, **more: Any) -> Any:
    return {"name": "with-a-stack", "start_date": "now", "duration": 60, "reservations": [HOST], **more} | (
        {} if on_start is None else {"on_start": on_start}
    )


def make(at: Sandboxed, on_start: Any = STACK, **more: Any) -> Any:
    made = ask(at, "POST", "/v1/leases", body=body_of(on_start, **more))
    assert made.status_code == 201, made.text
    return made.json["lease"]


def show(at: Sandboxed, lease: Any, user: str = "demo") -> Any:
    return ask(at, "GET", f"/v1/leases/{lease['id']}", user).json["lease"]


def stacks(at: Sandboxed) -> list[Any]:
    path = f"/orchestration/v1/{at.state.project_id('demo')}/stacks"
    return list(at.openstack("GET", path, "demo")["stacks"])


def has_status(at: Sandboxed, lease: Any, status: str) -> bool:
    return until(lambda: show(at, lease)["on_start"]["status"] == status)


def leap(at: Sandboxed, minutes: float) -> None:
    at.clock.ahead += timedelta(minutes=minutes)


def deleted_in_a_while(at: Sandboxed, lease: Any) -> bool:
    """Let the time until the next attempt go by, however many there were: whether the stack is gone then."""
    leap(at, 6)
    return until(lambda: show(at, lease)["on_start"]["status"] == "DELETED", 2)


def test_a_stack_comes_with_a_lease_and_goes_before_its_end(at: Sandboxed) -> None:
    lease = make(at)
    assert lease["on_start"]["type"] == "stack"
    assert lease["on_start"]["stack_name"] == f"blazar-{lease['id']}"
    assert has_status(at, lease, "CREATED")
    (stack,) = stacks(at)
    assert stack["stack_name"] == f"blazar-{lease['id']}"
    assert stack["tags"] == ["blazar", f"lease:{lease['id']}"]
    shown = show(at, lease)
    assert shown["on_start"]["stack_id"] == stack["id"]
    path = f"/orchestration/v1/{at.state.project_id('demo')}/stacks/{stack['stack_name']}/{stack['id']}"
    found = at.openstack("GET", path, "demo")["stack"]
    assert (found["timeout_mins"], found["parameters"]["password"]) == (10, "******")
    leap(at, 56)
    assert has_status(at, lease, "DELETED")
    assert show(at, lease)["status"] == "ACTIVE"
    assert not stacks(at)


def test_parameters_name_the_flavor_of_the_reservation(at: Sandboxed) -> None:
    parameters = {"flavor": "{reservations.1.flavor_id}"}
    lease = make(at, {**STACK, "parameters": parameters}, reservations=[HOST, INSTANCES])
    assert has_status(at, lease, "CREATED")
    (row,) = at.state.orchestration.table
    assert row.parameters["flavor"] == lease["reservations"][1]["flavor_id"]


def test_secrets_are_neither_told_nor_kept(at: Sandboxed, caplog: pytest.LogCaptureFixture) -> None:
    lease = make(at, start_date="2050-01-01 10:00")
    shown = [lease, show(at, lease), show(at, lease, "admin")]
    shown += ask(at, "GET", "/v1/leases").json["leases"]
    now = at.clock.now() + timedelta(minutes=2)
    changed = ask(at, "PUT", f"/v1/leases/{lease['id']}", body={"start_date": f"{now:%Y-%m-%d %H:%M}"})
    assert changed.status_code == 200, changed.text
    leap(at, 3)
    assert has_status(at, lease, "CREATED")
    assert SECRET not in json.dumps([*shown, changed.json, show(at, lease)])
    assert SECRET not in repr(at.stored())
    assert SECRET not in caplog.text


def test_lists_have_the_type_only(at: Sandboxed) -> None:
    make(at, None, name="plain")
    make(at, name="stacked")
    listed = ask(at, "GET", "/v1/leases?fields=name,on_start").json["leases"]
    assert {each["name"]: each["on_start"] for each in listed} == {
        "plain": None,
        "stacked": {"type": "stack"},
    }


def test_versions_before_know_nothing_of_it(at: Sandboxed) -> None:
    made = ask(at, "POST", "/v1/leases", body=body_of(STACK), **BEFORE)
    assert made.status_code == 201
    assert "on_start" not in made.json["lease"]
    assert show(at, made.json["lease"])["on_start"] is None
    lease = make(at)
    shown = ask(at, "GET", f"/v1/leases/{lease['id']}", **BEFORE).json["lease"]
    assert "on_start" not in shown


@pytest.mark.parametrize(
    ("on_start", "said"),
    [
        ("stack", "type is stack or webhook"),
        ({"type": "magic"}, "type is stack or webhook"),
        ({"type": "stack"}, "either template or template_url"),
        ({**STACK, "template_url": "https://x.example.com"}, "either template or template_url"),
        ({"type": "stack", "template_url": "file:///etc/passwd"}, "begins with https"),
        ({"type": "stack", "template_url": "http://[x"}, "not an address"),
        ({**STACK, "template": "text"}, "template is an object"),
        ({**STACK, "parameters": []}, "parameters is an object"),
        ({**STACK, "environment": 1}, "environment is an object"),
        ({**STACK, "timeout_minutes": 0}, "timeout_minutes is a number"),
        ({**STACK, "timeout_minutes": True}, "timeout_minutes is a number"),
        ({**STACK, "paramters": {}}, "there is no paramters"),
        ({**STACK, "parameters": {"password": "x" * 600_000}}, "bytes"),
        ({**STACK, "parameters": {"flavor": "{reservations.7.id}"}}, "1 reservations"),
        ({**STACK, "template": {"resources": {}}}, "template version"),
        ({"type": "webhook"}, "url is a string"),
        ({"type": "webhook", "url": "ftp://x.example.com"}, "https://host/path"),
        ({"type": "webhook", "url": "https://10.0.0.1/x"}, "not public"),
        ({"type": "webhook", "url": URL, "template": {}}, "there is no template"),
    ],
)
def test_what_cannot_be_started_is_refused(at: Sandboxed, on_start: Any, said: str) -> None:
    refused = ask(at, "POST", "/v1/leases", body=body_of(on_start))
    assert refused.status_code == 400, refused.text
    assert said in refused.json["error_message"]
    assert not ask(at, "GET", "/v1/leases").json["leases"]


def test_an_offer_starts_nothing(at: Sandboxed) -> None:
    refused = ask(at, "POST", "/v1/leases", body={"name": "x", "offer": "some-offer", "on_start": STACK})
    assert refused.status_code == 400
    assert "offer" in refused.json["error_message"]


def test_a_dry_run_starts_nothing(at: Sandboxed) -> None:
    answer = ask(at, "POST", "/v1/leases", body=body_of(STACK, dry_run=True))
    assert answer.status_code == 200, answer.text
    assert answer.json["lease"]["on_start"] == {"type": "stack"}
    bad = body_of({**STACK, "template": {}}, dry_run=True)
    assert ask(at, "POST", "/v1/leases", body=bad).status_code == 400


def test_what_fails_in_heat_is_told_in_the_lease(at: Sandboxed) -> None:
    at.state.orchestration.conduct = Conduct(create_fails="No valid host was found")
    lease = make(at)
    assert has_status(at, lease, "FAILED")
    shown = show(at, lease)
    assert "No valid host was found" in shown["on_start"]["reason"]
    assert shown["status"] == "ACTIVE"


def test_a_heat_that_is_away_is_waited_for(at: Sandboxed) -> None:
    fault = Fault(service="orchestration", status=503, times=3)
    at.state.faults.add(fault)
    lease = make(at)
    assert until(lambda: show(at, lease)["status"] == "ACTIVE")
    assert until(lambda: at.state.faults.hits(fault.id) == 3)
    assert "503" in show(at, lease)["on_start"]["reason"]
    leap(at, 1)
    assert has_status(at, lease, "CREATED")
    assert len(stacks(at)) == 1


def test_a_heat_that_hangs_refuses_no_lease(at: Sandboxed) -> None:
    fault = Fault(effect=Effect.HANG, service="orchestration")
    at.state.faults.add(fault)
    try:
        lease = make(at)
        assert until(lambda: show(at, lease)["status"] == "ACTIVE")
    finally:
        at.state.faults.remove(fault.id)
    assert has_status(at, lease, "CREATED")


def test_an_answer_that_is_lost_makes_no_second_stack(at: Sandboxed) -> None:
    fault = Fault(
        effect=Effect.DROP, service="orchestration", method="POST", path="/stacks", times=1, when=When.AFTER
    )
    at.state.faults.add(fault)
    lease = make(at)
    assert until(lambda: at.state.faults.hits(fault.id) == 1)
    leap(at, 1)
    assert has_status(at, lease, "CREATED")
    assert len(stacks(at)) == 1


def test_what_heat_cannot_delete_does_not_keep_the_lease(at: Sandboxed) -> None:
    lease = make(at)
    assert has_status(at, lease, "CREATED")
    at.state.orchestration.conduct = Conduct(delete_fails="a port is in use")
    leap(at, 56)
    assert has_status(at, lease, "DELETING")
    assert until(lambda: "a port is in use" in (show(at, lease)["on_start"]["reason"] or ""))
    leap(at, 5)
    assert until(lambda: show(at, lease)["status"] == "TERMINATED")
    at.state.orchestration.conduct = Conduct()
    assert until(lambda: deleted_in_a_while(at, lease))


def test_deleting_a_lease_deletes_its_stack_and_its_trust(at: Sandboxed) -> None:
    before = len(at.state.identity.trusts)
    lease = make(at)
    assert has_status(at, lease, "CREATED")
    assert ask(at, "DELETE", f"/v1/leases/{lease['id']}").status_code == 204
    assert until(lambda: not stacks(at))
    assert until(lambda: len(at.state.identity.trusts) == before)


def test_a_reader_cannot_start_anything(at: Sandboxed) -> None:
    assert ask(at, "POST", "/v1/leases", "viewer", body_of(STACK)).status_code == 403


class Receiver(BaseHTTPRequestHandler):
    heard: list[Any] = []  # noqa: RUF012 - one receiver in one test

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


def test_a_webhook_is_told_of_start_and_end(at: Sandboxed) -> None:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lease = make(at, {"type": "webhook", "url": f"http://127.0.0.1:{server.server_port}/x"})
    try:
        assert lease["on_start"]["secret"].startswith(SECRET_PREFIX)
        assert "secret" not in show(at, lease)["on_start"]
        assert until(lambda: [each["event"] for each in Receiver.heard] == ["started"])
        leap(at, 61)
        assert until(lambda: [each["event"] for each in Receiver.heard] == ["started", "ended"])
        assert all(each["lease"]["id"] == lease["id"] for each in Receiver.heard)
        found = ask(at, "GET", f"/v1/subscriptions/{lease['on_start']['subscription_id']}")
        assert found.json["subscription"]["lease_id"] == lease["id"]
        noun = at.manager.use_cases.noun("start_tasks")
        assert until(lambda: noun.get_of_lease(lease["id"]).ending_since is not None)
        leap(at, 62)
        assert has_status(at, lease, "DELETED")
        assert not ask(at, "GET", "/v1/subscriptions").json["subscriptions"]
        assert show(at, lease)["on_start"]["subscription_id"] is None
    finally:
        server.shutdown()
        server.server_close()


def test_the_secret_of_a_webhook_is_told_to_the_request_that_made_it(at: Sandboxed) -> None:
    body, key = body_of({"type": "webhook", "url": URL}), {"Idempotency-Key": "a-key"}
    first, again = (ask(at, "POST", "/v1/leases", body=body, **key).json["lease"] for _ in range(2))
    assert first["id"] == again["id"]
    assert "secret" in first["on_start"]
    assert "secret" not in again["on_start"]


def test_webhooks_count_as_subscriptions(at: Sandboxed) -> None:
    webhook = {"type": "webhook", "url": URL}
    for number in range(3):
        make(at, webhook, start_date=f"2050-01-0{number + 1} 10:00")
    refused = ask(at, "POST", "/v1/leases", body=body_of(webhook))
    assert refused.status_code == 409, refused.text
    assert len(ask(at, "GET", "/v1/leases").json["leases"]) == 3


def test_other_projects_are_not_told_what_is_started(at: Sandboxed) -> None:
    lease = make(at, {"type": "webhook", "url": URL}, start_date="2050-01-01 10:00")
    other = at.state.project_id("alt")
    shared = ask(at, "PUT", f"/v1/leases/{lease['id']}/shares/{other}", body={"right": "read"})
    assert shared.status_code == 200, shared.text
    assert show(at, lease, "alt")["on_start"] is None


def test_a_cloud_without_heat_refuses(tmp_path: Any) -> None:
    site = Sandboxed(tmp_path, hosts=1)
    try:
        (heat,) = (each for each in site.state.identity.services if each.type == "orchestration")
        site.state.identity.services.drop(heat.id)
        site.service_cloud.session.invalidate()  # type: ignore[attr-defined]
        refused = ask(site, "POST", "/v1/leases", body=body_of(STACK, reservations=[]))
        assert refused.status_code == 400, refused.text
        assert "no Heat" in refused.json["error_message"]
        assert ask(site, "POST", "/v1/leases", body=body_of(None, reservations=[])).status_code == 201
    finally:
        site.stop()
