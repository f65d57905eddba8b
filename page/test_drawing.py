"""Leases drawn, moved and pulled with the pointer, and the same by the form; what was done is undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import SIZES, Enter, Site, started
from .test_calendar import bars
from .test_leases import ask_hosts, opened

HOUR = 1 / 168
"""Of the width of a week."""


@contextmanager
def lease(site: Site, name: str, first: float, last: float, hosts: int = 1) -> Iterator[dict[str, Any]]:
    made = site.create("demo", name, first, last, hosts)
    with lease_of(site, name):
        yield made


@contextmanager
def lease_of(site: Site, name: str) -> Iterator[None]:
    """Delete what has this name at the end."""
    try:
        yield
    finally:
        for each in site.leases("demo", name):
            site.user("demo").call("DELETE", f"/leases/{each['id']}")


def an_hour(page: Page) -> float:
    box = page.locator(".axis").bounding_box()
    assert box
    return box["width"] * HOUR


def drag(page: Page, x: float, y: float, by: float, *, let_go: bool = True) -> None:
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y, steps=5)
    if let_go:
        page.mouse.up()


def drag_bar(page: Page, name: str, at: str, hours: float, *, let_go: bool = True) -> None:
    box = bars(page, name).bounding_box()
    assert box
    x = {"start": box["x"] + 2, "middle": box["x"] + box["width"] / 2, "end": box["x"] + box["width"] - 2}[at]
    drag(page, x, box["y"] + box["height"] / 2, hours * an_hour(page), let_go=let_go)


def dates(site: Site, name: str) -> tuple[str, str]:
    (found,) = site.leases("demo", name)
    return found["start_date"][:16], found["end_date"][:16]


def hours_between(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds() / 3600


def test_a_lease_is_pulled_longer_and_put_back(enter: Enter, site: Site) -> None:
    with lease(site, "pulled", 40, 50):
        before = dates(site, "pulled")
        page = enter("demo")
        drag_bar(page, "pulled", "end", 12)
        expect(page.get_by_text("The lease pulled is from")).to_be_visible()
        after = dates(site, "pulled")
        assert after[0] == before[0]
        assert 11 <= hours_between(before[1], after[1]) <= 13
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("It is as it was before.")).to_be_visible()
        assert dates(site, "pulled") == before


def test_a_lease_that_has_not_begun_is_moved(enter: Enter, site: Site) -> None:
    with lease(site, "moved", 40, 50):
        before = dates(site, "moved")
        page = enter("demo")
        drag_bar(page, "moved", "middle", -20)
        expect(page.get_by_text("The lease moved is from")).to_be_visible()
        after = dates(site, "moved")
        assert 19 <= hours_between(after[0], before[0]) <= 21
        assert hours_between(*after) == hours_between(*before)


def test_a_lease_is_given_an_earlier_start(enter: Enter, site: Site) -> None:
    with lease(site, "earlier", 40, 50):
        before = dates(site, "earlier")
        page = enter("demo")
        drag_bar(page, "earlier", "start", -10)
        expect(page.get_by_text("The lease earlier is from")).to_be_visible()
        after = dates(site, "earlier")
        assert 9 <= hours_between(after[0], before[0]) <= 11
        assert after[1] == before[1]


def test_nothing_changes_where_escape_is_pressed(enter: Enter, site: Site) -> None:
    with lease(site, "stays", 40, 50):
        before = dates(site, "stays")
        page = enter("demo")
        drag_bar(page, "stays", "middle", 20, let_go=False)
        expect(page.locator(".shadow.yes")).to_be_visible()
        expect(page.get_by_text("It fits.")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".shadow")).to_have_count(0)
        page.mouse.up()
        page.wait_for_timeout(300)
        assert dates(site, "stays") == before


def test_what_does_not_fit_is_told_while_it_is_drawn_and_offered_otherwise(enter: Enter, site: Site) -> None:
    taken = site.create("alt", "in the way", 80, 100, hosts=8)
    try:
        with lease(site, "too long", 60, 70, hosts=2):
            before = dates(site, "too long")
            page = enter("demo")
            drag_bar(page, "too long", "end", 20, let_go=False)
            expect(page.locator(".shadow.no")).to_be_visible()
            expect(page.locator(".live")).to_contain_text("It does not fit: Not enough")
            page.mouse.up()
            dialog = page.get_by_role("dialog")
            expect(dialog.get_by_role("status")).to_contain_text("It does not fit: Not enough")
            assert dates(site, "too long") == before
            dialog.get_by_role("button", name="Take this").first.click()
            expect(page.get_by_text("The lease too long is from")).to_be_visible()
            assert dates(site, "too long") != before
    finally:
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")


def test_the_dates_are_changed_by_a_form_with_keys_only(enter: Enter, site: Site) -> None:
    with lease(site, "by keys", 40, 50):
        before = dates(site, "by keys")
        page = enter("demo")
        bars(page, "by keys").focus()
        page.keyboard.press("Enter")
        change = page.get_by_role("dialog").get_by_role("button", name="Change the dates")
        change.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Dates of by keys")
        to = dialog.get_by_label("To")
        to.fill(f"{int(to.input_value()[:4]) - 3}{to.input_value()[4:]}")
        expect(dialog.get_by_role("status")).to_contain_text("It does not fit")
        to.fill(dialog.get_by_label("From").input_value()[:11] + "23:59")
        expect(dialog.get_by_role("status")).not_to_contain_text("It does not fit")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The lease by keys is from")).to_be_visible()
        assert dates(site, "by keys")[1] != before[1]


def test_a_lease_of_others_and_one_that_is_over_stay(enter: Enter, site: Site) -> None:
    page = enter("admin")
    (before,) = site.leases("alt", "climate")
    box = bars(page, "climate").first.bounding_box()
    assert box
    drag(page, box["x"] + box["width"] / 2, box["y"] + 8, 100)
    page.wait_for_timeout(300)
    expect(page.locator(".shadow")).to_have_count(0)
    assert site.leases("alt", "climate") == [before]
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_new_lease_is_drawn_on_the_row_of_a_host(enter: Enter, site: Site) -> None:
    page = enter("admin")
    plot = page.get_by_role("row", name="compute-06").locator(".plot").bounding_box()
    assert plot
    drag(page, plot["x"] + plot["width"] * 0.5, plot["y"] + 15, 24 * an_hour(page))
    dialog = page.get_by_role("dialog", name="New lease")
    expect(dialog.get_by_label("Requirement", exact=True)).to_have_value(
        '["=","$hypervisor_hostname","compute-06"]'
    )
    expect(dialog.get_by_role("status")).to_have_text("It fits.")
    dialog.get_by_label("Name").fill("drawn")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The lease drawn is made.")).to_be_visible()
    expect(page.get_by_role("row", name="compute-06").get_by_role("button", name="drawn,")).to_have_count(1)
    (made,) = site.leases("admin", "drawn")
    assert 23 <= hours_between(made["start_date"][:16], made["end_date"][:16]) <= 25
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was before.")).to_be_visible()
    assert site.leases("admin", "drawn") == []


def test_a_new_lease_is_drawn_below_all_rows(enter: Enter, site: Site) -> None:
    page = enter("demo")
    grid = page.get_by_role("grid").bounding_box()
    assert grid
    drag(
        page,
        grid["x"] + grid["width"] * 0.6,
        grid["y"] + grid["height"] - 40,
        10 * an_hour(page),
        let_go=False,
    )
    expect(page.locator(".shadow.yes")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_role("dialog", name="New lease").get_by_role("status")).to_have_text("It fits.")


def test_what_does_not_fit_waits_in_line(enter: Enter, site: Site) -> None:
    page = enter("demo")
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("in line")
    wait = dialog.get_by_role("button", name="Wait in line")
    expect(wait).to_be_hidden()
    ask_hosts(dialog, "8")
    wait.click()
    expect(page.get_by_text("The lease in line waits in line, at position 1.")).to_be_visible()
    (made,) = site.leases("demo", "in line")
    assert made["status"] == "WAITING"
    expect(page.get_by_role("button", name="1. in line")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="1. in line")).to_have_count(0)
    assert site.leases("demo", "in line") == []


def test_a_bar_is_still_opened_by_a_click(enter: Enter, site: Site) -> None:
    with lease(site, "clicked", 40, 50):
        expect(opened(enter("demo"), "clicked")).to_contain_text("pending")


def press(page: Page, *keys: str) -> None:
    for each in keys:
        page.keyboard.press(each)


def test_a_lease_is_moved_with_keys_while_the_dry_run_tells(enter: Enter, site: Site) -> None:
    with lease(site, "keyed", 40, 50):
        before = dates(site, "keyed")
        page = enter("demo")
        bars(page, "keyed").focus()
        press(page, "m", "ArrowRight", "ArrowRight", "Shift+ArrowRight")
        expect(page.locator(".shadow.yes")).to_be_visible()
        expect(page.locator(".live")).to_have_text("It fits.")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The lease keyed is from")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".shadow")).to_have_count(0)
        after = dates(site, "keyed")
        assert 25 <= hours_between(before[0], after[0]) <= 27
        assert hours_between(*after) == hours_between(*before)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("It is as it was before.")).to_be_visible()
        assert dates(site, "keyed") == before


def test_both_ends_are_pulled_with_keys_and_escape_gives_up(enter: Enter, site: Site) -> None:
    with lease(site, "ends", 40, 50):
        before = dates(site, "ends")
        page = enter("demo")
        bars(page, "ends").focus()
        press(page, "e", "ArrowRight")
        expect(page.locator(".shadow")).to_be_visible()
        press(page, "Escape")
        expect(page.locator(".shadow")).to_have_count(0)
        press(page, "e", "ArrowRight", "ArrowDown")
        expect(page.locator(".name:focus")).to_be_visible()
        expect(page.locator(".shadow")).to_have_count(0)
        assert dates(site, "ends") == before
        bars(page, "ends").focus()
        press(page, "s", "ArrowLeft", "Enter")
        expect(page.get_by_text("The lease ends is from")).to_be_visible()
        after = dates(site, "ends")
        assert 0 < hours_between(after[0], before[0]) <= 1.5
        assert after[1] == before[1]


def test_keys_tell_why_it_does_not_fit(enter: Enter, site: Site) -> None:
    taken = site.create("alt", "in the way", 80, 100, hosts=8)
    try:
        with lease(site, "too long", 60, 70, hosts=2):
            page = enter("demo")
            bars(page, "too long").focus()
            press(page, "e", "Shift+ArrowRight")
            expect(page.locator(".live")).to_contain_text("It does not fit: Not enough")
            page.keyboard.press("Enter")
            expect(page.get_by_role("dialog")).to_contain_text("You could have")
    finally:
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")


def test_a_lease_under_way_has_an_end_to_pull_and_no_start(enter: Enter, site: Site) -> None:
    site.create("demo", "begun", "now", 20)
    with lease_of(site, "begun"):
        started(site, "begun")
        before = dates(site, "begun")
        page = enter("demo")
        bars(page, "begun").focus()
        press(page, "s", "m", "ArrowLeft")
        expect(page.locator(".name:focus")).to_be_visible()
        expect(page.locator(".shadow")).to_have_count(0)
        bars(page, "begun").focus()
        press(page, "e", "ArrowLeft", "ArrowLeft", "Enter")
        expect(page.get_by_text("The lease begun is from")).to_be_visible()
        after = dates(site, "begun")
        assert after[0] == before[0]
        assert 1 <= hours_between(after[1], before[1]) <= 2.5


def test_a_lease_of_a_host_is_made_with_keys(enter: Enter, site: Site) -> None:
    page = enter("admin")
    page.get_by_role("rowheader", name="compute-05").focus()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New lease")
    expect(dialog.get_by_label("Requirement", exact=True)).to_have_value(
        '["=","$hypervisor_hostname","compute-05"]'
    )


@pytest.mark.parametrize("size", SIZES)
def test_what_is_held_is_claimed_or_given_back(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    enter("demo")
    page.get_by_role("button", name="New lease").click()
    page.get_by_role("dialog").get_by_label("Name").fill("claimed")
    page.get_by_role("button", name="Hold it").click()
    dialog = page.get_by_role("dialog", name="Offer")
    expect(dialog).to_contain_text("Hosts: 1")
    expect(dialog).to_contain_text("It is held until")
    dialog.get_by_role("button", name="Close").click()
    held = page.get_by_role("complementary").get_by_role("button", name="Hosts: 1")
    held.click()
    dialog.get_by_role("button", name="Give it back").click()
    expect(page.get_by_text("What was held is given back.")).to_be_visible()
    expect(held).to_have_count(0)
    page.get_by_role("button", name="New lease").click()
    page.get_by_role("dialog").get_by_label("Name").fill("claimed")
    page.get_by_role("button", name="Hold it").click()
    expect(dialog.get_by_label("Name")).to_have_value("claimed")
    dialog.get_by_role("button", name="Claim it").click()
    expect(page.get_by_text("The lease claimed is made.")).to_be_visible()
    expect(held).to_have_count(0)
    with lease_of(site, "claimed"):
        assert len(site.leases("demo", "claimed")) == 1
