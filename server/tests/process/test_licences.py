"""A kind of another distribution, from its installation to the end of a lease: no line of ours knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .conftest import Standalone, eventually
from .test_standalone import in_minutes

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs/examples/licence-kind"
PLUGINS = "physical.host.plugin, virtual.floatingip.plugin, licence.token.plugin"


def install(target: Path) -> None:
    """Install the example as pip does with --target: its modules, and its metadata with the entry points."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(EXAMPLE / "src", target)
    metadata = target / f"blazar_licences-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
        for group, entries in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n\n".join(groups) + "\n")


@dataclass
class Licensed:
    """A service with the example installed and enabled."""

    service: Standalone
    grants: Path
    environment: dict[str, str]

    def blazar(self, user: str, *words: str) -> Any:
        """Run the client's program, and return what it prints as JSON."""
        done = subprocess.run(
            [Path(sys.executable).parent / "blazar", *words, "-f", "json"],
            env={**self.environment, "OS_CLOUD": f"sandbox-{user}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout[min(done.stdout.find(c) for c in "[{" if c in done.stdout) :])

    def granted(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.grants.glob("*.json")]


@pytest.fixture(scope="module")
def licensed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Licensed]:
    folder = tmp_path_factory.mktemp("licences")
    install(folder / "installed")
    rules = folder / "policy.yaml"
    rules.write_text('"blazar:licences:delete": "rule:project_member_or_admin"\n')
    options = folder / "more.conf"
    options.write_text(
        f"[manager]\nplugins = {PLUGINS}\nreconcile_seconds = 0\n[licence]\ngrants = {folder / 'grants'}\n"
        f"[oslo_policy]\npolicy_file = {rules}\n"
    )
    path = {"PYTHONPATH": str(folder / "installed")}
    service = Standalone(folder / "var", hosts=3, more=["--config-file", options], env=path).start()
    clouds = {"OS_CLIENT_CONFIG_FILE": str(folder / "var" / "clouds.yaml")}
    own = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    yield Licensed(service, folder / "grants", {**own, **path, **clouds})
    service.close()


def test_tokens_are_reserved_over_http(licensed: Licensed) -> None:
    admin, demo, alt = (licensed.service.user(name) for name in ("admin", "demo", "alt"))

    assert demo.call("POST", "/licences", json={"name": "matlab", "tokens": 5}).status_code == 403
    made = admin.call("POST", "/licences", json={"name": "matlab", "tokens": 5})
    licence = made.json()["licence"]
    assert (made.status_code, licence["name"], licence["tokens"]) == (201, "matlab", 5)
    again = admin.call("POST", "/licences", json={"name": "matlab", "tokens": 5})
    assert (again.status_code, again.json()["error_message"]) == (
        409,
        "Licence matlab is already registered.",
    )
    assert admin.call("POST", "/licences", json={"name": "other", "tokens": 0}).status_code == 400
    assert demo.call("GET", "/licences").json() == {"licences": [licence]}
    assert demo.call("GET", f"/licences/{licence['id']}").json() == {"licence": licence}
    assert demo.call("GET", "/licences/nope").json()["error_message"] == "Licence nope not found."
    assert "/v1/licences" in demo.call("GET", "/openapi.json").json()["paths"]

    def tokens(amount: object, licence: str = "matlab") -> dict[str, Any]:
        reservation = {"resource_type": "licence:token", "licence": licence, "amount": amount}
        return {"name": "l", "start_date": "now", "end_date": in_minutes(60), "reservations": [reservation]}

    assert demo.call("POST", "/leases", json=tokens("many")).status_code == 400
    lease = demo.call("POST", "/leases", json=tokens(3)).json()["lease"]
    (reservation,) = lease["reservations"]
    assert (reservation["licence"], reservation["amount"]) == ("matlab", 3)
    told = licensed.blazar("demo", "capacity-show", "--quantity", "licence_tokens")
    assert [(row["available"], row["total"]) for row in told] == [(2, 5), (5, 5)]
    newest = {"OpenStack-API-Version": "reservation 1.10"}
    asked = {"resource_type": "licence:token"}
    shown = admin.call("GET", "/timeline", params=asked, headers=newest).json()["timeline"]
    assert (shown["rows"]["name"], shown["bars"]["slots"]) == (["matlab"], [3])
    assert shown["occupants"]["id"] == [lease["id"]]
    refused = alt.call("POST", "/leases", json=tokens(3))
    assert refused.status_code == 400
    assert refused.json()["error_message"].startswith("Not enough licence tokens available: ")

    project_id = lease["project_id"]
    eventually(lambda: demo.lease(lease["id"])["status"] == "ACTIVE")
    assert licensed.granted() == [{"project_id": project_id, "tokens": {"matlab": 3}}]
    more = {"reservations": [{"id": reservation["id"], "amount": 4}]}
    assert demo.call("PUT", f"/leases/{lease['id']}", json=more).status_code == 200
    eventually(lambda: licensed.granted() == [{"project_id": project_id, "tokens": {"matlab": 4}}])
    fewer = {"reservations": [{"id": reservation["id"], "amount": 1}]}
    assert demo.call("PUT", f"/leases/{lease['id']}", json=fewer).status_code == 409
    kept = demo.call("DELETE", f"/licences/{licence['id']}")
    assert (kept.status_code, kept.json()["error_message"]) == (
        409,
        f"Can't delete licence {licence['id']}: it is reserved.",
    )

    assert demo.call("PUT", f"/leases/{lease['id']}", json={"end_date": "now"}).status_code == 200
    # A lease that is to end in its first minute lasts for it.
    eventually(lambda: demo.lease(lease["id"])["status"] == "TERMINATED", 90)
    assert licensed.granted() == []
    later = alt.call("POST", "/leases", json=tokens(5)).json()["lease"]
    eventually(lambda: alt.lease(later["id"])["status"] == "ACTIVE")
    assert alt.call("DELETE", f"/leases/{later['id']}").status_code == 204
    assert licensed.granted() == []
    assert demo.call("DELETE", f"/leases/{lease['id']}").status_code == 204
    # The operator's own rule lets members do what only administrators may by default.
    assert demo.call("DELETE", f"/licences/{licence['id']}").status_code == 204
    assert demo.call("GET", "/licences").json() == {"licences": []}


def test_tokens_are_reserved_with_the_client(licensed: Licensed) -> None:
    made = licensed.blazar("admin", "licence-create", "ansys", "2")
    assert (made["name"], made["tokens"]) == ("ansys", 2)
    assert [each["name"] for each in licensed.blazar("demo", "licence-list")] == ["ansys"]
    wish = "resource_type=licence:token,licence=ansys,amount=2"
    lease = licensed.blazar("demo", "lease-create", "--reservation", wish, "simulation")
    demo = licensed.service.user("demo")
    eventually(lambda: demo.lease(lease["id"])["status"] == "ACTIVE")
    assert [grant["tokens"] for grant in licensed.granted()] == [{"ansys": 2}]
    assert demo.call("DELETE", f"/leases/{lease['id']}").status_code == 204


def test_calls_of_the_kind_cross_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """blazar-api and blazar-manager are two processes: every argument and result becomes JSON."""
    from functional.test_calls import StoppedClock, Wire

    from blazar.adapters.memory import MemoryDatabase
    from blazar.rpc.codec import Codec
    from blazar.rpc.proxy import remote_service

    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    from blazar_licences.errors import LicenceAlreadyRegistered, LicenceNotFound
    from blazar_licences.licences import Licences, LicencesInterface, RegisterLicence

    class Manager:
        def __init__(self) -> None:
            self.licences = Licences(MemoryDatabase(), StoppedClock())

        def noun(self, name: str) -> Any:
            return {"licences": self.licences}[name]

    codec = Codec({"licences": LicencesInterface})
    wire = Wire(Manager(), codec=codec)
    licences = remote_service(wire, codec).noun("licences")
    made = licences.register(RegisterLicence("matlab", 5))
    assert licences.get(made.id) == made
    assert licences.list() == [made]
    with pytest.raises(LicenceAlreadyRegistered, match="Licence matlab is already registered"):
        licences.register(RegisterLicence("matlab", 5))
    licences.unregister(made.id)
    with pytest.raises(LicenceNotFound):
        licences.get(made.id)
    assert [calling.repeatable for calling in wire.calls] == [False, True, True, False, True, True]
