"""Heat's HTTP routes."""

from collections.abc import Callable, Mapping
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.errors import ApiError, bad_request, forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.orchestration.state import Stack, check, check_parameters, new_id, resources_of
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import REASONS, Response
from blazar_sandbox.wsgi.routing import Route

HIDDEN = "******"


def render_error(refusal: ApiError, request: Request) -> Any:
    """Return the error body of Heat."""
    title = REASONS.get(refusal.status, "Error")
    return {
        "code": refusal.status,
        "title": title,
        "explanation": title,
        "error": {"message": refusal.message, "type": refusal.code or title, "traceback": None},
    }


def list_versions(request: Request) -> Response:
    """List the only version of the API."""
    links = [{"rel": "self", "href": f"{request.origin}/orchestration/v1/"}]
    return Response(300, {"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]})


def build_info(request: Request) -> Response:
    """Tell what was built."""
    _must_be_own(request)
    return Response(200, {"api": {"revision": "sandbox"}, "engine": {"revision": "sandbox"}})


def list_stacks(request: Request) -> Response:
    """List the stacks of the project, the newest first."""
    _must_be_own(request)
    bodies = [_brief(row, request) for row in request.cloud.orchestration.stacks(request.caller)]
    wanted = request.query
    for name, key in (("name", "stack_name"), ("id", "id"), ("status", "stack_status")):
        if name in wanted:
            bodies = [body for body in bodies if body[key] in wanted[name]]
    if tags := request.param("tags"):
        bodies = [body for body in bodies if set(tags.split(",")) <= set(body["tags"] or ())]
    marker, limit = request.param("marker"), request.param("limit")
    if marker is not None:
        at = next((at for at, body in enumerate(bodies) if body["id"] == marker), None)
        if at is None:
            raise bad_request(f"The Stack ({marker}) could not be found.", "EntityNotFound")
        bodies = bodies[at + 1 :]
    if limit is not None:
        bodies = bodies[: fields.integer({"limit": limit}, "limit")]
    return Response(200, {"stacks": bodies})


def validate(request: Request) -> Response:
    """Check a template."""
    _must_be_own(request)
    template = _template(request.json)
    described = template.get("description") or "No description"
    return Response(200, {"Description": described, "Parameters": template.get("parameters") or {}})


def create_stack(request: Request) -> Response:
    """Begin to create a stack."""
    _must_be_member(request, "stacks:create")
    body = request.json
    template, parameters = _template(body), body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise bad_request("The parameters must be an object.")
    in_environment = (body.get("environment") or {}).get("parameters") or {}
    given = {**in_environment, **parameters}
    check_parameters(template, given)
    tags = fields.string_or_none(body, "tags") or ""
    row = Stack(
        id=new_id(),
        name=fields.string(body, "stack_name"),
        project_id=request.caller.project_id,
        user_id=request.caller.user.id,
        template=template,
        parameters=given,
        created_at=request.cloud.orchestration.clock.now(),
        description=str(template.get("description") or "No description"),
        timeout_mins=None if body.get("timeout_mins") is None else fields.integer(body, "timeout_mins"),
        disable_rollback=fields.boolean(body, "disable_rollback", default=True),
        tags=tuple(tag for tag in tags.split(",") if tag),
    )
    made = request.cloud.orchestration.create(request.caller, row)
    return Response(201, {"stack": {"id": made.id, "links": _links(made, request)}})


def show_stack(request: Request) -> Response:
    """Show a stack. Its name alone leads to its full address."""
    _must_be_own(request)
    row = _asked_for(request)
    if "id" not in request.args:
        return Response(302, None, (("Location", _links(row, request)[0]["href"]),))
    declared = row.template.get("parameters") or {}
    builtin = {"OS::stack_id": row.id, "OS::stack_name": row.name, "OS::project_id": row.project_id}
    shown = {name: of.get("default") for name, of in declared.items()} | dict(row.parameters)
    hidden = {name for name, of in declared.items() if of.get("hidden") in (True, "true", "True")}
    more = {
        "parameters": builtin | {name: HIDDEN if name in hidden else _text(shown[name]) for name in shown},
        "outputs": [],
        "capabilities": [],
        "notification_topics": [],
        "disable_rollback": row.disable_rollback,
        "timeout_mins": row.timeout_mins,
        "template_description": row.description,
        "stack_user_project_id": "",
    }
    return Response(200, {"stack": _brief(row, request) | more})


def delete_stack(request: Request) -> Response:
    """Begin to delete a stack."""
    _must_be_member(request, "stacks:delete")
    request.cloud.orchestration.delete(_asked_for(request))
    return Response(204)


def show_template(request: Request) -> Response:
    """Show what a stack was made from."""
    _must_be_own(request)
    return Response(200, dict(_asked_for(request).template))


def list_resources(request: Request) -> Response:
    """List the resources of a stack: they are as the stack is."""
    _must_be_own(request)
    row = _asked_for(request)
    listed = [
        {
            "resource_name": name,
            "logical_resource_id": name,
            "physical_resource_id": f"{row.id}-{name}",
            "resource_type": of["type"],
            "resource_status": f"{row.action}_{row.status}",
            "resource_status_reason": "state changed",
            "updated_time": row.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creation_time": row.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "required_by": [],
            "links": _links(row, request),
        }
        for name, of in resources_of(row.template).items()
    ]
    return Response(200, {"resources": listed})


def list_events(request: Request) -> Response:
    """List no events."""
    _must_be_own(request)
    _asked_for(request)
    return Response(200, {"events": []})


def _asked_for(request: Request) -> Stack:
    wanted = request.args.get("id") or request.args["name"]
    return request.cloud.orchestration.find(request.caller, wanted)


def _brief(row: Stack, request: Request) -> Json:
    return {
        "id": row.id,
        "stack_name": row.name,
        "stack_status": f"{row.action}_{row.status}",
        "stack_status_reason": row.reason,
        "description": row.description,
        "creation_time": row.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated_time": row.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ") if row.updated_at else None,
        "deletion_time": None,
        "stack_owner": None,
        "parent": None,
        "project": row.project_id,
        "tags": list(row.tags) or None,
        "links": _links(row, request),
    }


def _links(row: Stack, request: Request) -> list[Json]:
    where = f"/{request.cloud.region}" if request.service.startswith(f"{request.cloud.region}/") else ""
    path = f"{where}/orchestration/v1/{row.project_id}/stacks/{row.name}/{row.id}"
    return [{"rel": "self", "href": f"{request.origin}{path}"}]


def _template(body: Json) -> Mapping[str, Any]:
    if body.get("template") is None and body.get("template_url"):
        raise bad_request(f"Could not retrieve template: the sandbox reads none from {body['template_url']}")
    template = fields.json_object(body, "template")
    check(template)
    return template


def _text(value: Any) -> Any:
    return value if isinstance(value, str | dict | list) or value is None else str(value)


def _must_be_own(request: Request) -> None:
    if request.caller.project_id != request.args["project_id"]:
        raise forbidden("You are not authorized to complete this action.", "Forbidden")


def _must_be_member(request: Request, rule: str) -> None:
    _must_be_own(request)
    if not request.caller.has("member", "admin"):
        raise forbidden(f"You are not authorized to use {rule}.", "Forbidden")


def _routes(*rows: tuple[str, str, Callable[[Request], Response]]) -> list[Route]:
    return [Route(method, f"/v1/{{project_id}}{path}", responder) for method, path, responder in rows]


ROUTES = [
    Route("GET", "/", list_versions, needs_token=False),
    Route("GET", "/v1", list_versions, needs_token=False),
    *_routes(
        ("GET", "/build_info", build_info),
        ("POST", "/validate", validate),
        ("GET", "/stacks", list_stacks),
        ("POST", "/stacks", create_stack),
        ("GET", "/stacks/{name}", show_stack),
        ("DELETE", "/stacks/{name}", delete_stack),
        ("GET", "/stacks/{name}/{id}", show_stack),
        ("DELETE", "/stacks/{name}/{id}", delete_stack),
        ("GET", "/stacks/{name}/template", show_template),
        ("GET", "/stacks/{name}/resources", list_resources),
        ("GET", "/stacks/{name}/events", list_events),
        ("GET", "/stacks/{name}/{id}/template", show_template),
        ("GET", "/stacks/{name}/{id}/resources", list_resources),
        ("GET", "/stacks/{name}/{id}/events", list_events),
    ),
]
