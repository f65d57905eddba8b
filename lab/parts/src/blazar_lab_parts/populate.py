"""The first data of the cloud. Existing objects are kept, so this may be repeated.

    python -m blazar_lab_parts.populate identity|cloud SPECIFICATION

SPECIFICATION is a JSON text: identity: region, password, endpoints {name: [type, url]};
cloud: image (a path).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openstack

# openstacksdk's types are unions over versions of the APIs, which do not help here
Cloud = Any

DOMAIN = "default"
SERVICE_USERS = {
    **dict.fromkeys(("nova", "placement", "neutron", "glance", "cinder"), ("admin", "service")),
    # as the page on hardening says
    "blazar": ("reservation", "service"),
}
"""The roles of each service's user in the project of the services."""
PROJECTS = ("demo", "alt")
FLAVORS = {"m1.tiny": (1, 512, 1), "m1.small": (2, 2048, 10)}
VOLUME_TYPES = ("standard", "fast")
EXTERNAL_POOL = {"start": "203.0.113.10", "end": "203.0.113.99"}


def identity(cloud: Cloud, specification: dict[str, Any]) -> None:
    """Create catalog, service users, and two projects with a member each."""
    keystone = cloud.identity
    password = specification["password"]
    roles = {role.name: role for role in keystone.roles()}
    for name in {"service", "reservation"} - roles.keys():
        roles[name] = keystone.create_role(name=name)
    service = _project(cloud, "service")
    for name, own in SERVICE_USERS.items():
        user = _user(cloud, name, service.id, password)
        for role in own:
            keystone.assign_project_role_to_user(service, user, roles[role])
        # Only who reads the whole system may see the limits of all projects.
        keystone.put(f"/system/users/{user.id}/roles/{roles['reader'].id}").raise_for_status()
    for name in PROJECTS:
        project = _project(cloud, name)
        user = _user(cloud, name, project.id, password)
        keystone.assign_project_role_to_user(project, user, roles["member"])
    for name, (kind, url) in specification["endpoints"].items():
        _endpoints(cloud, name, kind, url, specification["region"])


def resources(cloud: Cloud, specification: dict[str, Any]) -> None:
    """Create an image, flavors, networks with a router between them, the empty freepool, and volume types."""
    if not cloud.image.find_image("dummy"):
        cloud.image.create_image(
            name="dummy",
            filename=specification["image"],
            disk_format="raw",
            container_format="bare",
            visibility="public",
        )
    for name, (vcpus, ram, disk) in FLAVORS.items():
        if not cloud.compute.find_flavor(name):
            cloud.compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=disk)
    if not cloud.compute.find_aggregate("freepool"):
        cloud.compute.create_aggregate(name="freepool")
        # The service would make it at the first loan, and leave it.
        cloud.compute.create_aggregate(name="lent")
    _networks(cloud)
    known = {each.name for each in cloud.block_storage.types()}
    for name in VOLUME_TYPES:
        if name not in known:
            cloud.block_storage.create_type(name=name)


def _project(cloud: Cloud, name: str) -> Any:
    found = cloud.identity.find_project(name, domain_id=DOMAIN)
    return found or cloud.identity.create_project(name=name, domain_id=DOMAIN)


def _user(cloud: Cloud, name: str, project: str, password: str) -> Any:
    found = cloud.identity.find_user(name, domain_id=DOMAIN)
    return found or cloud.identity.create_user(
        name=name, password=password, domain_id=DOMAIN, default_project_id=project
    )


def _endpoints(cloud: Cloud, name: str, kind: str, url: str, region: str) -> None:
    keystone = cloud.identity
    service = keystone.find_service(name) or keystone.create_service(name=name, type=kind)
    for interface in ("public", "internal", "admin"):
        found = next(iter(keystone.endpoints(service_id=service.id, interface=interface)), None)
        if found is None:
            keystone.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=region)
        elif found.url != url:
            keystone.update_endpoint(found, url=url)


def _networks(cloud: Cloud) -> None:
    neutron = cloud.network
    public = neutron.find_network("public") or neutron.create_network(
        name="public",
        is_router_external=True,
        provider_network_type="flat",
        provider_physical_network="public",
    )
    if not neutron.find_subnet("public-subnet"):
        neutron.create_subnet(
            name="public-subnet",
            network_id=public.id,
            ip_version=4,
            cidr="203.0.113.0/24",
            gateway_ip="203.0.113.1",
            is_dhcp_enabled=False,
            # the rest of the network is for addresses that are handed over to reservations
            allocation_pools=[EXTERNAL_POOL],
        )
    private = neutron.find_network("private") or neutron.create_network(name="private", is_shared=True)
    subnet = neutron.find_subnet("private-subnet") or neutron.create_subnet(
        name="private-subnet", network_id=private.id, ip_version=4, cidr="10.0.0.0/20"
    )
    if not neutron.find_router("router"):
        router = neutron.create_router(name="router", external_gateway_info={"network_id": public.id})
        neutron.add_interface_to_router(router, subnet=subnet)


def main(part: str, specification: str) -> None:
    parts = {"identity": identity, "cloud": resources}
    with openstack.connect() as connection:
        parts[part](connection, json.loads(specification))


if __name__ == "__main__":
    main(*sys.argv[1:])
