"""How are server groups, key pairs, limits and quotas seen over HTTP?"""

import uuid
from typing import Any

from blazar_sandbox.compute.hosts import usage
from blazar_sandbox.compute.model import Keypair, Quota, ServerGroup
from blazar_sandbox.errors import bad_request, forbidden, not_found
from blazar_sandbox.wsgi import fields
from blazar_sandbox.wsgi.message import Json, Request, Response

_POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
_ONE_POLICY = (2, 64)
"""From here on a group has one policy with rules; before, a list of policies."""

_QUOTAS = {
    "instances": -1,
    "cores": -1,
    "ram": -1,
    "key_pairs": 100,
    "metadata_items": 128,
    "server_groups": -1,
    "server_group_members": -1,
}
_FILE_QUOTAS = {"injected_file_content_bytes": 10240, "injected_file_path_bytes": 255, "injected_files": 5}
"""Told before 2.57."""
_NETWORK_QUOTAS = {"fixed_ips": -1, "floating_ips": -1, "security_group_rules": -1, "security_groups": -1}
"""Told before 2.50."""


def _group(row: ServerGroup, request: Request) -> Json:
    members = request.cloud.compute.rows.in_group.keys(row.id)
    body: Json = {"id": row.id, "name": row.name, "members": members}
    if request.version >= (2, 13):
        body |= {"project_id": row.project_id, "user_id": row.user_id}
    if request.version >= _ONE_POLICY:
        rules = {"max_server_per_host": row.max_per_host} if row.max_per_host is not None else {}
        return body | {"policy": row.policy, "rules": rules}
    return body | {"policies": [row.policy], "metadata": {}}


def list_groups(request: Request) -> Response:
    """List server groups: the project's, or an administrator's choice of all."""
    compute = request.cloud.compute
    if request.caller.is_admin and "all_projects" in request.query:
        rows = list(compute.groups)
    else:
        rows = compute.groups_of.rows(request.caller.project_id)
    return Response(200, {"server_groups": [_group(row, request) for row in rows]})


def create_group(request: Request) -> Response:
    """Create a server group."""
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:os-server-groups:create to be performed.")
    body = fields.section(request.json, "server_group")
    policy, most = _policy(request, body)
    row = ServerGroup(
        str(uuid.uuid4()), fields.text(body, "name"), request.caller.project_id, request.caller.user.id, policy, most
    )
    return Response(200, {"server_group": _group(request.cloud.compute.create_group(row), request)})


def _policy(request: Request, body: Json) -> tuple[str, int | None]:
    most = None
    if request.version >= _ONE_POLICY:
        policy: Any = body.get("policy")
        rules = body.get("rules") or {}
        if isinstance(rules, dict) and "max_server_per_host" in rules:
            most = fields.number(rules, "max_server_per_host", least=1)
    else:
        policies = body.get("policies")
        policy = policies[0] if isinstance(policies, list) and len(policies) == 1 else None
    if policy not in _POLICIES or ("soft" in policy and request.version < (2, 15)):
        raise bad_request(f"Invalid input for field/attribute policy. Value: {policy}.")
    return policy, most


def _found_group(request: Request) -> ServerGroup:
    project_id = None if request.caller.is_admin else request.caller.project_id
    return request.cloud.compute.group(request.args["id"], project_id)


def show_group(request: Request) -> Response:
    """Show a server group."""
    return Response(200, {"server_group": _group(_found_group(request), request)})


def delete_group(request: Request) -> Response:
    """Delete a server group; its servers stay."""
    request.cloud.compute.groups.drop(_found_group(request).id)
    return Response(204)


def _keypair(row: Keypair, request: Request) -> Json:
    body: Json = {"name": row.name, "public_key": row.public_key, "fingerprint": row.fingerprint}
    return {"keypair": body | ({"type": row.type} if request.version >= (2, 2) else {})}


def list_keypairs(request: Request) -> Response:
    """List the caller's key pairs."""
    mine = [row for row in request.cloud.compute.keypairs if row.user_id == request.caller.user.id]
    return Response(200, {"keypairs": [_keypair(row, request) for row in mine]})


def create_keypair(request: Request) -> Response:
    """Create or import a key pair."""
    body = fields.section(request.json, "keypair")
    given = fields.text_or_none(body, "public_key")
    row = request.cloud.compute.create_keypair(request.caller.user.id, fields.text(body, "name"), given)
    answer = _keypair(row, request)
    answer["keypair"]["user_id"] = row.user_id
    if given is None:
        answer["keypair"]["private_key"] = "-----BEGIN SANDBOX KEY-----\n-----END SANDBOX KEY-----\n"
    return Response(200 if request.version < (2, 2) else 201, answer)


def show_keypair(request: Request) -> Response:
    """Show a key pair."""
    answer = _keypair(_found_keypair(request), request)
    row = _found_keypair(request)
    answer["keypair"] |= {
        "user_id": row.user_id,
        "id": 1,
        "created_at": row.created_at.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "updated_at": None,
        "deleted": False,
        "deleted_at": None,
    }
    return Response(200, answer)


def _found_keypair(request: Request) -> Keypair:
    row = request.cloud.compute.keypairs.get(f"{request.caller.user.id}/{request.args['name']}")
    if row is None:
        raise not_found(f"Keypair {request.args['name']} not found for user {request.caller.user.id}")
    return row


def delete_keypair(request: Request) -> Response:
    """Delete a key pair."""
    row = _found_keypair(request)
    request.cloud.compute.keypairs.drop(f"{row.user_id}/{row.name}")
    return Response(204 if request.version >= (2, 2) else 202)


def limits(request: Request) -> Response:
    """Tell what the project may use and does."""
    compute = request.cloud.compute
    project_id = request.caller.project_id
    if request.caller.is_admin:
        project_id = request.param("tenant_id") or project_id
    used, quota = usage(compute.rows.of_project.rows(project_id)), _limits(request, project_id)
    absolute = {
        "maxTotalInstances": quota["instances"],
        "maxTotalCores": quota["cores"],
        "maxTotalRAMSize": quota["ram"],
        "maxTotalKeypairs": quota["key_pairs"],
        "maxServerMeta": quota["metadata_items"],
        "maxServerGroups": quota["server_groups"],
        "maxServerGroupMembers": quota["server_group_members"],
        "totalInstancesUsed": used.servers,
        "totalCoresUsed": used.vcpus,
        "totalRAMUsed": used.memory_mb,
        "totalServerGroupsUsed": compute.groups_of.count(project_id),
    }
    if request.version < (2, 57):
        absolute |= {"maxPersonality": 5, "maxPersonalitySize": 10240}
    if request.version < (2, 39):
        absolute["maxImageMeta"] = 128
    if request.version < (2, 36):
        absolute |= dict.fromkeys(("maxSecurityGroups", "maxSecurityGroupRules", "maxTotalFloatingIps"), -1)
        absolute |= {"totalFloatingIpsUsed": 0, "totalSecurityGroupsUsed": 0}
    return Response(200, {"limits": {"rate": [], "absolute": absolute}})


def _limits(request: Request, project_id: str) -> dict[str, int]:
    quota = request.cloud.compute.quotas.get(project_id)
    told = dict(_QUOTAS)
    if request.version < (2, 57):
        told |= _FILE_QUOTAS
    if request.version < (2, 50):
        told |= _NETWORK_QUOTAS
    set_limits = quota.limits if quota is not None else {}
    return {name: set_limits.get(name, limit) for name, limit in told.items()}


def show_quota(request: Request) -> Response:
    """Show the quota of a project, with what it uses if the details are asked for."""
    project_id = request.args["id"]
    if not request.caller.owns(project_id):
        raise forbidden("Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.")
    body: Json = {"id": project_id, **_limits(request, project_id)}
    if request.path.endswith("/detail"):
        used = usage(request.cloud.compute.rows.of_project.rows(project_id))
        in_use = {"instances": used.servers, "cores": used.vcpus, "ram": used.memory_mb}
        body = {
            key: {"limit": value, "in_use": in_use.get(key, 0), "reserved": 0} if key != "id" else value
            for key, value in body.items()
        }
    return Response(200, {"quota_set": body})


def put_quota(request: Request) -> Response:
    """Set the quota of a project. It is remembered and not enforced."""
    request.caller.must_be_admin("os_compute_api:os-quota-sets:update")
    body, project_id = fields.section(request.json, "quota_set"), request.args["id"]
    known = {**_QUOTAS, **_FILE_QUOTAS, **_NETWORK_QUOTAS}
    wanted = {key: fields.number(body, key, least=-1) for key in body if key in known}
    quotas = request.cloud.compute.quotas
    before = quotas.get(project_id)
    quotas.put(project_id, Quota(project_id, {**(before.limits if before is not None else {}), **wanted}))
    return Response(200, {"quota_set": _limits(request, project_id)})


def delete_quota(request: Request) -> Response:
    """Go back to the default quota."""
    request.caller.must_be_admin("os_compute_api:os-quota-sets:delete")
    request.cloud.compute.quotas.drop(request.args["id"])
    return Response(202)


def class_quota(request: Request) -> Response:
    """Show the default quota."""
    return Response(200, {"quota_class_set": {"id": request.args["id"], **_limits(request, "")}})
