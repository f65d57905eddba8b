"""Tests of persistence, also across a kill of the process."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from blazar_sandbox import codec
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.model import Flavor, Pending, Server, ServerFault, Status
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.persistence import Persistence
from blazar_sandbox.server import SandboxServer
from blazar_sandbox.snapshot import difference, snapshot

NOW = datetime(2030, 5, 17, 12, 30, 1, 5, tzinfo=UTC)


def test_rows_come_back_as_they_were() -> None:
    row = Server(
        "s1", "größe 🚀", "p1", "u1", Flavor("f", "f", 1, 2, 3, extra_specs={"a:b": "c"}, access=("p1",)),
        NOW, NOW, "r-1", status=Status.ERROR, fault=ServerFault(500, "no", NOW), pending=Pending.DELETED,
        due=1.5, tags=("a", "b"),
    )  # fmt: skip
    assert codec.decode(Server, codec.encode(row)) == row


def test_rows_of_other_versions() -> None:
    old = '{"id": "f", "name": "n", "vcpus": 1, "ram": 2, "disk": 3, "color": "red"}'
    assert codec.decode(Flavor, old) == Flavor("f", "n", 1, 2, 3)
    with pytest.raises(KeyError, match="a Flavor lacks ram"):
        codec.decode(Flavor, '{"id": "f", "name": "n", "vcpus": 1, "disk": 3}')


def reopened(path: Path, **options: Any) -> tuple[Cloud, Persistence]:
    cloud = Cloud(**{"delays": Delays(0.0, 0.0), **options})
    return cloud, Persistence(cloud, path).open()


@pytest.fixture
def story(served: SandboxServer, caller: Callable[..., Any], tmp_path: Path) -> Iterator[tuple[Cloud, Path]]:
    """Return a closed cloud whose file has changes of every kind."""
    path = tmp_path / "deep" / "cloud.db"
    cloud, kept = reopened(path)
    served.replace(cloud)
    admin, demo = caller("admin"), caller("demo")
    admin.aggregate("r1", "blazar_r1", {"blazar:owner": cloud.project_id("demo")}, "compute-03")
    demo.boot(cloud, hints={"reservation": "r1"})
    admin.ok("PATCH", f"/v3/users/{cloud.user_id('alt')}", {"user": {"password": "changed"}})
    admin.nova("DELETE", "/flavors/1")
    public = next(net.id for net in cloud.network.networks if net.external)
    demo.ok("POST", "/network/v2.0/floatingips", {"floatingip": {"floating_network_id": public}})
    admin.placement("PUT", "/resource_classes/CUSTOM_X")
    body = {"name": "blazar_compute-03", "parent_provider_uuid": cloud.compute.hosts.table["compute-03"].uuid}
    admin.placement("POST", "/resource_providers", body)
    kept.close()
    yield cloud, path


def test_everything_is_found_again(
    story: tuple[Cloud, Path], served: SandboxServer, caller: Callable[..., Any]
) -> None:
    before, path = story
    after, kept = reopened(path)
    assert not difference(snapshot(before), snapshot(after))
    token = next(iter(before.identity.tokens)).id
    assert after.tokens.access(token).user.name == "admin"
    served.replace(after)
    caller("alt", password="changed")
    host = after.compute.hosts.table["compute-03"]
    assert [after.compute.aggregates.table[str(one)].name for one in host.aggregates] == ["r1"]
    assert after.placement.used(host.uuid, "VCPU") == 1
    assert after.compute.server_table.on_host.count("compute-03") == 1
    assert "1" not in after.compute.flavors.table
    assert caller("admin").aggregate("r2", None, {}) == 3, "numbers go on where they were"
    kept.close()


def test_only_what_differs_is_kept(story: tuple[Cloud, Path]) -> None:
    _cloud, path = story
    with closing(sqlite3.connect(path)) as db:
        kinds = dict(db.execute("SELECT kind, count(*) FROM objects GROUP BY kind"))
    assert kinds["hosts"] == 1
    assert kinds["flavors"] == 1
    assert "endpoints" not in kinds


def test_more_hosts_are_added_and_none_are_lost(story: tuple[Cloud, Path]) -> None:
    _before, path = story
    more, kept = reopened(path, hosts=12)
    kept.close()
    assert len(more.compute.hosts.table) == 12
    assert more.compute.hosts.table["compute-03"].aggregates
    fewer, kept = reopened(path, hosts=2)
    kept.close()
    assert len(fewer.compute.hosts.table) == 12
    assert fewer.placement.by_name.count("compute-12") == 1


def test_what_was_under_way_goes_on(
    tmp_path: Path, served: SandboxServer, caller: Callable[..., Any]
) -> None:
    path = tmp_path / "cloud.db"
    cloud, kept = reopened(path, delays=Delays(boot=0.2, delete=0.2))
    served.replace(cloud)
    demo = caller("demo")
    image = next(iter(cloud.images.table)).id
    body = {"server": {"name": "x", "imageRef": image, "flavorRef": "2", "networks": "none"}}
    server_id = demo.nova("POST", "/servers", body)["server"]["id"]
    kept.close()
    again, kept = reopened(path)
    served.replace(again)
    assert demo.wait_until_built(server_id)["status"] == "ACTIVE"
    kept.close()


class Process:
    """The command in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "blazar_sandbox", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        self.url = self.line.rsplit(" ", 1)[-1].strip().removesuffix("/v3")

    def end(self, number: int) -> int:
        os.kill(self.process.pid, number)
        code = self.process.wait(timeout=10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def test_the_command_survives_a_kill(
    tmp_path: Path, server: SandboxServer, caller: Callable[..., Any]
) -> None:
    state = str(tmp_path / "cloud.db")
    first = Process("--state", state, "--hosts", "3")
    make = type(caller("admin"))
    admin = make(first.url, "admin")
    number = admin.aggregate("r1", "blazar_r1", {}, "compute-02")
    time.sleep(0.6)  # what the promise allows to be lost
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    second = Process("--state", state, "--hosts", "3")
    headers = {"X-Auth-Token": admin.token}
    found = requests.get(f"{second.url}/compute/v2.1/os-aggregates/{number}", headers=headers, timeout=10)
    assert found.json()["aggregate"]["hosts"] == ["compute-02"]
    requests.delete(
        f"{second.url}/v3/auth/tokens", headers={**headers, "X-Subject-Token": admin.token}, timeout=10
    )
    assert second.end(signal.SIGTERM) == 0
    third = Process("--state", state, "--hosts", "3")
    found = requests.get(f"{third.url}/compute/v2.1/os-aggregates/{number}", headers=headers, timeout=10)
    assert found.status_code == 401, "a stop loses nothing, not even the last call"
    assert third.end(signal.SIGINT) == 0


def test_a_port_that_is_taken(server: SandboxServer) -> None:
    command = [sys.executable, "-m", "blazar_sandbox", "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{server.port}" in done.stderr
