"""What operators see and do: managers, what is reserved, the projects, and hosts that are taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import NEWEST, SIZES, Enter, Site, started
from .test_calendar import bars
from .test_drawing import an_hour, drag
from .test_leases import opened


@contextmanager
def no_maintenance_after(site: Site, *names: str) -> Iterator[None]:
    try:
        yield
    finally:
        admin = site.user("admin")
        for each in admin.call("GET", "/maintenances", headers=NEWEST).json()["maintenances"]:
            if each["name"] in names:
                admin.call("DELETE", f"/maintenances/{each['id']}", headers=NEWEST)


def page_of(enter: Enter) -> Locator:
    page = enter("admin")
    page.get_by_role("link", name="For operators").click()
    expect(page.get_by_role("heading", name="For operators")).to_be_focused()
    return page.get_by_role("main")


def test_only_operators_are_led_to_their_page(enter: Enter) -> None:
    page = enter("demo")
    page.wait_for_timeout(300)
    expect(page.get_by_role("link", name="For operators")).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
def test_health_managers_and_projects_are_told(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    project = site.leases("demo", "training")[0]["project_id"]
    limit = {"limits": {"hosts": 4}}
    assert site.user("admin").call("PUT", f"/quotas/{project}", json=limit).status_code == 200
    try:
        told = page_of(enter)
        expect(told).to_contain_text("Lateness of events0 s")
        expect(told).to_contain_text("Delay of what subscribers are told0 s")
        expect(told).to_contain_text("Threads that do not worknone")
        expect(told.get_by_role("row").filter(has_text="blazar-manager")).to_have_count(1)
        expect(told).to_contain_text("Comparison with the cloudOK")
        expect(told.get_by_role("row").filter(has_text="up")).to_contain_text("s")
        hosts = told.get_by_role("row").filter(has_text=re.compile("^demohosts\\d"))
        expect(hosts).to_contain_text("demohosts4")
        expect(hosts.get_by_role("meter")).to_have_count(1)
        expect(told.get_by_role("row").filter(has_text=re.compile("^althostsnone"))).to_contain_text("none")
    finally:
        site.user("admin").call("DELETE", f"/quotas/{project}")


def test_usage_is_told_by_project(enter: Enter, site: Site) -> None:
    made = site.create("alt", "over soon", "now", 5)
    started(site, "over soon", "alt")
    # What it has cost is known as soon as it is over.
    assert site.user("alt").call("DELETE", f"/leases/{made['id']}").status_code == 204
    usage = page_of(enter).get_by_role("group", name="Promised")
    row = usage.get_by_role("row").filter(has_text=re.compile(r"^altHosts[\d.]+$"))
    expect(row.get_by_role("meter")).to_have_count(1)


def test_usage_is_told_over_time(enter: Enter, site: Site) -> None:
    made = site.create("alt", "over since", "now", 5)
    started(site, "over since", "alt")
    assert site.user("alt").call("DELETE", f"/leases/{made['id']}").status_code == 204
    told = page_of(enter)
    row = told.get_by_role("group", name="Over time, Promised").get_by_role("row", name="Hosts")
    bars = row.get_by_role("img")
    periods = re.compile(r"^(from [^;]+: [\d.]+ promised, [\d.]+ used(; |$)){12}$")
    expect(bars).to_have_attribute("aria-label", periods)
    weeks = bars.get_attribute("aria-label")
    told.get_by_label("Time back").select_option("12 days")
    expect(bars).not_to_have_attribute("aria-label", str(weeks))
    expect(bars).to_have_attribute("aria-label", periods)


def test_what_is_reserved_is_told_over_time(enter: Enter) -> None:
    told = page_of(enter)
    hosts = told.get_by_role("row").filter(has_text=re.compile("^hosts.*of 8"))
    expect(hosts).to_contain_text(re.compile(r"\d+ %\d+ %$"))
    week = hosts.inner_text()
    told.get_by_label("Time ahead").select_option("1 year")
    expect(hosts).not_to_have_text(week)
    expect(hosts.locator("canvas")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_a_maintenance_is_made_by_a_form_that_tells_first_what_it_does(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    taken = site.create("alt", "in its way", 80, 100, hosts=8)
    try:
        with no_maintenance_after(site, "new kernel"):
            told = page_of(enter)
            expect(told.get_by_role("row").filter(has_text="new disks")).to_contain_text("compute-08")
            told.get_by_role("button", name="New maintenance").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_label("Hosts, by name or ID").fill("compute-03 nowhere")
            expect(dialog.get_by_role("status")).to_contain_text("nowhere")
            dialog.get_by_label("Hosts, by name or ID").fill("compute-03")
            expect(dialog.get_by_role("status")).to_have_text(re.compile(r"that break: 0; that stay: 0\.$"))
            take = dialog.get_by_role("button", name="Take the hosts away")
            expect(take).to_be_enabled()
            to = dialog.get_by_label("To")
            to.fill(f"{int(to.input_value()[:4]) + 1}{to.input_value()[4:]}")
            expect(dialog.get_by_role("status")).to_contain_text(re.compile(r"that break: [1-9]"))
            expect(dialog.get_by_role("row").filter(has_text="in its way")).to_contain_text(
                "no other host suits"
            )
            expect(take).to_be_disabled()
            dialog.get_by_label("Name", exact=True).fill("new kernel")
            dialog.get_by_label("Do it all the same").check()
            expect(take).to_be_enabled()
            take.click()
            expect(page.get_by_text("The hosts are taken away: new kernel.")).to_be_visible()
            row = told.get_by_role("row").filter(has_text="new kernel")
            expect(row).to_contain_text("compute-03")
            row.get_by_role("button", name="End it").click()
            expect(page.get_by_text("The maintenance new kernel is ended")).to_be_visible()
            expect(row).to_have_count(0)
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_text("Leases would break")).to_be_visible()
    finally:
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")


def test_a_maintenance_is_drawn_and_ended_on_the_timeline(enter: Enter, site: Site) -> None:
    with no_maintenance_after(site, "drawn away"):
        page = enter("admin")
        plot = page.get_by_role("row", name="compute-07").locator(".plot").bounding_box()
        assert plot
        drag(page, plot["x"] + plot["width"] * 0.6, plot["y"] + 15, 24 * an_hour(page))
        page.get_by_role("dialog").get_by_role("button", name="Maintenance instead").click()
        dialog = page.get_by_role("dialog", name="New maintenance")
        expect(dialog.get_by_label("Hosts, by name or ID")).to_have_value("compute-07")
        dialog.get_by_label("Name", exact=True).fill("drawn away")
        expect(dialog.get_by_role("status")).to_contain_text("that break: 0;")
        dialog.get_by_role("button", name="Take the hosts away").click()
        expect(bars(page, "Maintenance: drawn away")).to_have_count(1)
        dialog = opened(page, "Maintenance: drawn away")
        dialog.get_by_role("button", name="End it").click()
        expect(page.get_by_text("The maintenance drawn away is ended")).to_be_visible()
        expect(bars(page, "Maintenance: drawn away")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(bars(page, "Maintenance: drawn away")).to_have_count(1)


def test_no_maintenance_is_offered_to_others(enter: Enter) -> None:
    page = enter("demo")
    page.get_by_role("rowheader").first.focus()
    page.keyboard.press("n")
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("It fits.")
    expect(page.get_by_role("button", name="Maintenance instead")).to_have_count(0)
