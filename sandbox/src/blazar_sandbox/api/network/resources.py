"""The collections of Neutron's API: how rows are created, changed and deleted."""

import ipaddress
import uuid
from dataclasses import replace
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.network import render
from blazar_sandbox.api.network.collection import Collection
from blazar_sandbox.errors import bad_request, conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.network.model import FixedIp, FloatingIp, Net, Pool, Port, Router, SecurityGroup, Subnet
from blazar_sandbox.network.state import FLOATING, INTERFACE, Network, check_segment
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

PROVIDER = ("provider:network_type", "provider:physical_network", "provider:segmentation_id")


def _project(request: Request, body: Json) -> str:
    """Return the project of a new row: the caller's, or any that an administrator names."""
    wanted = fields.string_or_none(body, "project_id") or fields.string_or_none(body, "tenant_id")
    if wanted is not None and wanted != request.caller.project_id and not request.caller.is_admin:
        raise bad_request(
            "Specifying 'project_id' other than the authenticated project in request is not allowed "
            "for the current user.",
            "HTTPBadRequest",
        )
    return wanted or request.caller.project_id


def _admin_field(request: Request, body: Json, name: str) -> bool:
    wanted = fields.boolean(body, name)
    if wanted and not request.caller.is_admin:
        raise forbidden(f"rule:create_network:{name} is disallowed by policy", "PolicyNotAuthorized")
    return wanted


# --- networks


def _make_net(request: Request, body: Json) -> Net:
    network = request.cloud.network
    network_type, physical_network, segmentation_id = _provider(request, body)
    row = Net(
        str(uuid.uuid4()),
        fields.string_or_none(body, "name") or "",
        _project(request, body),
        network.clock.now(),
        external=_admin_field(request, body, "router:external"),
        shared=_admin_field(request, body, "shared"),
        description=fields.string_or_none(body, "description") or "",
        network_type=network_type,
        physical_network=physical_network,
        segmentation_id=segmentation_id,
    )
    return network.create_network(row)


def _provider(request: Request, body: Json) -> tuple[str, str | None, int | None]:
    """Return the segment that an administrator names; without a type, any one of type vxlan."""
    for name in PROVIDER:
        if body.get(name) is not None and not request.caller.is_admin:
            raise forbidden(f"rule:create_network:{name} is disallowed by policy", "PolicyNotAuthorized")
    network_type, physical_network = (fields.string_or_none(body, name) for name in PROVIDER[:2])
    is_numbered = body.get(PROVIDER[2]) is not None
    segmentation_id = fields.integer(body, PROVIDER[2], maximum=2**32 - 1) if is_numbered else None
    if network_type is None and (physical_network is not None or is_numbered):
        raise bad_request("Invalid input for operation: network_type required.", "InvalidInput")
    network_type = network_type or "vxlan"
    check_segment(network_type, physical_network, segmentation_id)
    return network_type, physical_network, segmentation_id


def _change_net(request: Request, row: Net, body: Json) -> Net:
    row = replace(
        row,
        name=body.get("name", row.name),
        description=body.get("description", row.description),
        external=fields.boolean(body, "router:external", default=row.external),
        shared=fields.boolean(body, "shared", default=row.shared),
    )
    request.cloud.network.networks.put(row.id, row)
    return row


def _remove_net(request: Request, row: Net) -> None:
    request.cloud.network.delete_network(row)


def _sees_net(row: Net, caller: Access, _network: Network) -> bool:
    return row.shared or row.external or caller.owns(row.project_id)


# --- subnets


def _make_subnet(request: Request, body: Json) -> Subnet:
    network = request.cloud.network
    net = network.network(fields.string(body, "network_id"))
    if not request.caller.owns(net.project_id):
        raise not_found(f"Network {net.id} could not be found.", "NetworkNotFound")
    cidr = _cidr(fields.string(body, "cidr"))
    for other in network.subnets_of.rows(net.id):
        if ipaddress.ip_network(other.cidr).overlaps(cidr):
            raise bad_request(
                f"Invalid input for operation: Requested subnet with cidr: {cidr} for network: "
                f"{net.id} overlaps.",
                "InvalidInput",
            )
    gateway = body["gateway_ip"] if "gateway_ip" in body else str(cidr[1])
    pools = tuple(Pool(str(one["start"]), str(one["end"])) for one in body.get("allocation_pools") or ())
    row = Subnet(
        str(uuid.uuid4()),
        fields.string_or_none(body, "name") or "",
        net.id,
        _project(request, body),
        str(cidr),
        network.clock.now(),
        gateway,
        pools or _default_pools(cidr, gateway),
        fields.boolean(body, "enable_dhcp", default=True),
    )
    network.subnets.put(row.id, row)
    return row


def _cidr(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise bad_request(
            f"Invalid input for cidr. Reason: '{text}' is not a valid CIDR.", "HTTPBadRequest"
        ) from None


def _default_pools(
    cidr: ipaddress.IPv4Network | ipaddress.IPv6Network, gateway: str | None
) -> tuple[Pool, ...]:
    """Return the whole range without network, broadcast and gateway address; the gateway splits it."""
    first, last = int(cidr.network_address) + 1, int(cidr.broadcast_address) - 1
    at = int(ipaddress.ip_address(gateway)) if gateway else 0
    ranges = [(first, last)] if not first <= at <= last else [(first, at - 1), (at + 1, last)]
    make = type(cidr.network_address)
    return tuple(Pool(str(make(low)), str(make(high))) for low, high in ranges if low <= high)


def _change_subnet(request: Request, row: Subnet, body: Json) -> Subnet:
    pools = row.pools
    if "allocation_pools" in body:
        pools = tuple(Pool(str(one["start"]), str(one["end"])) for one in body["allocation_pools"])
    row = replace(
        row,
        name=body.get("name", row.name),
        gateway_ip=body.get("gateway_ip", row.gateway_ip),
        pools=pools,
        enable_dhcp=fields.boolean(body, "enable_dhcp", default=row.enable_dhcp),
    )
    request.cloud.network.subnets.put(row.id, row)
    return row


def _remove_subnet(request: Request, row: Subnet) -> None:
    network = request.cloud.network
    if any(ip.subnet_id == row.id for port in network.ports_in.rows(row.network_id) for ip in port.fixed_ips):
        raise conflict(
            f"Unable to complete operation on subnet {row.id}: One or more ports have an IP allocation.",
            "SubnetInUse",
        )
    network.subnets.drop(row.id)


def _sees_subnet(row: Subnet, caller: Access, network: Network) -> bool:
    net = network.networks.get(row.network_id)
    return caller.owns(row.project_id) or (net is not None and _sees_net(net, caller, network))


# --- ports


def _make_port(request: Request, body: Json) -> Port:
    network, caller = request.cloud.network, request.caller
    net = network.network(fields.string(body, "network_id"))
    if not _sees_net(net, caller, network):
        raise not_found(f"Network {net.id} could not be found.", "NetworkNotFound")
    wanted: Any = body.get("fixed_ips")
    fixed: tuple[FixedIp, ...] = ()
    if wanted:
        fixed = tuple(
            network.pick_address(net, one.get("ip_address"), one.get("subnet_id")) for one in wanted
        )
    elif wanted is None and network.subnets_of.count(net.id):
        fixed = (network.pick_address(net, None, None),)
    project_id = _project(request, body)
    row = network.create_port(
        net,
        project_id,
        fixed,
        name=fields.string_or_none(body, "name") or "",
        device_id=fields.string_or_none(body, "device_id") or "",
        device_owner=fields.string_or_none(body, "device_owner") or "",
    )
    groups = tuple(fields.string_list(body, "security_groups")) or (network.default_group(project_id).id,)
    row = replace(row, security_groups=groups)
    network.ports.put(row.id, row)
    return row


def _change_port(request: Request, row: Port, body: Json) -> Port:
    names = ("name", "device_id", "device_owner")
    change: Json = {name: fields.string_or_none(body, name) or "" for name in names if name in body}
    row = replace(row, **change)
    if "security_groups" in body:
        row = replace(row, security_groups=tuple(fields.string_list(body, "security_groups")))
    request.cloud.network.ports.put(row.id, row)
    return row


def _remove_port(request: Request, row: Port) -> None:
    if row.device_owner in (FLOATING, INTERFACE):
        raise conflict(
            f"Port {row.id} cannot be deleted directly via the port API: has device owner "
            f"{row.device_owner}.",
            "ServicePortInUse",
        )
    request.cloud.network.delete_port(row.id)


# --- routers


def _make_router(request: Request, body: Json) -> Router:
    network = request.cloud.network
    row = Router(
        str(uuid.uuid4()),
        fields.string_or_none(body, "name") or "",
        _project(request, body),
        network.clock.now(),
        fields.string_or_none(body, "description") or "",
    )
    network.routers.put(row.id, row)
    return row


def _change_router(request: Request, row: Router, body: Json) -> Router:
    routes = [fields.string_map({"route": each}, "route") for each in body.get("routes", row.routes)]
    row = replace(
        row,
        name=body.get("name", row.name),
        description=body.get("description", row.description),
        routes=tuple(routes),
    )
    request.cloud.network.routers.put(row.id, row)
    return row


def _remove_router(request: Request, row: Router) -> None:
    if request.cloud.network.interfaces(row):
        raise conflict(f"Router {row.id} still has ports", "RouterInUse")
    request.cloud.network.routers.drop(row.id)


def add_interface(request: Request) -> Response:
    """Add an interface to a router: the gateway of a subnet."""
    network = request.cloud.network
    router = ROUTERS.mine(request)
    subnet = network.subnets.get(fields.string(request.json, "subnet_id"))
    if subnet is None or not _sees_subnet(subnet, request.caller, network):
        raise not_found(f"Subnet {request.json['subnet_id']} could not be found.", "SubnetNotFound")
    return _interface(router, network.add_interface(router, subnet))


def remove_interface(request: Request) -> Response:
    """Remove an interface of a router, by its port or its subnet."""
    network = request.cloud.network
    router = ROUTERS.mine(request)
    port_id, subnet_id = (fields.string_or_none(request.json, name) for name in ("port_id", "subnet_id"))
    for port in network.interfaces(router):
        if port.id == port_id or (port_id is None and port.fixed_ips[0].subnet_id == subnet_id):
            network.remove_interface(router, port)
            return _interface(router, port)
    raise not_found(
        f"Router {router.id} does not have an interface with id {port_id or subnet_id}",
        "RouterInterfaceNotFound",
    )


def _interface(router: Router, port: Port) -> Response:
    subnet_id = port.fixed_ips[0].subnet_id
    body: Json = {
        "id": router.id,
        "tenant_id": router.project_id,
        "project_id": router.project_id,
        "network_id": port.network_id,
        "port_id": port.id,
        "subnet_id": subnet_id,
        "subnet_ids": [subnet_id],
    }
    return Response(200, body)


# --- floating IPs


def _uuid(body: Json, name: str) -> str:
    value = fields.string(body, name)
    try:
        uuid.UUID(value)
    except ValueError:
        raise bad_request(
            f"Invalid input for {name}. Reason: '{value}' is not a valid UUID.", "HTTPBadRequest"
        ) from None
    return value


def _make_floating(request: Request, body: Json) -> FloatingIp:
    network, caller = request.cloud.network, request.caller
    net = network.network(_uuid(body, "floating_network_id"))
    wanted = fields.string_or_none(body, "floating_ip_address")
    if wanted is not None and not caller.is_admin:
        raise forbidden(
            "((rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed "
            "by policy",
            "PolicyNotAuthorized",
        )
    row = network.create_floating(
        net,
        _project(request, body),
        wanted,
        fields.string_or_none(body, "subnet_id"),
        fields.string_or_none(body, "description") or "",
    )
    if body.get("port_id"):
        row = network.associate(row, body["port_id"], body.get("fixed_ip_address"))
    return row


def _change_floating(request: Request, row: FloatingIp, body: Json) -> FloatingIp:
    network = request.cloud.network
    if "description" in body:
        row = network.put_floating(replace(row, description=fields.string_or_none(body, "description") or ""))
    if "port_id" in body:
        row = network.associate(row, body["port_id"], body.get("fixed_ip_address"))
    return row


def _remove_floating(request: Request, row: FloatingIp) -> None:
    request.cloud.network.delete_floating(row)


# --- security groups


def _make_group(request: Request, body: Json) -> SecurityGroup:
    network = request.cloud.network
    row = SecurityGroup(
        str(uuid.uuid4()),
        fields.string(body, "name"),
        _project(request, body),
        network.clock.now(),
        fields.string_or_none(body, "description") or "",
    )
    network.security_groups.put(row.id, row)
    return row


def _change_group(request: Request, row: SecurityGroup, body: Json) -> SecurityGroup:
    row = replace(row, name=body.get("name", row.name), description=body.get("description", row.description))
    request.cloud.network.security_groups.put(row.id, row)
    return row


def _remove_group(request: Request, row: SecurityGroup) -> None:
    if row.name == "default":
        raise conflict("Removing default security group not allowed.", "SecurityGroupCannotRemoveDefault")
    request.cloud.network.security_groups.drop(row.id)


def _owned(row: Any, caller: Access, _network: Network) -> bool:
    return caller.owns(row.project_id)


FLOATING_IPS = Collection(
    "floatingip", "floatingips", "Floating IP", lambda network: network.floating_ips, render.floating_ip,
    _owned, _make_floating, _change_floating, _remove_floating,
)  # fmt: skip

ROUTERS = Collection(
    "router", "routers", "Router", lambda network: network.routers, render.router,
    _owned, _make_router, _change_router, _remove_router,
)  # fmt: skip

COLLECTIONS: tuple[Collection[Any], ...] = (
    Collection(
        "network", "networks", "Network", lambda network: network.networks, render.net,
        _sees_net, _make_net, _change_net, _remove_net, admin_fields=PROVIDER,
    ),
    Collection(
        "subnet", "subnets", "Subnet", lambda network: network.subnets, render.subnet,
        _sees_subnet, _make_subnet, _change_subnet, _remove_subnet,
    ),
    Collection(
        "port", "ports", "Port", lambda network: network.ports, render.port,
        _owned, _make_port, _change_port, _remove_port,
    ),
    ROUTERS,
    FLOATING_IPS,
    Collection(
        "security_group", "security_groups", "Security group", lambda network: network.security_groups,
        render.security_group, _owned, _make_group, _change_group, _remove_group, path="security-groups",
    ),
)  # fmt: skip
