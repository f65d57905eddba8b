"""Take the pictures of the documents anew, from the page as it is, with made-up leases: ``make pictures``.

With a folder, all looks of each scene are kept there: light, dark and that of a phone."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from playwright.sync_api import Browser, Page, sync_playwright
from process.conftest import Standalone

from blazar.adapters.db import SqlDatabase
from blazar.domain.lease.utilization import Utilization

from .conftest import BROWSERS, NARROW, NEWEST, Site, in_hours, started

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LOOKS: dict[str, dict[str, Any]] = {
    "": {"color_scheme": "light"},
    "-dark": {"color_scheme": "dark"},
    "-phone": {"color_scheme": "light", "viewport": NARROW, "has_touch": True, "is_mobile": True},
}
WEEKS = 12
LEASES: tuple[tuple[str, str, float | str, float, int], ...] = (
    ("admin", "training run", "now", 30, 2),
    ("alt", "climate model", 8, 90, 2),
    ("demo", "benchmarks", 26, 60, 2),
    ("admin", "image build", 50, 58, 1),
    ("alt", "class of spring", 70, 100, 3),
    ("admin", "render farm", 100, 140, 4),
)
"""Whose, the name, the hours from now on, and how many hosts."""
SLOTS = {"resource_type": "virtual:instance", "vcpus": 2, "memory_mb": 4096, "disk_gb": 40}
SLOTS |= {"amount": 3, "affinity": None, "resource_properties": ""}
Scene = Callable[[Page, Site], None]


def furnish(site: Site, database: Path) -> None:
    """Make leases, a maintenance and one that waits; and what was used in the weeks before."""
    for user, name, first, last, hosts in LEASES:
        site.create(user, name, first, last, hosts)
    for name, first, last in (("web tier", 12, 110), ("ci workers", 20, 70)):
        body = {"name": name, "start_date": in_hours(first), "end_date": in_hours(last)}
        made = site.user("demo").call("POST", "/leases", json={**body, "reservations": [SLOTS]})
        assert made.status_code == 201, made.text
    away = {"name": "new disks", "hosts": ["compute-08"], "reason": "ticket 4711"}
    away |= {"start_date": in_hours(115), "end_date": in_hours(140)}
    assert site.user("admin").call("POST", "/maintenances", json=away, headers=NEWEST).status_code == 201
    host = {"resource_type": "physical:host", "min": 7, "max": 7}
    host |= {"hypervisor_properties": "", "resource_properties": ""}
    waits = {"name": "too large for now", "start_date": in_hours(30), "end_date": in_hours(40)}
    waits |= {"reservations": [host], "on_shortage": {"wait_until": in_hours(30)}}
    assert site.user("demo").call("POST", "/leases", json=waits, headers=NEWEST).status_code == 201
    started(site, "training run", "admin")
    past(site, database)


def past(site: Site, path: Path) -> None:
    """Write down what was promised and used, as if the service had run for weeks."""
    database = SqlDatabase(f"sqlite:///{path}")
    now, drawn = datetime.now(UTC).replace(microsecond=0), random.Random(11)  # noqa: TID251 - a picture

    def rows(project: str, user: str) -> Iterator[tuple[None, Utilization]]:
        for number in range(WEEKS * 3):
            start = now - timedelta(days=7 * WEEKS - number * 2.3, hours=1)
            hours, units = drawn.randint(12, 60), drawn.randint(1, 4)
            for kind in ("physical:host", "virtual:instance"):
                promised = hours * 3600 * units
                used = int(promised * drawn.uniform(0.3, 0.95))
                ids = (str(uuid4()), str(uuid4()))
                until = min(start + timedelta(hours=hours), now)
                yield (
                    None,
                    Utilization(
                        *ids, project, user, kind, start, until, units, promised, promised, used, is_over=True
                    ),
                )

    found = [site.leases(user, name)[0] for user, name in (("alt", "climate model"), ("demo", "benchmarks"))]
    changes = [row for each in found for row in rows(each["project_id"], each["user_id"])]
    database.transact(lambda uow: uow.utilizations.save(changes))
    database.close()


def calendar(page: Page, site: Site) -> None:
    page.locator(".count", has_text="Updated").wait_for()
    page.wait_for_timeout(1500)


def operators(page: Page, site: Site) -> None:
    page.get_by_role("link", name="For operators").click()
    page.get_by_text("A bar is a day, a week or 30 days").wait_for()


def lease(page: Page, site: Site) -> None:
    (made,) = site.leases("admin", "training run")
    page.goto(f"{site.url}#/leases/{made['id']}")
    page.get_by_role("button", name="Make a feed").wait_for()


SCENES: dict[str, tuple[Scene, dict[str, int]]] = {
    "dashboard": (calendar, {"width": 1280, "height": 760}),
    "operators-page": (operators, {"width": 1100, "height": 1330}),
    "lease-page": (lease, {"width": 1280, "height": 800}),
}
"""Where a page is opened, and how large the picture is; that of operators goes on below it."""


def take(browser: Browser, site: Site, name: str, look: str, to: Path) -> None:
    scene, size = SCENES[name]
    known = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce"}
    context = browser.new_context(**{"viewport": size, **known, **LOOKS[look]})
    page = context.new_page()
    page.goto(site.url)
    page.get_by_role("button", name="Sign in as admin").click()
    page.get_by_role("button", name="New lease").wait_for()
    scene(page, site)
    if name == "operators-page":
        height = page.locator("blazar-operators main").evaluate("(main) => main.scrollHeight")
        page.set_viewport_size({**(page.viewport_size or size), "height": height + 60})
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    page.screenshot(path=to / f"{name}{look}.png")
    context.close()


def main(folder: str | None = None) -> None:
    to = Path(folder) if folder else IMAGES
    with tempfile.TemporaryDirectory() as scratch:
        service = Standalone(Path(scratch) / "var", hosts=10)
        try:
            site = Site(service.start())
            furnish(site, Path(scratch) / "var" / "blazar.db")
            found = next(filter(None, map(shutil.which, BROWSERS)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
                for name in SCENES:
                    for look in LOOKS if folder else [""]:
                        take(browser, site, name, look, to)
                browser.close()
        finally:
            service.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
