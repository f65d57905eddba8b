"""A program that uses the pages of Horizon's reservation plugin and prints their results as JSON.

The Python of Horizon's environment runs it; KEYSTONE_URL names the cloud.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ["DJANGO_SETTINGS_MODULE"] = "horizon_settings"

import django

django.setup()
logging.disable(logging.CRITICAL)

from blazar_dashboard.api import client as api  # noqa: E402
from django.contrib.messages import get_messages  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402

LEASE = {
    "name": "of-horizon",
    "start_date": "2040-01-01 10:00",
    "end_date": "2040-01-02 10:00",
    "hypervisor_properties": "",
    "resource_properties": "",
    "resource_type": "host",
    "min_hosts": 1,
    "max_hosts": 1,
    "amount": 1,
    "vcpus": 1,
    "memory_mb": 1,
    "disk_gb": 0,
    "affinity": "",
}


class Browser:
    """The browser of a user who is logged in."""

    def __init__(self, user: str) -> None:
        self.client = Client()
        form = {"username": user, "password": "sandbox", "region": "default", "next": "/project/"}
        assert self.client.post("/auth/login/", form).status_code == 302

    def get(self, url: str):
        return self.client.get(url)

    def post(self, url: str, form: dict) -> dict:
        page = self.client.post(url, form)
        errors = dict(page.context["form"].errors) if page.context and "form" in page.context else {}
        return {
            "status": page.status_code,
            "said": [str(item) for item in get_messages(page.wsgi_request)],
            **errors,
        }

    def leases(self) -> dict:
        return {lease.name: lease for lease in self.get("/project/leases/").context["table"].data}


def lease_pages(browser: Browser) -> dict:
    results = {"create": browser.post("/project/leases/create/", LEASE)}
    lease = browser.leases()["of-horizon"]
    results["listed"] = [lease.name, lease.status, lease.start_date, lease.end_date]
    detail = browser.get(f"/project/leases/{lease.id}/")
    results["detail"] = [detail.status_code, "of-horizon" in detail.content.decode()]
    form = {
        "lease_id": lease.id,
        "lease_name": "renamed",
        "start_time": "+1h",
        "end_time": "+2h",
        "reservations": "",
    }
    results["update"] = browser.post(f"/project/leases/{lease.id}/update", form)
    reservation = json.dumps([{"id": lease.reservations[0]["id"], "max": 2}])
    form |= {"start_time": "", "end_time": "", "lease_name": "renamed", "reservations": reservation}
    results["update reservations"] = browser.post(f"/project/leases/{lease.id}/update", form)
    changed = browser.leases()["renamed"]
    results["changed"] = [changed.start_date, changed.end_date, changed.reservations[0]["max"]]
    results["calendar"] = browser.get("/project/leases/calendar/host/").status_code
    results["delete"] = browser.post("/project/leases/", {"action": f"leases__delete__{lease.id}"})
    results["left"] = sorted(browser.leases())
    return results


def calendar_data(browser: Browser) -> dict:
    page = browser.get("/project/leases/calendar/host/resources.json")
    return json.loads(page.content) if page.status_code == 200 else {"status": page.status_code}


def host_pages(browser: Browser) -> dict:
    page = browser.get("/admin/hosts/")
    results = {"listed": [[host.id, host.hypervisor_hostname] for host in page.context["table"].data]}
    # The page that adds hosts asks Nova for names that Horizon no longer gives; so the plugin's own call is
    # made.
    made = api.host_create(page.wsgi_request, "compute-07", colour="red", n=3)
    results["made"] = [made.id, made.hypervisor_hostname, made.colour]
    detail = browser.get(f"/admin/hosts/{made.id}/")
    results["detail"] = [detail.status_code, "compute-07" in detail.content.decode()]
    values = json.dumps({"colour": "blue"})
    results["update"] = browser.post(f"/admin/hosts/{made.id}/update", {"host_id": made.id, "values": values})
    results["updated"] = api.host_get(page.wsgi_request, made.id).colour
    results["delete"] = browser.post("/admin/hosts/", {"action": f"hosts__delete__{made.id}"})
    results["left"] = len(browser.get("/admin/hosts/").context["table"].data)
    return results


if __name__ == "__main__":
    setup_test_environment()
    admin, member = Browser("admin"), Browser("demo")
    pages = {
        "leases of a member": lease_pages(member),
        "leases of an administrator": lease_pages(admin),
        "refused": member.post("/project/leases/create/", LEASE | {"min_hosts": 99, "max_hosts": 99}),
        "hosts": host_pages(admin),
        "calendar": calendar_data(admin),
    }
    print("\n" + json.dumps(pages, default=str))
