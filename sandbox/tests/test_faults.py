"""Tests of fault injection and of the journal."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.faults import Effect, Fault, Faults, When
from blazar_sandbox.server import SandboxServer
from blazar_sandbox.snapshot import difference, snapshot


def aggregates(caller: Any) -> Any:
    return caller.call("GET", "/compute/v2.1/os-aggregates")


def create(caller: Any, name: str) -> Any:
    return caller.call("POST", "/compute/v2.1/os-aggregates", {"aggregate": {"name": name}})


def test_an_error_for_one_kind_of_call(admin: Any, cloud: Cloud) -> None:
    fault = cloud.faults.add(
        Fault(service="compute", method="POST", path="os-aggregates$", status=503, times=2, retry_after=7)
    )
    for _ in range(2):
        answer = create(admin, "a1")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
        assert answer.body == {"serviceUnavailable": {"code": 503, "message": "A fault was injected here."}}
    assert create(admin, "a1").status == 200
    assert aggregates(admin).status == 200
    assert cloud.faults.hits(fault.id) == 2


@pytest.mark.parametrize(
    ("service", "path", "key"),
    [
        ("identity", "/v3/auth/projects", "error"),
        ("placement", "/placement/traits", "errors"),
        ("network", "/network/v2.0/networks", "NeutronError"),
        ("image", "/image/v2/images", "message"),
    ],
)
def test_every_service_fails_in_its_own_form(
    admin: Any, cloud: Cloud, service: str, path: str, key: str
) -> None:
    cloud.faults.add(Fault(service=service, status=500))
    answer = admin.call("GET", path)
    assert answer.status == 500
    assert key in answer.body
    assert aggregates(admin).status == 200


def test_a_call_that_is_done_though_it_seems_to_fail(admin: Any, cloud: Cloud) -> None:
    cloud.faults.add(Fault(method="POST", when=When.AFTER, times=1))
    assert create(admin, "a1").status == 500
    assert create(admin, "a1").status == 409


def test_a_dropped_connection(admin: Any, cloud: Cloud) -> None:
    cloud.faults.add(Fault(effect=Effect.DROP, path="os-aggregates", times=1))
    with pytest.raises(requests.ConnectionError):
        create(admin, "a1")
    cloud.faults.add(Fault(effect=Effect.DROP, path="os-aggregates", times=1, when=When.AFTER))
    with pytest.raises(requests.ConnectionError):
        create(admin, "a2")
    names = [one["name"] for one in aggregates(admin).body["aggregates"]]
    assert names == ["freepool", "a2"]


def test_garbage(admin: Any, cloud: Cloud) -> None:
    cloud.faults.add(Fault(effect=Effect.GARBAGE, status=200, path="os-aggregates", times=1))
    answer = admin.http.get(admin.url + "/compute/v2.1/os-aggregates")
    assert answer.status_code == 200
    with pytest.raises(ValueError, match="Expecting value"):
        answer.json()
    assert aggregates(admin).status == 200


def test_latency_is_for_the_slow_call_only(admin: Any, cloud: Cloud) -> None:
    cloud.faults.add(Fault(effect=Effect.DELAY, seconds=0.2, path="os-aggregates"))
    start = time.monotonic()
    assert aggregates(admin).status == 200
    assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize("ends", ["remove", "clear"])
def test_a_service_that_hangs_answers_when_the_fault_is_removed(admin: Any, cloud: Cloud, ends: str) -> None:
    fault = cloud.faults.add(Fault(effect=Effect.HANG, path="os-aggregates"))
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(aggregates, admin), pool.submit(create, admin, "a1")]
        end = time.monotonic() + 10
        while cloud.faults.hits(fault.id) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert not any(call.done() for call in calls)
        assert admin.call("GET", "/compute/v2.1/flavors").status == 200
        cloud.faults.remove(fault.id) if ends == "remove" else cloud.faults.clear()
        assert [call.result(10).status for call in calls] == [200, 200]
    assert len(aggregates(admin).body["aggregates"]) == 2


def test_skip_rate_and_order() -> None:
    faults = Faults(seed=1)
    faults.add(Fault(skip=2, times=1, status=501))
    applied = [faults.inject("compute", "GET", "/x").fault is not None for _ in range(5)]
    assert applied == [False, False, True, False, False]
    faults.clear()
    half = faults.add(Fault(rate=0.5))
    hits = sum(faults.inject("compute", "GET", "/x").fault is not None for _ in range(1000))
    assert 400 < hits < 600
    assert faults.hits(half.id) == hits
    faults.clear()
    faults.add(Fault(effect=Effect.DELAY, seconds=1))
    faults.add(Fault(effect=Effect.DELAY, seconds=2))
    faults.add(Fault(status=500, path="y"))
    assert faults.inject("compute", "GET", "/x").seconds == 3
    assert faults.inject("compute", "GET", "/y").fault is not None


def test_a_server_that_does_not_go_away(admin: Any, demo: Any, cloud: Cloud) -> None:
    one, other = demo.boot(cloud), demo.boot(cloud)
    cloud.compute.servers.stuck.add_server(one["id"])
    for server in (one, other):
        demo.nova("DELETE", f"/servers/{server['id']}")
    listed = demo.nova("GET", "/servers/detail")["servers"]
    assert [(server["id"], server["OS-EXT-STS:task_state"]) for server in listed] == [(one["id"], "deleting")]
    cloud.compute.servers.stuck.clear()
    end = time.monotonic() + 10
    while demo.nova("GET", "/servers")["servers"]:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_host_that_hangs(demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    host = cloud.compute.server_table[server["id"]].host
    cloud.compute.servers.stuck.add_host(host)
    demo.nova("DELETE", f"/servers/{server['id']}")
    assert demo.call("GET", f"/compute/v2.1/servers/{server['id']}").status == 200
    cloud.compute.servers.stuck.remove_host(host)


def test_control_over_http(server: SandboxServer, admin: Any, cloud: Cloud) -> None:
    http, url = requests.Session(), server.url + "/sandbox"
    assert http.get(url).json()["hosts"] == 8
    body: Any = {"effect": "error", "service": "compute", "path": "os-aggregates", "status": 502, "times": 1}
    made = http.post(url + "/faults", json=body)
    assert made.status_code == 201
    assert aggregates(admin).status == 502
    assert [one["hits"] for one in http.get(url + "/faults").json()["faults"]] == [1]
    assert http.delete(url + "/faults/" + made.json()["id"]).status_code == 204
    assert http.get(url + "/faults").json()["faults"] == []
    for wrong in ({"effekt": "error"}, {"effect": "boom"}, {"status": "500"}, {"when": 5}):
        assert http.post(url + "/faults", json=wrong).status_code == 400, wrong
    http.delete(url + "/journal")
    aggregates(admin)
    journal = http.get(url + "/journal?prefix=compute&calls=1").json()
    assert journal["counts"] == {"compute GET /v2.1/os-aggregates": 1}
    assert journal["calls"][0]["user_id"] == cloud.user_id("admin")
    assert http.post(url + "/stuck-servers", json={"host": "compute-01"}).json() == {
        "servers": [],
        "hosts": ["compute-01"],
    }
    assert http.delete(url + "/stuck-servers").status_code == 204
    assert http.put(url + "/hosts/compute-01", json={"silent": True}).json()["up"] is False
    assert admin.nova("GET", "/os-services?host=compute-01")["services"][0]["state"] == "down"
    delays = http.put(url + "/delays", json={"boot": 1.5}).json()
    assert delays == {"boot": 1.5, "delete": 0.0, "shelve": 0.0, "offload": 0.0, "leave": 0.0}
    assert http.put(url + "/delays", json={"fly": 1}).status_code == 400
    assert "compute-01" in http.get(url + "/snapshot").json()["hosts"]
    http.close()


def test_strangers_do_not_control(cloud: Cloud) -> None:
    from blazar_sandbox.app import make_app

    statuses: list[str] = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/sandbox", "REMOTE_ADDR": "192.0.2.1", "HTTP_HOST": "x"}
    list(make_app(cloud)(environ, lambda status, headers: statuses.append(status)))
    assert statuses == ["403 Forbidden"]


def test_the_journal_counts_by_kind(admin: Any, demo: Any, cloud: Cloud) -> None:
    server = demo.boot(cloud)
    cloud.journal.clear()
    for _ in range(3):
        demo.nova("GET", f"/servers/{server['id']}")
    demo.call("GET", "/compute/v2.1/servers/nope")
    demo.call("GET", "/nowhere")
    assert cloud.journal.counts() == {"compute GET /v2.1/servers/{id}": 4, "identity GET /nowhere": 1}
    assert cloud.journal.total("compute") == 4
    assert cloud.journal.total("identity POST /auth/tokens") == 0
    assert [call.status for call in cloud.journal.calls()] == [200, 200, 200, 404, 404]


def test_what_is_left_behind(admin: Any, cloud: Cloud) -> None:
    before = snapshot(cloud)
    number = admin.aggregate("r1", "blazar_r1", {"a": "b"}, "compute-01")
    found = difference(before, snapshot(cloud))
    assert found.added == (f"aggregates/{number}",)
    assert set(found.changed) == {
        "hosts/compute-01",
        f"providers/{cloud.compute.hosts.table['compute-01'].uuid}",
    }
    admin.nova("POST", f"/os-aggregates/{number}/action", {"remove_host": {"host": "compute-01"}})
    admin.nova("DELETE", f"/os-aggregates/{number}")
    assert not difference(before, snapshot(cloud))
    uuid = cloud.compute.hosts.table["compute-02"].uuid
    admin.placement("PUT", "/resource_classes/CUSTOM_X")
    body = {"resource_provider_generation": 2, "inventories": {"CUSTOM_X": {"total": 1}}}
    admin.placement("PUT", f"/resource_providers/{uuid}/inventories", body)
    found = difference(before, snapshot(cloud))
    assert (found.added, found.changed) == (("resource_classes/CUSTOM_X",), (f"providers/{uuid}",))
