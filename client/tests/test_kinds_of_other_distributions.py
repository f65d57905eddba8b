"""Tests of a kind that another distribution adds by entry points, without a change in the client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar
from stevedore import ExtensionManager

from blazarclient import client
from blazarclient.kinds.registry import installed_kinds

VLAN_ID = "a51ec3b5-33a7-49a3-90fa-ebbb92c7439c"
VLAN = {"id": VLAN_ID, "segment": "100"}
OTHER_VLAN = {"id": "b51ec3b5-33a7-49a3-90fa-ebbb92c7439c", "segment": "007"}
ENTRY_POINTS = """
[blazarclient.kinds]
vlan = vlankind:VlanKind

[openstack.reservation.v1]
reservation_vlan_create = vlankind.commands:CreateVlan
reservation_vlan_list = vlankind.commands:ListVlans
reservation_vlan_show = vlankind.commands:ShowVlan

[blazarclient.commands]
vlan-create = vlankind.commands:CreateVlan
vlan-list = vlankind.commands:ListVlans
vlan-show = vlankind.commands:ShowVlan
"""
SUPPORT = Path(__file__).parent / "support"
PROGRAMS = Path(sys.executable).parent


def install(folder: Path, name: str, entry_points: str) -> None:
    """Write the metadata of an installed distribution."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed distribution that adds the kind."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(SUPPORT / "vlankind", folder / "vlankind", ignore=shutil.ignore_patterns("__pycache__"))
    install(folder, "blazar_vlan", ENTRY_POINTS)
    return folder


@pytest.fixture
def vlans(site: Path, cloud: RecordingCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The distribution is installed for this process, and the recording cloud has VLANs."""
    monkeypatch.syspath_prepend(str(site))
    forget_entry_points()
    cloud.answer("GET", "/vlans", 200, {"vlans": [VLAN, OTHER_VLAN]})
    cloud.answer("GET", f"/vlans/{VLAN_ID}", 200, {"vlan": VLAN})
    cloud.answer("POST", "/vlans", 409, samples.error(409, "Segment 100 exists."))
    allocations = [samples.allocation(resource_id=VLAN_ID)]
    cloud.answer("GET", "/vlans/allocations", 200, {"allocations": allocations})
    cloud.answer("GET", f"/vlans/{VLAN_ID}/allocation", 200, {"allocation": samples.allocation()})
    yield
    monkeypatch.undo()
    forget_entry_points()


def forget_entry_points() -> None:
    """Clear the caches of a process, which searches the installed distributions once."""
    installed_kinds.cache_clear()
    ExtensionManager.ENTRY_POINT_CACHE.clear()


def program(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, with the distributions of this folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [str(PROGRAMS / command[0]), *command[1:]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def script(folder: Path, text: str) -> Any:
    """Run a Python script and return the JSON that it prints."""
    ran = program(folder, "python", "-c", textwrap.dedent(text))
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


pytestmark = pytest.mark.usefixtures("vlans")


def test_the_help_names_the_keys_of_the_kind_after_those_of_the_client(blazar: Blazar) -> None:
    text = " ".join(blazar("help lease-create").out.split())
    assert "resource_type=network:port: amount, [on_end]; resource_type=virtual:vlan: amount, [speed]" in text


def test_a_reservation_is_parsed_by_the_fields_of_the_kind(blazar: Blazar) -> None:
    line = "lease-create x --reservation resource_type=virtual:vlan,amount="
    ran = blazar(f"{line}2")
    assert ran.code == 0, ran.err
    assert ran.requests[-1].body["reservations"] == [
        {"resource_type": "virtual:vlan", "amount": 2, "speed": "10G"}
    ]
    for arguments, message in (
        ("many", "amount=many is not a whole number"),
        ("1,sped=10G", "unknown key 'sped' of virtual:vlan: did you mean 'speed'?"),
        ("3,speed=100G", "there are only two VLANs of 100G"),
    ):
        ran = blazar(line + arguments)
        assert ran.code == 2
        assert message in ran.err


def test_an_update_may_have_keys_of_the_kind(blazar: Blazar) -> None:
    ran = blazar(f"lease-update {samples.LEASE_ID} --reservation id=r1,speed=100G")
    assert ran.requests[-1].body == {"reservations": [{"id": "r1", "speed": "100G"}]}


def test_commands_of_the_kind(blazar: Blazar, site: Path) -> None:
    listed = f"{OTHER_VLAN['id']} 007\n{VLAN_ID} 100\n"
    ran = blazar("vlan-list -f value")
    assert (ran.code, ran.out) == (0, listed), ran.err
    done = program(site, "openstack", "reservation", "vlan", "list", "-f", "value")
    assert (done.returncode, done.stdout) == (0, listed), done.stderr


def test_a_resource_is_looked_up_by_its_name(blazar: Blazar) -> None:
    assert blazar("vlan-show 100 -f value -c id").out == f"{VLAN_ID}\n"
    ran = blazar("vlan-show 1000")
    assert ran.code == 1
    assert "Unable to find resource with name '1000': did you mean '100'?" in ran.err
    assert "See what there is with `blazar vlan-list`" in ran.err


def test_advice_of_the_kind(blazar: Blazar) -> None:
    ran = blazar("vlan-create 100")
    assert ran.code == 1
    assert "Segment 100 exists." in ran.err
    assert "Take another segment: `blazar vlan-list` shows those in use." in ran.err


def test_the_calendar_and_the_allocations_show_the_resource(blazar: Blazar) -> None:
    window = "calendar-show --start-date 2050-01-01 --duration 1d"
    lines = blazar(f"{window} --width 200").out.splitlines()
    rows = ["compute-0000", "compute-0001", "", "007", "100", ""]
    assert [line.split("|")[0].strip() for line in lines[2:-1]] == rows
    assert lines[-1].startswith("2 hosts, 2 vlans, 4 reservations; ")
    assert set(blazar(f"{window} --vlan 100 -f value -c row").out.split()) == {"100"}
    listed = json.loads(blazar("allocation-list vlan -f json").out)
    assert [row["resource_id"] for row in listed] == [VLAN_ID]
    shown = blazar("allocation-show vlan 100 -f value -c resource_id")
    assert (shown.code, shown.requests[-1].path) == (0, f"/vlans/{VLAN_ID}/allocation")


def test_the_calendar_without_hosts_shows_the_other_resources(blazar: Blazar, cloud: RecordingCloud) -> None:
    line = "calendar-show --start-date 2050-01-01 -f value -c row"
    cloud.answer("GET", "/os-hosts", 404, samples.error(404, "not enabled"))
    ran = blazar(line)
    assert (set(ran.out.split()), ran.err) == ({"100"}, "")
    cloud.answer("GET", "/vlans", 403, samples.error(403, "not allowed"))
    ran = blazar(line)
    assert set(ran.out.split()) == {"a", "b"}
    assert "only administrators may see the hosts and vlans." in ran.err


def test_the_v1_client_has_the_calls_of_the_kind(cloud: RecordingCloud) -> None:
    library: Any = client.Client("1", blazar_url=cloud.endpoint, auth_token="known")
    assert [row["segment"] for row in library.vlan.list(sort_by="segment")] == ["007", "100"]
    assert library.host.get("1")["id"] == "1"


def test_the_sdk_has_the_methods_resources_and_keys_of_the_kind(site: Path, cloud: RecordingCloud) -> None:
    line = {
        "id": "r1",
        "resource_type": "virtual:vlan",
        "amount": 2,
        "speed": "10G",
        "segments": ["100", "007"],
    }
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(reservations=[line])})
    found = script(
        site,
        f"""
        import json
        import vlankind.sdk
        import blazarclient.sdk
        typed = blazarclient.sdk.reservation(blazarclient.sdk.connect(), vlankind.sdk.VlanMethods)
        (line,) = typed.get_lease({samples.LEASE_ID!r}).reservations
        print(json.dumps([
            [vlan.segment for vlan in typed.vlans()],
            blazarclient.sdk.Vlan is vlankind.sdk.Vlan,
            [line.amount, line.speed, line.segments],
        ]))
        """,
    )
    assert found == [["100", "007"], True, [2, "10G", ["100", "007"]]]


def test_loading_the_kinds_does_not_import_openstacksdk(site: Path) -> None:
    imported = script(
        site,
        """
        import json, sys
        from blazarclient import client
        client.Client("1", blazar_url="http://127.0.0.1:9", auth_token="known")
        print(json.dumps(["vlankind" in sys.modules, "openstack" in sys.modules]))
        """,
    )
    assert imported == [True, False]


def test_a_kind_that_cannot_be_imported_leaves_the_others_usable(
    tmp_path: Path, cloud: RecordingCloud
) -> None:
    install(tmp_path, "blazar_broken", "[blazarclient.kinds]\nbroken = no_such_module:Kind\n")
    ran = program(tmp_path, "blazar", "host-list", "-f", "value", "-c", "id")
    assert (ran.returncode, ran.stdout) == (0, "2\n1\n")
    assert "Could not load the resource kind broken (no_such_module:Kind)" in ran.stderr
