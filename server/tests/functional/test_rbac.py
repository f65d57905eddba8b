"""Who may do what: every persona on every route and object, with real tokens over HTTP.

A refusal changes nothing, and tells nothing about objects that the caller may not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from blazar.adapters.metrics import PrometheusMetrics
from blazar.api import microversion
from blazar.api.app import routes
from blazar.api.authorization import Authorizer
from blazar.api.health import Health
from blazar.api.streams import Streams
from blazar.bootstrap.api import build_api
from blazar.conf.manager import SHIPPED
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer

from .listening import listening
from .sandboxed import Sandboxed, plain_session

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

WHO = {
    "none": (None, "unheard-of"),
    "unsc": ("unscoped",),
    "syst": ("system",),
    "norl": ("outsider",),
    "read": ("viewer",),
    "memb": ("colleague",),
    "ownr": ("demo",),
    "forn": ("alt",),
    "forr": ("lurker",),
    "admn": ("admin",),
    "serv": ("blazar",),
}
"""The columns of the table, and the users in them:

none   without a token, and with one that Keystone does not know
unsc   a token without a project, so without roles
syst   an administrator of the system, without a project
norl   a user with a role in the project that no rule knows
read   a reader of the project that owns our lease
memb   a member of that project
ownr   the member of that project who made our lease
forn   a member of another project, who made the other lease
forr   a reader of that other project
admn   an administrator of a project
serv   the user of a service, an administrator
"""

TABLE = """
                                                     none unsc syst norl read memb ownr forn forr admn serv
GET    /                                      -      300  300  300  300  300  300  300  300  300  300  300
GET    /versions                              -      300  300  300  300  300  300  300  300  300  300  300
GET    /v1                                    -      200  200  200  200  200  200  200  200  200  200  200
GET    /v1/openapi                            -      200  200  200  200  200  200  200  200  200  200  200
GET    /healthcheck                           -      200  200  200  200  200  200  200  200  200  200  200

GET    /v1/leases                             -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/leases                             -      401  403  403  403  403  201  201  201  403  201  201
POST   /v1/availability                       -      401  403  403  403  403  200  200  200  403  200  200
DELETE /v1/leases                             -      401  403  403  403  403  400  400  400  403  400  400
GET    /v1/leases/{lease_id}                  ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/leases/{lease_id}                  theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/leases/{lease_id}                  absent 401  403  403  404  404  404  404  404  404  404  404
PUT    /v1/leases/{lease_id}                  ours   401  403  403  404  403  200  200  404  404  200  200
PUT    /v1/leases/{lease_id}                  theirs 401  403  403  404  404  404  404  200  403  200  200
PUT    /v1/leases/{lease_id}                  absent 401  403  403  404  404  404  404  404  404  404  404
DELETE /v1/leases/{lease_id}                  ours   401  403  403  404  403  204  204  404  404  204  204
DELETE /v1/leases/{lease_id}                  theirs 401  403  403  404  404  404  404  204  403  204  204
DELETE /v1/leases/{lease_id}                  absent 401  403  403  404  404  404  404  404  404  404  404
GET    /v1/leases/{lease_id}                  seen   401  403  403  404  200  200  200  200  200  200  200
GET    /v1/leases/{lease_id}                  lent   401  403  403  404  200  200  200  200  200  200  200
PUT    /v1/leases/{lease_id}                  seen   401  403  403  404  403  200  200  403  403  200  200
PUT    /v1/leases/{lease_id}                  lent   401  403  403  404  403  200  200  200  403  200  200
DELETE /v1/leases/{lease_id}                  seen   401  403  403  404  403  204  204  403  403  204  204
DELETE /v1/leases/{lease_id}                  lent   401  403  403  404  403  204  204  403  403  204  204
GET    /v1/leases/{lease_id}/shares           ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/leases/{lease_id}/shares           theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/leases/{lease_id}/shares           seen   401  403  403  404  200  200  200  403  403  200  200
GET    /v1/leases/{lease_id}/shares           lent   401  403  403  404  200  200  200  403  403  200  200
GET    /v1/leases/{lease_id}/shares           absent 401  403  403  404  404  404  404  404  404  404  404
PUT    /v1/leases/{lease_id}/shares/{project_id} ours 401 403  403  404  403  200  200  404  404  200  200
PUT    /v1/leases/{lease_id}/shares/{project_id} theirs 401 403 403 404  404  404  404  200  403  200  200
PUT    /v1/leases/{lease_id}/shares/{project_id} seen 401 403  403  404  403  200  200  403  403  200  200
PUT    /v1/leases/{lease_id}/shares/{project_id} lent 401 403  403  404  403  200  200  403  403  200  200
PUT    /v1/leases/{lease_id}/shares/{project_id} absent 401 403 403 404  404  404  404  404  404  404  404
DELETE /v1/leases/{lease_id}/shares/{project_id} seen 401 403  403  404  403  204  204  204  403  204  204
DELETE /v1/leases/{lease_id}/shares/{project_id} lent 401 403  403  404  403  204  204  204  403  204  204
DELETE /v1/leases/{lease_id}/shares/{project_id} absent 401 403 403 404  404  404  404  404  404  404  404
POST   /v1/leases/{lease_id}/split            ours   401  403  403  404  403  400  400  404  404  400  400
POST   /v1/leases/{lease_id}/split            theirs 401  403  403  404  404  404  404  400  403  400  400
POST   /v1/leases/{lease_id}/split            seen   401  403  403  404  403  400  400  403  403  400  400
POST   /v1/leases/{lease_id}/split            lent   401  403  403  404  403  400  400  403  403  400  400
POST   /v1/leases/{lease_id}/split            absent 401  403  403  404  404  404  404  404  404  404  404
POST   /v1/leases/{lease_id}/take_over        ours   401  403  403  404  200  200  200  404  404  403  403
POST   /v1/leases/{lease_id}/take_over        theirs 401  403  403  404  404  404  404  200  200  403  403
POST   /v1/leases/{lease_id}/take_over        seen   401  403  403  404  200  200  200  403  403  403  403
POST   /v1/leases/{lease_id}/take_over        lent   401  403  403  404  200  200  200  403  403  403  403
POST   /v1/leases/{lease_id}/take_over        absent 401  403  403  404  404  404  404  404  404  404  404

GET    /v1/offers                             -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/offers                             -      401  403  403  403  403  201  201  201  403  201  201
GET    /v1/offers/{offer_id}                  ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/offers/{offer_id}                  theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/offers/{offer_id}                  absent 401  403  403  404  404  404  404  404  404  404  404
DELETE /v1/offers/{offer_id}                  ours   401  403  403  404  403  204  204  404  404  204  204
DELETE /v1/offers/{offer_id}                  theirs 401  403  403  404  404  404  404  204  403  204  204
DELETE /v1/offers/{offer_id}                  absent 401  403  403  404  404  404  404  404  404  404  404

GET    /v1/timeline                           -      401  403  403  403  403  403  403  403  403  200  200
GET    /v1/promises                           -      401  403  403  403  403  403  403  403  403  200  200

GET    /v1/waitlist                           -      401  403  403  403  200  200  200  200  200  200  200

GET    /v1/maintenances                       -      401  403  403  403  403  403  403  403  403  200  200
POST   /v1/maintenances                       -      401  403  403  403  403  403  403  403  403  201  201
GET    /v1/maintenances/{maintenance_id}      there  401  403  403  403  403  403  403  403  403  200  200
GET    /v1/maintenances/{maintenance_id}      absent 401  403  403  403  403  403  403  403  403  404  404
DELETE /v1/maintenances/{maintenance_id}      there  401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/maintenances/{maintenance_id}      absent 401  403  403  403  403  403  403  403  403  404  404

GET    /v1/subscriptions                      -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/subscriptions                      -      401  403  403  403  403  201  201  201  403  201  201
GET    /v1/subscriptions/{subscription_id}    ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/subscriptions/{subscription_id}    theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/subscriptions/{subscription_id}    absent 401  403  403  404  404  404  404  404  404  404  404
GET    /v1/subscriptions/{subscription_id}/events ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/subscriptions/{subscription_id}/events theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/subscriptions/{subscription_id}/events absent 401  403  403  404  404  404  404  404  404  404  404
PUT    /v1/subscriptions/{subscription_id}    ours   401  403  403  404  403  200  200  404  404  200  200
PUT    /v1/subscriptions/{subscription_id}    theirs 401  403  403  404  404  404  404  200  403  200  200
PUT    /v1/subscriptions/{subscription_id}    absent 401  403  403  404  404  404  404  404  404  404  404
DELETE /v1/subscriptions/{subscription_id}    ours   401  403  403  404  403  204  204  404  404  204  204
DELETE /v1/subscriptions/{subscription_id}    theirs 401  403  403  404  404  404  404  204  403  204  204
DELETE /v1/subscriptions/{subscription_id}    absent 401  403  403  404  404  404  404  404  404  404  404

GET    /v1/series                             -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/series                             -      401  403  403  403  403  201  201  201  403  201  201
GET    /v1/series/{series_id}                 ours   401  403  403  404  200  200  200  404  404  200  200
GET    /v1/series/{series_id}                 theirs 401  403  403  404  404  404  404  200  200  200  200
GET    /v1/series/{series_id}                 absent 401  403  403  404  404  404  404  404  404  404  404
PUT    /v1/series/{series_id}                 ours   401  403  403  404  403  200  200  404  404  200  200
PUT    /v1/series/{series_id}                 theirs 401  403  403  404  404  404  404  200  403  200  200
PUT    /v1/series/{series_id}                 absent 401  403  403  404  404  404  404  404  404  404  404
DELETE /v1/series/{series_id}                 ours   401  403  403  404  403  204  204  404  404  204  204
DELETE /v1/series/{series_id}                 theirs 401  403  403  404  404  404  404  204  403  204  204
DELETE /v1/series/{series_id}                 absent 401  403  403  404  404  404  404  404  404  404  404

GET    /v1/feeds                              -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/feeds                              -      401  403  403  403  403  201  201  201  403  201  201
DELETE /v1/feeds/{feed_id}                    ours   401  403  403  404  404  404  204  404  404  204  204
DELETE /v1/feeds/{feed_id}                    theirs 401  403  403  404  404  404  404  204  404  204  204
DELETE /v1/feeds/{feed_id}                    absent 401  403  403  404  404  404  404  404  404  404  404
GET    /v1/feeds/{feed_secret}.ics            there  200  200  200  200  200  200  200  200  200  200  200
GET    /v1/feeds/{feed_secret}.ics            absent 404  404  404  404  404  404  404  404  404  404  404

GET    /v1/mail                               -      401  403  403  403  200  200  200  200  200  200  200
PUT    /v1/mail                               -      401  403  403  403  200  200  200  200  200  200  200

GET    /v1/capacity                           -      401  403  403  403  200  200  200  200  200  200  200
GET    /v1/usage                              -      401  403  403  403  200  200  200  200  200  200  200
GET    /v1/services                           -      401  403  403  403  403  403  403  403  403  200  200
GET    /v1/quotas                             -      401  403  403  403  403  403  403  403  403  200  200
GET    /v1/quotas/{project_id}                ours   401  403  403  403  200  200  200  403  403  200  200
GET    /v1/quotas/{project_id}                theirs 401  403  403  403  403  403  403  200  200  200  200
GET    /v1/quotas/{project_id}                absent 401  403  403  403  403  403  403  403  403  200  200
PUT    /v1/quotas/{project_id}                ours   401  403  403  403  403  403  403  403  403  200  200
PUT    /v1/quotas/{project_id}                theirs 401  403  403  403  403  403  403  403  403  200  200
PUT    /v1/quotas/{project_id}                absent 401  403  403  403  403  403  403  403  403  200  200
DELETE /v1/quotas/{project_id}                ours   401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/quotas/{project_id}                theirs 401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/quotas/{project_id}                absent 401  403  403  403  403  403  403  403  403  204  204
GET    /v1/quotas/{project_id}/usage          ours   401  403  403  403  200  200  200  403  403  200  200
GET    /v1/quotas/{project_id}/usage          theirs 401  403  403  403  403  403  403  200  200  200  200
GET    /v1/quotas/{project_id}/usage          absent 401  403  403  403  403  403  403  403  403  200  200

GET    /v1/os-hosts                           -      401  403  403  403  403  403  403  403  403  200  200
POST   /v1/os-hosts                           -      401  403  403  403  403  403  403  403  403  201  201
GET    /v1/os-hosts/{host_id}                 there  401  403  403  403  403  403  403  403  403  200  200
GET    /v1/os-hosts/{host_id}                 absent 401  403  403  403  403  403  403  403  403  404  404
PUT    /v1/os-hosts/{host_id}                 there  401  403  403  403  403  403  403  403  403  200  200
PUT    /v1/os-hosts/{host_id}                 absent 401  403  403  403  403  403  403  403  403  404  404
DELETE /v1/os-hosts/{host_id}                 there  401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/os-hosts/{host_id}                 absent 401  403  403  403  403  403  403  403  403  404  404
GET    /v1/os-hosts/allocations               -      401  403  403  403  403  403  403  403  403  200  200
GET    /v1/os-hosts/{host_id}/allocation      there  401  403  403  403  403  403  403  403  403  200  200
GET    /v1/os-hosts/{host_id}/allocation      absent 401  403  403  403  403  403  403  403  403  404  404
GET    /v1/os-hosts/properties                -      401  403  403  403  200  200  200  200  200  200  200
PATCH  /v1/os-hosts/properties/{property_name} there  401  403  403  403  403  403  403  403  403  200  200
PATCH  /v1/os-hosts/properties/{property_name} absent 401  403  403  403  403  403  403  403  403  404  404

GET    /v1/floatingips                        -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/floatingips                        -      401  403  403  403  403  403  403  403  403  201  201
GET    /v1/floatingips/{floatingip_id}        there  401  403  403  403  200  200  200  200  200  200  200
GET    /v1/floatingips/{floatingip_id}        absent 401  403  403  403  404  404  404  404  404  404  404
DELETE /v1/floatingips/{floatingip_id}        there  401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/floatingips/{floatingip_id}        absent 401  403  403  403  403  403  403  403  403  404  404

GET    /v1/volumetypes                        -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/volumetypes                        -      401  403  403  403  403  403  403  403  403  201  201
GET    /v1/volumetypes/{volumetype_id}        there  401  403  403  403  200  200  200  200  200  200  200
GET    /v1/volumetypes/{volumetype_id}        absent 401  403  403  403  404  404  404  404  404  404  404
PUT    /v1/volumetypes/{volumetype_id}        there  401  403  403  403  403  403  403  403  403  200  200
PUT    /v1/volumetypes/{volumetype_id}        absent 401  403  403  403  403  403  403  403  403  404  404
DELETE /v1/volumetypes/{volumetype_id}        there  401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/volumetypes/{volumetype_id}        absent 401  403  403  403  403  403  403  403  403  404  404

GET    /v1/networksegments                    -      401  403  403  403  200  200  200  200  200  200  200
POST   /v1/networksegments                    -      401  403  403  403  403  403  403  403  403  201  201
GET    /v1/networksegments/{networksegment_id} there  401  403  403  403  200  200  200  200  200  200  200
GET    /v1/networksegments/{networksegment_id} absent 401  403  403  403  404  404  404  404  404  404  404
DELETE /v1/networksegments/{networksegment_id} there  401  403  403  403  403  403  403  403  403  204  204
DELETE /v1/networksegments/{networksegment_id} absent 401  403  403  403  403  403  403  403  403  404  404

GET    /v1/portpool                           -      401  403  403  403  200  200  200  200  200  200  200
PUT    /v1/portpool                           -      401  403  403  403  403  403  403  403  403  200  200
DELETE /v1/portpool                           -      401  403  403  403  403  403  403  403  403  204  204
"""
"""Each row has a route, the object in its path, and the status that each persona is answered with.

A lease that a caller may not see is not there (404); a lease that the caller may see, but not change, is
forbidden (403). The leases ``seen`` and ``lent`` are ours, and shared with the other project: with the
rights read and change. A caller who may see no hosts is not told which there are (403). Every id may be that
of a project, for only Keystone knows which there are."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    method: str
    path: str
    target: str
    statuses: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return the name of the id in the path."""
        return self.path.partition("{")[2].partition("}")[0]


def rows() -> Iterator[Row]:
    personas, *lines = [line.split() for line in TABLE.splitlines() if line]
    for method, path, target, *statuses in lines:
        yield Row(method, path, target, dict(zip(personas, map(int, statuses), strict=True)))


ROWS = list(rows())
OF_OTHERS = "all_projects=1&all=1&detail=1"
EXACT = ("/v1/series", "/v1/feeds", "/v1/usage", "/v1/networksegments", "/v1/portpool")
"""What has refused unknown parameters from its first version on."""
SINCE_LATER = (
    "/v1/leases/{lease_id}/shares",
    "/v1/leases/{lease_id}/split",
    "/v1/leases/{lease_id}/take_over",
    "/v1/usage",
    "/v1/capacity",
    "/v1/availability",
    "/v1/offers",
    "/v1/offers/{offer_id}",
    "/v1/timeline",
    "/v1/promises",
    "/v1/waitlist",
    "/v1/maintenances",
    "/v1/maintenances/{maintenance_id}",
    "/v1/subscriptions",
    "/v1/subscriptions/{subscription_id}",
    "/v1/subscriptions/{subscription_id}/events",
    "/v1/series",
    "/v1/series/{series_id}",
    "/v1/feeds",
    "/v1/feeds/{feed_id}",
    "/v1/mail",
    "/v1/volumetypes",
    "/v1/volumetypes/{volumetype_id}",
    "/v1/networksegments",
    "/v1/networksegments/{networksegment_id}",
    "/v1/portpool",
)
"""Paths that API 1.0 has not."""
SPOOFED = {
    "X-Identity-Status": "Confirmed",
    "X-User-Id": "root",
    "X-Project-Id": "admin",
    "X-Roles": "admin,member,reader",
    "X-Is-Admin-Project": "True",
    "OpenStack-System-Scope": "all",
}
"""Headers that only the authentication layer may set; each request tries them."""
NEWEST = {microversion.HEADER: f"{microversion.SERVICE_TYPE} {microversion.text(microversion.MAXIMUM)}"}
"""The version of each request: routes that came later are there."""
LEASE = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
RESERVATION = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": '["==", "$rack", "r1"]',
}
OFFER = {
    "start_date": "2050-01-01 12:00",
    "end_date": "2050-01-01 13:00",
    "reservations": [RESERVATION],
}
SERIES = {
    "name": "class",
    "start_date": "2050-03-05 10:00",
    "duration": 60,
    "reservations": [RESERVATION],
    "recurrence": {"rule": "FREQ=DAILY;COUNT=2", "time_zone": "UTC"},
}
OFFERED = {"gigabytes": 100, "volumes": 10}
VLAN = {"network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 101}
AWAY = {"hosts": ["compute-01"], "start_date": "2050-02-01 10:00", "end_date": "2050-02-01 11:00"}
USERS = {"ours": "demo", "theirs": "alt"}
"""Who makes the leases and the offers."""
SHARED = {"seen": "read", "lent": "change"}
"""What the other project may do with further leases of ours."""
SHARE = "/v1/leases/{lease_id}/shares/{project_id}"
SUBSCRIPTION = {"name": "failures", "events": ["failed"]}
"""A stream, whose events can be read."""
SHAPE = ["error_message", "error_code", "error_name"]
SHAPES = {400: SHAPE, 401: ["error_message", "error"], 403: SHAPE, 404: SHAPE}
"""The keys of refusals, in this order."""
ABSENT = "5e1f0000-0000-4000-8000-000000000000"


@dataclass
class Scene:
    """A lease, an offer and a subscription of each of two projects, two hosts that they reserve, a free host,
    a floating IP, a volume type and a network segment."""

    at: Sandboxed
    url: str
    http: requests.Session
    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """By the name in the path, and the target."""
    bodies: dict[tuple[str, str], Any] = field(default_factory=dict)
    secrets: dict[str, set[str]] = field(default_factory=dict)
    """The name and all ids of each lease, offer and subscription, by target."""

    def set_up(self) -> None:
        """Make all objects, and the bodies of the requests."""
        for name in ("compute-01", "compute-02"):
            self.expect("POST", "/v1/os-hosts", json={"name": name, "rack": "r1", "gpu": "1"})
        self.expect("PATCH", "/v1/os-hosts/properties/gpu", json={"private": False})
        self.ids["property_name", "there"] = "gpu"
        for target in USERS:
            self.make("/v1/leases/{lease_id}", target)
            self.make("/v1/quotas/{project_id}", target)
        for target in SHARED:
            self.make("/v1/leases/{lease_id}", target)
        for target in USERS:
            self.make("/v1/offers/{offer_id}", target)
            self.make("/v1/subscriptions/{subscription_id}", target)
            self.make("/v1/feeds/{feed_id}", target)
            self.make("/v1/series/{series_id}", target)
        for path in ("/v1/os-hosts/{host_id}", "/v1/maintenances/{maintenance_id}"):
            self.make(path, "there")
        self.make("/v1/floatingips/{floatingip_id}", "there")
        self.make("/v1/volumetypes/{volumetype_id}", "there")
        self.make("/v1/networksegments/{networksegment_id}", "there")
        self.make("/v1/portpool", "-")
        address = self.expect("POST", "/v1/feeds", json={})["feed"]["url"]
        self.ids["feed_secret", "there"] = address.rpartition("/")[2].removesuffix(".ics")
        self.bodies = {
            ("POST", "/v1/leases"): {"name": "another", **LEASE},
            ("PUT", "/v1/leases/{lease_id}"): {"name": "changed"},
            ("POST", "/v1/leases/{lease_id}/split"): {"name": "part", "reservations": [{"id": ABSENT}]},
            ("PUT", SHARE): {"right": "change"},
            ("POST", "/v1/offers"): {
                **OFFER,
                "start_date": "2050-01-01 16:00",
                "end_date": "2050-01-01 17:00",
            },
            ("POST", "/v1/subscriptions"): SUBSCRIPTION,
            ("POST", "/v1/feeds"): {},
            ("POST", "/v1/series"): SERIES | {"start_date": "2050-03-01 10:00"},
            ("PUT", "/v1/series/{series_id}"): {"name": "changed"},
            ("PUT", "/v1/mail"): {"daily": True},
            ("PUT", "/v1/subscriptions/{subscription_id}"): {"name": "changed"},
            ("POST", "/v1/maintenances"): {
                **AWAY,
                "hosts": ["compute-02"],
                "start_date": "2050-01-01 14:00",
            },
            ("POST", "/v1/availability"): {
                "lease": {"reservations": [RESERVATION]},
                "start": {"earliest": "2050-01-01 10:00"},
                "duration": {"wanted": 60},
            },
            ("PUT", "/v1/quotas/{project_id}"): {"limits": {"hosts": 4}},
            ("POST", "/v1/os-hosts"): {"name": "compute-04", "rack": "r4"},
            ("PUT", "/v1/os-hosts/{host_id}"): {"rack": "r5"},
            ("PATCH", "/v1/os-hosts/properties/{property_name}"): {"private": True},
            ("POST", "/v1/floatingips"): self.address(151),
            ("POST", "/v1/volumetypes"): {"volume_type": "standard", **OFFERED},
            ("PUT", "/v1/volumetypes/{volumetype_id}"): {**OFFERED, "volumes": 11},
            ("POST", "/v1/networksegments"): VLAN | {"segmentation_id": 102},
            ("PUT", "/v1/portpool"): {"ports": 20},
        }

    def address(self, last: int) -> Mapping[str, str]:
        network = self.at.network_id("public")
        return {"floating_network_id": network, "floating_ip_address": f"203.0.113.{last}"}

    def make(self, path: str, target: str) -> None:
        """Make the object of a path."""
        user, listed = USERS.get(target, "demo" if target in SHARED else "admin"), path.rpartition("/")[0]
        if path == SHARE:
            self.expect("PUT", self.share(target), "demo", json={"right": SHARED[target]})
            return
        if listed == "/v1/quotas":
            self.expect("PUT", f"{listed}/{self.ids['project_id', target]}", json={"limits": {"leases": 99}})
            return
        if path == "/v1/portpool":
            self.expect("PUT", path, json={"ports": 10})
            return
        name = path.partition("{")[2].removesuffix("}")
        body = {
            "lease_id": {"name": f"{target}: layoffs", **dates_of(target), "reservations": [RESERVATION]},
            "offer_id": OFFER,
            "subscription_id": SUBSCRIPTION,
            "feed_id": {},
            "series_id": SERIES,
            "host_id": {"name": "compute-03", "rack": "r3", "gpu": "1"},
            "maintenance_id": AWAY,
            "floatingip_id": self.address(150),
            "volumetype_id": {"volume_type": "fast", **OFFERED},
            "networksegment_id": VLAN,
        }[name]
        made = made_by(self.expect("POST", listed, user, json=body))
        self.ids[name, target] = made["id"]
        if name in ("offer_id", "subscription_id", "feed_id", "series_id"):
            self.secrets[target].add(made["id"])
        if name == "lease_id":
            self.ids["project_id", target] = made["project_id"]
            parts = [made, *made["reservations"], *made["events"]]
            resources = [reservation["resource_id"] for reservation in made["reservations"]]
            ids = {*resources, *(part["id"] for part in parts)}
            self.secrets.setdefault(target, set()).update({made["name"], made["user_id"], *ids})
            if target in SHARED:
                self.make(SHARE, target)

    def put_back(self, row: Row, answer: requests.Response) -> None:
        """Undo what a request has changed."""
        path = self.path(row)
        if row.path.endswith("/take_over"):
            return  # what is theirs already stays as it is
        if row.method == "POST" and row.path != "/v1/availability":
            made = made_by(answer.json())
            self.expect("DELETE", f"{path}/{made['id']}")
        elif row.path.startswith("/v1/quotas/"):
            self.expect("DELETE", path)
            if row.target != "absent":
                self.make(row.path, row.target)
        elif row.method == "DELETE":
            self.make(row.path, row.target)
        elif row.path == SHARE and row.target in SHARED:
            self.make(SHARE, row.target)
        elif row.path == SHARE:
            self.expect("DELETE", path)
        elif row.path == "/v1/leases/{lease_id}":
            self.expect("PUT", path, json={"name": f"{row.target}: layoffs"})
        elif row.path == "/v1/series/{series_id}":
            self.expect("PUT", path, json={"name": SERIES["name"]})
        elif row.path == "/v1/subscriptions/{subscription_id}":
            self.expect("PUT", path, json={"name": SUBSCRIPTION["name"]})
        elif row.path == "/v1/volumetypes/{volumetype_id}":
            self.expect("PUT", path, json=OFFERED)
        elif row.path == "/v1/os-hosts/{host_id}":
            self.expect("PUT", path, json={"rack": "r3"})
        elif row.path == "/v1/os-hosts/properties/{property_name}":
            self.expect("PATCH", path, json={"private": False})

    def expect(self, method: str, path: str, user: str = "admin", **more: Any) -> Any:
        answer = self.send(method, path, user, **more)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def send(
        self,
        method: str,
        path: str,
        user: str | None,
        version: microversion.Version = microversion.MAXIMUM,
        **more: Any,
    ) -> requests.Response:
        token = user if user in (None, "unheard-of") else self.at.token(user)
        asked = {microversion.HEADER: f"reservation {microversion.text(version)}"}
        headers = {**SPOOFED, **asked, **({"X-Auth-Token": token} if token else {})}
        return self.http.request(method, self.url + path, headers=headers, timeout=30, **more)

    def path(self, row: Row) -> str:
        if row.path == SHARE:
            return self.share(row.target)
        return row.path.replace(f"{{{row.name}}}", self.id(row))

    def share(self, target: str) -> str:
        """Return the path of the share of a lease of ours with the other project, or of one of theirs."""
        project_id = self.ids["project_id", "ours" if target == "theirs" else "theirs"]
        return f"/v1/leases/{self.ids.get(('lease_id', target), ABSENT)}/shares/{project_id}"

    def id(self, row: Row) -> str:
        return self.ids.get((row.name, row.target), ABSENT)


def dates_of(target: str) -> Mapping[str, str]:
    """Return the dates of a lease; those of shared ones are in months of their own."""
    month = {"seen": "04", "lent": "05"}.get(target, "01")
    return {name: date.replace("2050-01", f"2050-{month}") for name, date in LEASE.items()}


def made_by(body: Any) -> Any:
    """Return what a create has made: one object, or a list of one."""
    made, *_ = body.values()
    return made[0] if isinstance(made, list) else made


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    plugins = ", ".join([*SHIPPED, "storage.volume.plugin", "network.plugin", "network.port.plugin"])
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"), plugins=plugins)
    at.add_user("lurker", "alt", "reader")
    ending = Streams(at.manager.use_cases, at.clock.now, most=0)
    app = build_api(at.conf, at.manager.use_cases, PrometheusMetrics(), streams=ending)
    with listening(app) as (host, port), plain_session() as http:
        scene = Scene(at, f"http://{host}:{port}", http)
        scene.set_up()
        yield scene
    at.stop()


def test_every_route_has_its_rows(scene: Scene) -> None:
    """Of the route table that the plugins make, and of its description."""
    conf = scene.at.conf
    plugins = load_plugins(conf)
    authorizer = Authorizer(make_enforcer(conf, plugins.policies))
    health = Health(healthy=True)
    table = routes(scene.at.manager.use_cases, plugins.kinds, plugins.of_api, authorizer, lambda: health)
    described = scene.expect("GET", "/v1/openapi.json")["paths"]
    expected = {(row.method, row.path) for row in ROWS}
    assert expected == {(route.method, route.path) for route in table}
    assert expected == {(method.upper(), path) for path, methods in described.items() for method in methods}
    with_objects = {(route.method, route.path) for route in table if "{" in route.path}
    assert with_objects == {(row.method, row.path) for row in ROWS if row.target == "absent"}


def test_every_rule_stands_at_its_routes(scene: Scene) -> None:
    """Each route that needs a token has a rule, and each rule names routes that are there."""
    conf = scene.at.conf
    rules = make_enforcer(conf, load_plugins(conf).policies).registered_rules.values()
    guarded = {
        (operation["method"], operation["path"])
        for rule in rules
        for operation in getattr(rule, "operations", ())
    }
    assert guarded == {(row.method, row.path) for row in ROWS if row.statuses["none"] == 401}


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.method} {row.path} {row.target}") for row in ROWS]
)
def test_matrix(scene: Scene, row: Row) -> None:
    before = scene.at.stored()
    for persona, user in ((persona, user) for persona, users in WHO.items() for user in users):
        require_the_row(scene, row, persona, user)
        stored = scene.at.stored()
        is_changed = row.statuses[persona] < 400 and row.method != "GET"
        assert is_changed or stored == before, (persona, user)
        before = stored


def require_the_row(scene: Scene, row: Row, persona: str, user: str | None) -> None:
    path, expected = scene.path(row), row.statuses[persona]
    body = scene.bodies.get((row.method, row.path))
    sent = [(row.method, path)]
    if row.method == "GET" and path != "/":
        sent += [("HEAD", path), ("GET", f"{path}.json")]
        sent += [("GET", f"{path}?{OF_OTHERS}")] if row.path not in EXACT else []
    for method, spelling in sent:
        # Later versions refuse parameters of lists that they do not know.
        version = microversion.MAXIMUM
        if OF_OTHERS in spelling:
            version = version_before_pages(row.path)
        answer = scene.send(method, spelling, user, version, json=body)
        assert answer.status_code == expected, (persona, user, method, spelling, answer.text)
        require_silence(scene, row, persona, answer)
    if expected < 400 and row.method != "GET":
        scene.put_back(row, answer)
        return
    if expected >= 400:
        assert list(scene.send(row.method, path, user, json=body).json()) == SHAPES[expected], (persona, user)
    if expected == 404:
        require_the_words_for_what_is_absent(scene, row, user)


def version_before_pages(path: str) -> microversion.Version:
    if path == "/v1/subscriptions":
        return 1, 11
    return microversion.MAXIMUM if path in SINCE_LATER else microversion.MINIMUM


def require_silence(scene: Scene, asked: Row, persona: str, answer: requests.Response) -> None:
    """The answer has nothing of a lease that the persona may not see, but the id that was sent, and who has
    made the lease that is shown."""
    own = scene.secrets.get(asked.target, set()) if asked.target in SHARED else set()
    told = f"{answer.headers}{answer.text}"
    shown = [row for row in ROWS if row.method == "GET" and row.path == "/v1/leases/{lease_id}"]
    for row in shown:
        if row.statuses[persona] != 200:
            secrets = scene.secrets.get(row.target, set())
            secrets = secrets - own if row.target != asked.target else secrets
            found = [each for each in secrets if each in told and each not in str(answer.request.url)]
            assert not found, (row.target, answer.text)


def require_the_words_for_what_is_absent(scene: Scene, row: Row, user: str | None) -> None:
    body = scene.bodies.get((row.method, row.path))
    there, absent = (
        scene.send(row.method, scene.path(Row(row.method, row.path, target, {})), user, json=body).text
        for target in (row.target, "absent")
    )
    assert there.replace(scene.id(row), ABSENT) == absent
