"""Good to everyone: axe finds nothing, in light, dark and forced colours, on wide and narrow screens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import NARROW, WIDE, Enter, Site
from .test_lease_page import page_of
from .test_on_start import WEBHOOK
from .test_on_start import make as make_with
from .test_series import make_series
from .test_shared_leases import SHARES

LOOKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "light": (WIDE, {"color_scheme": "light"}),
    "dark": (WIDE, {"color_scheme": "dark"}),
    "forced": (WIDE, {"color_scheme": "light", "forced_colors": "active"}),
    "narrow": (NARROW, {"color_scheme": "light", "forced_colors": "none"}),
}


def signing_in(page: Page, enter: Enter, site: Site) -> None:
    page.goto(site.url)
    page.get_by_role("button", name="Sign in as demo").wait_for()


def calendar(page: Page, enter: Enter, site: Site) -> None:
    enter("admin")


def lease(page: Page, enter: Enter, site: Site) -> None:
    enter("demo")
    page.get_by_role("button", name="training").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Commands")


def creation(page: Page, enter: Enter, site: Site) -> None:
    enter("demo")
    page.get_by_role("button", name="New lease").click()
    expect(page.get_by_role("dialog").get_by_role("status")).not_to_be_empty()


def recurring(page: Page, enter: Enter, site: Site) -> None:
    creation(page, enter, site)
    page.get_by_label("Repeat").select_option("each week")
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("All of them fit")


def splitting(page: Page, enter: Enter, site: Site) -> None:
    lease(page, enter, site)
    page.get_by_role("button", name="Split it").click()
    expect(page.get_by_role("dialog", name="Split training")).to_be_visible()


def taking_over(page: Page, enter: Enter, site: Site) -> None:
    (ours,) = site.leases("demo", "training")
    made = site.create("alt", "offered", "2053-01-02 09:00", "2053-01-02 12:00")
    share = f"/leases/{made['id']}/shares/{ours['project_id']}"
    put = site.user("alt").call("PUT", share, json={"right": "take_over"}, headers=SHARES)
    assert put.status_code == 200, put.text
    told = page_of(page, site, made)
    told.get_by_role("button", name="Take it over").click()
    expect(told.get_by_role("alert")).to_be_visible()


def started_with(page: Page, enter: Enter, site: Site) -> None:
    made = make_with(site, "with a webhook", WEBHOOK, "2053-01-03 09:00", "2053-01-03 12:00")
    told = page_of(page, site, made)
    expect(told.get_by_role("heading", name="Started with it")).to_be_visible()


def series_page(page: Page, enter: Enter, site: Site) -> None:
    made = make_series(site, "lecture", "2051-01-02 09:00")
    page_of(page, site, {"id": made["occurrences"][0]["lease_id"]})
    page.get_by_role("button", name="Delete the series").click()
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()


def lease_page(page: Page, enter: Enter, site: Site) -> None:
    (training,) = site.leases("demo", "training")
    page.goto(f"{site.url}#/leases/{training['id']}")
    page.get_by_role("button", name="Sign in as demo").click()
    expect(page.get_by_role("button", name="Make a feed")).to_be_visible()


def operators(page: Page, enter: Enter, site: Site) -> None:
    enter("admin").get_by_role("link", name="For operators").click()
    expect(page.get_by_text("Limits are set by a command")).to_be_visible()


def mail(page: Page, enter: Enter, site: Site) -> None:
    enter("demo").get_by_role("link", name="Mail").click()
    expect(page.get_by_role("button", name="Save")).to_be_visible()


def maintenance(page: Page, enter: Enter, site: Site) -> None:
    operators(page, enter, site)
    page.get_by_role("button", name="New maintenance").click()
    page.get_by_label("Hosts, by name or ID").fill("compute-01")
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("Leases that move")


@pytest.mark.parametrize(
    "scene",
    [
        signing_in,
        calendar,
        lease,
        lease_page,
        series_page,
        creation,
        recurring,
        splitting,
        taking_over,
        started_with,
        operators,
        mail,
        maintenance,
    ],
)
def test_axe_finds_nothing(page: Page, enter: Enter, site: Site, scene: Callable[..., None]) -> None:
    scene(page, enter, site)
    for look, (size, media) in LOOKS.items():
        page.set_viewport_size(size)
        page.emulate_media(**media)
        page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
        found = Axe().run(page)
        assert found.violations_count == 0, f"{look}: {found.generate_report()}"
        overflow = page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, look


def test_a_screen_reader_hears_rows_bars_and_what_is_free(enter: Enter) -> None:
    page = enter("demo")
    told = page.get_by_role("main").aria_snapshot()
    assert 'grid "Timeline. Arrow keys move' in told
    assert 'rowheader "training"' in told
    assert 'button "training, pending, from' in told


def test_bars_have_edges_in_forced_colours(enter: Enter, page: Page) -> None:
    page.emulate_media(forced_colors="active")
    enter("demo")
    bar = page.get_by_role("button", name="training,")
    style = bar.evaluate(
        "(bar) => [getComputedStyle(bar).borderTopStyle, getComputedStyle(bar).borderTopWidth]"
    )
    assert style == ["solid", "1px"]
