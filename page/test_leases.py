"""Leases on the page: what is told of one, and making, extending and cancelling one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import SIZES, Enter, Site


def opened(page: Page, name: str):
    # On a narrow screen it is a card, whose name goes on without a comma.
    page.get_by_role("button", name=re.compile(f"^{re.escape(name)}")).first.click()
    return page.get_by_role("dialog")


def ask_hosts(dialog: Locator, count: str) -> None:
    dialog.get_by_label("Hosts, at most").fill(count)
    dialog.get_by_label("Hosts, at least").fill(count)


def test_a_lease_tells_what_it_got_and_how_to_use_it(enter: Enter, site: Site) -> None:
    (lease,) = site.leases("demo", "training")
    dialog = opened(enter("admin"), "training")
    expect(dialog).to_contain_text("pending")
    expect(dialog).to_contain_text("compute-01, compute-02")
    reservation = lease["reservations"][0]["id"]
    expect(dialog).to_contain_text(f"openstack server create --hint reservation={reservation} ")
    expect(dialog).to_contain_text(f"openstack reservation lease show {lease['id']}")
    expect(dialog.get_by_role("row", name="Warning before the end")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_a_lease_is_made_with_a_dry_run_before(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    enter("demo")
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_have_text("It fits.")
    dialog.get_by_label("Name").fill("made here")
    ask_hosts(dialog, "9")
    expect(dialog.get_by_role("status")).to_contain_text("It does not fit: Not enough hosts")
    ask_hosts(dialog, "2")
    expect(dialog.get_by_role("status")).to_have_text("It fits.")
    assert site.leases("demo", "made here") == []
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The lease made here is made.")).to_be_visible()
    expect(page.get_by_role("button", name="made here")).to_have_count(1)
    (made,) = site.leases("demo", "made here")
    assert site.user("demo").call("DELETE", f"/leases/{made['id']}").status_code == 204


@pytest.mark.parametrize("size", SIZES)
def test_the_form_has_the_fields_of_each_kind(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    enter("demo")
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("two servers")
    dialog.get_by_label("Kind").select_option("Instances")
    dialog.get_by_label("How many").fill("2")
    dialog.get_by_label("VCPUs each").fill("2")
    dialog.get_by_label("All on one host").select_option("no")
    expect(dialog.get_by_role("status")).to_have_text("It fits.")
    dialog.get_by_label("Kind").select_option("Floating IPs")
    dialog.get_by_label("Network's ID").fill("nowhere")
    expect(dialog.get_by_role("status")).to_contain_text("It does not fit")
    dialog.get_by_label("Kind").select_option("Servers that exist")
    dialog.get_by_label("Server's ID").fill("00000000-0000-4000-8000-000000000000")
    dialog.get_by_label("At the end").select_option(["create_image", "delete"])
    expect(dialog.get_by_role("status")).to_contain_text("could not be found")
    dialog.get_by_label("Kind").select_option("Volumes")
    expect(dialog.get_by_label("Gigabytes each")).to_have_value("")
    dialog.get_by_label("Volume type").fill("fast")
    expect(dialog.get_by_role("status")).to_contain_text("It does not fit")
    dialog.get_by_label("Kind").select_option("Instances")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The lease two servers is made.")).to_be_visible()
    (made,) = site.leases("demo", "two servers")
    (reservation,) = made["reservations"]
    assert (reservation["amount"], reservation["vcpus"], reservation["affinity"]) == (2, 2, False)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was before.")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_what_does_not_fit_is_offered_otherwise(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    enter("demo")
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("instead")
    ask_hosts(dialog, "8")
    take = dialog.get_by_role("button", name="Take this")
    expect(take.first).to_be_visible()
    take.first.click()
    expect(page.get_by_text("The lease instead is made.")).to_be_visible()
    (made,) = site.leases("demo", "instead")
    assert site.user("demo").call("DELETE", f"/leases/{made['id']}").status_code == 204


@pytest.mark.parametrize("size", SIZES)
def test_a_lease_is_extended_and_cancelled(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    made = site.create("demo", "short", 70, 71)
    enter("demo")
    dialog = opened(page, "short")
    dialog.get_by_label("Extend by").select_option("1 day")
    expect(dialog.get_by_role("status")).to_contain_text("It fits")
    dialog.get_by_role("button", name="Extend", exact=True).click()
    expect(page.get_by_text("The lease ends at")).to_be_visible()
    (longer,) = site.leases("demo", "short")
    assert longer["end_date"] > made["end_date"]
    dialog = opened(page, "short")
    dialog.get_by_role("button", name="Cancel the lease").click()
    dialog.get_by_role("button", name="Keep it").click()
    dialog.get_by_role("button", name="Cancel the lease").click()
    dialog.get_by_role("button", name="Yes, cancel it").click()
    expect(page.get_by_text("The lease is cancelled.")).to_be_visible()
    assert site.leases("demo", "short") == []


def test_a_name_is_text_whatever_is_in_it(enter: Enter, site: Site) -> None:
    name = "<img src=x onerror=alert(1)>"
    made = site.create("demo", name, 3, 6)
    try:
        page = enter("demo")
        expect(page.get_by_role("rowheader", name=name)).to_be_visible()
        expect(opened(page, name)).to_contain_text(name)
    finally:
        site.user("demo").call("DELETE", f"/leases/{made['id']}")
