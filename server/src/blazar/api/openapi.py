"""The API's own description: OpenAPI 3.1 from the route table and the models of bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from blazar.api import microversion
from blazar.api.routing import HeaderField, Request, Route
from blazar.api.views.explanations import BlockingView, SuggestionsView
from blazar.service.ports.kind import Kinds

PATH = "/v1/openapi"
_PLACEHOLDER = re.compile(r"{(\w+)}")
_REF = "#/components/schemas/{model}"
_ERROR_SCHEMA = {
    "type": "object",
    "required": ["error_message"],
    "properties": {
        "error_message": {"type": "string", "description": "What went wrong, in one sentence."},
        "error_code": {"type": "integer", "description": "The HTTP status."},
        "error_name": {
            "type": ["integer", "string"],
            "description": "The kind of failure, or the HTTP status again.",
        },
        "error": {"type": "integer", "description": "The HTTP status, where no operation was found."},
        "reasons": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Since 1.3, of a shortage (`reason` is `shortage`): its `cause`, the "
            "`resource_type`, how many were `wanted`, how many resources `matched`, how many of these are "
            "`free`, and how many each of the `parts` of the requirement leaves by itself. Of an exceeded "
            "quota (`reason` is `quota`): `limit_name`, `limit`, `used`, `asked`.",
        },
        "first_possible_start": {
            "type": ["string", "null"],
            "description": "Since 1.3, of a shortage: the first start at which all can be had; null where "
            "none was found.",
        },
        "suggestions": {
            "$ref": _REF.format(model="SuggestionsView"),
            "description": "Since 1.6, of a shortage: what could be had instead.",
        },
        "blocking": {
            "$ref": _REF.format(model="BlockingView"),
            "description": "Since 1.6, of a shortage: the leases that stand in the way.",
        },
    },
}
_EXPLANATION = (TypeAdapter(SuggestionsView), TypeAdapter(BlockingView))


def route(table: Iterable[Route], kinds: Kinds) -> Route:
    """Return the route that serves the document about ``table``, itself included, and about the parameters
    of ``kinds`` (as ``/v1/openapi.json``)."""

    @cache
    def described() -> dict[str, Any]:
        return document((*table, own), kinds)

    def show(request: Request) -> dict[str, Any]:
        """Show this document."""
        return described()

    own = Route("GET", PATH, show, reply=TypeAdapter(dict[str, Any]), public=True)
    return own


def document(table: Iterable[Route], kinds: Kinds) -> dict[str, Any]:
    """Return the OpenAPI document about these routes, and about the parameters of reservations. These stand
    among the schemas by their kind, with a dot for its colon; ``x-kinds`` of ``ReservationCreate`` has them
    by the kind's own name."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {"Error": _ERROR_SCHEMA}
    by_kind = {name.replace(":", "."): kind for name, kind in kinds.items() if kind.parameters_schema}
    schemas |= {name: kind.parameters_schema for name, kind in by_kind.items()}
    for part in _EXPLANATION:
        _schema(part, "serialization", schemas)
    for each in table:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    if "ReservationCreate" in schemas:
        found = {kind.resource_type: {"$ref": _REF.format(model=name)} for name, kind in by_kind.items()}
        schemas["ReservationCreate"] = {**schemas["ReservationCreate"], "x-kinds": found}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Blazar reservation API",
            "version": microversion.text(microversion.MAXIMUM),
            "description": f"Served by Blazar {version('blazar')}.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
        },
        "security": [{"token": []}],
    }


def _operation(each: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    summary, _, more = (each.action.__doc__ or "").partition("\n")
    operation: dict[str, Any] = {
        "operationId": _operation_id(each),
        "summary": summary.strip(),
        "parameters": [
            *map(_path_parameter, _PLACEHOLDER.findall(each.path)),
            *_query_parameters(each.query),
            *_version_parameter(each),
            *map(_header_parameter, each.headers),
        ],
        "responses": _responses(each, schemas),
    }
    if more.strip():
        operation["description"] = " ".join(more.split())
    if each.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(each, each.body, schemas)}},
        }
    if each.public:
        operation["security"] = []
    return operation


def _body(each: Route, body: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    found = [_schema(known, "validation", schemas) for known in (each.bodies.values() or (body,))]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _path_parameter(name: str) -> dict[str, Any]:
    noun, _, what = name.rpartition("_")
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": f"The {what} of the {noun}.",
        "schema": {"type": "string", "minLength": 1},
    }


def _version_parameter(each: Route) -> list[dict[str, Any]]:
    """Return the header without which there is no such operation, or with which it takes another body;
    nothing for what is in API 1.0 only."""
    is_new = each.since > microversion.MINIMUM
    brought = max(each.bodies, default=each.since)
    first = each.since if is_new else brought
    if first == microversion.MINIMUM:
        return []
    told = [f"Since version {microversion.text(each.since)} the operation is there."] if is_new else []
    if each.bodies:
        told.append(
            f"Since version {microversion.text(brought)} its body is `{each.bodies[brought].__name__}`."
        )
    versions = [(first[0], minor) for minor in range(first[1], microversion.MAXIMUM[1] + 1)]
    return [
        {
            "name": microversion.HEADER,
            "in": "header",
            "required": is_new,
            "description": " ".join(told),
            "schema": {
                "type": "string",
                "enum": [f"{microversion.SERVICE_TYPE} {microversion.text(known)}" for known in versions],
            },
        }
    ]


def _header_parameter(header: HeaderField) -> dict[str, Any]:
    return {
        "name": header.name,
        "in": "header",
        "description": f"Since version {microversion.text(header.since)}. {header.description}",
        "schema": {"type": "string", "pattern": header.pattern},
    }


def _tag(since: microversion.Version) -> dict[str, Any]:
    what = f"Names the state of the lease, for `If-Match`; since version {microversion.text(since)}."
    return {"ETag": {"description": what, "schema": {"type": "string"}}}


def _query_parameters(query: type[BaseModel] | None) -> list[dict[str, Any]]:
    fields: dict[str, Any] = query.model_json_schema()["properties"] if query else {}
    return [
        {
            "name": name,
            "in": "query",
            "description": field["description"],
            "schema": {key: field[key] for key in ("type", "pattern", "minimum", "maximum") if key in field},
        }
        for name, field in fields.items()
    ]


def _operation_id(each: Route) -> str:
    words = [word for word in re.split(r"[^a-z0-9]+", each.path.lower()) if word]
    return "_".join([each.method.lower(), *words])


def _responses(each: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done."}
    if each.reply is not None:
        media_type, _, _ = each.media_type.partition(";")
        done["content"] = {media_type: {"schema": _schema(each.reply, "serialization", schemas)}}
        if each.also is not None:
            done["content"][each.also] = {"schema": {"type": "string"}}
    if each.tagged is not None:
        done["headers"] = _tag(each.tagged)
    failed = {
        "description": "Refused or failed.",
        "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
    }
    responses = {str(each.status): done}
    if each.dry_run is not None:
        responses["200"] = _with_dry_run(each, each.dry_run, done, schemas)
    if each.path == "/healthcheck":
        responses["503"] = {**done, "description": "The service cannot work."}
    return {**responses, "4XX": failed, "5XX": failed}


def _with_dry_run(
    each: Route, dry_run: TypeAdapter[Any], done: dict[str, Any], schemas: dict[str, Any]
) -> dict[str, Any]:
    shown = _schema(dry_run, "serialization", schemas)
    if each.status != 200:
        return {"description": "What would be.", "content": {"application/json": {"schema": shown}}}
    schema = {"anyOf": [done["content"]["application/json"]["schema"], shown]}
    return {
        "description": "Done, or what would be.",
        "content": {"application/json": {"schema": schema}},
    }


def _schema(
    model: type[BaseModel] | TypeAdapter[Any], mode: JsonSchemaMode, schemas: dict[str, Any]
) -> dict[str, Any]:
    """Return a reference to the model's schema, which is put into ``schemas`` with all that it is made of."""
    if isinstance(model, TypeAdapter):
        described = model.json_schema(mode=mode, ref_template=_REF)
    else:
        described = model.model_json_schema(mode=mode, ref_template=_REF)
    schemas.update(described.pop("$defs", {}))
    title = described.get("title")
    if title is None:
        return described
    schemas[title] = described
    return {"$ref": _REF.format(model=title)}
