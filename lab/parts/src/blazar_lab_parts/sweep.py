"""What did reservations leave in the cloud, and how is it removed when their own service is gone?

python -m blazar_lab_parts.sweep
"""

from __future__ import annotations

from typing import Any

import openstack

# openstacksdk's types are unions over versions of the APIs, which say nothing here
Cloud = Any

PLACEMENT_VERSION = "1.29"


def main() -> None:
    with openstack.connect() as cloud:
        _servers(cloud)
        _aggregates(cloud)
        _flavors_and_groups(cloud)
        _placement(cloud)
        _addresses(cloud)


def _servers(cloud: Cloud) -> None:
    doomed = list(cloud.compute.servers(all_projects=True))
    for server in doomed:
        cloud.compute.delete_server(server, force=True)
    for server in doomed:
        cloud.compute.wait_for_delete(server, interval=1, wait=120)


def _aggregates(cloud: Cloud) -> None:
    """Empty the freepool, remove all other aggregates."""
    for aggregate in cloud.compute.aggregates():
        for host in aggregate.hosts or []:
            cloud.compute.remove_host_from_aggregate(aggregate, host)
        if aggregate.name != "freepool":
            cloud.compute.delete_aggregate(aggregate)


def _flavors_and_groups(cloud: Cloud) -> None:
    for flavor in cloud.compute.flavors(is_public=None):
        if flavor.name.startswith("reservation:"):
            cloud.compute.delete_flavor(flavor)
    for group in cloud.compute.server_groups(all_projects=True):
        cloud.compute.delete_server_group(group)


def _placement(cloud: Cloud) -> None:
    cloud.placement.default_microversion = PLACEMENT_VERSION
    for provider in cloud.placement.resource_providers():
        if provider.name.startswith("blazar_"):
            cloud.placement.delete_resource_provider(provider)
    for resource_class in cloud.placement.resource_classes():
        if resource_class.name.startswith("CUSTOM_RESERVATION_"):
            cloud.placement.delete_resource_class(resource_class)


def _addresses(cloud: Cloud) -> None:
    for address in cloud.network.ips():
        cloud.network.delete_ip(address)


if __name__ == "__main__":
    main()
