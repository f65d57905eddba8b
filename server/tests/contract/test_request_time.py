"""The cloud for a request: no call takes longer than the caller waits, and so many are under way at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from keystoneauth1.session import Session

from blazar.adapters.openstack.cloud import OpenStackCloud, connect
from blazar.adapters.openstack.session import pooled_http
from blazar.domain.errors import CloudUnavailable, TooLate
from blazar_sandbox.cloud import Cloud as Sandbox
from blazar_sandbox.faults import Effect, Fault
from blazar_sandbox.server import SandboxServer

from .places import PASSWORD, Place, password_of, until

HANGS = 3.0
"""How long a service takes that hangs, in seconds."""
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)


def test_nothing_is_asked_after_the_deadline(place: Place) -> None:
    late = place.cloud.for_request(lambda: 0.0)
    for cloud in (late, late.as_user(place.token), late.fenced(lambda: None)):
        for call in (
            lambda cloud=cloud: cloud.compute.find_aggregate("freepool"),
            lambda cloud=cloud: cloud.placement.provider(place.hosts[0]),
            lambda cloud=cloud: cloud.network.network(place.external),
            lambda cloud=cloud: cloud.identity.delete_trust("trust"),
        ):
            with pytest.raises(TooLate):
                call()


def test_in_time_it_is_the_same_cloud(place: Place) -> None:
    cloud = place.cloud.for_request(lambda: 30.0)
    assert cloud.placement.provider(place.hosts[0]) is not None
    assert cloud.as_user(place.token).network.network(place.external) is not None


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(hosts=1, password=PASSWORD)


@pytest.fixture
def cloud(sandbox: Sandbox) -> Iterator[OpenStackCloud]:
    """A cloud that takes one call of all requests at a time."""
    with pooled_http(4) as http, SandboxServer(sandbox) as server:
        own = password_of(server.auth_url, "blazar", PASSWORD, "service")
        yield connect(Session(own, session=http, timeout=60), calls_at_once=1)


def counting_down(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


@pytest.mark.parametrize("service", ["identity", "compute"])
def test_a_service_that_hangs_is_waited_for_until_the_deadline(
    sandbox: Sandbox, cloud: OpenStackCloud, service: str
) -> None:
    """Also where it hangs at the token or at the discovery of its API, before the call itself."""
    sandbox.faults.add(Fault(service=service, effect=Effect.DELAY, seconds=HANGS))
    began = time.monotonic()
    with pytest.raises(CloudUnavailable, match=r"timed out|is over"):
        cloud.for_request(counting_down(0.7)).compute.find_aggregate("freepool")
    assert 0.6 < time.monotonic() - began < HANGS - 0.5
    sandbox.faults.clear()
    assert cloud.for_request(counting_down(30)).compute.find_aggregate("nope") is None


def test_a_full_bulkhead_refuses_requests_and_nothing_else(sandbox: Sandbox, cloud: OpenStackCloud) -> None:
    request = cloud.for_request(lambda: 30.0)
    assert request.compute.find_aggregate("nope") is None
    hanging = sandbox.faults.add(Fault(service="compute", effect=Effect.DELAY, seconds=HANGS, times=1))
    holder = threading.Thread(target=lambda: request.compute.find_aggregate("nope"))
    holder.start()
    try:
        until("the first call hangs", lambda: sandbox.faults.hits(hanging.id))
        began = time.monotonic()
        with pytest.raises(
            CloudUnavailable, match="Nova is not available: 1 calls wait for its answer already"
        ):
            request.as_user("token").compute.find_aggregate("nope")
        assert request.placement.provider("compute-01") is not None, "another service"
        assert cloud.compute.find_aggregate("nope") is None, "the engine"
        assert time.monotonic() - began < HANGS - 0.5
        assert holder.is_alive(), "the first call was to hang meanwhile"
    finally:
        holder.join()
    assert request.compute.find_aggregate("nope") is None
