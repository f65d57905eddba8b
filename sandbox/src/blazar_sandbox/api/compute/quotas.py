"""Nova's HTTP routes of limits and quotas."""

from blazar_sandbox import fields
from blazar_sandbox.compute.hosts import usage
from blazar_sandbox.compute.model import Quota
from blazar_sandbox.errors import forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

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
"""Shown before microversion 2.57."""
_NETWORK_QUOTAS = {"fixed_ips": -1, "floating_ips": -1, "security_group_rules": -1, "security_groups": -1}
"""Shown before microversion 2.50."""


def limits(request: Request) -> Response:
    """Show the limits and the usage of a project."""
    compute = request.cloud.compute
    project_id = request.caller.project_id
    if request.caller.is_admin:
        project_id = request.param("tenant_id") or project_id
    used, quota = usage(compute.server_table.of_project.rows(project_id)), _limits(request, project_id)
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


def show(request: Request) -> Response:
    """Show the quota of a project, on the path ``/detail`` with its usage."""
    project_id = request.args["id"]
    if not request.caller.owns(project_id):
        raise forbidden("Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.")
    body: Json = {"id": project_id, **_limits(request, project_id)}
    if request.path.endswith("/detail"):
        used = usage(request.cloud.compute.server_table.of_project.rows(project_id))
        in_use = {"instances": used.servers, "cores": used.vcpus, "ram": used.memory_mb}
        body = {
            key: {"limit": value, "in_use": in_use.get(key, 0), "reserved": 0} if key != "id" else value
            for key, value in body.items()
        }
    return Response(200, {"quota_set": body})


def update(request: Request) -> Response:
    """Set the quota of a project, which is stored but not enforced."""
    request.caller.must_be_admin("os_compute_api:os-quota-sets:update")
    body, project_id = fields.json_object(request.json, "quota_set"), request.args["id"]
    known = {**_QUOTAS, **_FILE_QUOTAS, **_NETWORK_QUOTAS}
    wanted = {key: fields.integer(body, key, minimum=-1) for key in body if key in known}
    quotas = request.cloud.compute.quotas
    before = quotas.get(project_id)
    quotas.put(project_id, Quota(project_id, {**(before.limits if before is not None else {}), **wanted}))
    return Response(200, {"quota_set": _limits(request, project_id)})


def delete(request: Request) -> Response:
    """Reset a project to the default quota."""
    request.caller.must_be_admin("os_compute_api:os-quota-sets:delete")
    request.cloud.compute.quotas.drop(request.args["id"])
    return Response(202)


def show_class(request: Request) -> Response:
    """Show the default quota."""
    return Response(200, {"quota_class_set": {"id": request.args["id"], **_limits(request, "")}})
