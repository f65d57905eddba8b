"""A lease is split by a form: what goes, what stays, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import SIZES, Enter, Site, started
from .test_lease_page import page_of
from .test_leases import opened

UNITS = {"OpenStack-API-Version": "reservation 1.19"}


@contextmanager
def both(site: Site, name: str, hosts: int = 3, first: float | str = 40) -> Iterator[dict[str, Any]]:
    """Make a lease, and delete it and its part at the end."""
    made = site.create("demo", name, first, 50, hosts=hosts)
    try:
        yield made
    finally:
        for each in (*site.leases("demo", name), *site.leases("demo", f"{name}, part")):
            site.user("demo").call("DELETE", f"/leases/{each['id']}")


def units(site: Site, name: str) -> int:
    (found,) = site.leases("demo", name)
    lease = site.user("demo").call("GET", f"/leases/{found['id']}", headers=UNITS).json()["lease"]
    return sum(each["units"] for each in lease["reservations"])


@pytest.mark.parametrize("size", SIZES)
def test_a_lease_is_split(enter: Enter, page: Page, site: Site, size: dict[str, Any]) -> None:
    page.set_viewport_size(size)
    with both(site, "shared room") as lease:
        enter("demo")
        opened(page, "shared room").get_by_role("button", name="Split it").click()
        form = page.get_by_role("dialog", name="Split shared room")
        expect(page.get_by_role("dialog")).to_have_count(1)
        expect(form.get_by_label("Name of the new lease")).to_have_value("shared room, part")
        count = form.get_by_label("Hosts that go, of 3")
        expect(count).to_have_value("1")
        count.fill("3")
        form.get_by_role("button", name="Split it").click()
        expect(form).to_be_visible()
        expect(form.get_by_role("status")).to_have_text("Something has to go, and something to stay.")
        count.fill("2")
        form.get_by_role("button", name="Split it").click()
        expect(
            page.get_by_text("The lease shared room is split: shared room, part is a lease of its own.")
        ).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="shared room, part")).to_have_count(1)
        assert (units(site, "shared room"), units(site, "shared room, part")) == (1, 2)
        (part,) = site.leases("demo", "shared room, part")
        assert [part[name] for name in ("start_date", "end_date")] == [lease["start_date"], lease["end_date"]]


def test_what_was_read_is_what_is_split(page: Page, troubles: list[str], site: Site) -> None:
    with both(site, "busy") as lease:
        told = page_of(page, site, lease)
        line = rf"openstack reservation lease split {lease['id']} NAME --units 1"
        expect(told).to_contain_text(line)
        told.get_by_role("button", name="Split it").click()
        form = page.get_by_role("dialog", name="Split busy")
        changed = site.user("demo").call("PUT", f"/leases/{lease['id']}", json={"name": "busy"})
        assert changed.status_code == 200
        longer = {"end_date": lease["end_date"][:11].replace("T", " ") + "23:59"}
        assert site.user("demo").call("PUT", f"/leases/{lease['id']}", json=longer).status_code == 200
        form.get_by_role("button", name="Split it").click()
        expect(form.get_by_role("status")).to_contain_text(re.compile("changed"))
        assert units(site, "busy") == 3
        form.get_by_role("button", name="Close").click()
        told.get_by_role("button", name="Split it").click()
        form.get_by_role("button", name="Split it").click()
        expect(page.get_by_text("is a lease of its own")).to_be_visible()
        expect(told).to_contain_text("Hosts: 2")


def test_what_has_begun_or_is_one_of_each_is_not_split(enter: Enter, page: Page, site: Site) -> None:
    with both(site, "single", hosts=1), both(site, "begun", hosts=2, first="now"):
        started(site, "begun")
        enter("demo")
        for name in ("single", "begun"):
            dialog = opened(page, name)
            expect(dialog.get_by_role("button", name="Extend", exact=True)).to_be_visible()
            expect(dialog.get_by_role("button", name="Split it")).to_have_count(0)
            dialog.get_by_role("button", name="Close").click()
