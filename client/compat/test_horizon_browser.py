"""Horizon's reservation plugin, untouched, in a browser: with the scripts of its forms and its calendar."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from clientkit.service import Service
from environments import HORIZON
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

pytestmark = pytest.mark.thorough

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SERVER = Path(__file__).parent / "programs" / "horizon_server.py"
PATIENCE = 60_000
"""Horizon compiles its style sheets at the first page."""


@pytest.fixture(scope="module")
def horizon(service: Service) -> Iterator[str]:
    """Serve Horizon, and return its address."""
    python = HORIZON.ready().bin / "python"
    environment = {**service.environment("sandbox-admin"), "KEYSTONE_URL": service.auth_url}
    command = [str(python), "-W", "ignore", str(SERVER)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail(f"These tests need one of {', '.join(BROWSERS)}: on Debian, apt install chromium")
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])) as browser,
    ):
        yield browser


@contextmanager
def signed_in(browser: Browser, horizon: str, user: str) -> Iterator[Page]:
    """Sign a user in; no script of a page may fail."""
    errors: list[str] = []
    expect.set_options(timeout=PATIENCE)
    with closing(browser.new_context(viewport={"width": 1280, "height": 800})) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{horizon}/auth/login/")
        page.locator("#id_username").fill(user)
        page.locator("#id_password").fill("sandbox")
        page.locator("#id_password").press("Enter")
        page.wait_for_url(re.compile("/project/|/admin/|/identity/"))
        yield page
    assert errors == []


def make_lease(page: Page, horizon: str, name: str, start: str = "", end: str = "") -> Locator:
    """Make a lease with the form, from now on for a day unless it is told when, and return its row."""
    page.goto(f"{horizon}/project/leases/")
    page.get_by_role("link", name="Create Lease").click()
    page.locator("#id_name").fill(name)
    page.locator("#id_start_date").fill(start)
    page.locator("#id_end_date").fill(end)
    # The script of the form shows the fields of the kind.
    expect(page.locator("#id_vcpus")).to_be_hidden()
    page.locator("#id_max_hosts").fill("2")
    page.locator("input[type=submit][value='Create Lease']").click()
    expect(page.get_by_text(f"Lease {name} was successfully created.")).to_be_visible()
    return page.get_by_role("row", name=name)


def delete_lease(page: Page, horizon: str, row: Locator) -> None:
    page.goto(f"{horizon}/project/leases/")
    row.get_by_role("button", name="Delete Lease").click()
    page.locator(".modal").get_by_text("Delete Lease", exact=True).last.click()
    # One that has begun is given back by and by.
    expect(row.get_by_text(re.compile("ACTIVE|PENDING"))).to_have_count(0)


def test_a_lease_is_made_shown_and_deleted(browser: Browser, horizon: str) -> None:
    with signed_in(browser, horizon, "demo") as page:
        row = make_lease(page, horizon, "in a browser", "2041-01-01 10:00", "2041-01-02 10:00")
        expect(row).to_contain_text("PENDING")
        row.get_by_role("link", name="in a browser").click()
        expect(page.get_by_text("physical:host").first).to_be_visible()
        delete_lease(page, horizon, row)
        expect(row).to_have_count(0)


def test_an_administrator_sees_hosts_and_what_is_on_them(browser: Browser, horizon: str) -> None:
    with signed_in(browser, horizon, "admin") as page:
        page.goto(f"{horizon}/admin/hosts/")
        expect(page.get_by_role("row", name="compute-01")).to_be_visible()
        row = make_lease(page, horizon, "on the calendar")
        page.get_by_role("link", name="Host Calendar").click()
        expect(page.locator(".apexcharts-yaxis")).to_contain_text("compute-01")
        expect(page.locator(".apexcharts-rangebar-area:visible").first).to_be_visible()
        delete_lease(page, horizon, row)
