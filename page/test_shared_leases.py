"""Leases of other projects that are shared with the user's: how they are marked, and what is offered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import SIZES, Enter, Site
from .test_calendar import bars
from .test_drawing import drag_bar
from .test_leases import opened

SHARES = {"OpenStack-API-Version": "reservation 1.36"}


@contextmanager
def shared(site: Site, name: str, right: str) -> Iterator[dict[str, Any]]:
    """Share a lease of alt's project with demo's, and delete it at the end."""
    made, alt = site.create("alt", name, 40, 50), site.user("alt")
    (ours,) = site.leases("demo", "training")
    path = f"/leases/{made['id']}"
    try:
        put = alt.call("PUT", f"{path}/shares/{ours['project_id']}", json={"right": right}, headers=SHARES)
        assert put.status_code == 200, put.text
        yield made
    finally:
        alt.call("DELETE", path)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_shared_to_be_read_is_marked_and_offers_nothing(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with shared(site, "their lab", "read"):
        enter("demo")
        dialog = opened(page, "their lab (shared)")
        expect(dialog.get_by_role("heading", name="their lab (shared)")).to_be_visible()
        expect(dialog).to_contain_text("another project's, and shared with this one: you may see it.")
        expect(dialog).to_contain_text("openstack reservation lease show ")
        for missing in ("lease set", "lease delete", "server create"):
            expect(dialog).not_to_contain_text(missing)
        for button in ("Extend", "Change the dates", "Cancel the lease"):
            expect(dialog.get_by_role("button", name=button)).to_have_count(0)
        dialog.get_by_role("link", name="Its own page").click()
        told = page.get_by_role("main")
        expect(told).to_contain_text("shared with this one: you may see it.")
        expect(told.get_by_role("button", name="Rename")).to_have_count(0)
        told.get_by_role("button", name="Make a feed").click()
        expect(told.get_by_text("/v1/feeds/")).to_be_visible()
        told.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("The feed is revoked")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_what_is_shared_to_be_changed_gets_another_name_and_other_dates(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with shared(site, "our lab", "change") as made:
        enter("demo")
        dialog = opened(page, "our lab (shared)")
        expect(dialog.get_by_role("button", name="Cancel the lease")).to_have_count(0)
        dialog.get_by_label("Extend by").select_option("1 day")
        expect(dialog.get_by_role("status")).to_contain_text("It fits")
        dialog.get_by_role("button", name="Extend", exact=True).click()
        expect(page.get_by_text("The lease ends at")).to_be_visible()
        (longer,) = site.leases("alt", "our lab")
        assert longer["end_date"] > made["end_date"]
        opened(page, "our lab (shared)").get_by_role("link", name="Its own page").click()
        page.get_by_label("Name").fill("the lab")
        page.get_by_role("button", name="Rename").click()
        expect(page.get_by_role("heading", name="the lab")).to_be_visible()
        assert site.leases("alt", "the lab")


def test_what_is_shared_to_be_used_tells_how(enter: Enter, page: Page, site: Site) -> None:
    with shared(site, "to use", "use") as made:
        enter("demo")
        dialog = opened(page, "to use (shared)")
        expect(dialog).to_contain_text("you may put servers onto what it reserves.")
        use = f"openstack server create --hint reservation={made['reservations'][0]['id']} "
        expect(dialog).to_contain_text(use)
        expect(dialog.get_by_role("button", name="Extend")).to_have_count(0)


def test_only_what_may_be_changed_is_moved_with_the_pointer(enter: Enter, page: Page, site: Site) -> None:
    with shared(site, "to move", "use_and_change") as movable, shared(site, "to see", "read") as fixed:
        enter("demo")
        drag_bar(page, "to see (shared)", "middle", -20)
        drag_bar(page, "to move (shared)", "middle", -20)
        expect(page.get_by_text("The lease to move is from")).to_be_visible()
        (moved,), (same,) = site.leases("alt", "to move"), site.leases("alt", "to see")
        assert moved["start_date"] < movable["start_date"]
        assert same["start_date"] == fixed["start_date"]


def test_what_is_no_longer_shared_is_gone(enter: Enter, page: Page, site: Site) -> None:
    page.clock.install()
    with shared(site, "for a while", "read") as made:
        enter("demo")
        expect(bars(page, "for a while (shared)")).to_have_count(1)
        (ours,) = site.leases("demo", "training")
        path = f"/leases/{made['id']}/shares/{ours['project_id']}"
        assert site.user("alt").call("DELETE", path, headers=SHARES).status_code == 204
        page.clock.fast_forward(21_000)
        expect(bars(page, "for a while (shared)")).to_have_count(0)
