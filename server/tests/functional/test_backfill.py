"""Ordinary servers with a known end on hosts that are promised to later leases, on a cloud that is asked over
HTTP: its scheduler reads what is promised, and decides by the rule of blazar-nova."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from blazar.conf.manager import SHIPPED
from blazarnova.reading import PromisesReader, Reply

from .sandboxed import Sandboxed, until
from .test_server_reservations import in_minutes, is_away, seen
from .test_slots import COMPUTE, INSTANCE, WHOLE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.30"}
HOSTS = ("compute-01", "compute-02")


class Api:
    """The service as the scheduler asks it."""

    def __init__(self, sandboxed: Sandboxed) -> None:
        self._send = sandboxed.send
        self.is_away = False
        self.answers: list[int] = []

    def read(self, known: str) -> Reply:
        if self.is_away:
            raise ConnectionError("the service is away")
        answer = self._send("GET", "/v1/promises", "blazar", headers={**VERSION, "If-None-Match": known})
        self.answers.append(answer.status_code)
        return Reply(known if answer.status_code == 304 else answer.headers["ETag"], answer.json)


class Filled(Site):
    """A site all of whose hosts are in the freepool."""

    def __init__(self, sandboxed: Sandboxed) -> None:
        super().__init__(sandboxed)
        self.api = Api(sandboxed)
        self.seconds = 0.0
        self.reader = PromisesReader(self.api, max_age=60, monotonic=lambda: self.seconds)
        sandboxed.state.compute.scheduler.promises = self.reader.current
        for name in HOSTS:
            assert self.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201

    def fill(self, minutes: int = 60, flavor: str = "1") -> Any:
        """Boot a server that ends then."""
        wanted = {"name": "fill", "end": in_minutes(self, minutes)}
        return self.boot("demo", flavor, lease_params=json.dumps(wanted))

    def own_lease(self, server: Any) -> Any:
        def made() -> bool:
            return "blazar_lease" in seen(self, server)["metadata"]

        assert until(made), seen(self, server)
        return self.lease({"id": seen(self, server)["metadata"]["blazar_lease"]})

    def leap(self, minutes: float) -> None:
        self.sandboxed.clock.ahead += timedelta(minutes=minutes)

    def status_of(self, lease: Any) -> str:
        return str(self.lease(lease)["status"])

    def everything_later(self, minutes: int) -> Any:
        """A lease of all hosts."""
        wanted = {**WHOLE, "min": len(HOSTS), "max": len(HOSTS)}
        return self.reserve(wanted, start_date=in_minutes(self, minutes), user="admin")


@pytest.fixture
def site(tmp_path: Any) -> Iterator[Filled]:
    plugins = ", ".join([*SHIPPED, "instance.server.plugin"])
    sandboxed = Sandboxed(
        tmp_path,
        hosts=len(HOSTS),
        plugins=plugins,
        lease_hints={"enabled": "true", "look_seconds": "1"},
        nova={"backfill": "true", "backfill_margin_seconds": "60"},
    )
    try:
        yield Filled(sandboxed)
    finally:
        sandboxed.stop()


def host_of(site: Filled, server: Any) -> Any:
    return seen(site, server)["OS-EXT-SRV-ATTR:host"]


def test_a_server_runs_on_a_promised_host_until_its_end_and_the_lease_gets_all_of_it(site: Filled) -> None:
    later = site.everything_later(90)
    assert site.boot("demo", "1")["status"] == "ERROR", "one without an end has no place there"
    site.reader.read()
    server = site.fill(60)
    assert server["status"] == "ACTIVE", server
    assert host_of(site, server) in HOSTS
    lease = site.own_lease(server)
    assert until(lambda: site.status_of(lease) == "ACTIVE"), site.lease(lease)
    assert host_of(site, server) == server["OS-EXT-SRV-ATTR:host"], "it has not moved"
    refused = site.post({**WHOLE, "min": len(HOSTS), "max": len(HOSTS)}, end_date=in_minutes(site, 30))
    assert refused.status_code == 400, "its host is on the calendar"

    site.leap(61)
    assert until(lambda: is_away(site, server)), seen(site, server)
    assert until(lambda: site.status_of(lease) == "TERMINATED")
    site.leap(30)
    assert until(lambda: site.status_of(later) == "ACTIVE"), site.lease(later)
    pool = later["reservations"][0]["id"]
    assert site.sandboxed.aggregates()[pool] == sorted(HOSTS), "all that was promised"
    assert site.nova("/servers/detail?all_tenants=1&status=ACTIVE")["servers"] == []
    assert host_of(site, server) is None
    assert site.boot("admin", "1", reservation=pool)["status"] == "ACTIVE"


def test_who_would_be_in_the_way_does_not_land_there(site: Filled) -> None:
    site.everything_later(90)
    site.reader.read()
    assert site.fill(120)["status"] == "ERROR", "its end is after the start of the lease"
    assert site.fill(90)["status"] == "ERROR", "nor is there a margin"
    assert site.fill(60)["status"] == "ACTIVE"
    site.seconds = 61
    assert site.fill(60)["status"] == "ERROR", "what was read is too old"
    site.api.is_away = True
    with pytest.raises(ConnectionError):
        site.reader.read()
    assert site.fill(60)["status"] == "ERROR", "and the service is away"
    site.api.is_away = False
    site.reader.read()
    assert site.fill(60)["status"] == "ACTIVE"
    assert site.boot("demo", "1", lease_params="{}")["status"] == "ERROR"


def test_servers_share_a_host_with_slots_that_are_promised_and_with_each_other(site: Filled) -> None:
    """Of the 64 VCPUs of a host 60 are promised, and a server takes 2."""
    site.reserve({**INSTANCE, "vcpus": 15, "memory_mb": 512, "amount": 8}, start_date=in_minutes(site, 30))
    servers = []
    for _ in range(4):
        site.reader.read()
        servers.append(site.fill(60, flavor="2"))
        site.own_lease(servers[-1])
    assert sorted(host_of(site, server) for server in servers) == sorted(2 * HOSTS)
    site.reader.read()
    known = site.reader.current()
    assert known is not None
    assert all(known.leases[site.own_lease(each)["id"]] == host_of(site, each) for each in servers)
    assert site.fill(60, flavor="2")["status"] == "ERROR", "there is no room for another one from then on"
    assert site.fill(28, flavor="2")["status"] == "ACTIVE", "but until then"


def test_a_lease_that_was_faster_than_the_scheduler_knew(site: Filled) -> None:
    """The snapshot of the scheduler is a moment old: the server has to leave, and the lease has its hosts."""
    site.reader.read()
    faster = site.everything_later(30)
    server = site.fill(60)
    assert server["status"] == "ACTIVE", "the scheduler does not know yet"
    assert until(lambda: is_away(site, server)), seen(site, server)
    told = seen(site, server)["metadata"]
    assert "blazar_lease" not in told
    assert "Not enough hosts available" in told["blazar_lease_error"]
    site.leap(30)
    assert until(lambda: site.status_of(faster) == "ACTIVE"), site.lease(faster)


def test_a_lease_that_starts_at_once_where_a_server_was_booted_a_moment_ago(site: Filled) -> None:
    """Neither is hurt: the server is shelved, and the lease starts when it is away."""
    site.reader.read()
    server = site.fill(60)
    lease = site.reserve({**WHOLE, "min": 2, "max": 2}, user="admin")
    if lease["status"] not in ("STARTING", "ACTIVE"):
        assert site.status_of(lease) != "ERROR"
    assert until(lambda: site.status_of(lease) == "ACTIVE"), site.lease(lease)
    assert is_away(site, server), seen(site, server)
    assert seen(site, server)["metadata"]["blazar_lease_error"]


def test_a_server_comes_back_to_its_own_host_only(site: Filled) -> None:
    site.reader.read()
    server = site.fill(60)
    home = host_of(site, server)
    site.own_lease(server)
    site.reader.read()
    (other,) = set(HOSTS) - {home}

    def act(**body: Any) -> None:
        site.ask("POST", f"{COMPUTE}/servers/{server['id']}/action", version="compute 2.91", json=body)

    act(shelve=None)
    assert until(lambda: is_away(site, server))
    act(unshelve={"availability_zone": None, "host": other})
    assert is_away(site, server), "its place is on another host"
    act(unshelve={"availability_zone": None, "host": home})
    assert until(lambda: host_of(site, server) == home), seen(site, server)
    lease = site.own_lease(server)
    assert until(lambda: site.status_of(lease) == "ACTIVE"), site.lease(lease)
    assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    assert until(lambda: is_away(site, server)), seen(site, server)
    site.reader.read()
    act(unshelve=None)
    # Its end is still ahead, so the scheduler may let it in again: it has to leave again.
    assert until(lambda: is_away(site, server) and "blazar_lease_error" in seen(site, server)["metadata"])


def test_what_the_scheduler_is_told(site: Filled) -> None:
    def ask(user: str, tag: str = "", version: Any = VERSION) -> Any:
        return site.send("GET", "/v1/promises", user, headers={**version, "If-None-Match": tag})

    answer = ask("admin")
    assert answer.status_code == 200, answer.text
    told = answer.json["promises"]
    assert sorted(told["hosts"]) == list(HOSTS)
    assert told["margin"] == 60
    tag = answer.headers["ETag"]
    unchanged = ask("admin", tag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    site.everything_later(30)
    changed = ask("admin", tag)
    assert changed.status_code == 200
    assert all(each["steps"][0][2] is None for each in changed.json["promises"]["hosts"].values())
    assert ask("demo").status_code == 403
    assert ask("admin", version={"OpenStack-API-Version": "reservation 1.29"}).status_code == 404
