"""The zone of the viewer: the axis and the forms are right over a change of clocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import PATIENCE, SIZES, WIDE, Site
from .test_drawing import lease_of
from .test_leases import opened

At = Callable[[str], Page]

TICKS = """async ([start, hours, width]) => {
  const { Scale } = await import("./js/scale.js");
  const scale = new Scale(Date.parse(start), hours * 3600e3);
  return scale.ticks(width).map(({ at, isMajor }) =>
    [new Date(at).toISOString().slice(0, 16), new Date(at).toTimeString().slice(0, 5), isMajor]);
}"""
MOVED = """async ([start, end, part, by, step]) => {
  const { moved } = await import("./js/drawing.js");
  const old = { start: Date.parse(start), end: Date.parse(end) };
  const now = moved(old, part, by * 3600e3, step * 3600e3);
  return [now.start, now.end].map((each) => new Date(each).toISOString().slice(0, 16));
}"""


@pytest.fixture
def at(browser: Browser, site: Site) -> Iterator[At]:
    """Return a function that opens the page in a zone."""
    contexts = []

    def opened_in(zone: str) -> Page:
        context = browser.new_context(
            timezone_id=zone, locale="en-GB", viewport=WIDE, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(site.url)
        return page

    yield opened_in
    for each in contexts:
        each.close()


FORWARD, BACK = "2027-03-28", "2027-10-31"
"""When the clocks of Europe change."""


@pytest.mark.parametrize(
    ("zone", "start", "clocks"),
    [
        pytest.param(
            "Europe/Berlin", f"{FORWARD}T00:00Z", ["03:00", "04:00", "05:00"], id="an hour is missing"
        ),
        pytest.param(
            "Europe/Berlin", "2027-10-30T23:00Z", ["02:00", "02:00", "03:00"], id="an hour is twice"
        ),
        pytest.param(
            "Australia/Lord_Howe",
            "2027-10-02T14:30Z",
            ["02:30", "03:00", "04:00"],
            id="half an hour is missing",
        ),
    ],
)
def test_each_hour_of_the_axis_is_one_of_the_clock(at: At, zone: str, start: str, clocks: list[str]) -> None:
    ticks = at(zone).evaluate(TICKS, [start, 6, 600])
    found = [clock for _, clock, _ in ticks]
    assert found[1 : 1 + len(clocks)] == clocks


@pytest.mark.parametrize(
    ("zone", "start", "first"),
    [
        pytest.param("Europe/Berlin", "2027-03-26T12:00Z", "00:00", id="Berlin, forward"),
        pytest.param("Europe/Berlin", "2027-10-29T12:00Z", "00:00", id="Berlin, back"),
        pytest.param(
            "America/Santiago", "2027-09-03T12:00Z", "01:00", id="Santiago, where midnight is missing"
        ),
    ],
)
def test_each_day_of_the_axis_begins_with_the_day(at: At, zone: str, start: str, first: str) -> None:
    ticks = at(zone).evaluate(TICKS, [start, 7 * 24, 800])
    clocks = [clock for _, clock, _ in ticks]
    assert len(clocks) == 7
    assert set(clocks) - {first} <= {"00:00"}
    assert clocks.count("00:00") >= 6


def test_what_is_drawn_snaps_to_the_clock_on_both_sides_of_the_change(at: At) -> None:
    page = at("Europe/Berlin")
    old = ["2027-10-28T10:00Z", "2027-10-30T12:00Z"]
    assert page.evaluate(MOVED, [*old, "end", 13, 24])[1] == "2027-10-30T22:00"
    assert page.evaluate(MOVED, [*old, "end", 36, 24])[1] == "2027-10-31T23:00"
    assert page.evaluate(MOVED, [*old, "end", 22, 6])[1] == "2027-10-31T11:00"
    assert (
        page.evaluate(MOVED, ["2027-10-31T12:00Z", "2027-10-31T14:00Z", "start", -9, 24])[0]
        == "2027-10-30T22:00"
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_forms_keep_a_time_that_is_there_twice(at: At, site: Site, size: dict[str, Any]) -> None:
    made = site.create("demo", "over the change", f"{BACK} 00:30", f"{BACK} 01:30")
    with lease_of(site, "over the change"):
        page = at("Europe/Berlin")
        page.set_viewport_size(size)
        page.goto(f"{site.url}#/leases/{made['id']}")
        page.reload()
        page.get_by_role("button", name="Sign in as demo").click()
        # Both are half past two.
        expect(page.get_by_role("main")).to_contain_text("31 Oct 2027, 02:30 \u2013 31 Oct 2027, 02:30")
        page.get_by_role("button", name="Change the dates").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("From").fill(f"{BACK}T01:00")
        expect(dialog.get_by_role("status")).to_contain_text("It fits. The clocks show this time twice")
        dialog.get_by_role("button", name="Change the dates").click()
        expect(page.get_by_text("The lease over the change is from")).to_be_visible()
        (after,) = site.leases("demo", "over the change")
        assert (after["start_date"][:16], after["end_date"][:16]) == ("2027-10-30T23:00", f"{BACK}T01:30")


@pytest.mark.parametrize("size", SIZES)
def test_the_forms_refuse_a_time_that_is_not_there(at: At, site: Site, size: dict[str, Any]) -> None:
    page = at("Europe/Berlin")
    page.set_viewport_size(size)
    page.get_by_role("button", name="Sign in as demo").click()
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("skipped")
    dialog.get_by_label("To").fill(f"{FORWARD}T04:30")
    dialog.get_by_label("From").fill(f"{FORWARD}T02:30")
    expect(dialog.get_by_role("status")).to_contain_text("There is no such time")
    dialog.get_by_role("button", name="Create").click()
    page.wait_for_timeout(300)
    assert site.leases("demo", "skipped") == []
    dialog.get_by_label("From").fill(f"{FORWARD}T01:30")
    expect(dialog.get_by_role("status")).to_have_text("It fits.")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The lease skipped is made.")).to_be_visible()
    with lease_of(site, "skipped"):
        (made,) = site.leases("demo", "skipped")
        assert (made["start_date"][:16], made["end_date"][:16]) == (f"{FORWARD}T00:30", f"{FORWARD}T02:30")


def test_a_lease_stands_where_the_axis_says_over_the_change(at: At, site: Site) -> None:
    """From midnight to midnight of the day of 25 hours."""
    site.create("demo", "long day", "2027-10-30 22:00", f"{BACK} 23:00")
    with lease_of(site, "long day"):
        page = at("Europe/Berlin")
        page.get_by_role("button", name="Sign in as demo").click()
        page.get_by_label("Go to").fill("2027-10-29")
        bar = page.get_by_role("button", name="long day,")
        expect(bar).to_be_visible()
        days = page.locator(".tick")
        first, last = days.filter(has_text="Sun 31"), days.filter(has_text="1 Nov")
        box, begins, ends = bar.bounding_box(), first.bounding_box(), last.bounding_box()
        assert box and begins and ends
        assert abs(box["x"] - begins["x"]) < 2
        assert abs(box["x"] + box["width"] - ends["x"]) < 2


def test_a_day_more_is_a_day_of_the_clock(at: At, site: Site) -> None:
    site.create("demo", "a day more", "2027-10-30 10:00", "2027-10-30 14:00")
    with lease_of(site, "a day more"):
        page = at("Europe/Berlin")
        page.get_by_role("button", name="Sign in as demo").click()
        page.get_by_label("Go to").fill("2027-10-29")
        dialog = opened(page, "a day more")
        dialog.get_by_label("Extend by").select_option("1 day")
        expect(dialog.get_by_role("status")).to_contain_text("31 Oct 2027, 16:00")
        dialog.get_by_role("button", name="Extend", exact=True).click()
        expect(page.get_by_text("The lease ends at")).to_be_visible()
        (after,) = site.leases("demo", "a day more")
        assert after["end_date"][:16] == f"{BACK}T15:00"
