"""Leases that recur: made by the form, shown on the page of each, skipped and deleted there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import SIZES, Enter, Site, in_hours
from .test_lease_page import page_of
from .test_leases import ask_hosts

VERSION = {"OpenStack-API-Version": "reservation 1.28"}
HOST = {"resource_type": "physical:host", "min": 1, "max": 1}
HOST |= {"hypervisor_properties": "", "resource_properties": ""}


def this_minute() -> str:
    """Return the current minute, of which some seconds are left."""
    while time.time() % 60 > 55:
        time.sleep(1)
    return in_hours(0)


def begun(site: Site, lease_id: str) -> None:
    """Wait until the lease has begun."""
    for _ in range(150):
        lease = site.user("demo").call("GET", f"/leases/{lease_id}").json()["lease"]
        if lease["status"] == "ACTIVE":
            return
        time.sleep(0.2)
    raise AssertionError("The lease does not start.")


def all_series(site: Site, name: str) -> list[dict[str, Any]]:
    found = site.user("demo").call("GET", "/series", headers=VERSION).json()["series"]
    ids = [each["id"] for each in found if each["name"] == name]
    return [site.user("demo").call("GET", f"/series/{i}", headers=VERSION).json()["series"] for i in ids]


@contextmanager
def series_of(site: Site, name: str) -> Iterator[None]:
    """Delete what has this name at the end."""
    try:
        yield
    finally:
        for each in all_series(site, name):
            site.user("demo").call("DELETE", f"/series/{each['id']}", headers=VERSION)


def make_series(site: Site, name: str, start: str) -> dict[str, Any]:
    """Make a series of three days."""
    recurrence = {"rule": "FREQ=DAILY;COUNT=3", "time_zone": "Europe/Berlin"}
    body = {
        "name": name,
        "start_date": start,
        "duration": 60,
        "reservations": [HOST],
        "recurrence": recurrence,
    }
    made = site.user("demo").call("POST", "/series", headers=VERSION, json=body)
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()["series"]
    return found


def creation(page: Page, name: str) -> Locator:
    page.get_by_role("button", name="New lease").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    return dialog


def fill_dates(dialog: Locator, start: str, end: str) -> None:
    dialog.get_by_label("From").fill(start)
    dialog.get_by_label("To", exact=True).fill(end)


@pytest.mark.parametrize("size", SIZES)
def test_a_series_is_made_by_the_form(enter: Enter, page: Page, site: Site, size: dict[str, Any]) -> None:
    page.set_viewport_size(size)
    with series_of(site, "class"):
        enter("demo")
        dialog = creation(page, "class")
        # A Monday, in the week before the clocks go forward.
        fill_dates(dialog, "2050-03-21T09:00", "2050-03-21T12:00")
        expect(dialog.get_by_label("Mon")).to_be_hidden()
        dialog.get_by_label("Repeat").select_option("each week")
        expect(dialog.get_by_label("Mon")).to_be_checked()
        expect(dialog.get_by_text("Days and times are those of Europe/Berlin")).to_be_visible()
        expect(dialog.get_by_role("button", name="Hold it")).to_be_hidden()
        expect(dialog.get_by_role("status")).to_have_text("All of them fit: 10 of 10.")
        dialog.get_by_label("Wed").check()
        dialog.get_by_label("Number of leases").fill("4")
        expect(dialog.get_by_role("status")).to_have_text("All of them fit: 4 of 4.")
        assert all_series(site, "class") == []
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_text("The series class is made: 4 of 4 leases.")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        (made,) = all_series(site, "class")
        assert made["recurrence"]["rule"] == "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4"
        assert made["recurrence"]["time_zone"] == "Europe/Berlin"
        assert [each["start_date"][:16] for each in made["occurrences"]] == [
            "2050-03-21T08:00",
            "2050-03-23T08:00",
            "2050-03-28T07:00",
            "2050-03-30T07:00",
        ]
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("The series class is deleted.")).to_be_visible()
        assert all_series(site, "class") == []


def test_a_series_is_refused_or_made_of_the_days_that_fit(enter: Enter, page: Page, site: Site) -> None:
    taken = site.create("alt", "in the way", "2050-05-11 07:00", "2050-05-11 08:00", hosts=8)
    try:
        with series_of(site, "nightly"):
            enter("demo")
            dialog = creation(page, "nightly")
            fill_dates(dialog, "2050-05-10T09:00", "2050-05-10T10:00")
            ask_hosts(dialog, "2")
            dialog.get_by_label("Repeat").select_option("each day")
            dialog.get_by_label("Ends").select_option("on a day")
            dialog.get_by_label("Last day").fill("2050-05-12")
            expect(dialog.get_by_role("status")).to_have_text(
                "Not all of them fit, only 2 of 3: none would be made."
            )
            (line,) = dialog.get_by_role("listitem").all()
            expect(line).to_contain_text(re.compile(r"11.*: Not enough hosts available"))
            dialog.get_by_role("button", name="Create").click()
            expect(dialog.get_by_role("status")).to_contain_text(
                "It does not fit: Not enough hosts available: on 2050-05-11"
            )
            assert all_series(site, "nightly") == []
            dialog.get_by_label("Where not all of them fit").select_option("make the others")
            expect(dialog.get_by_role("status")).to_have_text(
                "Not all of them fit, only 2 of 3: these would be made."
            )
            dialog.get_by_role("button", name="Create").click()
            expect(page.get_by_text("The series nightly is made: 2 of 3 leases.")).to_be_visible()
            told = page.get_by_role("dialog", name="Series nightly")
            expect(told.get_by_role("row").nth(2)).to_contain_text("Not enough hosts available")
            expect(told.get_by_role("row").nth(3)).to_contain_text("pending")
    finally:
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")


def test_the_days_of_the_rule_are_judged_and_not_the_one_of_the_start(
    enter: Enter, page: Page, site: Site
) -> None:
    enter("demo")
    dialog = creation(page, "later")
    fill_dates(dialog, "2050-03-21T09:00", "2050-03-21T12:00")
    ask_hosts(dialog, "8")
    dialog.get_by_label("Repeat").select_option("each week")
    expect(dialog.get_by_role("status")).to_have_text("All of them fit: 10 of 10.")
    ask_hosts(dialog, "9")
    expect(dialog.get_by_role("status")).to_have_text("None of them fits.")
    expect(dialog.get_by_role("listitem").last).to_have_text("and 5 more")
    expect(dialog.get_by_role("button", name="Wait in line")).to_be_hidden()
    dialog.get_by_label("Tue").check()
    dialog.get_by_label("Mon").uncheck()
    expect(dialog.get_by_role("listitem").first).to_contain_text("22")
    dialog.get_by_label("Number of leases").fill("0")
    expect(dialog.get_by_role("status")).to_have_text("Say how often it is repeated, and when that ends.")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_label("Number of leases")).to_be_focused()
    dialog.get_by_label("Repeat").select_option("never")
    expect(dialog.get_by_role("status")).to_contain_text("It does not fit: Not enough hosts")
    expect(dialog.get_by_role("button", name="Hold it")).to_be_visible()


@pytest.mark.parametrize(
    ("frequency", "label", "rule", "dates"),
    [
        ("each day", "Every so many days", "FREQ=DAILY;INTERVAL=3;COUNT=3", ["21", "24", "27"]),
        ("each week", "Every so many weeks", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO;COUNT=3", ["21", "11", "02"]),
        (
            "each month, on the same day",
            "Every so many months",
            "FREQ=MONTHLY;INTERVAL=3;COUNT=3",
            ["21", "21", "21"],
        ),
    ],
)
def test_a_series_has_pauses(
    enter: Enter, page: Page, site: Site, frequency: str, label: str, rule: str, dates: list[str]
) -> None:
    with series_of(site, "now and then"):
        enter("demo")
        dialog = creation(page, "now and then")
        fill_dates(dialog, "2050-03-21T09:00", "2050-03-21T12:00")
        expect(dialog.get_by_label("Every so many")).to_be_hidden()
        dialog.get_by_label("Repeat").select_option(frequency)
        dialog.get_by_label("Number of leases").fill("3")
        every = dialog.get_by_label(label)
        expect(every).to_have_value("1")
        every.fill("0")
        expect(dialog.get_by_role("status")).to_have_text("Say how often it is repeated, and when that ends.")
        dialog.get_by_role("button", name="Create").click()
        expect(every).to_be_focused()
        every.fill("3")
        expect(dialog.get_by_role("status")).to_have_text("All of them fit: 3 of 3.")
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_text("The series now and then is made: 3 of 3 leases.")).to_be_visible()
        (made,) = all_series(site, "now and then")
        assert made["recurrence"]["rule"] == rule
        assert [each["date"][-2:] for each in made["occurrences"]] == dates


@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_a_lease_shows_the_others_and_skips_this_one(
    page: Page, troubles: list[str], site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with series_of(site, "daily"):
        first, second, third = make_series(site, "daily", in_hours(24))["occurrences"]
        told = page_of(page, site, {"id": first["lease_id"]})
        expect(told).to_contain_text("It is one of a series.")
        rows = told.get_by_role("table").last.get_by_role("row")
        expect(rows.nth(1)).to_contain_text("pending, this one")
        expect(rows.nth(1).get_by_role("link")).to_have_count(0)
        rows.nth(2).get_by_role("link").click()
        expect(page).to_have_url(re.compile(second["lease_id"]))
        expect(rows.nth(2)).to_contain_text("pending, this one")
        told.get_by_role("button", name="Skip this one").click()
        expect(page.get_by_text("The series daily is without the lease of")).to_be_visible()
        expect(page.get_by_role("heading", name="The lease daily is no longer there.")).to_be_visible()
        expect(rows.nth(2)).to_contain_text("It was cancelled, this one")
        (now,) = all_series(site, "daily")
        assert [each["status"] for each in now["occurrences"]] == ["PENDING", None, "PENDING"]

        page.goto(f"{site.url}#/leases/{third['lease_id']}")
        expect(rows.nth(2)).to_contain_text("It was cancelled.")
        told.get_by_role("button", name="Delete the series").click()
        expect(told.get_by_role("button", name="Keep it")).to_be_focused()
        told.get_by_role("button", name="Only those that have not started").click()
        expect(page.get_by_text("The series daily is deleted.")).to_be_visible()
        expect(page.get_by_role("heading", name="The lease daily is no longer there.")).to_be_visible()
        assert (all_series(site, "daily"), site.leases("demo", "daily")) == ([], [])


def test_what_was_skipped_is_brought_back(page: Page, troubles: list[str], site: Site) -> None:
    with series_of(site, "daily"):
        second = make_series(site, "daily", "2052-03-04 09:00")["occurrences"][1]
        told = page_of(page, site, {"id": second["lease_id"]})
        told.get_by_role("button", name="Skip this one").click()
        expect(page.get_by_role("heading", name="The lease daily is no longer there.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("The series daily has its lease of")).to_be_visible()
        expect(page.get_by_role("heading", name="daily", exact=True)).to_be_visible()
        (now,) = all_series(site, "daily")
        again = now["occurrences"][1]
        assert (again["status"], again["start_date"]) == ("PENDING", second["start_date"])
        assert again["lease_id"] != second["lease_id"]
        expect(page).to_have_url(re.compile(again["lease_id"]))

        told.get_by_role("button", name="Skip this one").click()
        back = told.get_by_role("button", name="Bring it back")
        expect(back).to_be_visible()
        dates = [each.replace("T", " ")[:16] for each in (second["start_date"], second["end_date"])]
        taken = site.create("alt", "in the way", *dates, hosts=8)
        back.click()
        expect(told.get_by_role("status")).to_contain_text("Not enough hosts available: on ")
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")
        back.click()
        expect(page.get_by_role("heading", name="daily", exact=True)).to_be_visible()
        (now,) = all_series(site, "daily")
        assert [each["status"] for each in now["occurrences"]] == ["PENDING"] * 3


@pytest.mark.parametrize("size", SIZES)
def test_a_series_that_was_deleted_is_made_again(
    page: Page, troubles: list[str], site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    with series_of(site, "daily"):
        # The second day is skipped, and the clocks go forward between the first and the third.
        series = make_series(site, "daily", "2052-03-30 09:00")
        first, second, third = series["occurrences"]
        skip = {"except": [second["date"]]}
        path = f"/series/{series['id']}"
        assert site.user("demo").call("PUT", path, headers=VERSION, json=skip).status_code == 200
        told = page_of(page, site, {"id": third["lease_id"]})
        told.get_by_role("button", name="Delete the series").click()
        expect(told.get_by_role("alert")).to_have_text(
            "Delete it? None of its leases has begun, so it can be made again."
        )
        told.get_by_role("button", name="All its leases").click()
        expect(page.get_by_text("The series daily is deleted.")).to_be_visible()
        assert all_series(site, "daily") == []
        dates = [each.replace("T", " ")[:16] for each in (first["start_date"], first["end_date"])]
        taken = site.create("alt", "in the way", *dates, hosts=8)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Not enough hosts available: on ")).to_be_visible()
        assert all_series(site, "daily") == []
        site.user("alt").call("DELETE", f"/leases/{taken['id']}")


def test_what_is_undone_is_as_it_was(page: Page, troubles: list[str], site: Site) -> None:
    with series_of(site, "daily"):
        series = make_series(site, "daily", "2052-03-30 09:00")
        _, second, third = series["occurrences"]
        skip = {"except": [second["date"]]}
        path = f"/series/{series['id']}"
        assert site.user("demo").call("PUT", path, headers=VERSION, json=skip).status_code == 200
        told = page_of(page, site, {"id": third["lease_id"]})
        told.get_by_role("button", name="Delete the series").click()
        told.get_by_role("button", name="Only those that have not started").click()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("The series daily is made again, with other IDs.")).to_be_visible()
        (again,) = all_series(site, "daily")
        assert again["id"] != series["id"]
        assert again["recurrence"]["rule"] == series["recurrence"]["rule"]
        kept = [each for each in series["occurrences"] if each != second]
        names = ("date", "start_date", "end_date")
        assert [[each[name] for name in names] for each in again["occurrences"]] == [
            [each[name] for name in names] for each in kept
        ]
        expect(page).to_have_url(re.compile(again["occurrences"][-1]["lease_id"]))
        expect(page.get_by_role("heading", name="daily", exact=True)).to_be_visible()


@pytest.mark.parametrize("change", ["name", "end_date", "begun"])
def test_a_series_whose_leases_differ_is_deleted_for_good(
    page: Page, troubles: list[str], site: Site, change: str
) -> None:
    with series_of(site, "daily"):
        start = this_minute() if change == "begun" else "2052-03-04 09:00"
        first, second, _ = make_series(site, "daily", start)["occurrences"]
        if change == "begun":
            begun(site, first["lease_id"])
        else:
            other = {"name": "daily, other"} if change == "name" else {"end_date": "2052-03-05 20:00"}
            changed = site.user("demo").call("PUT", f"/leases/{second['lease_id']}", json=other)
            assert changed.status_code == 200, changed.text
        told = page_of(page, site, {"id": first["lease_id"]})
        told.get_by_role("button", name="Delete the series").click()
        expect(told.get_by_role("alert")).to_contain_text("Delete it for good? It cannot be undone.")
        told.get_by_role("button", name="All its leases").click()
        expect(page.get_by_text("The series daily is deleted.")).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
