"""Leases of other projects that are shared with the user's: how they are marked, and what is offered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from process.conftest import Standalone

from .conftest import SIZES, Enter, Site
from .test_calendar import bars
from .test_drawing import drag_bar, lease_of
from .test_leases import opened

SHARES = {"OpenStack-API-Version": "reservation 1.38"}


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


@pytest.mark.parametrize("size", SIZES)
def test_what_is_offered_is_taken_over(enter: Enter, page: Page, site: Site, size: dict[str, Any]) -> None:
    page.set_viewport_size(size)
    with lease_of(site, "handed over"), shared(site, "handed over", "take_over") as made:
        enter("demo")
        dialog = opened(page, "handed over (shared)")
        expect(dialog).to_contain_text(f"openstack reservation lease take over {made['id']}")
        dialog.get_by_role("button", name="Take it over").click()
        expect(dialog.get_by_role("alert")).to_contain_text("counts in its quota. That cannot be undone.")
        expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()
        dialog.get_by_role("button", name="Leave it").click()
        assert site.leases("demo", "handed over") == []
        dialog.get_by_role("link", name="Its own page").click()
        told = page.get_by_role("main")
        expect(told.get_by_role("button", name="Rename")).to_have_count(0)
        told.get_by_role("button", name="Take it over").click()
        told.get_by_role("button", name="Yes, take it over").click()
        expect(page.get_by_text("The lease handed over is this project's now.")).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        expect(told.get_by_role("button", name="Cancel the lease")).to_be_visible()
        expect(told).not_to_contain_text("another project")
        (ours,) = site.leases("demo", "handed over")
        assert ours["id"] == made["id"]
        assert site.leases("alt", "handed over") == []


def test_a_take_over_that_is_refused_says_why(enter: Enter, page: Page, site: Site) -> None:
    with shared(site, "too much", "take_over"):
        (ours,) = site.leases("demo", "training")
        quota, admin = f"/quotas/{ours['project_id']}", site.user("admin")
        limits = {"limits": {"hosts": 0}}
        assert admin.call("PUT", quota, json=limits, headers=SHARES).status_code == 200
        try:
            enter("demo")
            dialog = opened(page, "too much (shared)")
            dialog.get_by_role("button", name="Take it over").click()
            dialog.get_by_role("button", name="Yes, take it over").click()
            expect(dialog.get_by_role("alert")).to_contain_text("hosts")
            assert site.leases("alt", "too much")
        finally:
            admin.call("DELETE", quota, headers=SHARES)


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service whose operator lets all users see when hosts are occupied."""
    folder = tmp_path_factory.mktemp("open")
    rules, options = folder / "policy.yaml", folder / "more.conf"
    rules.write_text('"blazar:timeline:get": "rule:project_reader_or_admin"\n')
    options.write_text(f"[oslo_policy]\npolicy_file = {rules}\n")
    service = Standalone(folder / "var", hosts=8, more=["--config-file", options])
    service.start()
    try:
        site = Site(service)
        site.create("demo", "training", 1, 30)
        yield site
    finally:
        service.close()


def test_bars_on_hosts_tell_what_is_shared(page: Page, troubles: list[str], open_site: Site) -> None:
    with shared(open_site, "their hosts", "read"), shared(open_site, "our hosts", "change"):
        hidden = open_site.create("alt", "hidden", 40, 50)
        page.goto(open_site.url)
        page.get_by_role("button", name="Sign in as demo").click()
        expect(page.get_by_label("Show", exact=True)).to_have_value("resources")
        fixed, movable = bars(page, "their hosts (shared)"), bars(page, "our hosts (shared)")
        for bar in (fixed, movable):
            expect(bar).to_have_count(1)
            expect(bar).to_have_class(re.compile(r"\bshared\b"))
            expect(bar).to_have_css("border-left-width", "5px")
        expect(bars(page, "Reserved")).to_have_count(1)
        expect(bars(page, "training")).not_to_have_class(re.compile(r"\bshared\b"))
        drag_bar(page, "their hosts (shared)", "middle", -20)
        drag_bar(page, "our hosts (shared)", "middle", -20)
        expect(page.get_by_text("The lease our hosts is from")).to_be_visible()
        opened(page, "their hosts (shared)")
        expect(page.get_by_role("dialog")).to_contain_text("you may see it.")
        open_site.user("alt").call("DELETE", f"/leases/{hidden['id']}")
