"""The page of the installation, done as it says: an empty environment, a database, a broker, and the sandbox
for a cloud."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile

import pytest

from blazar_sandbox.server import SandboxServer

from .page import NOT_RUN, PAGE, SETTINGS, UNITS, Block, blocks
from .site import ADMIN, DIALECTS, HOST, USER, Site

pytestmark = pytest.mark.thorough

BROKER = "As root, on a RabbitMQ node"
ON_SERVICE = ("As root, on the service's machine", "On the service's machine")


def without_reservations(site: Site) -> None:
    """Take from the new cloud what the page makes: the service's user, its catalog entry and the freepool."""
    identity, compute = site.cloud.identity, site.cloud.compute
    for user in [key for key, user in identity.users.items() if user.name == "blazar"]:
        identity.delete_user(user)
    for key in [key for key, service in identity.services.items() if service.type == "reservation"]:
        for each in [each for each, endpoint in identity.endpoints.items() if endpoint.service_id == key]:
            identity.endpoints.drop(each)
        identity.services.drop(key)
    for key in list(dict(compute.aggregates.table.items())):
        compute.aggregates.table.drop(key)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_page_leads_from_nothing_to_the_first_lease(name: str, tmp_path: Path) -> None:
    page, site = blocks(PAGE.read_text()), Site(tmp_path, DIALECTS[name])
    others = {each.place for key, each in DIALECTS.items() if key != name}
    without_reservations(site)
    site.prepare(page)
    looked = 0
    with ExitStack() as stack:
        stack.enter_context(SandboxServer(site.cloud, host=HOST, port=site.port))
        stack.callback(site.forget)
        for block in page:
            if block.place == SETTINGS or block.place in others or block.place.endswith(NOT_RUN):
                continue
            if block.place.endswith(UNITS):
                stack.enter_context(site.units(block))
                continue
            assert block.place in (*ON_SERVICE, BROKER, ADMIN, USER, site.dialect.place), block.place
            looked += seen(site, block, site.type(block.place, block.text))
    assert looked == 5


def ours_stay(site: Site, place: str) -> None:
    """Upgrade from an index with newer distributions of our names: ours stay, by the page's pip.conf."""
    index = site.folder / "index"
    index.mkdir()
    for name in ("blazar", "python_blazarclient"):
        _pretend(index, name, "99.0.0")
    words = "blazar python-blazarclient"
    upgrade = f"pip install --dry-run --no-deps --no-index --find-links {index} --upgrade {words}"
    assert "Would install" not in site.type(place, upgrade)
    assert "Would install blazar-99.0.0 " in site.type(place, f"PIP_CONFIG_FILE=/dev/null {upgrade}")


def _pretend(folder: Path, name: str, version: str) -> None:
    """Make an empty wheel."""
    about = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def seen(site: Site, block: Block, output: str) -> bool:
    """Look at what the page promises after a block; tell whether it promises anything."""
    servers = {server.name: server for server in site.cloud.compute.server_table}
    if "pip wheel" in block.text:
        ours_stay(site, block.place)
    elif "upgrade check" in block.text:
        assert output.count("Success") == 4
    elif "hypervisor list" in block.text:
        assert re.search(r"hosts +\| compute-01 ", output)
    elif "lease create" in block.text:
        assert re.search(r"status +\| ACTIVE", output)
        assert servers["inside"].host == "compute-01"
    elif "lease delete" in block.text:
        assert not servers
        assert [host.name for host in site.cloud.compute.hosts.table if host.aggregates] == ["compute-01"]
    else:
        return False
    return True
