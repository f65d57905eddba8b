"""The Network port about the ports of a project: the cloud in memory and the sandbox behave the same.

The lab's service's user may set no quotas in Neutron."""

from __future__ import annotations

from datetime import timedelta

import pytest

from blazar.adapters.clock import SystemClock
from blazar.domain.errors import CloudRefused

from .places import Place

pytestmark = pytest.mark.parametrize("place", ["memory", "sandbox"], indirect=True)


def test_a_limit_is_set_also_to_less_than_is_used(place: Place) -> None:
    network = place.cloud.network
    place.add_port()
    for limit in (7, 0, 0, -1):
        network.set_port_limit(place.project, limit)
        assert network.port_limit(place.project) == limit
    assert network.port_limit("another") == 500


def test_a_limit_that_is_none_is_refused(place: Place) -> None:
    with pytest.raises(CloudRefused):
        place.cloud.network.set_port_limit(place.project, -2)
    assert place.cloud.network.port_limit(place.project) == 500


def test_a_user_sets_no_limit(place: Place) -> None:
    with pytest.raises(CloudRefused):
        place.cloud.as_user(place.token).network.set_port_limit(place.project, 7)


def test_ports_of_a_project_are_listed_and_deleted(place: Place) -> None:
    network, now = place.cloud.network, SystemClock().now()
    made = place.add_port()
    (found,) = (each for each in network.ports_of(place.project) if each.id == made)
    assert (found.owner, found.device_id, found.project_id) == ("", "", place.project)
    assert found.network_id == place.internal
    assert found.created_at is not None
    assert abs(found.created_at - now) < timedelta(minutes=1)
    assert network.ports_of("another") == []
    network.delete_port(made)
    assert made not in [each.id for each in network.ports_of(place.project)]


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudRefused(service="fence", reason="fallen")

    network = place.cloud.fenced(fallen).network
    for call in (
        lambda: network.ports_of("demo"),
        lambda: network.port_limit("demo"),
        lambda: network.set_port_limit("demo", 1),
    ):
        with pytest.raises(CloudRefused, match="fallen"):
            call()
