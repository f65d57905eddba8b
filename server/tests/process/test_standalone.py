"""A newcomer's first day: start, look, stop, start again."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
import requests

from blazar.cmd.standalone import main

from .conftest import PATIENCE, PROGRAM, Standalone, eventually

HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


def in_minutes(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M")  # noqa: TID251


def create(user, name="mine", start="now", minutes=60, reservation=HOST):
    dates = {"start_date": start, "end_date": in_minutes(minutes)}
    body = {"name": name, **dates, "reservations": [reservation], "events": []}
    answer = user.call("POST", "/leases", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["lease"]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)


def test_it_is_ready_with_all_but_two_hosts_registered(standalone):
    log = standalone.var / "blazar.log"  # an earlier version let others read it
    log.parent.mkdir(exist_ok=True)
    log.touch()
    log.chmod(0o644)
    standalone.start()
    health = requests.get(f"{standalone.url}/healthcheck", timeout=PATIENCE)
    assert (health.status_code, health.json()["status"]) == (200, "OK")
    hosts = standalone.user("admin").call("GET", "/os-hosts").json()["hosts"]
    assert len(hosts) == 6
    assert len({(host["vcpus"], host["memory_mb"]) for host in hosts}) > 2
    assert {"rack", "ssd"} <= set(hosts[0])
    mode = stat.S_IMODE((standalone.var / "clouds.yaml").stat().st_mode)
    assert mode == 0o600
    files = [path for path in standalone.var.iterdir() if path.is_file()]
    assert {"blazar.db", "sandbox.db", "blazar.log", "blazar.conf"} <= {path.name for path in files}
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in files} == {
        path.name: "0o600" for path in files
    }
    assert any("openstack reservation lease list" in line for line in standalone.output)


def test_what_it_says_to_type_next_works(standalone):
    standalone.start()
    admin = standalone.user("admin")
    told = eventually(lambda: _session("".join(standalone.output)))
    ran = subprocess.run(
        ["bash", "-e", "-c", told],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={"PATH": os.environ["PATH"]},
    )
    assert ran.returncode == 0, ran.stderr
    assert "Created a new lease:" in ran.stdout
    assert [lease["name"] for lease in admin.call("GET", "/leases").json()["leases"]] == ["first"]


def _session(output: str) -> str | None:
    """Return what is to be typed, once all of it is printed."""
    _, heading, rest = output.partition("In another shell:\n")
    told, end, _ = rest.partition("\nThe official clients:")
    return told if heading and end else None


def test_ctrl_c_stops_it_cleanly(standalone):
    standalone.start()
    assert standalone.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("taken", ["--port", "--cloud-port"])
def test_a_port_in_use_is_one_sentence(tmp_path, taken):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        free = Standalone(tmp_path)
        ports = {"--port": free.port, "--cloud-port": free.cloud_port} | {taken: port}
        refused = run(*(word for pair in ports.items() for word in pair), "--var", tmp_path / "var")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}" in refused.stderr


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    refused = run("--var", tmp_path / "file" / "var")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "cannot write to the folder" in refused.stderr


def test_a_second_one_on_the_same_folder_is_refused(standalone):
    standalone.start()
    second = Standalone(standalone.var)
    refused = run("--port", second.port, "--cloud-port", second.cloud_port, "--var", standalone.var)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "another blazar-standalone" in refused.stderr


@pytest.mark.parametrize("words", [("--hosts", "0"), ("--hosts", "many"), ("--port", "70000")])
def test_a_bad_number_is_named(words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["blazar-standalone", *words])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert words[1] in capsys.readouterr().err


def test_there_are_floating_ips_to_reserve_and_others_to_register(standalone):
    standalone.start()
    demo, admin = standalone.user("demo"), standalone.user("admin")
    known = demo.call("GET", "/floatingips").json()["floatingips"]
    assert [each["floating_ip_address"] for each in known] == [f"203.0.113.{n}" for n in (101, 102, 103, 104)]
    network = known[0]["floating_network_id"]
    more = {"floating_network_id": network, "floating_ip_address": "203.0.113.105"}
    assert admin.call("POST", "/floatingips", json=more).status_code == 201
    lease = create(
        demo, reservation={"resource_type": "virtual:floatingip", "network_id": network, "amount": 5}
    )
    eventually(lambda: demo.lease(lease["id"])["status"] == "ACTIVE")
    assert standalone.stop() == 0

    standalone.start()
    demo = standalone.user("demo")
    assert demo.lease(lease["id"])["status"] == "ACTIVE"
    assert len(demo.call("GET", "/floatingips").json()["floatingips"]) == 5


def test_everything_is_still_there_after_a_stop(standalone):
    standalone.start()
    demo = standalone.user("demo")
    lease = create(demo)
    reservation = lease["reservations"][0]["id"]
    eventually(lambda: demo.lease(lease["id"])["status"] == "ACTIVE")
    image = demo.get(f"http://127.0.0.1:{standalone.cloud_port}/image/v2/images").json()["images"][0]["id"]
    flavor = demo.compute("GET", "/flavors").json()["flavors"][0]["id"]
    boot = {
        "server": {"name": "mine", "flavorRef": flavor, "imageRef": image, "networks": "none"},
        "os:scheduler_hints": {"reservation": reservation},
    }
    versioned = {"X-OpenStack-Nova-API-Version": "2.37"}
    server = demo.compute("POST", "/servers", json=boot, headers=versioned).json()["server"]["id"]
    eventually(lambda: demo.compute("GET", f"/servers/{server}").json()["server"]["status"] == "ACTIVE")
    assert standalone.stop() == 0

    standalone.start()
    demo, admin = standalone.user("demo"), standalone.user("admin")
    assert demo.lease(lease["id"])["status"] == "ACTIVE"
    assert len(admin.call("GET", "/os-hosts").json()["hosts"]) == 6
    assert demo.compute("GET", f"/servers/{server}").json()["server"]["status"] == "ACTIVE"
    assert demo.call("DELETE", f"/leases/{lease['id']}").status_code == 204
    eventually(lambda: demo.compute("GET", f"/servers/{server}").status_code == 404)


def test_kill_9_loses_no_lease(standalone):
    standalone.start()
    demo = standalone.user("demo")
    active, future = create(demo), create(demo, "future", in_minutes(60 * 24), 60 * 48)
    eventually(lambda: demo.lease(active["id"])["status"] == "ACTIVE")
    marked_for_deletion = create(demo, "marked_for_deletion")
    standalone.kill()

    standalone.start()
    demo = standalone.user("demo")
    assert demo.lease(future["id"])["status"] == "PENDING"
    eventually(lambda: demo.lease(marked_for_deletion["id"])["status"] == "ACTIVE")
    aggregates = standalone.user("admin").compute("GET", "/os-aggregates").json()["aggregates"]
    names = {aggregate["name"] for aggregate in aggregates if aggregate["hosts"]}
    assert {lease["reservations"][0]["id"] for lease in (active, marked_for_deletion)} <= names


def test_what_the_sandbox_forgot_is_put_back(standalone):
    standalone.start()
    demo, admin = standalone.user("demo"), standalone.user("admin")
    lease = create(demo)
    eventually(lambda: demo.lease(lease["id"])["status"] == "ACTIVE")
    standalone.stop()
    for state in standalone.var.glob("sandbox*"):
        state.unlink()

    standalone.start()
    admin = standalone.user("admin")

    def hosts_of_reservation():
        aggregates = admin.compute("GET", "/os-aggregates").json()["aggregates"]
        return [a["hosts"] for a in aggregates if a["name"] == lease["reservations"][0]["id"] and a["hosts"]]

    assert eventually(hosts_of_reservation) == [["compute-01"]]
