"""What a host keeps in Placement when it is deregistered, and the operator's command that removes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.cmd.db_manage import main

from .sandboxed import Sandboxed, section

# openstacksdk warns of its own next releases with every request.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::openstack.warnings.RemovedInSDK{release}Warning")
    for release in ("50", "60")
]

HOST = "compute-01"


@pytest.fixture
def sandboxed(tmp_path: Path) -> Iterator[Sandboxed]:
    sandboxed = Sandboxed(tmp_path, hosts=1)
    yield sandboxed
    sandboxed.stop()


def providers(sandboxed: Sandboxed) -> dict[str, str]:
    """Return the ids of all providers, by name."""
    found = sandboxed.openstack("GET", "/placement/resource_providers")["resource_providers"]
    return {each["name"]: each["uuid"] for each in found}


def register(sandboxed: Sandboxed) -> str:
    answer = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": HOST})
    assert answer.status_code == 201, answer.text
    return str(answer.json["host"]["id"])


def deregister(sandboxed: Sandboxed, host_id: str) -> None:
    assert sandboxed.send("DELETE", f"/v1/os-hosts/{host_id}", "admin").status_code == 204


def run(folder: Path, host: str = HOST) -> int:
    return main(["--config-file", str(folder / "blazar.conf"), "remove-provider", host])


def test_a_host_that_is_deregistered_keeps_its_provider_and_takes_servers(sandboxed: Sandboxed) -> None:
    host_id = register(sandboxed)
    before = providers(sandboxed)
    deregister(sandboxed, host_id)
    assert before.keys() == {HOST, f"blazar_{HOST}"}
    assert providers(sandboxed) == before
    path = f"/placement/resource_providers/{before[f'blazar_{HOST}']}/inventories"
    assert sandboxed.openstack("GET", path)["inventories"] == {}
    assert sandboxed.boot("demo", "1")["status"] == "ACTIVE"


def test_an_operator_removes_it_and_is_told_what_nova_does(
    sandboxed: Sandboxed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host_id = register(sandboxed)
    before = providers(sandboxed)
    assert run(tmp_path) == 1
    assert f"{HOST} is a registered host" in capsys.readouterr().err
    assert providers(sandboxed) == before

    deregister(sandboxed, host_id)
    assert run(tmp_path) == 0
    told = capsys.readouterr().out
    for word in (f"blazar_{HOST}", "resource_provider_association_refresh", "300", "SIGHUP"):
        assert word in told
    assert providers(sandboxed).keys() == {HOST}

    assert run(tmp_path) == 1
    assert f"There is no provider blazar_{HOST}." in capsys.readouterr().err
    register(sandboxed)
    assert providers(sandboxed) == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"auth_type": "password"}, "The section [cloud] of the configuration cannot be used"),
        ({"auth_type": "nonsense"}, "The section [cloud] of the configuration cannot be used"),
        ({}, "Keystone is not available"),
    ],
)
def test_a_cloud_that_cannot_be_used_is_one_sentence(
    sandboxed: Sandboxed,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, str],
    reason: str,
) -> None:
    database = section("database", connection=f"sqlite:///{tmp_path}/blazar.db")
    (tmp_path / "blazar.conf").write_text(database + section("cloud", **options))
    assert run(tmp_path) == 1
    told = capsys.readouterr().err
    assert reason in told
    assert told.count("\n") == 1
