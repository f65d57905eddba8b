"""Leases drawn and pulled with a finger on a phone, which scrolls and moves the time besides."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from .conftest import NARROW, Enter, Site
from .test_calendar import OVERFLOW, bars
from .test_drawing import an_hour, dates, hours_between, lease, lease_of

pytestmark = pytest.mark.browser_context_args(has_touch=True, is_mobile=True, viewport=NARROW)
HOLD = 600
"""Longer than a finger has to rest, in milliseconds."""


class Finger:
    """A finger on the screen, by the browser's own touch events."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._touch = page.context.new_cdp_session(page)

    def _send(self, kind: str, *points: tuple[float, float]) -> None:
        places = [{"x": x, "y": y} for x, y in points]
        self._touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    def __call__(
        self, start: tuple[float, float], by: tuple[float, float], rests: int = HOLD, lifts: bool = True
    ) -> None:
        """Put the finger down, let it rest, move it and lift it."""
        (x, y), (along, down) = start, by
        self._send("touchStart", start)
        self._page.wait_for_timeout(rests)
        for step in range(1, 9):
            self._send("touchMove", (x + along * step / 8, y + down * step / 8))
            self._page.wait_for_timeout(20)
        if lifts:
            self.lift()

    def lift(self) -> None:
        self._send("touchEnd")


@pytest.fixture
def finger(page: Page) -> Finger:
    return Finger(page)


def timeline(enter: Enter, user: str = "demo") -> Page:
    page = enter(user)
    page.get_by_label("As", exact=True).select_option("Timeline")
    expect(page.get_by_role("grid")).to_be_visible()
    return page


def place(node: Locator, at: str = "middle") -> tuple[float, float]:
    box = node.bounding_box()
    assert box
    x = {"start": box["x"] + 3, "middle": box["x"] + box["width"] / 2, "end": box["x"] + box["width"] - 3}[at]
    return x, box["y"] + box["height"] / 2


def empty_place(page: Page, hours: float) -> tuple[float, float]:
    """Return a place on the row of training, so many hours after the left edge."""
    axis, (_, y) = page.locator(".axis").bounding_box(), place(bars(page, "training"))
    assert axis
    return axis["x"] + hours * an_hour(page), y


def test_a_phone_has_an_agenda_and_a_timeline(enter: Enter, page: Page) -> None:
    enter("demo")
    chosen = page.get_by_label("As", exact=True)
    expect(chosen).to_have_value("agenda")
    expect(page.get_by_role("grid")).to_be_hidden()
    timeline(enter)
    expect(bars(page, "training")).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(chosen).to_have_value("timeline")
    expect(chosen.get_by_role("option", name="Table")).to_have_count(1)


def test_a_lease_is_made_by_drawing(enter: Enter, page: Page, site: Site, finger: Finger) -> None:
    timeline(enter)
    with lease_of(site, "by finger"):
        finger(empty_place(page, 60), (24 * an_hour(page), 0), lifts=False)
        expect(page.locator(".shadow.yes")).to_be_visible()
        expect(page.get_by_text("It fits.")).to_be_visible()
        finger.lift()
        form = page.get_by_role("dialog", name="New lease")
        first, last = (form.get_by_label(name, exact=True).input_value() for name in ("From", "To"))
        assert 22 <= hours_between(first, last) <= 26
        form.get_by_label("Name").fill("by finger")
        form.get_by_role("button", name="Create").click()
        expect(page.get_by_text("The lease by finger is made.")).to_be_visible()
        expect(bars(page, "by finger")).to_have_count(1)


def test_a_lease_is_pulled_longer_at_its_edge(enter: Enter, page: Page, site: Site, finger: Finger) -> None:
    with lease(site, "pulled", 20, 80):
        before = dates(site, "pulled")
        timeline(enter)
        finger(place(bars(page, "pulled"), "end"), (24 * an_hour(page), 0))
        expect(page.get_by_text("The lease pulled is from")).to_be_visible()
        after = dates(site, "pulled")
        assert after[0] == before[0]
        assert 20 <= hours_between(before[1], after[1]) <= 28
        page.get_by_role("button", name="Undo").tap()
        expect(page.get_by_text("It is as it was before.")).to_be_visible()
        assert dates(site, "pulled") == before


def test_a_lease_is_moved_and_stays_where_it_is_only_held(
    enter: Enter, page: Page, site: Site, finger: Finger
) -> None:
    with lease(site, "moved", 30.3, 90.3):
        before = dates(site, "moved")
        timeline(enter)
        finger(place(bars(page, "moved")), (0, 0))
        page.wait_for_timeout(300)
        assert dates(site, "moved") == before
        expect(page.locator(".shadow")).to_have_count(0)
        expect(page.get_by_role("dialog")).to_have_count(0)
        finger(place(bars(page, "moved")), (24 * an_hour(page), 0))
        expect(page.get_by_text("The lease moved is from")).to_be_visible()
        after = dates(site, "moved")
        assert 20 <= hours_between(before[0], after[0]) <= 28
        assert hours_between(*after) == hours_between(*before)


def test_a_finger_that_does_not_rest_moves_the_time(
    enter: Enter, page: Page, site: Site, finger: Finger
) -> None:
    with lease(site, "stays", 20, 80):
        before = dates(site, "stays")
        timeline(enter)
        x, y = place(bars(page, "stays"))
        finger((x, y), (-60, 0), rests=0)
        page.wait_for_timeout(300)
        moved = place(bars(page, "stays"))[0] - x
        assert -70 <= moved <= -30
        assert dates(site, "stays") == before
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.touchscreen.tap(*place(bars(page, "stays")))
        expect(page.get_by_role("dialog", name="stays")).to_be_visible()


def test_a_finger_that_goes_up_scrolls(enter: Enter, page: Page, finger: Finger) -> None:
    timeline(enter, "admin")
    page.get_by_role("grid").evaluate("(grid) => (grid.parentElement.style.height = '200px')")
    grid: Any = page.get_by_role("grid")
    grid.scroll_into_view_if_needed()
    finger(place(grid), (0, -80), rests=0)
    page.wait_for_timeout(300)
    assert grid.evaluate("(grid) => grid.scrollTop") + page.evaluate("scrollY") > 0
    expect(page.locator(".shadow")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_lease_of_another_project_stays_where_it_is(
    enter: Enter, page: Page, site: Site, finger: Finger
) -> None:
    timeline(enter, "admin")
    page.get_by_label("Show", exact=True).select_option("Leases")
    theirs = bars(page, "climate")
    expect(theirs).to_have_count(1)
    before = site.leases("alt", "climate")
    finger(place(theirs), (24 * an_hour(page), 0))
    page.wait_for_timeout(300)
    assert site.leases("alt", "climate") == before
    expect(page.get_by_text(re.compile("The lease climate"))).to_have_count(0)
