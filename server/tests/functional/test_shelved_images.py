"""Images of servers that the service had shelved, on a cloud that is asked over HTTP: they stay when their
users delete the servers, and the service removes them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from blazar_sandbox.image.state import Image
from blazarnova import rule

from .sandboxed import Sandboxed, until
from .test_server_reservations import seen
from .test_slots import COMPUTE, WHOLE, Site

# openstacksdk warns of its own next release with every request.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
MANY = 60
"""Images: more than two of Glance's pages."""


class Shelving(Site):
    """A site whose hosts are shared with preemptible servers."""

    def make(self, path: str, body: Any) -> Any:
        return self.ask("POST", COMPUTE + path, json=body)

    def there(self, image_ids: list[str]) -> set[str]:
        with self.sandboxed.state.lock:
            return {each for each in image_ids if each in self.sandboxed.state.images.table}


@pytest.fixture
def site(tmp_path: Any) -> Iterator[Shelving]:
    sandboxed = Sandboxed(
        tmp_path,
        hosts=1,
        settings=rule.Settings(allow_preemptibles=True),
        nova={"end_preemptibles": True, "shelved_images_seconds": 1},
    )
    made = sandboxed.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"})
    assert made.status_code == 201
    try:
        yield Shelving(sandboxed)
    finally:
        sandboxed.stop()


def preempted(site: Shelving) -> tuple[str, Image]:
    """A user's server that made way for a lease, and its image."""
    flavor = site.make("/flavors", {"flavor": {"name": "kept", "vcpus": 1, "ram": 512, "disk": 1}})["flavor"][
        "id"
    ]
    site.make(f"/flavors/{flavor}/os-extra_specs", {"extra_specs": {"blazar:preemptible": "shelve"}})
    server = site.boot("demo", flavor)
    site.active(WHOLE)
    assert until(lambda: seen(site, server)["status"] == "SHELVED_OFFLOADED"), seen(site, server)
    (image,) = (each for each in site.sandboxed.state.images.table if each.name.endswith("-shelved"))
    return server["id"], image


def copy(site: Shelving, image: Image, server_id: str, **changes: Any) -> str:
    properties = {**image.properties, "instance_uuid": server_id}
    made = replace(image, id=str(uuid.uuid4()), **{"properties": properties, **changes})
    with site.sandboxed.state.lock:
        site.sandboxed.state.images.put(made)
    return made.id


def test_it_is_removed_when_the_user_has_deleted_the_server(site: Shelving) -> None:
    server_id, image = preempted(site)
    assert image.owner == site.sandboxed.state.project_id("service")
    unmarked = {name: value for name, value in image.properties.items() if name != "blazar_shelved"}
    kept = [
        copy(site, image, server_id, owner=site.sandboxed.state.project_id("alt")),
        copy(site, image, server_id, properties=unmarked),
        copy(site, image, server_id, properties={**image.properties, "blazar_shelved": "elsewhere"}),
        copy(site, image, server_id, properties={**image.properties, "user_id": "another"}),
        copy(site, image, server_id, name="backup"),
        copy(site, image, server_id, protected=True),
    ]
    spent = [copy(site, image, str(uuid.uuid4())) for _ in range(MANY)]
    assert until(lambda: not site.there(spent)), "those of servers that are gone"
    assert site.there([image.id, *kept]) == {image.id, *kept}, "the server is there"
    site.ask("DELETE", f"{COMPUTE}/servers/{server_id}", "demo")
    assert until(lambda: not site.there([image.id]))
    assert site.there(kept) == set(kept)
