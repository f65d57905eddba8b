"""Looking at the calendar: rows and bars, time, search and groups, keys, and what changes meanwhile."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from .conftest import NARROW, Enter, Site

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def bars(page: Page, name: str):
    return page.get_by_role("button", name=f"{name},")


def test_an_administrator_sees_each_resource_and_what_is_on_it(enter: Enter) -> None:
    page = enter("admin")
    grid = page.get_by_role("grid")
    # Eight hosts and four floating IPs are registered; each kind has a line of its own above.
    expect(grid).to_have_attribute("aria-rowcount", "14")
    expect(bars(page, "training")).to_have_count(2)
    expect(bars(page, "climate")).to_have_count(3)
    expect(bars(page, "Maintenance: new disks")).to_have_count(1)
    expect(page.get_by_role("row", name="Floating IPs")).to_have_attribute("aria-rowindex", "10")


def test_others_see_the_leases_of_their_project(enter: Enter) -> None:
    page = enter("demo")
    expect(bars(page, "training")).to_have_count(1)
    expect(bars(page, "climate")).to_have_count(0)
    expect(page.get_by_label("Show", exact=True)).to_be_hidden()


def test_bars_stand_where_the_axis_says(enter: Enter) -> None:
    """The lease of 29 hours is 29 of the 168 hours of a week long."""
    page = enter("demo")
    bar, plot = bars(page, "training").bounding_box(), page.locator(".plot").last.bounding_box()
    assert bar and plot
    assert abs(bar["width"] / plot["width"] - 29 / 168) < 0.01


def test_time_moves_and_is_zoomed(enter: Enter) -> None:
    page = enter("demo")
    page.get_by_role("button", name="Later").click()
    expect(bars(page, "training")).to_have_count(0)
    page.get_by_role("button", name="Now").click()
    expect(bars(page, "training")).to_have_count(1)
    page.get_by_label("Span").select_option("2 years")
    expect(bars(page, "training")).to_have_count(1)
    page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_label("Span")).to_have_value(str(365 * 24 * 3600 * 1000))
    page.get_by_label("Span").select_option("1 hour")
    expect(page.locator(".now")).to_be_visible()


def test_rows_are_searched_and_grouped(enter: Enter) -> None:
    page = enter("admin")
    page.get_by_label("Search").fill("COMPUTE-03")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "2")
    page.get_by_label("Search").fill("")
    page.get_by_label("Group by").fill("rack")
    expect(page.get_by_role("row", name="Hosts · r1")).to_be_visible()
    expect(page.get_by_role("row", name="Hosts · r4")).to_be_visible()
    page.get_by_label("Group by").fill("availability_zone")
    expect(page.get_by_role("row", name="Hosts · nova")).to_be_visible()
    page.get_by_label("Group by").fill("vcpus")
    expect(page.get_by_role("row", name="Hosts · 16")).to_be_visible()
    page.get_by_label("Kind").select_option("Floating IPs")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "5")


def test_what_rows_can_be_grouped_by_is_offered(enter: Enter) -> None:
    page = enter("admin")
    offered = page.locator("#groups option")
    for name in ("availability_zone", "rack", "gpu"):
        expect(offered.and_(page.locator(f'[value="{name}"]'))).to_have_count(1)
    page.get_by_label("Show", exact=True).select_option("Leases")
    expect(offered).to_have_count(2)


def test_leases_are_grouped_by_project_and_status(enter: Enter) -> None:
    page = enter("admin")
    page.get_by_label("Show", exact=True).select_option("Leases")
    expect(page.get_by_role("rowheader", name="climate")).to_be_visible()
    page.get_by_label("Group by").fill("project")
    alt, demo = (page.get_by_role("row", name=re.compile(f"^{name}")) for name in ("alt", "demo"))
    expect(alt).to_be_visible()
    expect(page.get_by_role("rowheader", name="climate")).to_be_visible()
    expect(alt).to_have_attribute("aria-rowindex", "1")
    expect(demo).to_be_visible()
    page.get_by_label("Group by").fill("status")
    expect(page.get_by_role("row", name=re.compile("^pending"))).to_be_visible()
    page.get_by_label("Search").fill("alt")
    expect(page.get_by_role("rowheader", name="training")).to_have_count(0)
    expect(page.get_by_role("rowheader", name="climate")).to_be_visible()


def test_a_day_is_gone_to(enter: Enter) -> None:
    page = enter("demo")
    page.get_by_label("Go to").fill("2030-05-06")
    expect(page.locator(".tick").filter(has_text="Mon 6")).to_be_visible()
    expect(bars(page, "training")).to_have_count(0)


def test_the_same_is_told_as_a_table(enter: Enter) -> None:
    page = enter("admin")
    page.get_by_label("As", exact=True).select_option("Table")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows.filter(has_text="climate")).to_have_count(3)
    rows.filter(has_text="climate").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("climate")


def test_all_is_reached_by_keys(enter: Enter) -> None:
    page = enter("admin")
    focused = page.locator(":focus")
    page.locator('[data-bar="-1"]').first.focus()
    expect(page.locator('.grid [tabindex="0"]')).to_have_count(1)
    expect(focused).to_contain_text("compute-01")
    page.keyboard.press("ArrowDown")
    expect(focused).to_contain_text("compute-02")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_text("training")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("training")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(focused).to_have_text("training")
    page.keyboard.press("ArrowLeft")
    expect(focused).to_contain_text("compute-02")
    page.keyboard.press("Control+End")
    expect(page.locator('.name[tabindex="0"]')).to_contain_text("203.0.113.")
    page.keyboard.press("Control+Home")
    expect(page.locator('.name[tabindex="0"]')).to_contain_text("compute-01")
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(bars(page, "training")).to_have_count(0)
    page.keyboard.press("t")
    page.keyboard.press("-")
    expect(page.get_by_label("Span")).to_have_value(str(28 * 24 * 3600 * 1000))
    page.keyboard.press("Shift+Tab")
    assert not page.evaluate("() => document.querySelector('.grid').contains(document.activeElement)")


def test_the_pointer_moves_time_at_its_axis(enter: Enter) -> None:
    page = enter("demo")
    box, axis = bars(page, "training").bounding_box(), page.locator(".axis").bounding_box()
    assert box and axis
    page.mouse.move(box["x"] + 20, axis["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, axis["y"] + 10, steps=4)
    page.mouse.up()
    after = bars(page, "training").bounding_box()
    assert after and abs(after["x"] - box["x"] - 100) < 2


def test_what_has_changed_appears_and_what_has_not_is_not_sent(enter: Enter, page: Page, site: Site) -> None:
    page.clock.install()
    enter("admin")
    statuses: list[int] = []
    page.on("response", lambda answer: "/timeline" in answer.url and statuses.append(answer.status))
    page.clock.fast_forward(21_000)
    page.wait_for_timeout(500)
    assert statuses and set(statuses) == {304}
    site.create("demo", "new one", 2, 5)
    page.clock.fast_forward(21_000)
    expect(bars(page, "new one")).to_have_count(1)


def test_what_is_free_is_told_in_words_as_well(enter: Enter) -> None:
    page = enter("demo")
    told = re.compile(r"\d of 8 hosts free now, at least \d in this time")
    expect(page.get_by_role("img")).to_have_attribute("aria-label", told)


def test_a_narrow_screen_has_an_agenda(enter: Enter, page: Page) -> None:
    page.set_viewport_size(NARROW)
    enter("demo")
    expect(page.get_by_role("grid")).to_be_hidden()
    expect(page.get_by_role("button", name="training")).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0
    page.get_by_role("button", name="training").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0
