"""Measure how fast the service is on a running lab, and write the tables to var/bench.

    python lab/bench.py [requests] [punctuality] [burst] [--to var/bench]

``requests``     a host lease of the future is created, read and deleted again and again
``punctuality``  how long after its minute a lease is seen to be ACTIVE or TERMINATED (takes 5 minutes)
``burst``        the same for 12 leases that start and end together

All requests to blazar-api use one connection and one token. The service, RabbitMQ, MariaDB and the whole
cloud run on this machine. The output tells the load of the machine beside each table."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from blazar_lab.settings import Settings
from labtests import access_log
from labtests.waiting import MINUTE, boundary, text, until, wait_for
from openstack.config import OpenStackConfig
from openstack.connection import Connection

HOUR = 3600
WARM_UP = 10
ROUNDS = 100
SINGLES = 4
BURST = 12
POLL_SECONDS = 0.1
PREFIX = "bench-"

Row = Sequence[object]
HEAD: Row = ("what", "leases", "first s", "median s", "last s")


class Caller:
    """A client that reuses its token and its connection."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._url = url
        self._http = requests.Session()
        self._http.trust_env = False
        self._http.headers["X-Auth-Token"] = connection.session.get_token()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, self._url + path, json=body, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def create(self, name: str, start: int, end: int, reservation: dict[str, object]) -> str:
        body = {
            "name": name,
            "start_date": text(start),
            "end_date": text(end),
            "reservations": [reservation],
            "events": [],
        }
        return str(self.call("POST", "/leases", body)["lease"]["id"])


def host() -> dict[str, object]:
    return {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
    }


def instance() -> dict[str, object]:
    return {
        "resource_type": "virtual:instance",
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 1,
        "amount": 1,
        "affinity": None,
        "resource_properties": "",
    }


class Bench:
    """The administrator and the users of the measurements."""

    def __init__(self, settings: Settings, admin: Connection, demo: Connection) -> None:
        url = f"{settings.url('blazar')}/v1"
        self.admin = admin
        self.operator, self.user = Caller(admin, url), Caller(demo, url)
        self.keystone = settings.folder("log", "keystone.access")


def requests_table(bench: Bench) -> list[Row]:
    """Measure milliseconds from request to answer; count the requests to Keystone meanwhile."""
    user = bench.user
    timings: dict[str, list[float]] = {"POST": [], "GET": [], "DELETE": []}
    start = boundary(24 * HOUR)

    def timed(noun: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        timings[noun].append(1000 * (time.perf_counter() - began))
        return result

    def one(number: int) -> None:
        begin = start + number * HOUR
        lease_id = timed("POST", lambda: user.create(f"{PREFIX}{number}", begin, begin + HOUR, host()))
        timed("GET", lambda: user.call("GET", f"/leases/{lease_id}"))
        timed("DELETE", lambda: user.call("DELETE", f"/leases/{lease_id}"))

    for number in range(WARM_UP):
        one(number)
    for values in timings.values():
        values.clear()
    trusts, seen = _trusts(bench.admin), len(access_log.client_requests(bench.keystone))
    for number in range(ROUNDS):
        one(number)
    asked = len(access_log.client_requests(bench.keystone)) - seen
    rows: list[Row] = [("request", "number", "median ms", "p90 ms", "slowest ms")]
    for noun, values in timings.items():
        p90 = sorted(values)[int(0.9 * len(values))]
        rows.append(
            (noun, len(values), *(round(each, 1) for each in (statistics.median(values), p90, max(values))))
        )
    rows.append(("requests to Keystone", asked, "", "", ""))
    rows.append(("trusts left", _trusts(bench.admin) - trusts, "", "", ""))
    return rows


def punctuality_table(bench: Bench) -> list[Row]:
    """Measure how long after the full minute a client sees the status of leases that follow each other."""
    user = bench.user
    first = boundary(10)
    ids = [
        user.create(f"{PREFIX}{number}", first + number * MINUTE, first + (number + 1) * MINUTE, host())
        for number in range(SINGLES)
    ]
    starts, ends = [], []
    for number, lease_id in enumerate(ids):
        moment = first + number * MINUTE
        if number:
            ends += _lateness(user, [ids[number - 1]], "TERMINATED", moment)
        starts += _lateness(user, [lease_id], "ACTIVE", moment)
    return [HEAD, _late("host lease, start", starts), _late("host lease, end", ends)]


def burst_table(bench: Bench) -> list[Row]:
    """Measure the same for leases that start in one minute and end in one minute."""
    user, moment = bench.user, boundary(10)
    ids = [user.create(f"{PREFIX}burst-{n}", moment, moment + MINUTE, instance()) for n in range(BURST)]
    starts = _late("instance leases in one minute, start", _lateness(user, ids, "ACTIVE", moment))
    return [
        HEAD,
        starts,
        _late("instance leases in one minute, end", _lateness(user, ids, "TERMINATED", moment + MINUTE)),
    ]


def _lateness(user: Caller, ids: list[str], status: str, moment: int) -> list[float]:
    """Return when each lease was first seen in the status, in seconds after the moment."""
    wait_for(moment)
    seen: dict[str, float] = {}
    while len(seen) < len(ids):
        for lease in user.call("GET", "/leases")["leases"]:
            if lease["id"] in ids and lease["status"] == status:
                seen.setdefault(lease["id"], time.time() - moment)
        if time.time() > moment + 5 * MINUTE:
            raise RuntimeError(f"only {len(seen)} of {len(ids)} leases became {status}")
        time.sleep(POLL_SECONDS)
    return list(seen.values())


def _late(what: str, seconds: list[float]) -> Row:
    return (
        what,
        len(seconds),
        *(round(s, 2) for s in (min(seconds), statistics.median(seconds), max(seconds))),
    )


def _trusts(admin: Connection) -> int:
    answer: Any = admin.identity.get("/OS-TRUST/trusts")
    return len(answer.json()["trusts"])


@contextmanager
def registered(operator: Caller, names: list[str]) -> Iterator[None]:
    """Register the hosts meanwhile, unless they are registered already; delete our leases at the end."""
    known = {each["hypervisor_hostname"] for each in operator.call("GET", "/os-hosts")["hosts"]}
    made = [operator.call("POST", "/os-hosts", {"name": name}) for name in names if name not in known]
    try:
        yield
    finally:
        for lease in operator.call("GET", "/leases")["leases"]:
            if lease["name"].startswith(PREFIX):
                operator.call("DELETE", f"/leases/{lease['id']}")
        until("no leases", MINUTE, lambda: not operator.call("GET", "/leases")["leases"])
        for answer in made:
            operator.call("DELETE", f"/os-hosts/{answer['host']['id']}")


def markdown(rows: Sequence[Row]) -> str:
    head, *body = rows
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *body])


TABLES: Mapping[str, Callable[[Bench], list[Row]]] = {
    "requests": requests_table,
    "punctuality": punctuality_table,
    "burst": burst_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="all of them by default")
    parser.add_argument("--to", type=Path, default=Path("var/bench"), help="folder for the tables")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    settings = Settings.load()
    config = OpenStackConfig(config_files=[str(settings.clouds_yaml)], load_envvars=False)
    with (
        Connection(config=config.get_one("lab-admin")) as admin,
        Connection(config=config.get_one("lab-demo")) as demo,
    ):
        bench = Bench(settings, admin, demo)
        with registered(bench.operator, [f"host{number}" for number in range(1, settings.computes + 1)]):
            for name in arguments.tables or TABLES:
                before = os.getloadavg()[0]
                written = markdown(TABLES[name](bench))
                load = f"{os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after"
                (arguments.to / f"lab-{name}.md").write_text(written + "\n")
                print(f"{name}: Python {platform.python_version()}, {load}\n\n{written}\n", flush=True)


if __name__ == "__main__":
    main()
