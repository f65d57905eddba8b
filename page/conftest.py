"""A browser, and the service with a sandbox cloud as ``make run`` starts it, with leases of two projects."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from process.conftest import Session, Standalone

PATIENCE = 10_000
# Of what is expected to appear: the machine may be busy with other tests.
expect.set_options(timeout=PATIENCE)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NEWEST = {"OpenStack-API-Version": "reservation 1.24"}
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}
SIZES = [
    pytest.param(size, id=name, marks=pytest.mark.by_turns(2))
    for name, size in {"wide": WIDE, "narrow": NARROW}.items()
]


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Return how the machine's own browser is started; a machine without one fails the tests."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail(f"These tests need one of {', '.join(BROWSERS)}: on Debian, apt install chromium")
    return {"executable_path": found, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    return {"viewport": WIDE, "locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce"}


class Site:
    """A running service, and its users."""

    def __init__(self, service: Standalone) -> None:
        self.service = service
        self.url = f"{service.url}/dashboard/"
        self._users: dict[str, Session] = {}

    def user(self, name: str) -> Session:
        if name not in self._users:
            self._users[name] = self.service.user(name)
        return self._users[name]

    def create(
        self, user: str, name: str, first: float | str, last: float | str, hosts: int = 1
    ) -> dict[str, Any]:
        """Create a lease from and to so many hours after now, or at these times in UTC."""
        asked = {"resource_type": "physical:host", "min": hosts, "max": hosts}
        asked |= {"hypervisor_properties": "", "resource_properties": ""}
        start, end = (each if isinstance(each, str) else in_hours(each) for each in (first, last))
        dates = {"start_date": start, "end_date": end}
        body = {"name": name, **dates, "reservations": [asked], "events": []}
        answer = self.user(user).call("POST", "/leases", json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()["lease"]
        return found

    def leases(self, user: str, name: str) -> list[dict[str, Any]]:
        """Return the leases of this name that are not over."""
        found = self.user(user).call("GET", "/leases").json()["leases"]
        return [each for each in found if each["name"] == name and each["status"] != "TERMINATED"]


def started(site: Site, name: str, user: str = "demo") -> None:
    """Wait until the lease has started."""
    deadline = time.monotonic() + 30
    while site.leases(user, name)[0]["status"] != "ACTIVE":
        assert time.monotonic() < deadline, "The lease does not start."
        time.sleep(0.2)


def in_hours(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M")  # noqa: TID251


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    service = Standalone(tmp_path_factory.mktemp("page") / "var", hosts=10)
    service.start()
    site = Site(service)
    try:
        site.create("demo", "training", 1, 30, hosts=2)
        site.create("alt", "climate", 5, 60, hosts=3)
        taken = {"name": "new disks", "hosts": ["8"], "start_date": in_hours(10), "end_date": in_hours(40)}
        made = site.user("admin").call("POST", "/maintenances", json=taken, headers=NEWEST)
        assert made.status_code == 201, made.text
        yield site
    finally:
        service.close()


Enter = Callable[[str], Page]


@pytest.fixture
def troubles(page: Page) -> Iterator[list[str]]:
    """What the browser complains about; what is refused by its status is told by the page itself."""
    found: list[str] = []
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda said: said.type == "error" and found.append(said.text))
    yield found
    assert [each for each in found if "status of 4" not in each] == []


@pytest.fixture
def enter(page: Page, site: Site, troubles: list[str]) -> Enter:
    """Return a function that signs a user of the sandbox in with one click."""

    def signed_in(user: str) -> Page:
        page.goto(site.url)
        page.get_by_role("button", name=f"Sign in as {user}").click()
        page.get_by_role("button", name="New lease").wait_for()
        page.locator(".count", has_text="Updated").wait_for()
        return page

    return signed_in
