"""A lease's own page: its address, what it tells, and all that is done to a lease without dragging."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from .conftest import SIZES, Enter, Site, started
from .test_drawing import lease
from .test_leases import opened


def page_of(page: Page, site: Site, made: dict[str, Any], user: str = "demo") -> Locator:
    """Open the address of the lease's page, sign in there, and return the page."""
    page.goto(f"{site.url}#/leases/{made['id']}")
    page.get_by_role("button", name=f"Sign in as {user}").click()
    page.get_by_role("link", name="Calendar").wait_for()
    return page.get_by_role("main")


@pytest.mark.parametrize("size", SIZES)
def test_it_has_an_address_that_outlives_a_reload(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with lease(site, "linked", 40, 50) as made:
        enter("demo")
        opened(page, "linked").get_by_role("link", name="Its own page").click()
        expect(page.get_by_role("heading", name="linked")).to_be_focused()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url == f"{site.url}#/leases/{made['id']}"
        expect(page).to_have_title("linked · Reservations")
        page.reload()
        page.get_by_role("button", name="Sign in as demo").click()
        expect(page.get_by_role("heading", name="linked")).to_be_visible()
        page.get_by_role("link", name="Calendar").click()
        expect(page.get_by_role("heading", name="linked")).to_be_hidden()
        expect(page.get_by_role("button", name="linked").first).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="linked")).to_be_visible()


def test_it_tells_what_it_got_how_to_use_it_and_its_history(
    page: Page, troubles: list[str], site: Site
) -> None:
    (made,) = site.leases("demo", "training")
    told = page_of(page, site, made, "admin")
    expect(told).to_contain_text("pending; Hosts: 2 (compute-01, compute-02)")
    use = f"openstack server create --hint reservation={made['reservations'][0]['id']} "
    expect(told).to_contain_text(use)
    history = told.get_by_role("table").get_by_role("row")
    expect(history.nth(1)).to_contain_text("Made")
    expect(history.filter(has_text="Start")).to_contain_text("not yet")
    expect(history.last).to_contain_text(re.compile("End.*not yet"))


def test_a_command_is_copied(page: Page, troubles: list[str], site: Site) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    (made,) = site.leases("demo", "training")
    told = page_of(page, site, made)
    line = told.locator(".command").filter(has_text="lease show")
    line.get_by_role("button", name="Copy").click()
    expect(line.get_by_role("button", name="Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"openstack reservation lease show {made['id']}"


def test_what_has_happened_appears_with_its_outcome(page: Page, troubles: list[str], site: Site) -> None:
    page.clock.install()
    made = site.create("demo", "under way", "now", 5)
    told = page_of(page, site, made)
    started(site, "under way")
    page.clock.fast_forward(21_000)
    expect(told.get_by_role("row").filter(has_text="Start")).to_contain_text(re.compile(r"done, .*20\d\d"))
    expect(told.locator(".chip")).to_have_text("active")
    told.get_by_role("button", name="Cancel the lease").click()
    told.get_by_role("button", name="Yes, cancel it").click()
    expect(page.get_by_text("The lease is cancelled.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
def test_a_lease_is_renamed_extended_and_shortened(
    page: Page, troubles: list[str], site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with lease(site, "first name", 40, 50) as made:
        told = page_of(page, site, made)
        told.get_by_label("Name").fill("second name")
        told.get_by_role("button", name="Rename").click()
        expect(page.get_by_role("heading", name="second name")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="first name")).to_be_visible()

        told.get_by_label("Extend by").select_option("1 day")
        told.get_by_role("button", name="Extend", exact=True).click()
        expect(page.get_by_text("The lease ends at")).to_be_visible()
        (longer,) = site.leases("demo", "first name")
        assert longer["end_date"] > made["end_date"]

        told.get_by_role("button", name="Change the dates").click()
        dates = page.get_by_role("dialog")
        dates.get_by_label("To").fill(dates.get_by_label("From").input_value()[:11] + "23:59")
        dates.get_by_role("button", name="Change the dates").click()
        expect(page.get_by_text("The lease first name is from")).to_be_visible()
        (shorter,) = site.leases("demo", "first name")
        assert shorter["end_date"] < longer["end_date"]


def test_a_lease_is_cancelled_and_made_again(page: Page, troubles: list[str], site: Site) -> None:
    with lease(site, "back again", 40, 50, hosts=2) as made:
        told = page_of(page, site, made)
        told.get_by_role("button", name="Cancel the lease").click()
        told.get_by_role("button", name="Yes, cancel it").click()
        expect(page.get_by_role("heading", name="The lease back again is no longer there.")).to_be_visible()
        assert site.leases("demo", "back again") == []
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="back again", exact=True)).to_be_visible()
        (again,) = site.leases("demo", "back again")
        assert page.url.endswith(f"#/leases/{again['id']}")
        kept = ("name", "start_date", "end_date")
        assert {key: again[key] for key in kept} == {key: made[key] for key in kept}
        assert again["reservations"][0]["max"] == 2


def test_a_feed_is_made_and_revoked(page: Page, troubles: list[str], site: Site) -> None:
    with lease(site, "fed", 40, 50) as made:
        told = page_of(page, site, made)
        told.get_by_role("button", name="Make a feed").click()
        expect(told).to_contain_text("This address is not shown again.")
        address = told.locator(".feed code").inner_text()
        assert made["id"] in requests.get(address).text
        told.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("The feed is revoked.")).to_be_visible()
        expect(told.get_by_role("button", name="Revoke")).to_have_count(0)
        assert requests.get(address).status_code == 404


def test_a_lease_of_others_is_not_told(page: Page, troubles: list[str], site: Site) -> None:
    (made,) = site.leases("alt", "climate")
    page_of(page, site, made)
    expect(page.get_by_role("heading", name="There is no such lease")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("climate")
