"""Requests that a machine makes up from the API's own description: never a 5xx, never an answer that is not
described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from effort import EFFORT, FACTORS, examples
from hypothesis import HealthCheck, given, settings
from oslo_config.cfg import ConfigOpts
from oslo_policy.policy import Enforcer
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from blazar.api.app import routes
from blazar.api.authorization import Authorizer
from blazar.api.health import Health
from blazar.api.microversion import HEADER, MAXIMUM, text

from .canned import Canned
from .conftest import EXTENSIONS, House, configured
from .wishes import HOST

EXAMPLES = examples(40)
"""For each operation and mode: the usual effort stays below a minute, the thorough one sends more than 20,000
requests."""
LEASE = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
OFFER = {
    "start_date": "2051-01-01 10:00",
    "end_date": "2051-01-01 11:00",
    "reservations": [HOST],
}
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
"""The newest one, which has all routes."""
SENT: Counter[str] = Counter()
"""Requests by case."""


@pytest.fixture(scope="module")
def described_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    directory: Path = tmp_path_factory.mktemp("house")
    house = House(
        configured(directory, f"[database]\nconnection = sqlite:///{directory}/blazar.db\n"), hosts=3
    )
    house.manager.start()
    house.register("compute-1", "compute-2")
    house.send("PUT", "/v1/os-hosts/1", "admin", json={"gpu": 2})
    house.floatingip_id = house.register_floating_ip("203.0.113.101")["id"]
    yield house
    # pytest shows it with -s, and where a test fails.
    print(f"\n{SENT.total()} requests: {dict(SENT)}")
    house.manager.stop()
    house.database.engine.dispose()


@pytest.fixture(scope="module")
def schema(described_house: House) -> BaseSchema:
    return schemathesis.openapi.from_wsgi("/v1/openapi.json", described_house.app)


def cases() -> list[tuple[str, str, GenerationMode, str]]:
    """Every operation, and every one that takes anything also with what its description forbids; those that
    later versions answer differently in these, too."""
    table = routes(Canned(), {}, EXTENSIONS, Authorizer(Enforcer(ConfigOpts())), lambda: Health(healthy=True))
    right = [
        (route.method, route.path, GenerationMode.POSITIVE, text(version))
        for route in table
        for version in route.versions
    ]
    takes_anything = [route for route in table if "{" in route.path or route.body or route.query]
    return right + [
        (route.method, route.path, GenerationMode.NEGATIVE, text(version))
        for route in takes_anything
        for version in route.versions
    ]


@pytest.mark.by_turns(2)
@pytest.mark.parametrize(("method", "path", "mode", "version"), cases())
def test_described_requests(
    described_house: House,
    schema: BaseSchema,
    method: str,
    path: str,
    mode: GenerationMode,
    version: str,
) -> None:
    lease = described_house.send("POST", "/v1/leases", "admin", json=LEASE).json["lease"]
    present = {
        "lease_id": lease["id"],
        "offer_id": offer_id(described_house),
        "maintenance_id": maintenance_id(described_house),
        "subscription_id": subscription_id(described_house),
        "series_id": series_id(described_house),
        **feed_parts(described_house),
        "host_id": "1",
        "project_id": "a-project-without-leases",
        "property_name": "gpu",
        "floatingip_id": described_house.floatingip_id,
    }

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=EFFORT != "thorough",
    )
    def sent_and_answered(case: schemathesis.Case[Any]) -> None:
        if mode is GenerationMode.POSITIVE:
            case.path_parameters = {name: present[name] for name in case.path_parameters or {}}
        SENT[f"{method} {path} {mode.value} {version}"] += 1
        headers = {"X-Auth-Token": "admin", HEADER: f"reservation {version}"}
        case.call_and_validate(headers=headers, checks=CHECKS)

    sent_and_answered()
    assert SENT[f"{method} {path} {mode.value} {version}"] >= least(path)


def offer_id(house: House) -> str:
    """Return the id of an offer that is there."""
    newest = {HEADER: f"reservation {text(MAXIMUM)}"}
    held = house.send("GET", "/v1/offers", "admin", headers=newest).json["offers"]
    if not held:
        body = {**OFFER, "hold": 60}
        held = [house.send("POST", "/v1/offers", "admin", json=body, headers=newest).json["offer"]]
    return str(held[0]["id"])


def maintenance_id(house: House) -> str:
    """Return the id of a maintenance that is there."""
    newest = {HEADER: f"reservation {text(MAXIMUM)}"}
    planned = house.send("GET", "/v1/maintenances", "admin", headers=newest).json["maintenances"]
    if not planned:
        body = {"hosts": ["2"], "start_date": "2090-01-01 10:00", "end_date": "2090-01-01 11:00"}
        made = house.send("POST", "/v1/maintenances", "admin", json=body, headers=newest)
        planned = [made.json["maintenance"]]
    return str(planned[0]["id"])


def subscription_id(house: House) -> str:
    """Return the id of a stream that is there."""
    newest = {HEADER: f"reservation {text(MAXIMUM)}"}
    there = house.send("GET", "/v1/subscriptions", "admin", headers=newest).json["subscriptions"]
    if not there:
        body = {"events": ["failed"]}
        made = house.send("POST", "/v1/subscriptions", "admin", json=body, headers=newest)
        there = [made.json["subscription"]]
    return str(there[0]["id"])


def series_id(house: House) -> str:
    """Return the id of a series that is there."""
    newest = {HEADER: f"reservation {text(MAXIMUM)}"}
    there = house.send("GET", "/v1/series", "admin", headers=newest).json["series"]
    if not there:
        recurrence = {"rule": "FREQ=DAILY;COUNT=2", "time_zone": "UTC"}
        body = {"name": "class", "start_date": "2060-01-01 10:00", "duration": 60, "reservations": [HOST]}
        made = house.send(
            "POST", "/v1/series", "admin", json={**body, "recurrence": recurrence}, headers=newest
        )
        there = [made.json["series"]]
    return str(there[0]["id"])


def feed_parts(house: House) -> dict[str, str]:
    """Return the id of a feed that is there, and the secret of another one."""
    newest = {HEADER: f"reservation {text(MAXIMUM)}"}
    for old in house.send("GET", "/v1/feeds", "admin", headers=newest).json["feeds"]:
        house.send("DELETE", f"/v1/feeds/{old['id']}", "admin", headers=newest)
    one, other = (
        house.send("POST", "/v1/feeds", "admin", json={}, headers=newest).json["feed"] for _ in range(2)
    )
    return {"feed_id": one["id"], "feed_secret": other["url"].rpartition("/")[2].removesuffix(".ics")}


def least(path: str) -> int:
    """Return how many different requests there are at least: a public path without anything in it has one."""
    return 1 if path in ("/", "/versions", "/v1", "/healthcheck", "/v1/openapi") else EXAMPLES


def test_the_thorough_form_sends_20000_requests() -> None:
    in_all = sum(least(path) for _, path, _, _ in cases())
    assert in_all * FACTORS["thorough"] / FACTORS[EFFORT] > 20_000
