"""Cinder is found by whatever name and address the catalog has of it."""

from __future__ import annotations

import pytest

from blazar_sandbox.cloud import Cloud as Sandbox
from blazar_sandbox.identity.model import stable_id

from .places import PASSWORD, sandbox

pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("volumev3", "/volume/v3/a-project"),
        ("block-storage", "/volume/v3"),
        ("block-storage", "/volume"),
    ],
)
def test_cinder_is_found(name: str, path: str) -> None:
    state = Sandbox(hosts=2, password=PASSWORD)
    other = {"volumev3": "block-storage", "block-storage": "volumev3"}[name]
    for key, endpoint in list(state.identity.endpoints.items()):
        if endpoint.service_id == stable_id("service", other):
            state.identity.endpoints.drop(key)
    state.move_service(name, path)
    with sandbox(state) as place:
        assert [each.name for each in place.cloud.storage.volume_types()] == ["standard", "fast"]
        assert place.cloud.storage.volume_quota(place.project)["gigabytes_fast"] == 0
