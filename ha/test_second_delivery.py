"""A broker that delivers every call twice, the second time when it was answered long ago: nothing comes
back."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from .broker import SecondDelivery
from .clients import RESERVATION, in_minutes
from .conftest import Show
from .programs import eventually
from .site import site

ROUNDS = 8
AFTER = (0.5, 0.9)
"""Seconds: later than the answer to the next change, earlier than the end of the wait for the first one."""


def test_what_was_changed_or_deleted_since_does_not_come_back(folder: Path, show: Show) -> None:
    stopping = threading.Event()
    with site(folder, "postgresql", managers=2, apis=1, hosts=ROUNDS + 2) as at:
        twice = SecondDelivery(at, stopping, share=1.0, after=AFTER)
        twice.start()
        user, url = at.user("demo"), f"{at.urls[0]}/v1/leases"
        body = {
            "name": "kept",
            "start_date": in_minutes(60),
            "end_date": in_minutes(120),
            "reservations": [{**RESERVATION, "min": 1, "max": 1}],
            "events": [],
        }
        kept = user.post(url, json=body, timeout=60).json()["lease"]["id"]
        time.sleep(1)
        back = []
        for number in range(ROUNDS):
            deleted = user.post(url, json=body | {"name": f"deleted-{number}"}, timeout=60).json()["lease"]
            assert user.delete(f"{url}/{deleted['id']}", timeout=60).status_code == 204
            for name in (f"first-{number}", f"second-{number}"):
                assert user.put(f"{url}/{kept}", json={"name": name}, timeout=60).status_code == 200
            time.sleep(AFTER[1] + 0.5)
            found = {each["name"] for each in user.get(url, timeout=60).json()["leases"]}
            back += sorted(found - {f"second-{number}"})
        stopping.set()
        twice.join(10)
        refused = sum(manager.log.count("ignoring duplicate message") for manager in at.managers)
        again = twice.delivered - refused
        show(
            "A broker that delivers twice",
            [
                ("calls delivered to managers twice", twice.delivered),
                ("of them to the same manager, where oslo.messaging drops them", refused),
                ("changes undone, and deleted leases that came back", len(back)),
            ],
        )
        assert again > ROUNDS
        assert not back
        eventually("the outbox empty", lambda: not at.select("SELECT id FROM outbox"), 60)
