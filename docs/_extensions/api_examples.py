"""An example of each operation of the REST API: the requests of a small story, and what the service answers
to them while the documentation is built."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from wsgiref.types import WSGIApplication

from webob import Request

from blazar import conf
from blazar.adapters.memory import MemoryDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.notifications import LogNotifier
from blazar.api.app import make_app
from blazar.api.microversion import HEADER
from blazar.bootstrap.health import health_of
from blazar.bootstrap.manager import Manager
from blazar.conf.manager import SHIPPED
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.ports import Subnet, VolumeType

NOW = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
TOKEN, USER, PROJECT = "token", "4b7e1d90a2c54f38", "9d2c5e6f01a84b73"
ROLES = "admin,member,reader"
OTHER_PROJECT = "7f0e3b15d8a94c62"

MORE_KINDS = ("storage.volume.plugin", "network.plugin", "network.port.plugin")
"""Kinds with routes of their own that are not enabled by default."""
WAITS = "/v1/leases?waits"
"""A second create, which is not the example of its operation."""
STARTS = "/v1/leases?starts"
"""Another one: a stack is started with the lease."""
RESERVATION = "of the first lease"
"""Stands in a body for the id of a reservation."""
PART = "/v1/leases/{part_id}"
"""The lease that another one was split off."""
SHARE = "/v1/leases/{lease_id}/shares/{project_id}"
"""A lease, and a project that is not its own."""
OF_A_PROJECT = "/v1/leases?project_id={project_id}&dry_run=true"
"""The leases of a project, as what is deleted: the same path without filters is of the first version."""
STORY: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/", None),
    ("GET", "/versions", None),
    ("GET", "/v1", None),
    ("GET", "/healthcheck", None),
    ("POST", "/v1/os-hosts", {"name": "compute-1", "rack": "r1"}),
    ("GET", "/v1/os-hosts", None),
    ("GET", "/v1/os-hosts/{host_id}", None),
    ("PUT", "/v1/os-hosts/{host_id}", {"rack": "r2", "gpus": "4"}),
    ("GET", "/v1/os-hosts/properties", None),
    ("PATCH", "/v1/os-hosts/properties/{property_name}", {"private": True}),
    (
        "POST",
        "/v1/floatingips",
        {"floating_network_id": "public", "floating_ip_address": "203.0.113.101"},
    ),
    ("GET", "/v1/floatingips", None),
    ("GET", "/v1/floatingips/{floatingip_id}", None),
    ("POST", "/v1/volumetypes", {"volume_type": "fast", "gigabytes": 10000, "volumes": 200}),
    ("GET", "/v1/volumetypes", None),
    ("GET", "/v1/volumetypes/{volumetype_id}", None),
    ("PUT", "/v1/volumetypes/{volumetype_id}", {"gigabytes": 12000, "volumes": 200}),
    (
        "POST",
        "/v1/networksegments",
        {"network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 101},
    ),
    ("GET", "/v1/networksegments", None),
    ("GET", "/v1/networksegments/{networksegment_id}", None),
    ("PUT", "/v1/portpool", {"ports": 5000}),
    ("GET", "/v1/portpool", None),
    (
        "POST",
        "/v1/leases",
        {
            "name": "training",
            "start_date": "2030-01-02 09:00",
            "end_date": "2030-01-02 17:00",
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": 1,
                    "max": 1,
                    "hypervisor_properties": '[">=", "$vcpus", "4"]',
                    "resource_properties": '["==", "$gpus", "4"]',
                },
                {"resource_type": "virtual:floatingip", "network_id": "public", "amount": 1},
            ],
        },
    ),
    ("GET", "/v1/leases", None),
    ("GET", "/v1/leases/{lease_id}", None),
    ("PUT", "/v1/leases/{lease_id}", {"end_date": "2030-01-02 18:00"}),
    ("PUT", SHARE, {"right": "change"}),
    ("GET", "/v1/leases/{lease_id}/shares", None),
    ("DELETE", SHARE, None),
    (
        "POST",
        "/v1/leases/{lease_id}/split",
        {"name": "a part of it", "reservations": [{"id": RESERVATION}]},
    ),
    ("POST", "/v1/leases/{lease_id}/take_over", None),
    (
        "POST",
        "/v1/availability",
        {
            "lease": {
                "reservations": [
                    {
                        "resource_type": "physical:host",
                        "min": 1,
                        "max": 1,
                        "hypervisor_properties": "",
                        "resource_properties": "",
                    }
                ]
            },
            "start": {"earliest": "2030-01-02 14:00", "latest": "2030-01-31 00:00"},
            "duration": {"wanted": 480, "minimum": 60},
        },
    ),
    (
        "POST",
        "/v1/offers",
        {
            "start_date": "2030-01-03 09:00",
            "duration": 480,
            "hold": 30,
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": 1,
                    "max": 1,
                    "hypervisor_properties": "",
                    "resource_properties": "",
                }
            ],
        },
    ),
    ("GET", "/v1/offers", None),
    ("GET", "/v1/offers/{offer_id}", None),
    ("DELETE", "/v1/offers/{offer_id}", None),
    (
        "POST",
        WAITS,
        {
            "name": "exam",
            "start_date": "2030-01-02 10:00",
            "end_date": "2030-01-02 12:00",
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": 1,
                    "max": 1,
                    "hypervisor_properties": "",
                    "resource_properties": "",
                }
            ],
            "on_shortage": {"wait_until": "2030-01-02 08:00"},
        },
    ),
    ("GET", "/v1/waitlist", None),
    (
        "POST",
        "/v1/maintenances",
        {
            "hosts": ["compute-1"],
            "start_date": "2030-02-01 08:00",
            "end_date": "2030-02-01 14:00",
            "name": "new disks",
            "reason": "ticket 4711",
        },
    ),
    ("GET", "/v1/maintenances", None),
    ("GET", "/v1/maintenances/{maintenance_id}", None),
    ("DELETE", "/v1/maintenances/{maintenance_id}", None),
    ("POST", "/v1/subscriptions", {"events": ["started", "failed"]}),
    ("GET", "/v1/subscriptions", None),
    ("GET", "/v1/subscriptions/{subscription_id}", None),
    ("GET", "/v1/subscriptions/{subscription_id}/events", None),
    ("PUT", "/v1/subscriptions/{subscription_id}", {"events": ["started", "failed", "ended"]}),
    ("DELETE", "/v1/subscriptions/{subscription_id}", None),
    (
        "POST",
        "/v1/series",
        {
            "name": "class",
            "start_date": "2030-04-01T09:00+02:00",
            "end_date": "2030-04-01T12:00+02:00",
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": 1,
                    "max": 1,
                    "hypervisor_properties": "",
                    "resource_properties": "",
                }
            ],
            "recurrence": {"rule": "FREQ=WEEKLY;BYDAY=MO;COUNT=3", "time_zone": "Europe/Berlin"},
        },
    ),
    ("GET", "/v1/series", None),
    ("GET", "/v1/series/{series_id}", None),
    ("PUT", "/v1/series/{series_id}", {"except": ["2030-04-08"]}),
    ("DELETE", "/v1/series/{series_id}", None),
    ("POST", "/v1/feeds", {"name": "our leases"}),
    ("GET", "/v1/feeds", None),
    ("GET", "/v1/feeds/{feed_secret}.ics", None),
    ("DELETE", "/v1/feeds/{feed_id}", None),
    ("PUT", "/v1/mail", {"events": ["end_soon", "degraded"], "daily": True}),
    ("GET", "/v1/mail", None),
    ("PUT", "/v1/quotas/{project_id}", {"limits": {"leases": 100, "hosts": 4}}),
    ("GET", "/v1/quotas", None),
    ("GET", "/v1/quotas/{project_id}", None),
    ("GET", "/v1/quotas/{project_id}/usage", None),
    ("DELETE", "/v1/quotas/{project_id}", None),
    (
        "GET",
        "/v1/capacity?start_date=2030-01-02T00:00&end_date=2030-01-03T00:00&vcpus=2&memory_mb=4096",
        None,
    ),
    ("GET", "/v1/timeline?start_date=2030-01-01T00:00&end_date=2030-01-08T00:00&rows=2", None),
    ("GET", "/v1/promises", None),
    ("GET", "/v1/usage?start_date=2030-01-01T00:00&end_date=2030-01-08T00:00", None),
    ("GET", "/v1/services", None),
    ("GET", "/v1/os-hosts/allocations", None),
    ("GET", "/v1/os-hosts/{host_id}/allocation", None),
    (
        "POST",
        STARTS,
        {
            "name": "with a stack",
            "start_date": "2030-01-02 10:00",
            "duration": 120,
            "on_start": {
                "type": "stack",
                "template": {
                    "heat_template_version": "2021-04-16",
                    "parameters": {"lease": {"type": "string"}},
                },
                "parameters": {"lease": "{lease.id}"},
            },
        },
    ),
    ("DELETE", OF_A_PROJECT, None),
    ("DELETE", "/v1/leases/{lease_id}", None),
    ("DELETE", PART, None),
    ("DELETE", "/v1/floatingips/{floatingip_id}", None),
    ("DELETE", "/v1/volumetypes/{volumetype_id}", None),
    ("DELETE", "/v1/networksegments/{networksegment_id}", None),
    ("DELETE", "/v1/portpool", None),
    ("DELETE", "/v1/os-hosts/{host_id}", None),
)
"""Method, path and body of each request, in an order in which all of them succeed."""
SINCE = {
    "/v1/capacity": "1.2",
    "/v1/leases/{lease_id}/shares": "1.34",
    SHARE: "1.34",
    "/v1/leases/{lease_id}/split": "1.40",
    "/v1/leases/{lease_id}/take_over": "1.38",
    "/v1/availability": "1.3",
    "/v1/offers": "1.4",
    "/v1/offers/{offer_id}": "1.4",
    WAITS: "1.7",
    STARTS: "1.37",
    OF_A_PROJECT: "1.18",
    "/v1/waitlist": "1.7",
    "/v1/timeline": "1.10",
    "/v1/maintenances": "1.8",
    "/v1/maintenances/{maintenance_id}": "1.8",
    "/v1/subscriptions": "1.16",
    "/v1/subscriptions/{subscription_id}": "1.16",
    "/v1/subscriptions/{subscription_id}/events": "1.16",
    "/v1/usage": "1.21",
    "/v1/promises": "1.30",
    "/v1/mail": "1.24",
    "/v1/series": "1.27",
    "/v1/series/{series_id}": "1.27",
    "/v1/feeds": "1.17",
    "/v1/feeds/{feed_id}": "1.17",
    "/v1/volumetypes": "1.25",
    "/v1/volumetypes/{volumetype_id}": "1.25",
    "/v1/networksegments": "1.28",
    "/v1/networksegments/{networksegment_id}": "1.28",
    "/v1/portpool": "1.42",
}
"""The version that is asked for where a path is not in the first one."""


@dataclass(frozen=True)
class Example:
    """A request and its answer, as text."""

    request: str
    answer: str


def examples() -> dict[tuple[str, str], Example]:
    """Return an example by method and path of the operation."""
    ids = {"property_name": "gpus", "project_id": PROJECT}
    found: dict[tuple[str, str], Example] = {}
    with _service() as service:
        for method, path, body in STORY:
            example = _example(service, ids, method, path, body)
            found.setdefault((method, path.partition("?")[0]), example)
    return found


class _Clock:
    def now(self) -> datetime:
        return NOW

    def pause(self, seconds: float) -> None:
        """Nothing here waits."""


@contextmanager
def _service() -> Iterator[WSGIApplication]:
    """Run the whole service, on a database and a cloud in memory, as an administrator sees it."""
    settings = conf.load(files=())
    settings.set_override("plugins", [*SHIPPED, *MORE_KINDS], "manager")
    cloud = MemoryCloud(["compute-1", "compute-2"])
    cloud.add_token(TOKEN, USER, PROJECT, tuple(ROLES.split(",")))
    cloud.state.volume_types.append(VolumeType("07709fbf-48b5-5164-b958-59d71146a580", "fast"))
    cloud.add_network("public", Subnet("subnet", "203.0.113.0/24", "203.0.113.1", ()))
    plugins = load_plugins(settings)
    manager = Manager(settings, MemoryDatabase(), cloud, plugins, _Clock(), LogNotifier())
    logging.getLogger("blazar").setLevel(logging.WARNING)
    manager.start()
    yield make_app(
        manager.use_cases,
        plugins.kinds,
        plugins.of_api,
        make_enforcer(settings, plugins.policies),
        conf=settings,
        authenticate=lambda app: app,
        health=health_of(manager.use_cases),
    )
    manager.stop()


def _example(service: WSGIApplication, ids: dict[str, str], method: str, path: str, body: Any) -> Example:
    place = path.format(**ids | ({"project_id": OTHER_PROJECT} if path == SHARE else {}))
    request = Request.blank(place, method=method, base_url="https://reservation.example.org")
    request.headers.update(
        {
            "Host": "reservation.example.org",
            "X-Identity-Status": "Confirmed",
            "X-Auth-Token": TOKEN,
            "X-User-Id": USER,
            "X-Project-Id": PROJECT,
            "X-Roles": ROLES,
        }
    )
    since = SINCE.get(path) or SINCE.get(path.partition("?")[0])
    version = [f"{HEADER}: reservation {since}"] if since else []
    if since:
        request.headers[HEADER] = f"reservation {since}"
    body = json.loads(json.dumps(body).replace(RESERVATION, ids.get("reservation_id", RESERVATION)))
    if body is not None:
        request.json = body
    response = request.get_response(service)
    if response.status_code >= 400:
        raise RuntimeError(f"{method} {path} was answered with {response.status}: {response.text}")
    answer = response.json if response.content_type == "application/json" else {}
    for noun, value in answer.items():
        if isinstance(value, dict) and "id" in value:
            ids.setdefault(f"{noun}_id", value["id"])
        if path.endswith("/split"):
            ids["part_id"] = value["id"]
        if noun == "lease" and value["reservations"]:
            ids.setdefault("reservation_id", value["reservations"][0]["id"])
        if noun == "networksegments":
            ids.setdefault("networksegment_id", value[0]["id"])
    if "url" in answer.get("feed", {}):
        ids["feed_secret"] = re.sub(r".*/|\.ics$", "", answer["feed"]["url"])
    lines = [f"{method} {place}", *version, *([_pretty(body)] if body is not None else [])]
    return Example("\n".join(lines), _pretty(answer) if answer else response.text)


def _pretty(value: Any) -> str:
    return re.sub(r"\[\s+\]", "[]", json.dumps(value, indent=2))
