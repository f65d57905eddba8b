"""Fairness: what one project does, another one hardly notices.

One project has leases that cannot end, for their servers refuse to die, and asks for the worst plans that it
can. Another project creates leases, and leases of its own start. It is measured in turns, with the other
project at rest and with it at work, so that whatever else the machine does is in both."""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from .clients import RESERVATION, in_minutes
from .conftest import Show
from .programs import eventually
from .site import Site, site

PATIENT, ATTACKING = "demo", "alt"
THREADS = 4
ATTACKERS = 32
"""More connections than the API has threads."""
AGAIN = 1.0
"""Seconds after which an attacker asks again that is told to come back."""
SPARE = 12
"""Hosts on which the leases of the patient project start."""
MEMORY = 20_480
"""Of a server of the worst plans: of eight reservations on the same hosts, the smaller hosts serve three."""
DAY = 24 * 60
LATE = (
    "0.005",
    "0.01",
    "0.02",
    "0.05",
    "0.1",
    "0.2",
    "0.5",
    "1.0",
    "2.0",
    "5.0",
    "10.0",
    "30.0",
    "60.0",
    "+Inf",
)
"""The bounds of ``blazar_event_late_seconds``."""


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    leases: int
    """Leases that cannot end."""
    seconds: float
    """The length of a phase."""
    rounds: int
    """Phases at rest, and as many under attack."""
    starts_within: str
    """The most seconds by which a start may be late."""
    more: float
    """The most milliseconds that the median create may take longer."""
    has_p99: bool
    """Whether there are enough creates for a 99th percentile, for which the same holds."""


# The short form holds that a neighbour waits for none of the plans and ends of the other project, which would
# take seconds, or for ever. The figures of the long form are those promised.
SHORT = Scale(120, 8, 2, "5.0", 1000, False)
LONG = Scale(1000, 60, 3, "1.0", 100, True)
MANY_LEASES = "\n[quota]\nlimits = leases:100000\n"
"""A fast machine takes more leases of one project than the default allows."""


@pytest.fixture
def scale(seconds: float) -> Scale:
    return LONG if seconds >= 200 else SHORT


@dataclass
class Phase:
    """What the patient project and the engine did in one or several phases."""

    creates: list[float] = field(default_factory=list)
    """Milliseconds of each create."""
    starts: list[float] = field(default_factory=list)
    """Seconds from the answer to a create that starts now until the lease was seen ACTIVE."""
    refused: list[float] = field(default_factory=list)
    """Seconds of each request of the other project."""
    answers: Counter[int] = field(default_factory=Counter)
    retries: float = 0
    """Attempts to end what cannot be ended."""
    seconds: float = 0
    cpu: float = 0
    """Seconds of processor time of the manager."""
    late: dict[str, float] = field(default_factory=dict)
    """The number of starts by how late the engine began them at the most."""

    def p99(self) -> float:
        return sorted(self.creates)[math.ceil(len(self.creates) * 0.99) - 1]

    def row(self) -> str:
        return f"{statistics.median(self.creates):.1f} / {self.p99():.1f} / {max(self.creates):.1f}"

    def latest(self) -> str:
        """Return the bound below which all starts began."""
        return next(bound for bound in LATE if self.late.get(bound, 0) == self.late.get("+Inf", 0))


def wish(host: str = "", **more: Any) -> dict[str, Any]:
    return {**RESERVATION, "min": 1, "max": 1, "resource_properties": host, **more}


def servers(amount: int, vcpus: int, affinity: bool | None) -> dict[str, Any]:
    size = {
        "vcpus": vcpus,
        "memory_mb": MEMORY,
        "disk_gb": 10,
        "affinity": affinity,
        "resource_properties": "",
    }
    return {"resource_type": "virtual:instance", "amount": amount, **size}


def attacks(hosts: int) -> list[list[dict[str, Any]]]:
    """Return reservations that cannot be served together, each of which could be alone."""
    many, few = hosts * 9 // 10, hosts // 20
    return [
        [*[servers(many, 3, False)] * 8, servers(few, 1, False)],
        [
            *[wish(min=hosts // 40, max=hosts // 40)] * 32,
            *[servers(hosts // 4, 3 + n % 5, None) for n in range(32)],
        ],
    ]


def body(name: str, start: str, end: str, reservations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "start_date": start,
        "end_date": end,
        "reservations": list(reservations),
        "events": [],
    }


class Neighbourhood:
    """The two projects at one site."""

    def __init__(self, at: Site, leases: int) -> None:
        self._site = at
        self._leases = leases
        self._url = f"{at.urls[0]}/v1"
        self._days = 2
        self.patient = at.user(PATIENT)
        self.attacker = at.user(ATTACKING)

    # what cannot end

    def fill(self) -> None:
        """Have the attacking project own leases of one host, with a server each that refuses to die."""
        with ThreadPoolExecutor(THREADS) as pool:
            made = list(pool.map(self._occupy, range(self._leases)))
        active = "SELECT count(*) AS number FROM leases WHERE status = 'ACTIVE'"
        eventually("all leases ACTIVE", lambda: self._site.select(active)[0].number == self._leases, 300)
        image = self._nova(self.attacker, "GET", "/image/v2/images")["images"][0]["id"]
        flavor = self._nova(self.attacker, "GET", "/compute/v2.1/flavors")["flavors"][0]["id"]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda lease: self._boot(lease, image, flavor), made))
        self._site.sandbox("PUT", "/delays", json={"boot": 0.1, "delete": 0.1})
        self._site.sandbox("POST", "/stuck-servers", json={"server": "*"})
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._end, made))
        eventually("all ends tried", lambda: self._tried() == self._leases, 300)

    def _occupy(self, number: int) -> dict[str, Any]:
        wanted = body(f"stuck-{number}", "now", in_minutes(DAY), [wish()])
        return self._created(self.attacker, wanted)

    def _created(self, user: requests.Session, wanted: dict[str, Any]) -> dict[str, Any]:
        """Ask again while the answer is 503, as clients do; a slow machine may need more than one request."""
        while (answer := user.post(f"{self._url}/leases", json=wanted, timeout=60)).status_code == 503:
            time.sleep(0.1)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()["lease"]
        return made

    def _boot(self, lease: dict[str, Any], image: str, flavor: str) -> None:
        server = {"name": lease["name"], "imageRef": image, "flavorRef": flavor, "networks": "none"}
        hints = {"reservation": lease["reservations"][0]["id"]}
        boot = {"server": server, "OS-SCH-HNT:scheduler_hints": hints}
        self._nova(self.attacker, "POST", "/compute/v2.1/servers", json=boot)

    def _end(self, lease: dict[str, Any]) -> None:
        answer = self.attacker.put(f"{self._url}/leases/{lease['id']}", json={"end_date": "now"}, timeout=60)
        assert answer.status_code == 200, answer.text

    def _tried(self) -> int:
        tried = "SELECT count(*) AS number FROM events WHERE event_type = 'end_lease' AND attempts > 0"
        return int(self._site.select(tried)[0].number)

    def _nova(self, user: requests.Session, method: str, path: str, **more: Any) -> Any:
        headers = {"OpenStack-API-Version": "compute 2.37"}
        answer = user.request(method, f"{self._site.cloud_url}{path}", headers=headers, timeout=30, **more)
        answer.raise_for_status()
        return answer.json()

    def put_off(self, ahead: timedelta) -> None:
        """Have what cannot end tried next so long from now on: at once, or after a phase at rest."""
        moment = datetime.now(UTC) + ahead  # noqa: TID251 - the tests read their own clocks
        for _ in range(2):  # an attempt that was under way has settled before the second time
            self._site.change(
                "UPDATE events SET due = :due WHERE event_type = 'end_lease' AND attempts > 0"
                " AND status IN ('UNDONE', 'IN_PROGRESS')",
                due=moment.replace(tzinfo=None),
            )
            time.sleep(1)

    # where leases start

    def keep_hosts(self) -> str:
        """Give the hosts that no lease has a property of their own. Return the requirement for it."""
        admin = self._site.user("admin")
        taken = {row.resource_id for row in self._site.select("SELECT resource_id FROM allocations")}
        free = [
            host["id"]
            for host in admin.get(f"{self._url}/os-hosts", timeout=60).json()["hosts"]
            if host["id"] not in taken
        ]
        for each in free:
            answer = admin.put(f"{self._url}/os-hosts/{each}", json={"kept": "yes"}, timeout=60)
            assert answer.ok, answer.text
        return '["==", "$kept", "yes"]'

    # the two at work

    def create(self) -> float:
        """Create a lease of one host, some days ahead. Return how many milliseconds it took."""
        self._days += 1
        start = self._days * DAY
        wanted = body("patient", in_minutes(start), in_minutes(start + 60), [wish()])
        began = time.perf_counter()
        self._created(self.patient, wanted)
        return (time.perf_counter() - began) * 1000

    def start(self, kept: str) -> float:
        """Create a lease that starts now, and delete it. Return how many seconds it took to be ACTIVE."""
        user = self._site.user(PATIENT)
        lease = self._created(user, body("starts", "now", in_minutes(DAY), [wish(kept)]))
        began = time.perf_counter()
        status = "SELECT status FROM leases WHERE id = :id"
        eventually("the start", lambda: self._site.select(status, id=lease["id"])[0].status == "ACTIVE", 60)
        taken = time.perf_counter() - began
        assert user.delete(f"{self._url}/leases/{lease['id']}", timeout=60).status_code == 204
        return taken

    @contextmanager
    def attacked(self, hosts: int) -> Iterator[Phase]:
        """Ask for the worst plans all the time inside the block."""
        stop, found = threading.Event(), Phase()

        def attack(number: int) -> None:
            user, wishes = self._site.user(ATTACKING), attacks(hosts)
            while not stop.is_set():
                number += 1
                wanted = body("attack", in_minutes(DAY), in_minutes(DAY + 60), wishes[number % len(wishes)])
                began = time.perf_counter()
                answer = user.post(f"{self._url}/leases", json=wanted, timeout=120)
                found.refused.append(time.perf_counter() - began)
                found.answers[answer.status_code] += 1
                if answer.status_code == 503:
                    stop.wait(AGAIN)

        threads = [threading.Thread(target=attack, args=(number,)) for number in range(ATTACKERS)]
        for thread in threads:
            thread.start()
        try:
            yield found
        finally:
            stop.set()
            for thread in threads:
                thread.join(120)


def measured(
    here: Neighbourhood, at: Site, kept: str, seconds: float, into: Phase, stop: Callable[[], bool] = bool
) -> None:
    """Create leases for some seconds, one after another, while others start."""
    before, cpu = engine_counts(at), at.managers[0].cpu_seconds()
    end = time.monotonic() + seconds
    starting = threading.Thread(target=lambda: starts(here, kept, end, into))
    starting.start()
    while time.monotonic() < end:
        into.creates.append(here.create())
        time.sleep(0.02)
    into.cpu += at.managers[0].cpu_seconds() - cpu
    into.seconds += seconds
    starting.join(120)
    after = engine_counts(at)
    for key in after.keys() - {"retries"}:
        into.late[key] = into.late.get(key, 0) + after[key] - before.get(key, 0)
    into.retries += after.get("retries", 0) - before.get("retries", 0)


def starts(here: Neighbourhood, kept: str, end: float, into: Phase) -> None:
    while time.monotonic() < end:
        into.starts.append(here.start(kept))
        time.sleep(0.5)


def retry_costs(here: Neighbourhood, at: Site, seconds: float) -> tuple[float, float]:
    """Return how many attempts to end were made in some seconds, and the milliseconds of the manager's
    processor that each took: beyond what the manager takes while nothing is due."""
    here.put_off(timedelta(days=1))
    spent, retries = [], []
    for ahead in (timedelta(days=1), timedelta(0)):
        cpu, made = at.managers[0].cpu_seconds(), engine_counts(at).get("retries", 0)
        here.put_off(ahead)
        time.sleep(seconds)
        spent.append(at.managers[0].cpu_seconds() - cpu)
        retries.append(engine_counts(at).get("retries", 0) - made)
    return retries[1], (spent[1] - spent[0]) / max(retries[1], 1) * 1000


def engine_counts(at: Site) -> dict[str, float]:
    """Return the number of starts by how late they began at the most, and that of attempts to end."""
    found: dict[str, float] = {}
    for line in requests.get(f"{at.metrics_url(at.managers[0])}/metrics", timeout=10).text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith('blazar_event_late_seconds_bucket{event_type="start_lease"'):
            found[name.split('le="')[1].split('"')[0]] = float(value)
        elif name.startswith('blazar_events_total{event_type="end_lease"'):
            found["retries"] = found.get("retries", 0) + float(value)
    return found


@pytest.mark.fairness
def test_a_neighbour_hardly_notices_the_worst_that_a_project_can_do(
    folder: Path, scale: Scale, show: Show
) -> None:
    hosts = scale.leases + SPARE
    with site(folder, "postgresql", managers=1, apis=1, hosts=hosts, patience=60, options=MANY_LEASES) as at:
        here = Neighbourhood(at, scale.leases)
        here.fill()
        kept = here.keep_hosts()
        rest, work = Phase(), Phase()
        loads = []
        retries, cost = retry_costs(here, at, scale.seconds)
        measured(here, at, kept, 2, Phase())  # the first ones warm the connections and caches
        for _ in range(scale.rounds):
            here.put_off(timedelta(days=1))
            measured(here, at, kept, scale.seconds, rest)
            loads.append(os.getloadavg()[0])
            here.put_off(timedelta(0))
            with here.attacked(hosts) as attack:
                measured(here, at, kept, scale.seconds, work)
            work.refused += attack.refused
            work.answers += attack.answers
            loads.append(os.getloadavg()[0])
        show(
            f"Fairness: {scale.leases} leases that cannot end, {ATTACKERS} connections with the worst plans",
            [
                ("creates at rest / under attack", f"{len(rest.creates)} / {len(work.creates)}"),
                ("ms at rest: median / 99 % / slowest", rest.row()),
                ("ms under attack: median / 99 % / slowest", work.row()),
                ("worst plans: not enough / come back", f"{work.answers[400]} / {work.answers[503]}"),
                ("slowest answer to one, s", f"{max(work.refused):.2f}"),
                ("ends tried again at rest / under attack", f"{rest.retries:.0f} / {work.retries:.0f}"),
                ("ends tried again with nothing else to do", f"{retries:.0f}"),
                ("ms of the manager's processor for each of them", f"{cost:.1f}"),
                ("starts at rest / under attack", f"{len(rest.starts)} / {len(work.starts)}"),
                ("all starts began within s, at rest / under attack", f"{rest.latest()} / {work.latest()}"),
                (
                    "s from the answer until ACTIVE, slowest, at rest / under attack",
                    f"{max(rest.starts):.2f} / {max(work.starts):.2f}",
                ),
                (
                    "processor of the manager, at rest / under attack",
                    f"{rest.cpu / rest.seconds:.0%} / {work.cpu / work.seconds:.0%} of a core",
                ),
                ("load of the machine", " ".join(f"{load:.1f}" for load in loads)),
            ],
        )
        # 503 is for those of the attackers whose turn would not come soon.
        assert work.answers.keys() == {400, 503}
        assert work.retries > 10 * max(rest.retries, 1)
        assert float(work.latest()) <= float(scale.starts_within)
        assert statistics.median(work.creates) - statistics.median(rest.creates) < scale.more
        if scale.has_p99:
            assert work.p99() - rest.p99() < scale.more
