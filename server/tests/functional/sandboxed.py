"""Everything real but the hardware: the service as bootstrap builds it, on SQLite, against the sandbox cloud
over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from new_databases import give_schema
from sqlalchemy import select

from blazar.adapters.announcements import chosen_announcements
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import tables
from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.notifications import LogNotifier
from blazar.adapters.openstack.bulkhead import CALLS_AT_ONCE
from blazar.bootstrap.api import build_api
from blazar.bootstrap.cloud import build_cloud
from blazar.bootstrap.database import build_database
from blazar.bootstrap.manager import Manager
from blazar.plugins import load_plugins
from blazar.service.tracing import NO_TRACING, Tracing
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.initial_content import REGION
from blazar_sandbox.server import SandboxServer
from blazarnova import rule

from .conftest import configured, sender

PASSWORD = "sandbox"
PEOPLE = {
    "colleague": ("demo", ("member", "reader")),
    "viewer": ("demo", ("reader",)),
    "outsider": ("demo", ("manager",)),
}
"""Users beside those of the sandbox's initial content: project and roles."""

SCOPES: dict[str, tuple[str, dict[str, Any]]] = {
    "system": ("admin", {"system_scope": "all"}),
    "unscoped": ("demo", {"unscoped": True}),
}
"""Tokens without a project: their users and their scopes."""


def credentials(cloud: SandboxServer, user: str, project: str) -> dict[str, str]:
    return {
        "auth_type": "password",
        "auth_url": cloud.auth_url,
        "username": user,
        "password": PASSWORD,
        "project_name": project,
        "user_domain_id": "default",
        "project_domain_id": "default",
    }


def section(name: str, **options: Any) -> str:
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in options.items())]) + "\n"


class LeapingClock(SystemClock):
    """The clock of the machine, but for leaps ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


class Sandboxed:
    """A sandbox cloud and a service on it; requests are sent by the name of a user."""

    def __init__(
        self,
        directory: Path,
        hosts: int = 4,
        settings: rule.Settings | None = None,
        calls_at_once: int = CALLS_AT_ONCE,
        monitoring: Mapping[str, Any] | None = None,
        tracing: Tracing = NO_TRACING,
        quota: Mapping[str, Any] | None = None,
        claim_by: Mapping[str, Any] | None = None,
        subscriptions: Mapping[str, Any] | None = None,
        feeds: Mapping[str, Any] | None = None,
        nova: Mapping[str, Any] | None = None,
        lease_hints: Mapping[str, Any] | None = None,
        default_leases: Mapping[str, Any] | None = None,
        more_regions: Sequence[str] = (),
        **manager: Any,
    ) -> None:
        """``manager`` has options of the section of that name, ``monitoring`` those of ``physical:host``.
        ``more_regions`` are beside RegionOne, each with as many hosts."""
        self.state = Cloud(hosts=hosts, password=PASSWORD, settings=settings)
        for name in more_regions:
            self.state.add_region(name, hosts)
        regions = {"region_name": REGION, "more_regions": ",".join(more_regions)} if more_regions else {}
        self.cloud = SandboxServer(self.state).start()
        self.http = plain_session()
        own = credentials(self.cloud, "blazar", "service")
        self.conf = configured(
            directory,
            section("database", connection=f"sqlite:///{directory}/blazar.db")
            + section("manager", **manager)
            + section("quota", **(quota or {}))
            + section("claim_by", **(claim_by or {}))
            + section("subscriptions", **(subscriptions or {}))
            + section("feeds", **(feeds or {}))
            + section("nova", **(nova or {}))
            + section("lease_hints", **(lease_hints or {}))
            + section("default_leases", **(default_leases or {}))
            + section("physical:host", **(monitoring or {}))
            + section("cloud", interface="public", calls_at_once=calls_at_once, **regions, **own)
            + section(
                "keystone_authtoken", interface="public", www_authenticate_uri=self.cloud.auth_url, **own
            ),
        )
        self.database = build_database(self.conf, tracing=tracing)
        give_schema(self.database.engine)
        self.clock = LeapingClock()
        self.service_cloud = build_cloud(self.conf, tracing=tracing)
        plugins = load_plugins(self.conf)
        self.manager = Manager(
            self.conf,
            self.database,
            self.service_cloud,
            plugins,
            self.clock,
            LogNotifier(),
            announcements=chosen_announcements(self.conf),
            tracing=tracing,
        )
        self.app = build_api(self.conf, self.manager.use_cases, PrometheusMetrics())
        self._send = sender(self.app)
        self._tokens: dict[str, str] = {}
        self.host_id = ""
        self._projects = {"blazar": "service"} | {user: project for user, (project, _) in PEOPLE.items()}
        for user, (project, roles) in PEOPLE.items():
            self.add_user(user, project, *roles)
        self.manager.start()

    def stop(self) -> None:
        self.manager.stop()
        self.database.engine.dispose()
        self.http.close()
        self.cloud.stop()

    def send(self, method: str, path: str, user: str, **more: Any) -> Any:
        return self._send(method, path, self.token(user), **more)

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Send a request without a token."""
        return self._send(method, path, None, **more)

    def token(self, user: str) -> str:
        """Return the user's token for the user's project; ``system`` is the administrator of the system,
        ``unscoped`` the user demo without a project."""
        if user not in self._tokens:
            name, scope = SCOPES.get(
                user,
                (user, {"project_name": self._projects.get(user, user), "project_domain_id": "default"}),
            )
            auth = Password(
                auth_url=self.cloud.auth_url,
                username=name,
                password=PASSWORD,
                user_domain_id="default",
                **scope,
            )
            self._tokens[user] = str(Session(session=self.http).get_token(auth))
        return self._tokens[user]

    def stored(self) -> dict[str, Any]:
        """Return all that the service and the cloud keep, but what changes by itself: notifications on their
        way, presences, turns at duties, claims, and tokens."""
        found: dict[str, Any] = {}
        with self.database.engine.connect() as connection:
            # Many tests compare what is kept: the driver alone reads it in a third of the time.
            cursor = connection.connection.cursor()
            for name, statement in all_that_is_kept().items():
                cursor.execute(statement)
                found[name] = cursor.fetchall()
        with self.state.lock:
            for part in (self.state.compute, self.state.placement, self.state.network):
                found |= {f"cloud: {table.name}": dict(table.items()) for table in part.tables}
        return found

    def openstack(self, method: str, path: str, user: str = "admin", version: str = "", **more: Any) -> Any:
        """Ask the cloud itself, as its administrator or another user; raises requests.HTTPError."""
        headers = {"X-Auth-Token": self.token(user)} | ({"OpenStack-API-Version": version} if version else {})
        answer = self.http.request(method, f"{self.cloud.url}{path}", headers=headers, timeout=30, **more)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def set_power(self, host: str, is_on: bool) -> None:
        """Switch a compute host on or off: its nova-compute falls silent, and Nova says that it is down."""
        answer = self.http.put(
            f"{self.cloud.url}/sandbox/hosts/{host}", json={"silent": not is_on}, timeout=30
        )
        answer.raise_for_status()

    def boot(self, user: str, flavor: str, tags: Sequence[str] = (), **hints: str) -> Any:
        """Ask Nova for a server, as a user does; the server when it is known what became of it."""
        images = self.openstack("GET", "/image/v2/images")["images"]
        image = next(each["id"] for each in images if each.get("image_type") != "snapshot")
        body = {
            "server": {"name": "server", "imageRef": image, "flavorRef": flavor, "networks": "none"},
            "OS-SCH-HNT:scheduler_hints": hints,
        }
        body["server"] |= {"tags": list(tags)} if tags else {}
        made = self.openstack("POST", "/compute/v2.1/servers", user, "compute 2.52", json=body)["server"]
        found: dict[str, Any] = {}

        def settled() -> bool:
            # Only administrators are told the host.
            found.update(self.openstack("GET", f"/compute/v2.1/servers/{made['id']}")["server"])
            return found["status"] in ("ACTIVE", "ERROR")

        assert until(settled), found
        return found

    def aggregates(self) -> dict[str, list[str]]:
        found = self.openstack("GET", "/compute/v2.1/os-aggregates")["aggregates"]
        return {each["name"]: sorted(each["hosts"]) for each in found}

    def network_id(self, name: str) -> str:
        (found,) = self.openstack("GET", f"/network/v2.0/networks?name={name}")["networks"]
        return str(found["id"])

    def floating_ips(self) -> dict[str, Any]:
        """All floating IPs of the cloud by their addresses."""
        found = self.openstack("GET", "/network/v2.0/floatingips")["floatingips"]
        return {each["floating_ip_address"]: each for each in found}

    def add_user(self, user: str, project: str, *roles: str) -> str:
        """Make a new user and return the id."""
        self._projects[user] = project
        body = {"user": {"name": user, "password": PASSWORD, "domain_id": "default"}}
        user_id = str(self.openstack("POST", "/v3/users", json=body)["user"]["id"])
        for role in roles:
            self.assign("PUT", user, user_id, role)
        return user_id

    def assign(self, method: str, user: str, user_id: str, role: str) -> None:
        """Give a role in the user's project (PUT), or take it away (DELETE); the next request comes with a
        new token."""
        (found,) = (each for each in self.openstack("GET", "/v3/roles")["roles"] if each["name"] == role)
        project_id = self.state.project_id(self._projects[user])
        self.openstack(method, f"/v3/projects/{project_id}/users/{user_id}/roles/{found['id']}")
        self._tokens.pop(user, None)


def plain_session() -> requests.Session:
    """Return a session that looks for no proxy in the environment at each request."""
    session = requests.Session()
    session.trust_env = False
    return session


@cache
def all_that_is_kept() -> Mapping[str, str]:
    """Return a statement for each table of which something is kept, which finds all rows in one order."""
    passing = {"claimed_event_id", "claim_token", "claimed_until", "reconciled_at"}
    kept = [
        each for each in tables.metadata.sorted_tables if each.name not in ("outbox", "services", "duties")
    ]
    statements: dict[str, str] = {}
    for table in kept:
        columns = [column for column in table.columns if column.name not in passing]
        statements[table.name] = str(select(*columns).order_by(*(table.primary_key.columns or columns)))
    return statements


def until(holds: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False
