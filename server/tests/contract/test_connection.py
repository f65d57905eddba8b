"""How the cloud is reached: again later where it is in trouble at the start, where it has moved to, and
through whom."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest
import requests
from keystoneauth1.session import Session

from blazar.adapters.openstack.cloud import OpenStackCloud, connect
from blazar.adapters.openstack.session import pooled_http
from blazar.domain.errors import CloudUnavailable
from blazar_sandbox.cloud import Cloud as Sandbox
from blazar_sandbox.faults import Effect, Fault
from blazar_sandbox.server import SandboxServer

from .places import PASSWORD, password_of

CLOSED_PORT = 9
"""A port on which no server listens."""
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(hosts=2, password=PASSWORD)


@pytest.fixture
def cloud(sandbox: Sandbox) -> Iterator[OpenStackCloud]:
    with requests.Session() as http, SandboxServer(sandbox) as server:
        yield connect(Session(password_of(server.auth_url, "blazar", PASSWORD, "service"), session=http))


def asked(cloud: OpenStackCloud) -> list[object]:
    """What Nova and Placement say of a host that there is, and Neutron of a network that there is not."""
    name = "compute-01"
    return [
        cloud.compute.find_hypervisor(name),
        cloud.placement.provider(name),
        cloud.network.network("nope"),
    ]


@pytest.mark.parametrize("effect", [Effect.ERROR, Effect.GARBAGE])
@pytest.mark.parametrize("service", ["identity", "compute", "placement", "network"])
def test_what_fails_at_the_start_is_asked_again(
    sandbox: Sandbox, cloud: OpenStackCloud, service: str, effect: Effect
) -> None:
    sandbox.faults.add(Fault(service=service, effect=effect))
    with pytest.raises(CloudUnavailable):
        asked(cloud)
    sandbox.faults.clear()
    hypervisor, provider, network = asked(cloud)
    assert hypervisor is not None
    assert provider is not None
    assert network is None


def test_a_trust_waits_for_a_keystone_that_fails(sandbox: Sandbox, cloud: OpenStackCloud) -> None:
    """Our own id comes with our own token, which may have to be renewed."""
    sandbox.faults.add(Fault(service="identity", status=503))
    with pytest.raises(CloudUnavailable, match="Keystone"):
        cloud.identity.create_trust("user", "project", ("member",), datetime(2050, 1, 1, tzinfo=UTC))


def test_a_service_that_moves_is_found_with_the_next_token(sandbox: Sandbox, cloud: OpenStackCloud) -> None:
    assert cloud.compute.find_aggregate("nope") is None
    catalog = sandbox.identity
    (nova,) = (service for service in catalog.services if service.type == "compute")
    for endpoint in [each for each in catalog.endpoints if each.service_id == nova.id]:
        catalog.endpoints.put(endpoint.id, replace(endpoint, url=f"http://127.0.0.1:{CLOSED_PORT}/v2.1"))
    assert cloud.compute.find_aggregate("nope") is None
    cloud.session.invalidate()
    with pytest.raises(CloudUnavailable, match=f":{CLOSED_PORT}"):
        cloud.compute.find_aggregate("nope")


def test_threads_share_a_cloud_from_its_first_request_on(sandbox: Sandbox) -> None:
    """The first requests find the services and the token, which all of them need at once."""
    threads = 16
    with pooled_http(threads) as http, SandboxServer(sandbox) as server:
        cloud = connect(Session(password_of(server.auth_url, "blazar", PASSWORD, "service"), session=http))
        one, begin = cloud.fenced(lambda: None), Barrier(threads)

        def ask(number: int) -> list[object]:
            begin.wait()
            return [asked(one) for _ in range(5)]

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(ask, range(threads)))
    assert all(answers == [asked_first] * 5 for answers in found for asked_first in [found[0][0]])
    assert sandbox.journal.counts("identity POST /auth/tokens") == {"identity POST /auth/tokens": 1}


def test_a_provider_of_another_id_gets_its_slots_as_well(sandbox: Sandbox, cloud: OpenStackCloud) -> None:
    """As upstream Blazar has made it."""
    parent = cloud.placement.provider("compute-01")
    assert parent is not None
    body = {"name": "blazar_compute-01", "uuid": str(uuid4()), "parent_provider_uuid": parent.uuid}
    cloud.placements.post("/resource_providers", body, "1.29")
    cloud.placement.ensure_resource_class("CUSTOM_A")
    for total, left in ((3, {"CUSTOM_A": 3}), (5, {"CUSTOM_A": 5}), (0, {}), (0, {})):
        cloud.placement.set_reserved_slots("compute-01", "CUSTOM_A", total)
        assert cloud.placement.reserved_slots("compute-01") == left
    assert len([each for each in sandbox.placement.providers if each.name.startswith("blazar_")]) == 1


@pytest.fixture
def url(sandbox: Sandbox) -> Iterator[str]:
    with SandboxServer(sandbox) as server:
        yield server.auth_url


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{CLOSED_PORT}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pooled_http(1) as http:
        assert http.get(url).ok
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    with pooled_http(1) as http, pytest.raises(requests.exceptions.ProxyError):
        http.get(url)


def test_passwords_of_netrc_are_sent_to_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with requests.Session() as usual, pooled_http(1) as http:
        assert "Authorization" in usual.get(url).request.headers
        assert "Authorization" not in http.get(url).request.headers
