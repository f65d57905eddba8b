"""Room for servers on a cloud that is asked over HTTP: what users of virtual:instance and flavor:instance are
answered, what they find in the cloud, who can boot, and that nothing is left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import requests

from blazar_sandbox.faults import Fault
from blazar_sandbox.snapshot import snapshot
from blazarnova import rule

from .sandboxed import Sandboxed, until

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?"
COMPUTE, PLACEMENT = "/compute/v2.1", "/placement"
INSTANCE = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 1024,
    "disk_gb": 10,
    "amount": 2,
    "affinity": None,
    "resource_properties": "",
}
FLAVOR = {"resource_type": "flavor:instance", "flavor_id": "2", "amount": 2, "affinity": None}
WHOLE = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
BOTH = pytest.mark.parametrize("asked", [INSTANCE, FLAVOR], ids=["virtual:instance", "flavor:instance"])


class Site:
    """The service and its cloud, as its users and the operator see them."""

    def __init__(self, sandboxed: Sandboxed) -> None:
        self.sandboxed = sandboxed
        self.send = sandboxed.send
        self.boot = sandboxed.boot
        self.ask = sandboxed.openstack
        self.demo = sandboxed.state.project_id("demo")

    def post(self, *reservations: Any, user: str = "demo", **more: Any) -> Any:
        body = {
            "name": "lease",
            "start_date": "now",
            "end_date": "2050-01-01 11:00",
            "before_end_date": None,
            "events": [],
            "reservations": list(reservations),
        }
        return self.send("POST", "/v1/leases", user, json=body | more)

    def reserve(self, *reservations: Any, **more: Any) -> Any:
        """The lease as it is answered."""
        answer = self.post(*reservations, **more)
        assert answer.status_code == 201, answer.text
        return answer.json["lease"]

    def active(self, *reservations: Any, **more: Any) -> Any:
        lease = self.reserve(*reservations, **more)
        assert until(lambda: self.lease(lease)["status"] == "ACTIVE"), self.lease(lease)
        return self.lease(lease)

    def lease(self, lease: Any) -> Any:
        return self.send("GET", f"/v1/leases/{lease['id']}", "admin").json["lease"]

    def change(self, lease: Any, user: str = "demo", **changes: Any) -> Any:
        return self.send("PUT", f"/v1/leases/{lease['id']}", user, json=changes)

    def end_soon(self, lease: Any) -> None:
        """Let a minute pass, and the lease end in it."""
        self.sandboxed.clock.ahead += timedelta(minutes=1)
        answer = self.change(lease, end_date="now")
        assert answer.status_code == 200, answer.text

    def end(self, lease: Any) -> None:
        self.end_soon(lease)
        assert until(lambda: self.lease(lease)["status"] == "TERMINATED"), self.lease(lease)

    def nova(self, path: str, user: str = "admin") -> Any:
        return self.ask("GET", COMPUTE + path, user)

    def slots(self, reservation_id: str) -> dict[str, int]:
        """The slots that Placement counts, by the name of their provider."""
        custom = resource_class(reservation_id)
        found = {}
        for provider in self.ask("GET", f"{PLACEMENT}/resource_providers")["resource_providers"]:
            path = f"{PLACEMENT}/resource_providers/{provider['uuid']}/inventories"
            inventory = self.ask("GET", path)["inventories"].get(custom)
            if inventory:
                assert {name: n for name, n in inventory.items() if name != "total"} == {
                    "reserved": 0,
                    "min_unit": 1,
                    "max_unit": 1,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                }
                found[provider["name"]] = inventory["total"]
        return found

    def clean(self) -> None:
        state = self.sandboxed.state
        state.faults.clear()
        state.compute.servers.stuck.clear()
        for lease in self.send("GET", "/v1/leases", "admin").json["leases"]:
            self.send("DELETE", f"/v1/leases/{lease['id']}", "admin")
        for server in self.nova("/servers?all_tenants=1")["servers"]:
            self.ask("DELETE", f"{COMPUTE}/servers/{server['id']}")
        assert until(lambda: not self.send("GET", "/v1/leases", "admin").json["leases"])


def resource_class(reservation_id: str) -> str:
    return f"CUSTOM_RESERVATION_{reservation_id.upper().replace('-', '_')}"


def only(lease: Any) -> Any:
    (reservation,) = lease["reservations"]
    return reservation


def things(sandboxed: Sandboxed) -> Any:
    """All objects of the cloud but tokens and the like, which come and go with requests."""
    found = json.loads(json.dumps(snapshot(sandboxed.state), default=str))
    return {name: rows for name, rows in found.items() if name not in ("servers", "images", "migrations")}


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    settings = rule.Settings(allow_preemptibles=True)
    nova = {"end_preemptibles": True}
    sandboxed = Sandboxed(tmp_path_factory.mktemp("slots"), hosts=8, settings=settings, nova=nova)
    for number in range(1, 9):
        made = sandboxed.send(
            "POST", "/v1/os-hosts", "admin", json={"name": f"compute-{number:02d}", "n": number}
        )
        assert made.status_code == 201
    yield sandboxed
    sandboxed.stop()


@pytest.fixture
def site(sandboxed: Sandboxed) -> Iterator[Site]:
    site = Site(sandboxed)
    yield site
    site.clean()
    left = {
        "aggregates": sandboxed.aggregates(),
        "groups": site.nova("/os-server-groups?all_projects=True")["server_groups"],
        "flavors": [
            f["name"] for f in site.nova("/flavors/detail?is_public=None")["flavors"] if ":" in f["name"]
        ],
        "classes": [
            each["name"]
            for each in site.ask("GET", f"{PLACEMENT}/resource_classes", version="placement 1.29")[
                "resource_classes"
            ]
            if each["name"].startswith("CUSTOM_RESERVATION")
        ],
        "trusts": site.ask("GET", "/v3/OS-TRUST/trusts")["trusts"],
    }
    every = [f"compute-{number:02d}" for number in range(1, 9)]
    assert left == {
        "aggregates": {"freepool": every},
        "groups": [],
        "flavors": [],
        "classes": [],
        "trusts": [],
    }


@pytest.fixture
def flavor(site: Site) -> Iterator[Callable[..., str]]:
    """Make a flavor with these extra specs; it is gone after the test."""
    made = []

    def make(vcpus: int = 1, ram: int = 512, disk: int = 1, is_public: bool = True, **specs: str) -> str:
        body = {"name": f"f{len(made)}", "vcpus": vcpus, "ram": ram, "disk": disk}
        body |= {"os-flavor-access:is_public": is_public}  # type: ignore[dict-item]
        flavor_id = str(site.ask("POST", f"{COMPUTE}/flavors", json={"flavor": body})["flavor"]["id"])
        extra = {name.replace("__", ":"): value for name, value in specs.items()}
        if extra:
            site.ask("POST", f"{COMPUTE}/flavors/{flavor_id}/os-extra_specs", json={"extra_specs": extra})
        made.append(flavor_id)
        return flavor_id

    yield make
    for flavor_id in made:
        site.ask("DELETE", f"{COMPUTE}/flavors/{flavor_id}")


class TestAnswers:
    @pytest.mark.parametrize(
        ("asked", "own"),
        [
            (
                INSTANCE,
                {
                    "vcpus": 1,
                    "memory_mb": 1024,
                    "disk_gb": 10,
                    "amount": 2,
                    "affinity": None,
                    "resource_properties": "",
                },
            ),
            (
                INSTANCE
                | {
                    "disk_gb": 0,
                    "amount": "3",
                    "affinity": "True",
                    "resource_properties": '[">", "$n", "3"]',
                },
                {
                    "vcpus": 1,
                    "memory_mb": 1024,
                    "disk_gb": 0,
                    "amount": 3,
                    "affinity": True,
                    "resource_properties": '[">", "$n", "3"]',
                },
            ),
            (
                FLAVOR,
                {
                    "vcpus": 2,
                    "memory_mb": 2048,
                    "disk_gb": 10,
                    "amount": 2,
                    "affinity": None,
                    "resource_properties": json.dumps(
                        {
                            "id": "2",
                            "name": "m1.small",
                            "vcpus": 2,
                            "ram": 2048,
                            "disk": 10,
                            "OS-FLV-EXT-DATA:ephemeral": 0,
                            "swap": 0,
                            "os-flavor-access:is_public": True,
                            "extra_specs": {},
                        }
                    ),
                },
            ),
        ],
        ids=["instances", "instances that stay together", "servers of a flavor"],
    )
    def test_golden_bodies(self, site: Site, asked: Any, own: Any) -> None:
        lease = site.reserve(asked, start_date="2050-01-01 09:00", name="golden")
        reservation = only(lease)
        assert all(UUID(str(each)) for each in (lease["id"], reservation["id"], reservation["resource_id"]))
        assert re.fullmatch(STAMP, reservation["created_at"])
        group = reservation["server_group_id"]
        assert (group is None) == (own["affinity"] is None)
        assert reservation == {
            "id": reservation["id"],
            "lease_id": lease["id"],
            "resource_id": reservation["resource_id"],
            "resource_type": asked["resource_type"],
            "status": "pending",
            "missing_resources": False,
            "resources_changed": False,
            "created_at": reservation["created_at"],
            "updated_at": reservation["updated_at"],
            **own,
            "flavor_id": reservation["id"],
            "aggregate_id": None,
            "server_group_id": group,
        }
        assert {name: lease[name] for name in ("name", "project_id", "trust_id", "status", "degraded")} == {
            "name": "golden",
            "project_id": site.demo,
            "trust_id": None,
            "status": "PENDING",
            "degraded": False,
        }
        assert sorted((e["event_type"], e["time"], e["status"]) for e in lease["events"]) == [
            ("before_end_lease", "2050-01-01T10:00:00.000000", "UNDONE"),
            ("end_lease", "2050-01-01T11:00:00.000000", "UNDONE"),
            ("start_lease", "2050-01-01T09:00:00.000000", "UNDONE"),
        ]
        assert site.send("GET", f"/v1/leases/{lease['id']}", "demo").json == {"lease": lease}
        assert site.send("GET", "/v1/leases", "demo").json == {"leases": [lease]}
        renamed = site.change(lease, name="renamed").json["lease"]
        assert {name for name in lease if renamed[name] != lease[name]} <= {"name", "updated_at"}

    @BOTH
    @pytest.mark.parametrize(
        ("word", "shown"), [("", None), ("None", None), (None, None), ("yes", True), ("0", False)]
    )
    def test_forms_of_affinity(self, site: Site, asked: Any, word: Any, shown: Any) -> None:
        lease = site.reserve(asked | {"affinity": word}, start_date="2050-01-01 09:00")
        assert only(lease)["affinity"] is shown
        groups = site.nova("/os-server-groups?all_projects=True")["server_groups"]
        assert [group["id"] for group in groups] == [id for id in [only(lease)["server_group_id"]] if id]

    @BOTH
    @pytest.mark.parametrize(
        ("change", "status", "sentence"),
        [
            ({"amount": 0}, 400, "Malformed parameter amount"),
            ({"amount": "-3"}, 400, "Malformed parameter amount"),
            ({"amount": 10**12}, 400, "Malformed parameter amount"),
            ({"amount": None}, 400, "Missing parameter amount"),
            ({"affinity": "maybe"}, 400, "Malformed parameter affinity (must be a bool value or None)"),
            ({"amount": 10**9}, 400, "Not enough hosts available: 8 hosts match, with room for"),
            ({"amount": 9, "affinity": False}, 400, "Not enough hosts available: 8 hosts match"),
        ],
    )
    def test_what_is_refused(self, site: Site, asked: Any, change: Any, status: int, sentence: str) -> None:
        answer = site.post(asked | change)
        assert (answer.status_code, answer.json["error_code"]) == (status, status)
        assert answer.json["error_message"].startswith(sentence)

    @pytest.mark.parametrize("name", ["vcpus", "memory_mb", "disk_gb"])
    def test_a_negative_number_harms_nobody(self, site: Site, name: str) -> None:
        answer = site.post(INSTANCE | {name: -1})
        assert answer.status_code == 400
        assert answer.json["error_message"].startswith(f"Malformed parameter {name}")


class TestLife:
    @BOTH
    def test_the_project_gets_a_flavor_as_many_servers_as_reserved_and_nobody_else_any(
        self, site: Site, asked: Any
    ) -> None:
        lease = site.active(asked | {"amount": 3})
        reservation = only(lease)
        flavor_id = reservation["flavor_id"]
        with pytest.raises(requests.HTTPError, match="400"):
            site.boot("alt", flavor_id)
        with ThreadPoolExecutor(6) as pool:
            servers = list(pool.map(lambda _: site.boot("demo", flavor_id), range(6)))
        assert sorted(server["status"] for server in servers) == ["ACTIVE"] * 3 + ["ERROR"] * 3
        refused = next(server for server in servers if server["status"] == "ERROR")
        assert refused["fault"]["message"].startswith("No valid host was found.")
        assert site.boot("demo", "1")["status"] == "ERROR", "other flavors stay outside the freepool"
        site.ask("DELETE", f"{COMPUTE}/servers/{refused['id']}")

        grown = site.change(lease, reservations=[{"id": reservation["id"], "amount": 5}])
        assert (grown.status_code, grown.json["lease"]["status"]) == (200, "ACTIVE")
        assert until(lambda: sum(site.slots(flavor_id).values()) == 5)
        assert site.boot("demo", flavor_id)["status"] == "ACTIVE"

        less = site.change(lease, reservations=[{"id": reservation["id"], "amount": 2}])
        assert (less.status_code, less.json["error_code"]) == (409, 409)
        assert site.lease(lease)["status"] == "ACTIVE"
        site.end(lease)
        assert only(site.lease(lease))["status"] == "deleted"
        assert not [
            s for s in site.nova("/servers/detail?all_tenants=1")["servers"] if s["status"] == "ACTIVE"
        ]

    @BOTH
    def test_what_is_in_the_cloud(self, site: Site, asked: Any) -> None:
        lease = site.active(asked | {"amount": 4, "affinity": False})
        reservation = only(lease)
        name, group = reservation["id"], reservation["server_group_id"]
        made = site.ask("GET", f"{COMPUTE}/flavors/{name}", version="compute 2.61")["flavor"]
        assert (made["name"], made["os-flavor-access:is_public"]) == (f"reservation:{name}", False)
        assert [made[key] for key in ("vcpus", "ram", "disk")] == [
            reservation[key] for key in ("vcpus", "memory_mb", "disk_gb")
        ]
        assert made["extra_specs"] == {
            "aggregate_instance_extra_specs:reservation": name,
            f"resources:{resource_class(name)}": "1",
            "affinity_id": group,
        }
        access = site.nova(f"/flavors/{name}/os-flavor-access")["flavor_access"]
        assert [each["tenant_id"] for each in access] == [site.demo]
        aggregate = site.nova(f"/os-aggregates/{reservation['aggregate_id']}")["aggregate"]
        assert (aggregate["name"], aggregate["availability_zone"], len(aggregate["hosts"])) == (name, None, 4)
        assert aggregate["metadata"] == {
            "reservation": name,
            "filter_tenant_id": site.demo,
            "blazar:owner": site.demo,
            "affinity_id": group,
        }
        assert site.slots(name) == {f"blazar_{host}": 1 for host in aggregate["hosts"]}
        providers = site.ask("GET", f"{PLACEMENT}/resource_providers", version="placement 1.29")[
            "resource_providers"
        ]
        by_name = {provider["name"]: provider for provider in providers}
        for host in aggregate["hosts"]:
            assert by_name[f"blazar_{host}"]["parent_provider_uuid"] == by_name[host]["uuid"]
        (made_group,) = site.ask("GET", f"{COMPUTE}/os-server-groups", "demo", "compute 2.64")[
            "server_groups"
        ]
        assert (made_group["id"], made_group["name"]) == (group, f"reservation:{name}")
        assert (made_group["policy"], made_group["project_id"]) == ("anti-affinity", site.demo)

    @BOTH
    @pytest.mark.parametrize("affinity", [True, False])
    def test_servers_run_together_or_apart(self, site: Site, asked: Any, affinity: bool) -> None:
        reservation = only(site.active(asked | {"amount": 3, "affinity": affinity}))
        group = reservation["server_group_id"]
        servers = [site.boot("demo", reservation["flavor_id"], group=group) for _ in range(4)]
        assert [server["status"] for server in servers] == ["ACTIVE"] * 3 + ["ERROR"]
        hosts = {server["OS-EXT-SRV-ATTR:host"] for server in servers[:3]}
        assert len(hosts) == (1 if affinity else 3)

    @BOTH
    def test_leases_of_others_are_out_of_sight(self, site: Site, asked: Any) -> None:
        lease = site.reserve(asked, start_date="2050-01-01 09:00")
        path = f"/v1/leases/{lease['id']}"
        grow = {"reservations": [{"id": only(lease)["id"], "amount": 1}]}
        assert {
            user: [
                site.send("GET", path, user).status_code,
                site.send("PUT", path, user, json=grow).status_code,
                site.send("DELETE", path, user).status_code,
            ]
            for user in ("viewer", "alt", "outsider", "colleague")
        } == {
            "viewer": [200, 403, 403],
            "alt": [404, 404, 404],
            "outsider": [404, 404, 404],
            "colleague": [200, 200, 204],
        }

    @BOTH
    def test_deleted_in_the_middle_of_its_start(self, site: Site, asked: Any) -> None:
        fault = site.sandboxed.state.faults.add(Fault(service="placement", method="PUT", status=503))
        lease = site.reserve(asked | {"affinity": True})
        assert until(lambda: site.lease(lease)["status"] == "STARTING")
        assert until(lambda: "Placement" in (site.lease(lease).get("status_reason") or ""))
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
        site.sandboxed.state.faults.remove(fault.id)
        assert until(lambda: not site.send("GET", "/v1/leases", "demo").json["leases"])

    def test_a_server_that_refuses_to_die_is_told_and_delays_nobody_else(self, site: Site) -> None:
        lease = site.active(INSTANCE)
        server = site.boot("demo", only(lease)["flavor_id"])
        stuck = site.sandboxed.state.compute.servers.stuck
        stuck.add_server(server["id"])
        site.end_soon(lease)
        assert until(lambda: "server" in (site.lease(lease).get("status_reason") or ""))
        waiting = site.lease(lease)
        assert waiting["status"] == "TERMINATING"
        other = site.active(FLAVOR)
        site.end(other)
        assert site.lease(lease)["status"] == "TERMINATING"
        stuck.clear()
        assert until(lambda: site.lease(lease)["status"] == "TERMINATED")


class TestKindsBesideEachOther:
    AT_8 = '["==", "$n", "8"]'
    """compute-08 has 32 VCPUs, 32,256 MiB and 200 GB to give."""

    def test_side_by_side_as_long_as_the_sum_fits_and_never_with_a_host_reservation(
        self, site: Site, flavor: Callable[..., str]
    ) -> None:
        on_8 = flavor(
            vcpus=8, ram=8192, trait__CUSTOM_RACK_0001="required", trait__STORAGE_DISK_HDD="required"
        )
        eight = INSTANCE | {"resource_properties": self.AT_8, "memory_mb": 8192}
        one = site.active(eight | {"amount": 2})
        two = site.active(eight | {"amount": 1}, user="alt")
        refused = site.post(eight)
        assert refused.status_code == 400
        assert refused.json["error_message"].startswith(
            "Not enough hosts available: 1 host matches, with room for 0 of the 2 wanted"
        )
        host = site.post(WHOLE | {"hypervisor_properties": self.AT_8})
        assert host.status_code == 400
        assert host.json["error_message"].startswith("Not enough hosts available: 1 host matches, none")
        assert site.boot("demo", only(one)["flavor_id"])["OS-EXT-SRV-ATTR:host"] == "compute-08"
        assert site.boot("alt", only(two)["flavor_id"])["OS-EXT-SRV-ATTR:host"] == "compute-08"
        beside = site.active(FLAVOR | {"flavor_id": on_8, "amount": 1})
        assert site.boot("demo", only(beside)["flavor_id"])["status"] == "ACTIVE"

    @pytest.mark.parametrize("reverse", [False, True])
    def test_back_to_back_in_whatever_order(self, site: Site, reverse: bool) -> None:
        full = INSTANCE | {"resource_properties": self.AT_8, "memory_mb": 32000, "amount": 1}
        host = WHOLE | {"hypervisor_properties": self.AT_8}
        hours = [
            (full, "09:00", "10:00"),
            (host, "10:00", "11:00"),
            (full, "11:00", "12:00"),
            (full, "12:00", "13:00"),
        ]
        for asked, start, end in reversed(hours) if reverse else hours:
            site.reserve(asked, start_date=f"2050-01-01 {start}", end_date=f"2050-01-01 {end}")

    def test_three_reservations_are_had_together_or_not_at_all(self, site: Site) -> None:
        lease = site.active(WHOLE, INSTANCE | {"affinity": True}, FLAVOR | {"affinity": False})
        whole, instance, flavored = lease["reservations"]
        (host,) = site.sandboxed.aggregates()[whole["id"]]
        for each in (instance, flavored):
            assert host not in site.sandboxed.aggregates()[each["id"]]
            assert site.boot("demo", each["flavor_id"])["status"] == "ACTIVE"
        assert site.boot("demo", "1", reservation=whole["id"])["OS-EXT-SRV-ATTR:host"] == host
        before = things(site.sandboxed)
        refused = site.post(
            INSTANCE | {"affinity": True}, FLAVOR | {"affinity": False}, WHOLE | {"min": 8, "max": 8}
        )
        assert refused.status_code == 400
        assert things(site.sandboxed) == before


class TestFlavors:
    def reserved(self, site: Site, flavor_id: str, **more: Any) -> Any:
        return only(site.active(FLAVOR | {"flavor_id": flavor_id, "amount": 1} | more))

    def test_dedicated_cpus_custom_classes_and_traits_find_their_hosts(
        self, site: Site, flavor: Callable[..., str]
    ) -> None:
        for where, made in [
            ("compute-06", flavor(vcpus=20, hw__cpu_policy="dedicated")),
            ("compute-05", flavor(resources__VGPU="3")),
            ("compute-04", flavor(trait__CUSTOM_BIG_MEMORY="required")),
            ("compute-07", flavor(trait__STORAGE_DISK_HDD="required", trait__HW_CPU_X86_VMX="forbidden")),
        ]:
            reservation = self.reserved(site, made)
            assert site.sandboxed.aggregates()[reservation["id"]] == [where]
            server = site.boot("demo", reservation["flavor_id"])
            assert (server["status"], server["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", where)
        full = site.post(FLAVOR | {"flavor_id": flavor(resources__VGPU="3"), "amount": 2})
        assert full.status_code == 400

    def test_extra_specs_are_carried_over(self, site: Site, flavor: Callable[..., str]) -> None:
        reservation = self.reserved(site, flavor(quota__vif_inbound_average="10"))
        specs = site.nova(f"/flavors/{reservation['id']}/os-extra_specs")["extra_specs"]
        assert specs == {
            "quota:vif_inbound_average": "10",
            "aggregate_instance_extra_specs:reservation": reservation["id"],
            f"resources:{resource_class(reservation['id'])}": "1",
        }

    def test_one_that_cannot_be_honoured_is_refused_by_name(
        self, site: Site, flavor: Callable[..., str]
    ) -> None:
        made = flavor(pci_passthrough__alias="gpu:1")
        answer = site.post(FLAVOR | {"flavor_id": made})
        assert (answer.status_code, answer.json["error_message"]) == (
            409,
            f"Flavor {made} cannot be reserved: its extra spec pci_passthrough:alias=gpu:1 cannot be "
            "guaranteed in advance.",
        )

    def test_only_flavors_that_the_caller_can_see(self, site: Site, flavor: Callable[..., str]) -> None:
        private = flavor(is_public=False)
        action = {"addTenantAccess": {"tenant": site.demo}}
        site.ask("POST", f"{COMPUTE}/flavors/{private}/action", json=action)
        for flavor_id, user in (("nope", "demo"), (private, "alt")):
            answer = site.post(FLAVOR | {"flavor_id": flavor_id}, user=user)
            assert (answer.status_code, answer.json["error_message"]) == (
                404,
                f"Flavor {flavor_id} could not be found.",
            )
        site.reserve(FLAVOR | {"flavor_id": private}, start_date="2050-01-01 09:00")

    def test_a_pending_reservation_becomes_one_of_another_flavor(self, site: Site) -> None:
        lease = site.reserve(FLAVOR, start_date="2050-01-01 09:00")
        wanted = {"id": only(lease)["id"], "flavor_id": "3", "amount": 1, "affinity": True}
        changed = site.change(lease, reservations=[wanted])
        assert changed.status_code == 200
        reservation = only(changed.json["lease"])
        assert [reservation[name] for name in ("vcpus", "memory_mb", "amount", "affinity")] == [
            4,
            4096,
            1,
            True,
        ]
        assert changed.json["lease"]["status"] == "PENDING"
        started = site.change(lease, start_date="now")
        assert started.status_code == 200
        assert until(lambda: site.lease(lease)["status"] == "ACTIVE")
        assert site.nova(f"/flavors/{reservation['id']}")["flavor"]["vcpus"] == 4


class TestPeople:
    SNAPSHOT = WHOLE | {"before_end": "snapshot"}

    def trusts(self, site: Site) -> list[Any]:
        return list(site.ask("GET", "/v3/OS-TRUST/trusts")["trusts"])

    def test_a_trust_only_where_the_service_acts_as_the_user_and_gone_with_the_lease(
        self, site: Site
    ) -> None:
        site.reserve(WHOLE, INSTANCE | {"affinity": True}, FLAVOR, start_date="2050-01-01 09:00")
        assert not self.trusts(site)
        lease = site.reserve(self.SNAPSHOT, start_date="2050-01-01 09:00")
        (trust,) = self.trusts(site)
        assert trust["trustor_user_id"] == lease["user_id"]
        assert site.post(self.SNAPSHOT | {"min": 9, "max": 9}).status_code == 400
        assert [each["id"] for each in self.trusts(site)] == [trust["id"]]
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
        assert until(lambda: not self.trusts(site))

    def test_a_trust_is_made_anew_when_the_user_has_lost_a_role_of_it(self, site: Site) -> None:
        name = "loser"
        user_id = site.sandboxed.add_user(name, "demo", "member", "reader", "manager")
        lease = site.reserve(self.SNAPSHOT, start_date="2050-01-01 09:00", user=name)
        (first,) = self.trusts(site)
        site.change(lease, user=name, end_date="2050-01-01 10:30")
        assert [each["id"] for each in self.trusts(site)] == [first["id"]]
        site.sandboxed.assign("DELETE", name, user_id, "manager")
        assert site.change(lease, user=name, end_date="2050-01-01 10:00").status_code == 200
        (second,) = self.trusts(site)
        assert second["id"] != first["id"]

    @pytest.mark.parametrize("end", ["end", "delete"])
    def test_the_lease_of_a_deleted_user_ends_and_is_cleaned_up(self, site: Site, end: str) -> None:
        name = f"leaver-{end}"
        user_id = site.sandboxed.add_user(name, "demo", "member", "reader")
        lease = site.active(self.SNAPSHOT, INSTANCE | {"affinity": True}, user=name)
        site.boot("demo", lease["reservations"][1]["flavor_id"])
        site.ask("DELETE", f"/v3/users/{user_id}")
        if end == "end":
            site.end(lease)
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204
        assert until(lambda: lease["id"] not in site.send("GET", "/v1/leases", "admin").text)


class TestPreemptibleServers:
    def test_they_use_the_freepool_and_make_way_for_a_host_reservation(
        self, site: Site, flavor: Callable[..., str]
    ) -> None:
        preemptible = flavor(blazar__preemptible="true")
        first = site.boot("alt", preemptible)
        host = first["OS-EXT-SRV-ATTR:host"]
        lease = site.active(
            WHOLE | {"hypervisor_properties": json.dumps(["==", "$hypervisor_hostname", host])}
        )
        assert site.sandboxed.aggregates()[only(lease)["id"]] == [host]
        assert not site.nova("/servers?all_tenants=1")["servers"]
        later = site.boot("alt", preemptible)
        assert later["status"] == "ACTIVE"
        assert later["OS-EXT-SRV-ATTR:host"] != host
        mine = site.boot("demo", "1", reservation=only(lease)["id"])
        assert mine["OS-EXT-SRV-ATTR:host"] == host

    @pytest.mark.parametrize("asked", [INSTANCE, FLAVOR], ids=["virtual:instance", "flavor:instance"])
    def test_they_make_way_for_reserved_servers_and_stay_away_until_the_end(
        self, site: Site, flavor: Callable[..., str], asked: Any
    ) -> None:
        preemptible, ordinary = flavor(blazar__preemptible="true"), flavor()
        spares = [site.boot("demo", preemptible) for _ in range(16)]
        lease = site.active(asked | {"affinity": False, "amount": 2})
        reserved = [site.boot("demo", only(lease)["flavor_id"]) for _ in range(2)]
        assert [each["status"] for each in reserved] == ["ACTIVE", "ACTIVE"]
        serving = {each["OS-EXT-SRV-ATTR:host"] for each in reserved}
        left = {each["id"]: each for each in site.nova("/servers/detail?all_tenants=1")["servers"]}
        for spare in spares:
            assert (spare["id"] in left) == (spare["OS-EXT-SRV-ATTR:host"] not in serving)
        assert site.boot("demo", ordinary)["status"] == "ERROR"
        for _ in range(4):
            assert site.boot("demo", preemptible)["OS-EXT-SRV-ATTR:host"] not in serving
