"""What users are told by mail, chosen on the page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import NEWEST, SIZES, Enter, Site


def mail_of(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.user("demo").call("GET", "/mail", headers=NEWEST).json()["mail"]
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_user_chooses_events_and_one_mail_a_day_and_goes_back(
    enter: Enter, page: Page, site: Site, size: dict[str, Any]
) -> None:
    page.set_viewport_size(size)
    usual = mail_of(site)
    enter("demo").get_by_role("link", name="Mail").click()
    expect(page.get_by_role("heading", name="Mail")).to_be_focused()
    expect(page).to_have_title("Mail · Reservations")
    expect(page.get_by_text("The operator of this cloud has no mail sent.")).to_be_visible()
    expect(page.get_by_label("It has started")).to_be_checked()
    expect(page.get_by_label("It is changed")).not_to_be_checked()
    back = page.get_by_role("button", name="What the operator has told")
    expect(back).to_be_disabled()
    page.get_by_label("It has started").uncheck()
    page.get_by_label("It is changed").check()
    page.get_by_label("Once a day, at 06:00 UTC, all in one mail").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Your mail is chosen.")).to_be_visible()
    chosen = mail_of(site)
    assert set(chosen["events"]) == set(usual["events"]) - {"started"} | {"updated"}
    assert (chosen["chosen"], chosen["daily"]) == (True, True)
    page.get_by_label("Once a day").uncheck()
    back.click()
    expect(page.get_by_label("It has started")).to_be_checked()
    assert mail_of(site) == usual


def test_its_address_is_that_which_mails_name(page: Page, troubles: list[str], site: Site) -> None:
    page.goto(f"{site.url}#/mail")
    page.get_by_role("button", name="Sign in as demo").click()
    expect(page.get_by_role("heading", name="Mail")).to_be_visible()
    expect(page.get_by_role("button", name="New lease")).to_be_visible()
