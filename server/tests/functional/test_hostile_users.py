"""Several users, some of whom want to do harm: random requests, one after the other, over a socket, to the
whole service on the sandbox cloud. The rules of ``Users.attempt`` hold for each of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jsonschema_rs
import pytest
import requests
from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.domain.time import floor_minute
from blazar.service.calendars import Calendars
from blazar.service.leases.use_cases import Leases

from . import hostile
from .listening import listening
from .sandboxed import Sandboxed, until

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

HOSTS = ("compute-01", "compute-02", "compute-03", "compute-04")
ADDRESSES = ("203.0.113.150", "203.0.113.151")
POOLS = (Pool("host"), Pool("floatingip"))
PROJECTS = {"demo": "demo", "colleague": "demo", "viewer": "demo", "alt": "alt", "admin": "admin"}
USERS = ("demo", "demo", "alt", "alt", "colleague", "viewer", "admin", "system", "stranger")
MEMBERS = ("demo", "alt", "colleague")
OPERATORS = ("admin",) * 6 + ("demo", "viewer", "system", "stranger")
MICROVERSIONS = (
    None,
    None,
    None,
    "reservation 1.0",
    "reservation latest",
    "reservation 9.9",
    "reservation x",
    "\xb9",
)
SHARES = {"OpenStack-API-Version": "reservation 1.34"}
PLACEHOLDER = re.compile("{[a-z_]+}")
TRANSIENT = {LeaseStatus.CREATING, LeaseStatus.DELETING}
GONE = 30.0
"""Seconds after which a lease that was deleted is not found any more."""
LONGEST_SENTENCE = 2000
"""Characters that the answer to a request with a huge body may have: nothing is repeated at length."""


@dataclass(frozen=True)
class Promise:
    """What is stored of a lease, but what the engine changes by itself."""

    project_id: str
    name: str
    start: datetime
    end: datetime
    before_end: datetime | None
    reservations: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, lease: Lease) -> Promise:
        return cls(
            lease.project_id,
            lease.name,
            lease.interval.start,
            lease.interval.end,
            lease.before_end_date,
            tuple(
                (r.id, r.resource_type, json.dumps(dict(r.parameters), sort_keys=True))
                for r in lease.reservations
            ),
        )


@dataclass(frozen=True)
class Stored:
    """What is promised and registered at a moment."""

    leases: Mapping[str, Promise]
    resources: Mapping[str, tuple[str, Mapping[str, str], bool]]
    private: Mapping[str, bool]
    shares: Mapping[tuple[str, str], ShareRight]
    """By lease and project."""

    def shared_with(self, project_id: str) -> Mapping[str, ShareRight]:
        return {lease_id: right for (lease_id, other), right in self.shares.items() if other == project_id}

    def of_others(self, project_id: str) -> Mapping[str, Promise]:
        return {key: lease for key, lease in self.leases.items() if lease.project_id != project_id}


class Service:
    """The service under attack, and what the rules have to know of it."""

    def __init__(self, at: Sandboxed, url: str, http: requests.Session) -> None:
        self.at = at
        self._url = url
        self._http = http
        self.answers: Counter[int] = Counter()
        self.project_ids = {name: at.state.project_id(name) for name in PROJECTS.values()}
        self.network_id = at.network_id("public")
        (self.flavor_id, *_) = sorted(
            each["id"] for each in at.openstack("GET", "/compute/v2.1/flavors")["flavors"]
        )
        self.description = http.get(f"{url}/v1/openapi.json", timeout=30).json()
        self.validators: dict[str, Any] = {}

    def send(self, method: str, path: str, user: str, **more: Any) -> requests.Response:
        headers = dict(more.pop("headers", {}))
        if user != "stranger":
            headers["X-Auth-Token"] = self.at.token(user)
        return self._http.request(method, self._url + path, headers=headers, timeout=60, **more)

    def expect(self, method: str, path: str, **more: Any) -> Any:
        answer = self.send(method, path, "admin", **more)
        assert answer.ok, (method, path, answer.text)
        return answer.json() if answer.content else None

    def now(self) -> datetime:
        return self.at.clock.now()

    def stored(self) -> Stored:
        with self.at.database.read() as uow:
            leases = {
                lease.id: Promise.of(lease) for lease in uow.leases.list() if lease.status not in TRANSIENT
            }
            resources = {
                each.id: (each.name, dict(each.capabilities), each.reservable)
                for pool in POOLS
                for each in uow.resources.list(pool)
            }
            records = uow.resources.private_properties("physical:host")
            shares = [share for lease_id in leases for share in uow.shares.of_lease(lease_id)]
            return Stored(
                leases,
                resources,
                {name: record.private for name, record in records.items()},
                {(each.lease_id, each.project_id): each.right for each in shares},
            )

    def leases(self) -> list[Lease]:
        with self.at.database.read() as uow:
            return list(uow.leases.list())

    def set_up(self) -> None:
        """Bring the service to the same state before each sequence."""
        for lease in self.expect("GET", "/v1/leases")["leases"]:
            self.send("DELETE", f"/v1/leases/{lease['id']}", "admin")
        assert until(lambda: not self.leases())
        for host in self.expect("GET", "/v1/os-hosts")["hosts"]:
            self.expect("DELETE", f"/v1/os-hosts/{host['id']}")
        for name in HOSTS:
            properties = {"gpu": "1", "rack": f"r{name[-1]}", "owner": "acme"}
            self.expect("POST", "/v1/os-hosts", json={"name": name, **properties})
        self.expect("PATCH", "/v1/os-hosts/properties/owner", json={"private": True})
        for name in ("gpu", "rack"):
            self.expect("PATCH", f"/v1/os-hosts/properties/{name}", json={"private": False})
        for each in self.expect("GET", "/v1/floatingips")["floatingips"]:
            self.expect("DELETE", f"/v1/floatingips/{each['id']}")
        for address in ADDRESSES:
            body = {"floating_network_id": self.network_id, "floating_ip_address": address}
            self.expect("POST", "/v1/floatingips", json=body)

    def require_as_described(self, answer: requests.Response, method: str, route: str | None) -> None:
        """The body is as the OpenAPI document says."""
        if answer.status_code == 204:
            assert not answer.content
            return
        operation = (
            self.description["paths"].get(route, {}).get(method.lower(), {"responses": {}})["responses"]
        )
        described = operation.get(str(answer.status_code), operation.get(f"{answer.status_code // 100}XX"))
        error = {"$ref": "#/components/schemas/Error"}
        if described is None and answer.status_code < 400:
            return  # an odd path that is another spelling of one that is described
        schema = described["content"]["application/json"]["schema"] if described else error
        key = json.dumps(schema)
        if key not in self.validators:
            whole = {**schema, "components": self.description["components"]}
            self.validators[key] = jsonschema_rs.validator_for(whole)
        self.validators[key].validate(answer.json())

    def require_enough(self) -> None:
        """No resource is promised twice, at any moment from now on."""
        now = floor_minute(self.now()) + timedelta(minutes=1)
        with self.at.database.read() as uow:
            for pool in POOLS:
                for registration, allocations in uow.resources.occupancy(pool):
                    wrong = promised_twice(
                        registration, [a for a in allocations if a.interval.end > now], now
                    )
                    assert not wrong, f"promised twice: {registration.name}, {wrong}"


def promised_twice(resource: Registration, ahead: list[Allocation], now: datetime) -> list[Allocation]:
    """Return allocations of the resource that are too much together at some moment from ``now`` on."""
    for moment in sorted({max(a.interval.start, now) for a in ahead}):
        at_once = [a for a in ahead if a.interval.contains(moment)]
        if len(at_once) > 1 and any(a.usage.whole for a in at_once):
            return at_once
        for name, inventory in resource.inventory.items():
            if sum((a.amounts or {}).get(name, 0) for a in at_once) > inventory.capacity:
                return at_once
    return []


class Users(RuleBasedStateMachine):
    """The requests; ``attempt`` has the rules that hold for all of them."""

    service: Service

    def __init__(self) -> None:
        super().__init__()
        self.gone: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.service.set_up()

    # what users do

    @rule(data=st.data(), users=st.lists(st.sampled_from(MEMBERS), min_size=2, max_size=4))
    def reserve(self, data: st.DataObject, users: list[str]) -> None:
        """Ask for what can be had, unless resources are short."""
        service = self.service
        for user in users:
            bodies = hostile.good_leases(service.now(), service.flavor_id, service.network_id, f"of {user}:")
            answer = self.attempt("POST", "/v1/leases", user, json=data.draw(bodies))
            told = answer.json()
            assert answer.status_code in (201, 503) or told["error_message"].startswith("Not enough "), told
            if answer.status_code == 201:
                self.require_shown(answer, user)

    @rule(data=st.data(), numbers=st.lists(st.integers(0, 30), min_size=2, max_size=4))
    def change(self, data: st.DataObject, numbers: list[int]) -> None:
        """Make leases longer, shorter, larger and smaller, each change twice."""
        for number in numbers:
            lease_id, parts = self.lease(number)
            body = data.draw(hostile.good_changes(self.service.now(), parts))
            for user in ("alt", "demo", "demo"):
                answer = self.attempt("PUT", "/v1/leases/{lease_id}", user, lease_id, json=body)
                if answer.status_code == 200:
                    self.require_shown(answer, user)

    @rule(data=st.data(), user=st.sampled_from(USERS))
    def create(self, data: st.DataObject, user: str) -> None:
        each = hostile.reservations(self.service.flavor_id, self.service.network_id)
        bodies = hostile.leases(self.service.now(), each, f"of {user}:", self.ids())
        answer = self.attempt("POST", "/v1/leases", user, json=data.draw(bodies))
        if answer.status_code == 201:
            self.require_shown(answer, user)

    @rule(data=st.data(), user=st.sampled_from(USERS), number=st.integers(0, 30), repeated=st.booleans())
    def update(self, data: st.DataObject, user: str, number: int, repeated: bool) -> None:
        lease_id, parts = self.lease(number)
        body = data.draw(hostile.changes(self.service.now(), parts, f"of {user}:", self.ids()))
        for _ in range(1 + repeated):
            answer = self.attempt("PUT", "/v1/leases/{lease_id}", user, lease_id, json=body)
            if answer.status_code == 200:
                self.require_shown(answer, user)

    @rule(data=st.data(), user=st.sampled_from(USERS), number=st.integers(0, 30))
    def exchange(self, data: st.DataObject, user: str, number: int) -> None:
        """Add reservations to a lease, and remove some."""
        lease_id, parts = self.lease(number)
        each = hostile.reservations(self.service.flavor_id, self.service.network_id)
        body, since = data.draw(hostile.exchanges(parts, each, self.ids())), "reservation 1.12"
        headers = {"OpenStack-API-Version": since}
        route = "/v1/leases/{lease_id}"
        answer = self.attempt("PUT", route, user, lease_id, json=body, headers=headers)
        if answer.status_code == 200:
            self.require_exchanged(answer, user, body)

    @rule(user=st.sampled_from(USERS), number=st.integers(0, 30))
    def delete(self, user: str, number: int) -> None:
        lease_id, _ = self.lease(number)
        if self.attempt("DELETE", "/v1/leases/{lease_id}", user, lease_id).status_code == 204:
            self.gone.append(lease_id)
            path = f"/v1/leases/{lease_id}"
            is_gone = until(lambda: self.service.send("GET", path, user).status_code == 404, GONE)
            assert is_gone, f"{path} is still there"

    @rule(user=st.sampled_from(USERS), number=st.integers(0, 30))
    def look(self, user: str, number: int) -> None:
        self.attempt("GET", "/v1/leases", user)
        lease_id, _ = self.lease(number)
        self.attempt("GET", "/v1/leases/{lease_id}", user, lease_id)
        self.attempt("GET", "/v1/floatingips", user)
        self.attempt("GET", "/v1/os-hosts/allocations", user, params={"lease_id": lease_id})

    @rule(
        data=st.data(),
        user=st.sampled_from((None, None, None, *USERS)),
        number=st.integers(0, 30),
        right=st.sampled_from(("read", "read", "change", "change", "use", None)),
        then=st.sampled_from(("keep", "keep", "end", "give back")),
    )
    def share(self, data: st.DataObject, user: str | None, number: int, right: str | None, then: str) -> None:
        """Share a lease with another project, have that one look at it and change it, and end the share. The
        user is of the lease's own project where none is named."""
        if not self.service.leases():
            self.reserve(data, ["demo", "alt"])
        lease_id, parts = self.lease(number)
        demo, alt = (self.service.project_ids[name] for name in ("demo", "alt"))
        is_demos = any(each.id == lease_id and each.project_id == demo for each in self.service.leases())
        user, project_id = user or ("demo" if is_demos else "alt"), alt if is_demos else demo
        newest = {"headers": SHARES}
        route, names = "/v1/leases/{lease_id}/shares/{project_id}", (lease_id, project_id)
        self.attempt("PUT", route, user, *names, json={"right": right}, **newest)
        for each in ("demo", "alt", "viewer"):
            self.attempt("GET", "/v1/leases", each, params={"shared": "true"}, **newest)
            self.attempt("GET", "/v1/leases/{lease_id}", each, lease_id)
            self.attempt("GET", "/v1/leases/{lease_id}/shares", each, lease_id, **newest)
            for body in ({"name": f"of {each}: shared"}, {"reservations": [{"id": id_} for id_ in parts]}):
                self.attempt("PUT", "/v1/leases/{lease_id}", each, lease_id, json=body, **newest)
        if then != "keep":
            ending = user if then == "end" else "alt"
            self.attempt("DELETE", route, ending, *names, **newest)

    # what operators do, and others try

    @rule(data=st.data(), user=st.sampled_from(OPERATORS), number=st.integers(0, 5))
    def operate(self, data: st.DataObject, user: str, number: int) -> None:
        """Register, describe or give back a host or a floating IP."""
        hosts = [*self.of_pool(POOLS[0]), "nope"]
        addresses = [*self.of_pool(POOLS[1]), "nope"]
        host_id, address_id = hosts[number % len(hosts)], addresses[number % len(addresses)]
        match data.draw(st.sampled_from(hostile.OPERATIONS)):
            case "register a host":
                body = {"name": data.draw(hostile.host_names), "gpu": "1", "rack": "r1"}
                self.attempt("POST", "/v1/os-hosts", user, json=body)
            case "describe a host":
                body = data.draw(hostile.capabilities)
                self.attempt("PUT", "/v1/os-hosts/{host_id}", user, host_id, json=body)
            case "give back a host":
                self.attempt("DELETE", "/v1/os-hosts/{host_id}", user, host_id)
            case "hide a property":
                name, private = data.draw(st.sampled_from(("gpu", "rack", "owner"))), data.draw(hostile.flags)
                path = "/v1/os-hosts/properties/{property_name}"
                self.attempt("PATCH", path, user, name, json={"private": private})
            case "register an address":
                address = data.draw(hostile.addresses)
                body = {"floating_network_id": self.service.network_id, "floating_ip_address": address}
                self.attempt("POST", "/v1/floatingips", user, json=body)
            case "give back an address":
                self.attempt("DELETE", "/v1/floatingips/{floatingip_id}", user, address_id)

    @rule(
        method=st.sampled_from(("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")),
        number=st.integers(0, 100),
        name=hostile.odd_ids,
        user=st.sampled_from(USERS),
        body=hostile.raw_bodies,
        version=st.sampled_from(MICROVERSIONS),
    )
    def send_anything(
        self, method: str, number: int, name: str, user: str, body: bytes, version: str | None
    ) -> None:
        headers = {"OpenStack-API-Version": version.encode("latin-1")} if version else {}
        paths = [*self.service.description["paths"], "/v1/{name}"]
        path = PLACEHOLDER.sub(lambda _: name, paths[number % len(paths)])
        self.attempt(method, path, user, data=body, headers=headers)

    @rule(minutes=st.sampled_from((1, 5, 60)))
    def wait(self, minutes: int) -> None:
        self.service.at.clock.ahead += timedelta(minutes=minutes)
        self.service.at.manager.loop.nudge()

    # what is known

    def of_pool(self, pool: Pool) -> list[str]:
        with self.service.at.database.read() as uow:
            return [each.id for each in uow.resources.list(pool)]

    def ids(self) -> list[str]:
        """Return ids of leases, reservations, projects and users of all sides."""
        leases = self.service.leases()
        found = [each for lease in leases[:3] for each in (lease.id, lease.user_id, lease.project_id)]
        return found + [reservation.id for lease in leases[:3] for reservation in lease.reservations]

    def lease(self, number: int) -> tuple[str, list[str]]:
        """Return the id of a lease of any project, of one that is gone, or of none, and its reservations."""
        leases = self.service.leases()
        ids = [*(lease.id for lease in leases), *self.gone[-2:], "5e1f0000-0000-4000-8000-000000000000"]
        index = number % len(ids)
        return ids[index], [r.id for r in leases[index].reservations] if index < len(leases) else []

    # the rules

    def attempt(self, method: str, route: str, user: str, *names: str, **more: Any) -> requests.Response:
        """Send a request, and require what holds for all of them."""
        path = route
        for name in names:
            path = path.replace(path[path.index("{") : path.index("}") + 1], name)
        before = self.service.stored()
        answer = self.service.send(method, path, user, **more)
        after = self.service.stored()
        self.service.answers[answer.status_code] += 1
        told = (method, path, user, str(more)[:2000], answer.status_code, answer.text[:1000])
        assert answer.status_code < 500 or (answer.status_code == 503 and answer.headers["Retry-After"]), told
        if method not in ("HEAD", "OPTIONS"):
            self.service.require_as_described(answer, method, route)
        if answer.status_code >= 400:
            assert after == before, told
            if method != "HEAD":
                assert next(iter(answer.json())) == "error_message", told
                assert 0 < len(answer.json()["error_message"]) < LONGEST_SENTENCE, told
        elif user != "admin":
            project_id = self.service.project_ids[PROJECTS[user]] if user in PROJECTS else ""
            self.require_shared(before, after, project_id, told)
            assert (after.resources, after.private) == (before.resources, before.private), told
        if user != "admin":
            project_id = self.service.project_ids[PROJECTS[user]] if user in PROJECTS else ""
            shared = {*before.shared_with(project_id), *after.shared_with(project_id)}
            self.require_discretion(answer, user, f"{path} {more}", shared)
        self.service.require_enough()
        return answer

    def require_shared(self, before: Stored, after: Stored, project_id: str, told: object) -> None:
        """Of the leases of other projects, only the name and the dates of those that are shared for change
        have changed; of their shares, only the project's own is gone."""
        rights, then = before.shared_with(project_id), after.of_others(project_id)
        assert then.keys() == before.of_others(project_id).keys(), told
        for lease_id, lease in before.of_others(project_id).items():
            now = then[lease_id]
            may_change = rights.get(lease_id) is ShareRight.CHANGE
            assert now == lease or (may_change and now.reservations == lease.reservations), told
        for key in before.shares.keys() | after.shares.keys():
            is_changed = before.shares.get(key) is not after.shares.get(key)
            given_back = key[1] == project_id and key not in after.shares
            assert key[0] not in then or not is_changed or given_back, told

    def require_discretion(
        self, answer: requests.Response, user: str, sent: str, shared: Collection[str]
    ) -> None:
        """The answer has no name and no id of another project's leases, but those that the user sent, and
        those that are shared with the user's project."""
        project_id = self.service.project_ids[PROJECTS[user]] if user in PROJECTS else ""
        for lease in self.service.leases():
            if lease.project_id != project_id and lease.id not in shared:
                secrets = [lease.id, *(r.id for r in lease.reservations), *(e.id for e in lease.events)]
                found = [each for each in secrets if each in answer.text and each not in sent]
                assert not found, (user, answer.text)

    def require_exchanged(self, answer: requests.Response, user: str, body: Mapping[str, Any]) -> None:
        """What was to be removed is gone, and what was to be added is there."""
        has = [each["id"] for each in answer.json()["lease"]["reservations"]]
        gone = [each["id"] for each in body["reservations"] if each.get("remove") is True]
        assert not set(gone) & set(has)
        shown = self.service.send("GET", f"/v1/leases/{answer.json()['lease']['id']}", user)
        if shown.status_code == 200:
            assert [each["id"] for each in shown.json()["lease"]["reservations"]] == has

    def require_shown(self, answer: requests.Response, user: str) -> None:
        """A later look shows what the answer told, but what the engine has changed meanwhile."""
        told = answer.json()["lease"]
        shown = self.service.send("GET", f"/v1/leases/{told['id']}", user)
        if shown.status_code == 404:
            return
        assert lasting(shown.json()["lease"]) == lasting(told)


CHANGING = {
    "status", "status_reason", "degraded", "updated_at", "missing_resources", "resources_changed", "events",
    "aggregate_id", "server_group_id", "trust_id",
}  # fmt: skip
"""What the engine changes by itself."""


def lasting(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in document.items() if key not in CHANGING}
    if "reservations" in kept:
        kept["reservations"] = [lasting(each) for each in kept["reservations"]]
    return kept


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=5)
    with listening(at.app) as (host, port), requests.Session() as http:
        service = Service(at, f"http://{host}:{port}", http)
        yield service
        # pytest shows it with -s, and where a test fails.
        print(f"\n{service.answers.total()} requests, by status: {dict(sorted(service.answers.items()))}")
    at.stop()


# whether the rules can fail


@pytest.fixture
def users(service: Service) -> Users:
    """The users right after their beginning; the test says what they do."""
    users = Users()
    users.service = service
    service.set_up()
    return users


def everything(service: Service, kind: str) -> dict[str, Any]:
    """Return a lease of all resources of a kind: there is nothing left for another one like it."""
    start = floor_minute(service.now()) + timedelta(hours=1)
    with service.at.database.read() as uow:
        hosts = [registration for registration, _ in uow.resources.occupancy(POOLS[0])]
    vcpus = hosts[0].inventory["VCPU"].max_unit
    servers = sum(host.inventory["VCPU"].capacity // vcpus for host in hosts)
    no_property = {"hypervisor_properties": "", "resource_properties": ""}
    size = {"vcpus": vcpus, "memory_mb": 1, "disk_gb": 1, "affinity": None, "resource_properties": ""}
    amounts = {
        "physical:host": {"min": len(HOSTS), "max": len(HOSTS), **no_property},
        "virtual:instance": {"amount": servers, **size},
        "virtual:floatingip": {"network_id": service.network_id, "amount": len(ADDRESSES)},
    }
    return {
        "name": "everything",
        "start_date": f"{start:%Y-%m-%d %H:%M}",
        "end_date": f"{start + timedelta(hours=1):%Y-%m-%d %H:%M}",
        "reservations": [{"resource_type": kind, **amounts[kind]}],
        "events": [],
    }


@pytest.mark.parametrize("kind", ["physical:host", "virtual:instance", "virtual:floatingip"])
def test_what_is_promised_twice_is_noticed(users: Users, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect: plans are made as if nothing had been promised before."""
    service = users.service

    def blind(_: Calendars, requests: Mapping[Pool, PlanRequest], allowance: Allowance) -> Plan | Shortage:
        ((pool, request),) = requests.items()
        calendar = Calendar()
        with service.at.database.read() as uow:
            for registration, _ in uow.resources.occupancy(pool):
                calendar.put(registration.resource, [])
        return plan(calendar.snapshot(), request, allowance)

    body = everything(service, kind)
    made = users.attempt("POST", "/v1/leases", "demo", json=body)
    assert made.status_code == 201, made.text
    refused = users.attempt("POST", "/v1/leases", "alt", json=body)
    assert refused.json()["error_message"].startswith("Not enough ")
    monkeypatch.setattr(Calendars, "_plan", blind)
    with pytest.raises(AssertionError, match="promised twice"):
        users.attempt("POST", "/v1/leases", "alt", json=body)


def test_what_is_there_after_its_deletion_is_noticed(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect: a deletion is answered, and nothing is deleted."""
    body = everything(users.service, "physical:host")
    for name in ("one", "two"):
        users.attempt("POST", "/v1/leases", "demo", json=body | {"name": name})
        if name == "one":
            users.delete(user="demo", number=0)
    monkeypatch.setattr(Leases, "delete", lambda self, lease_id, caller: None)
    monkeypatch.setitem(globals(), "GONE", 0.3)
    with pytest.raises(AssertionError, match="still there"):
        users.delete(user="demo", number=0)


def test_hostile_users(service: Service) -> None:
    class At(Users):
        pass

    At.service = service
    run_state_machine_as_test(
        At,
        settings=settings(
            max_examples=examples(30),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
