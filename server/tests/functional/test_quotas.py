"""Quotas over HTTP, with everything real but the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from blazar.bootstrap.quotas import quota_settings
from blazar.plugins import load_plugins
from blazar.service.unified_limits import KEPT
from blazar_sandbox.faults import Fault

from .canned import Canned
from .conftest import Send, configured
from .sandboxed import Sandboxed

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
WHOLE_HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


def lease(**more: Any) -> dict[str, Any]:
    dates = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
    return {"name": "a", **dates, "reservations": [WHOLE_HOST], **more}


def test_limits_are_given_hold_and_are_given_up(at: Sandboxed) -> None:
    made = at.send("POST", "/v1/leases", "demo", json=lease()).json["lease"]
    path = f"/v1/quotas/{made['project_id']}"
    assert at.send("GET", path, "demo").json["quota"]["own"] == []

    answer = at.send("PUT", path, "admin", json={"limits": {"hosts": 1, "leases": 3}})
    assert answer.json["quota"]["own"] == ["hosts", "leases"]
    assert answer.json == at.send("GET", path, "demo").json
    refusal = at.send("POST", "/v1/leases", "demo", json=lease())
    assert (refusal.status_code, refusal.json) == (
        403,
        {
            "error_message": "Quota exceeded for hosts: the limit is 1, 1 are in use, and 1 are asked for.",
            "error_code": 403,
            "error_name": 403,
        },
    )
    used = at.send("GET", f"{path}/usage", "viewer").json["usage"]
    assert used["project_id"] == made["project_id"]
    assert used["limits"][:2] == [
        {"name": "leases", "limit": 3, "now": 1, "peak": 1},
        {"name": "floating_ips", "limit": -1, "now": 0, "peak": 0},
    ]
    assert {"name": "hosts", "limit": 1, "now": 0, "peak": 1} in used["limits"]
    assert {"name": "hosts_hours", "limit": -1, "now": 0, "peak": 1} in used["limits"]

    listed = at.send("GET", "/v1/quotas", "admin").json
    assert listed["defaults"]["leases"] == 5000
    assert listed["quotas"] == [answer.json["quota"]]
    assert at.send("DELETE", path, "admin").status_code == 204
    assert at.send("POST", "/v1/leases", "demo", json=lease()).status_code == 201
    assert at.send("GET", "/v1/quotas", "admin").json["quotas"] == []


@pytest.mark.parametrize(
    "limits",
    [{"hots": 1}, {"hosts": -2}, {"hosts": "1"}, {"hosts": True}, {"hosts": 2**53 + 1}, {"": 1}, [], None],
)
def test_bad_limits_are_refused_in_one_sentence(at: Sandboxed, limits: Any) -> None:
    answer = at.send("PUT", "/v1/quotas/p1", "admin", json={"limits": limits})
    assert answer.status_code == 400
    assert answer.json["error_message"].count("\n") == 0
    assert at.send("GET", "/v1/quotas", "admin").json["quotas"] == []


def test_the_bodies(send: Send, service: Canned) -> None:
    quota = {"project_id": "p1", "limits": {"leases": 5000, "hosts": 2}, "own": ["hosts"]}
    assert send("GET", "/v1/quotas/p1", "reader").json == {"quota": quota}
    assert send("GET", "/v1/quotas", "admin").json == {
        "defaults": {"leases": 5000, "hosts": -1},
        "quotas": [quota],
    }
    assert send("PUT", "/v1/quotas/p1", "admin", body=b'{"limits": {"hosts": 2, "leases": null}}').json == {
        "quota": quota
    }
    assert service.commands == [("p1", {"hosts": 2, "leases": None})]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hots:1", "there is no limit hots"),
        ("hosts:many", "limits"),
        ("hosts:-2", "limits"),
        ("hosts", "limits"),
    ],
)
def test_a_wrong_default_is_told_at_the_start(tmp_path: Path, text: str, told: str) -> None:
    conf = configured(tmp_path, f"[quota]\nlimits = {text}\n")
    with pytest.raises((ValueError, cfg.Error), match=told):
        quota_settings(conf, load_plugins(conf).kinds)


def test_the_defaults_are_those_of_the_operator(tmp_path: Path) -> None:
    conf = configured(tmp_path, "[quota]\nlimits = hosts:10, vcpus_hours:500\nwindow_days = 7\n")
    settings = quota_settings(conf, load_plugins(conf).kinds)
    assert settings.limits == {"hosts": 10, "vcpus_hours": 500, "leases": 5000}
    assert settings.window.days == 7


def test_keystone_keeps_the_limits(tmp_path: Path) -> None:
    at = Sandboxed(tmp_path, quota={"source": "keystone"})
    try:
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
        (service,) = at.openstack("GET", "/v3/services?type=reservation")["services"]
        where, project = {"service_id": service["id"], "resource_name": "hosts"}, at.state.project_id("demo")
        registered = {**where, "default_limit": 5}
        at.openstack("POST", "/v3/registered_limits", json={"registered_limits": [registered]})
        own = {**where, "project_id": project, "resource_limit": 0}
        at.openstack("POST", "/v3/limits", json={"limits": [own]})
        refusal = at.send("POST", "/v1/leases", "demo", json=lease())
        assert (refusal.status_code, refusal.json["error_message"]) == (
            403,
            "Quota exceeded for hosts: the limit is 0, 0 are in use, and 1 are asked for.",
        )
        shown = at.send("GET", f"/v1/quotas/{project}", "demo").json["quota"]
        assert (shown["limits"]["hosts"], shown["own"]) == (0, ["hosts"])
        listed = at.send("GET", "/v1/quotas", "admin").json
        assert (listed["defaults"]["hosts"], listed["quotas"]) == (5, [shown])
        change = at.send("PUT", f"/v1/quotas/{project}", "admin", json={"limits": {"hosts": 2}})
        assert change.status_code == 400
        assert change.json["error_message"] == "Keystone keeps the limits of projects: change them there."

        at.clock.ahead += KEPT
        fault = at.state.faults.add(Fault(service="identity", path=".*limits.*", status=500))
        for answer in (
            at.send("POST", "/v1/leases", "demo", json=lease()),
            at.send("GET", f"/v1/quotas/{project}", "demo"),
        ):
            assert answer.status_code == 503
            assert answer.headers["Retry-After"]
            assert "Keystone" in answer.json["error_message"]
        at.state.faults.remove(fault.id)
    finally:
        at.stop()
