"""What is started with a lease, as its page tells it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import SIZES, Site, in_hours
from .test_drawing import lease_of
from .test_lease_page import page_of

VERSION = {"OpenStack-API-Version": "reservation 1.37"}
STACK = {"type": "stack", "template": {"heat_template_version": "2021-04-16"}}
WEBHOOK = {"type": "webhook", "url": "https://receiver.example.com/leases"}
HOST = {"resource_type": "physical:host", "min": 1, "max": 1}
HOST |= {"hypervisor_properties": "", "resource_properties": ""}


def make(
    site: Site, name: str, on_start: dict[str, Any], start: str, end: str | None = None
) -> dict[str, Any]:
    body = {"name": name, "start_date": start, "end_date": end or in_hours(5), "reservations": [HOST]}
    made = site.user("demo").call("POST", "/leases", json={**body, "on_start": on_start}, headers=VERSION)
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()["lease"]
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_stack_and_how_far_it_is(page: Page, troubles: list[str], site: Site, size: dict[str, Any]) -> None:
    page.set_viewport_size(size)
    page.clock.install()
    with lease_of(site, "with a stack"):
        made = make(site, "with a stack", STACK, "now")
        told = page_of(page, site, made)
        section = told.locator("section").filter(has=page.get_by_role("heading", name="Started with it"))
        expect(section).to_contain_text("A stack of Heat")
        expect(section).to_contain_text(f"blazar-{made['id']}")
        for _ in range(40):
            page.clock.fast_forward(21_000)
            page.wait_for_timeout(500)
            if "created" in section.inner_text():
                break
        expect(section).to_contain_text("created")
        expect(told.get_by_role("button", name="Split it")).to_have_count(0)


def test_a_webhook_and_its_address(page: Page, troubles: list[str], site: Site) -> None:
    with lease_of(site, "with a webhook"):
        told = page_of(page, site, make(site, "with a webhook", WEBHOOK, in_hours(3)))
        section = told.locator("section").filter(has=page.get_by_role("heading", name="Started with it"))
        expect(section).to_contain_text("A webhook")
        expect(section).to_contain_text("https://receiver.example.com/leases")
        expect(section).to_contain_text("pending")


def test_nothing_is_told_where_nothing_is_started(page: Page, troubles: list[str], site: Site) -> None:
    (made,) = site.leases("demo", "training")
    told = page_of(page, site, made)
    expect(told).to_contain_text("Commands")
    expect(told.get_by_role("heading", name="Started with it")).to_have_count(0)
