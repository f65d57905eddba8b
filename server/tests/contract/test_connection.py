"""A cloud that is in trouble when the service starts: it is asked again later, as at any other time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from keystoneauth1.session import Session

from blazar.adapters.openstack.cloud import OpenStackCloud, connect
from blazar.domain.errors import CloudUnavailable
from blazar_sandbox.cloud import Cloud as Sandbox
from blazar_sandbox.faults import Effect, Fault
from blazar_sandbox.server import SandboxServer

from .places import PASSWORD, password_of

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
    return [cloud.compute.find_hypervisor(name), cloud.placement.provider(name), cloud.network.network("nope")]


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
