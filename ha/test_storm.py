"""Sixteen clients, three managers, two APIs, six hosts, and something broken all the time: is every promise kept?"""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import requests

from . import history
from .clients import Client, Tally, promise
from .conftest import Show
from .programs import eventually
from .site import CLAIM, Site, site
from .trouble import Trouble

CLIENTS = 16


class Onlooker(threading.Thread):
    """Looks at the cloud all the time: no host may ever be in two reservations' aggregates."""

    def __init__(self, at: Site, stopping: threading.Event) -> None:
        super().__init__(name="onlooker", daemon=True)
        self._site, self._stopping = at, stopping
        self.looks = 0
        self.shared: list[str] = []

    def run(self) -> None:
        while not self._stopping.wait(0.5):
            try:
                now = self._site.snapshot()
            except requests.RequestException:
                continue
            self.looks += 1
            reserved = {int(key) for key, each in now["aggregates"].items() if each["name"] != "freepool"}
            places = {host["name"]: reserved & set(host["aggregates"]) for host in now["hosts"].values()}
            self.shared += [f"{name} in {ids}" for name, ids in places.items() if len(ids) > 1]


def look_for_promises(clients: list[Client], leases: list[dict[str, Any]], tally: Tally) -> None:
    """Is there what was promised in answers, as it was promised?"""
    found = {lease["id"]: promise(lease) for lease in leases}
    for lease_id, promised in ((key, value) for client in clients for key, value in client.promised.items()):
        tally.looks += 1
        if lease_id not in found or promised not in (None, found[lease_id]):
            tally.broken.append(f"lease {lease_id}: {promised} became {found.get(lease_id)}")


def figures(at: Site, name: str) -> float:
    """The sum of a figure over all managers that run; a killed one takes its figures with it."""
    total = 0.0
    for manager in at.managers:
        for line in requests.get(f"{at.watch_url(manager)}/metrics", timeout=10).text.splitlines():
            if line.split("{")[0].split(" ")[0] == name:
                total += float(line.rpartition(" ")[2])
    return total


def test_every_promise_is_kept_whatever_breaks(folder: Path, dialect: str, seconds: float, show: Show) -> None:
    tally, stopping = Tally(), threading.Event()
    with site(folder, dialect, has_clocks=True) as at:
        clients = [Client(at, tally, number, stopping) for number in range(CLIENTS)]
        troubles = [Trouble(at, stopping, kind, seconds) for kind in ("programs", "database", "surroundings")]
        onlooker = Onlooker(at, stopping)
        began = time.monotonic()
        for thread in (*clients, *troubles, onlooker):
            thread.start()
        time.sleep(seconds)
        stopping.set()
        for trouble in troubles:
            trouble.join(60)
            assert not trouble.is_alive()
        troubles[0].mend()
        mended = time.monotonic()
        for client in clients:
            client.join(100)
        eventually("health", lambda: all(requests.get(f"{u}/healthcheck", timeout=10).ok for u in at.urls), 60)
        eventually("nothing in a transitional status", lambda: not at.unsettled(), 90)
        converged = time.monotonic() - mended
        for manager in at.managers:
            url = f"{at.watch_url(manager)}/healthcheck"
            eventually(f"health of {manager.name}", lambda url=url: requests.get(url, timeout=10).ok, 60)
        conflicts = figures(at, "blazar_generation_conflicts_total")
        retries = figures(at, "blazar_transaction_retries_total")
        claims_lost = figures(at, "blazar_claims_lost_total")
        admin = at.user("admin")
        leases = admin.get(f"{at.urls[0]}/v1/leases", timeout=60).json()["leases"]
        look_for_promises(clients, leases, tally)
        for url in at.urls:
            for lease in admin.get(f"{url}/v1/leases", timeout=60).json()["leases"]:
                answer = admin.delete(f"{url}/v1/leases/{lease['id']}", timeout=60)
                tally.note("delete at the end", answer, 0.0)
        eventually("all leases gone", lambda: not at.select("SELECT id FROM leases"), 60)
        eventually("the outbox empty", lambda: not at.select("SELECT id FROM outbox"), 60)
        stuck, left, double = at.unsettled(), at.leftovers(), history.double_bookings(at.engine)
        versions = history.versions(at.engine)
        made = " / ".join(
            str(tally.count(*words)) for words in (("create", "201"), ("update", "200"), ("delete", "204"))
        )
        refused = sum(number for words, number in tally.answers.items() if words.rpartition(" ")[2].startswith("4"))
        show(
            f"The storm on {dialect}: {seconds:.0f} s, {CLIENTS} clients, 3 managers, 2 APIs, {at.hosts} hosts",
            [
                ("requests answered", sum(tally.answers.values())),
                ("leases created / updated / deleted", made),
                ("refused: not enough hosts, or gone meanwhile (4xx)", refused),
                ("told to come back (503 with Retry-After)", tally.count(end="503")),
                ("any other 5xx", len(tally.wrong)),
                ("cut off by a kill", tally.cut_off),
                ("seconds a request, median / 99 %", f"{tally.percentile(0.5):.3f} / {tally.percentile(0.99):.3f}"),
                *sorted(sum((trouble.made for trouble in troubles), Counter()).items()),
                ("looks for leases of earlier answers / not found", f"{tally.looks} / {len(tally.broken)}"),
                ("versions of allocations compared / double bookings", f"{versions} / {len(double)}"),
                ("looks at the cloud / hosts in two reservations", f"{onlooker.looks} / {len(onlooker.shared)}"),
                (
                    "plans in vain / transactions repeated / claims lost",
                    f"{conflicts:.0f} / {retries:.0f} / {claims_lost:.0f}",
                ),
                ("seconds from the last repair until all was settled", f"{converged:.1f}"),
                ("leases stuck / left in the cloud", f"{len(stuck)} / {len(left)}"),
            ],
        )
        assert tally.looks > 0
        assert not tally.broken
        assert not double
        assert not onlooker.shared
        assert not tally.wrong
        assert not stuck
        assert not left
        assert not [line for program in (*at.managers, *at.apis) for line in program.defects]
        assert tally.count("create", "201") > 0
        assert tally.count("update", "200") > 0
        assert versions > 0
        assert time.monotonic() - began >= seconds
        assert converged < 3 * CLAIM
