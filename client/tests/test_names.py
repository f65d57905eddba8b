"""Names in place of ids, where the service does not know the id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions as sdk_exceptions

from blazarclient import exception
from blazarclient.commands.names import Reservations, with_names
from blazarclient.v1.client import Client

FLAVORS = {"small": "1", "1": "1", "large": "2"}


class Cloud:
    """A cloud with flavors, and a network that is called public."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.failure = failure
        self.compute = SimpleNamespace(find_flavor=self.find)
        self.network = SimpleNamespace(find_network=self.find)

    def find(self, name: str, ignore_missing: bool) -> Any:
        self.asked.append(name)
        if self.failure is not None:
            raise self.failure
        found = {**FLAVORS, "public": "net"}.get(name)
        return SimpleNamespace(id=found) if found else None


def flavor(name: str) -> dict[str, Any]:
    return {"resource_type": "flavor:instance", "flavor_id": name, "amount": 1}


def network(name: str) -> dict[str, Any]:
    return {"resource_type": "virtual:floatingip", "network_id": name}


def send(reservations: Reservations) -> list[str]:
    """Refuse what is no id, one after the other, in the service's words."""
    for each in reservations:
        if "flavor_id" in each and each["flavor_id"] not in ("1", "2"):
            raise exception.BlazarClientException(
                f"ERROR: Flavor {each['flavor_id']} could not be found.", code=404
            )
        if "network_id" in each and each["network_id"] != "net":
            raise exception.BlazarClientException(
                f"ERROR: Failed to find network {each['network_id']}", code=400
            )
    return [each.get("flavor_id") or each["network_id"] for each in reservations]


def names_of(cloud: Cloud | None, *reservations: dict[str, Any]) -> list[str]:
    client = cast(Client, SimpleNamespace(cloud=lambda: cloud))
    return with_names(client, list(reservations), send)


def test_ids_cost_no_request() -> None:
    cloud = Cloud()
    assert names_of(cloud, flavor("1"), network("net")) == ["1", "net"]
    assert cloud.asked == []


def test_each_name_is_looked_up_once() -> None:
    cloud = Cloud()
    given = [flavor("small"), flavor("large"), network("public"), flavor("small")]
    assert names_of(cloud, *given) == ["1", "2", "net", "1"]
    assert sorted(cloud.asked) == ["large", "public", "small", "small"]
    assert given == [flavor("small"), flavor("large"), network("public"), flavor("small")]


@pytest.mark.parametrize(
    "cloud",
    [
        None,
        Cloud(),
        Cloud(sdk_exceptions.ForbiddenException("no")),
        Cloud(ksa_exceptions.EndpointNotFound()),
    ],
    ids=["no session", "none of the name", "forbidden", "no such service"],
)
def test_what_is_not_found_stays_refused_in_the_services_words(cloud: Cloud | None) -> None:
    with pytest.raises(exception.BlazarClientException, match="Flavor huge could not be found"):
        names_of(cloud, flavor("huge"))


def test_several_of_the_name_are_told() -> None:
    several = sdk_exceptions.DuplicateResource("More than one Network exists with the name 'public'.")
    with pytest.raises(exception.BlazarClientException, match=r"More than one .*: write the id"):
        names_of(Cloud(several), network("public"))


def test_other_refusals_ask_for_nothing() -> None:
    cloud = Cloud()

    def refuse(_: Reservations) -> None:
        raise exception.BlazarClientException("ERROR: Not enough hosts available", code=409)

    with pytest.raises(exception.BlazarClientException, match="Not enough"):
        with_names(cast(Client, SimpleNamespace(cloud=lambda: cloud)), [flavor("small")], refuse)
    assert cloud.asked == []
