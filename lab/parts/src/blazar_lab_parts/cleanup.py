"""Remove what reservations left in the cloud, without their service.

Run as a program, it acts as the administrator of the cloud that the environment names.
"""

from __future__ import annotations

from typing import Any

import openstack

# openstacksdk's types are unions over versions of the APIs, which do not help here
Cloud = Any

PLACEMENT_VERSION = "1.29"
OWN_VOLUME_TYPES = ("standard", "fast", "__DEFAULT__")


def main() -> None:
    with openstack.connect() as cloud:
        _servers(cloud)
        _aggregates(cloud)
        _flavors_and_groups(cloud)
        _placement(cloud)
        _addresses(cloud)
        _networks(cloud)
        _volumes(cloud)


def _servers(cloud: Cloud) -> None:
    servers = list(cloud.compute.servers(all_projects=True))
    for server in servers:
        cloud.compute.delete_server(server, force=True)
    for server in servers:
        cloud.compute.wait_for_delete(server, interval=1, wait=120)


def _aggregates(cloud: Cloud) -> None:
    """Empty the freepool, and delete all other aggregates."""
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
    """Empty the providers of reservations, and delete the resource classes.

    The providers stay: nova-compute remembers them for minutes, and fails boots on a host without."""
    cloud.placement.default_microversion = PLACEMENT_VERSION
    for provider in cloud.placement.resource_providers():
        if provider.name.startswith("blazar_"):
            emptied = cloud.placement.delete(f"/resource_providers/{provider.id}/inventories")
            emptied.raise_for_status()
    for resource_class in cloud.placement.resource_classes():
        if resource_class.name.startswith("CUSTOM_RESERVATION_"):
            cloud.placement.delete_resource_class(resource_class)


def _addresses(cloud: Cloud) -> None:
    for address in cloud.network.ips():
        cloud.network.delete_ip(address)


def _networks(cloud: Cloud) -> None:
    """Delete the networks of reservations with the ports on them."""
    for network in cloud.network.networks(any_tags="blazar"):
        for port in cloud.network.ports(network_id=network.id):
            if port.device_owner.startswith("network:router"):
                cloud.network.remove_interface_from_router(port.device_id, port_id=port.id)
            else:
                cloud.network.delete_port(port)
        cloud.network.delete_network(network)


def _volumes(cloud: Cloud) -> None:
    """Delete all volumes with their snapshots, give projects back the default quotas, and keep only the
    volume types that the lab has of its own."""
    storage = cloud.block_storage
    volumes = list(storage.volumes(details=True, all_projects=True))
    for volume in volumes:
        for attachment in storage.attachments(all_tenants=True, volume_id=volume.id):
            storage.delete_attachment(attachment)
        answer = storage.delete(f"/volumes/{volume.id}?cascade=true")
        if answer.status_code != 404:
            answer.raise_for_status()
    for volume in volumes:
        storage.wait_for_delete(volume, interval=1, wait=120)
    for project in cloud.identity.projects():
        storage.revert_quota_set(project)
    for volume_type in storage.types(is_public="None"):
        if volume_type.name not in OWN_VOLUME_TYPES:
            storage.delete_type(volume_type)


if __name__ == "__main__":
    main()
