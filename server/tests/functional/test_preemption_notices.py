"""Who runs a preemptible server is told before a lease needs its host: in metadata, and as a subscriber."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar.engine import cloud_duty
from blazar.engine.noticing import Noticing
from blazarnova import rule

from .sandboxed import Sandboxed, until
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

COMPUTE = "/compute/v2.1"
VERSION = {"OpenStack-API-Version": "reservation 1.41"}
EVENTS = ["preemption_notice", "preemption_notice_withdrawn"]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandboxed]:
    monkeypatch.setattr(Noticing, "first_wait", 0.1)
    monkeypatch.setattr(Noticing, "pace", 0.0)
    monkeypatch.setattr(cloud_duty, "LONGEST_WAIT", 0.1)
    at = Sandboxed(
        tmp_path,
        hosts=1,
        settings=rule.Settings(allow_preemptibles=True),
        nova={"preemptible_notice_minutes": 60},
    )
    yield at
    at.stop()


def flavor(at: Sandboxed) -> str:
    body = {"flavor": {"name": "spare", "vcpus": 1, "ram": 512, "disk": 1}}
    made = str(at.openstack("POST", f"{COMPUTE}/flavors", json=body)["flavor"]["id"])
    extra = {"extra_specs": {"blazar:preemptible": "true"}}
    at.openstack("POST", f"{COMPUTE}/flavors/{made}/os-extra_specs", json=extra)
    return made


def kept(at: Sandboxed, subscription_id: str, user: str = "alt") -> list[dict[str, Any]]:
    path = f"/v1/subscriptions/{subscription_id}/events"
    answer = at.send("GET", path, user, headers={**VERSION, "Accept": "text/event-stream"})
    assert answer.status_code == 200
    data = (line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: "))
    return [json.loads(each) for each in data]


def test_from_the_notice_to_its_withdrawal(at: Sandboxed) -> None:
    assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    server = at.boot("alt", flavor(at))
    body = {"events": EVENTS}
    mine = at.send("POST", "/v1/subscriptions", "alt", json=body, headers=VERSION).json["subscription"]
    theirs = at.send("POST", "/v1/subscriptions", "demo", json=body, headers=VERSION).json["subscription"]
    start = at.clock.now() + timedelta(minutes=30)
    lease = {
        "name": "needs-it",
        "start_date": f"{start:%Y-%m-%d %H:%M}",
        "end_date": f"{start + timedelta(hours=1):%Y-%m-%d %H:%M}",
        "reservations": [HOST],
        "events": [],
    }
    made = at.send("POST", "/v1/leases", "demo", json=lease)
    assert made.status_code == 201

    def metadata() -> dict[str, str]:
        found = at.openstack("GET", f"{COMPUTE}/servers/{server['id']}", "alt")["server"]["metadata"]
        return dict(found)

    def is_given() -> bool:
        at.clock.ahead += timedelta(minutes=1)
        return "blazar_notice" in metadata()

    assert until(is_given)
    notice = metadata()["blazar_notice"]
    assert notice.startswith("host compute-01 is needed by a lease that starts at ")
    assert until(lambda: len(kept(at, mine["id"])) == 1)
    assert at.send("DELETE", f"/v1/leases/{made.json['lease']['id']}", "demo").status_code == 204

    def is_taken_back() -> bool:
        at.clock.ahead += timedelta(minutes=1)
        return "blazar_notice" not in metadata()

    assert until(is_taken_back)
    assert until(lambda: len(kept(at, mine["id"])) == 2)
    told = kept(at, mine["id"])
    assert [each["event"] for each in told] == EVENTS
    shown = {"id": server["id"], "project_id": server["tenant_id"], "region": None, "notice": notice}
    assert [each["server"] for each in told] == [shown, shown]
    assert kept(at, theirs["id"], "demo") == []
