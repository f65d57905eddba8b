"""Placement's HTTP routes of resource providers, their traits and their aggregates."""

import json
import uuid as uuid_module
from collections.abc import Iterable

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, conflict
from blazar_sandbox.fields import Json
from blazar_sandbox.placement.model import NO_TRAITS, Provider, TraitQuery
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.wsgi.request import Request, Version
from blazar_sandbox.wsgi.response import Response

_LINKS: tuple[tuple[str, Version], ...] = (
    ("inventories", (1, 0)),
    ("usages", (1, 0)),
    ("aggregates", (1, 1)),
    ("traits", (1, 6)),
    ("allocations", (1, 11)),
)


_FILTERS = {"name", "uuid", "in_tree", "member_of", "required", "resources"}


def render_provider(row: Provider, request: Request) -> Json:
    """Return the JSON body of a provider, for the caller's microversion."""
    url = f"/placement/resource_providers/{row.uuid}"
    links = [{"rel": "self", "href": url}]
    links += [{"rel": rel, "href": f"{url}/{rel}"} for rel, since in _LINKS if request.version >= since]
    body: Json = {"uuid": row.uuid, "name": row.name, "generation": row.generation, "links": links}
    if request.version >= (1, 14):
        body |= {"parent_provider_uuid": row.parent_uuid, "root_provider_uuid": row.root_uuid}
    return body


def provider_of(request: Request) -> Provider:
    """Return the provider of the path."""
    return request.cloud.placement.provider(request.args["uuid"])


def index(request: Request) -> Response:
    """List the providers that pass every filter."""
    placement = request.cloud.placement
    unknown = sorted(set(request.query) - _FILTERS)
    if unknown:
        raise bad_request(
            f"Invalid query string parameters: Additional properties are not allowed ('{unknown[0]}' "
            "was unexpected)"
        )
    rows = _preselect(placement, request)
    amounts = parse_amounts(placement, request.param("resources"))
    rows = [row for row in rows if _has(placement, row, amounts)]
    groups = parse_groups(request.query.get("member_of", []))
    rows = [row for row in rows if all(admits(row.aggregates) for admits in groups)]
    bodies = [render_provider(row, request) for row in rows]
    return Response(200, {"resource_providers": bodies})


def _preselect(placement: Placement, request: Request) -> list[Provider]:
    """Return the providers that pass the filters by name, UUID, tree and traits.

    The narrowest index comes first.
    """
    name, uuid, tree = request.param("name"), request.param("uuid"), request.param("in_tree")
    traits = parse_traits(placement, request.query.get("required", []), request.version)
    if uuid is not None:
        found = placement.providers.get(uuid)
        rows = [found] if found is not None else []
    elif name is not None:
        rows = placement.by_name.rows(name)
    elif tree is not None:
        member = placement.providers.get(tree)
        rows = placement.by_root.rows(member.root_uuid) if member is not None else []
    elif traits is not NO_TRAITS:
        return with_traits(placement, traits)
    else:
        return list(placement.providers)
    if name is not None:
        rows = [row for row in rows if row.name == name]
    if tree is not None:
        member = placement.providers.get(tree)
        rows = [row for row in rows if member is not None and row.root_uuid == member.root_uuid]
    return [row for row in rows if traits.admits(row.traits)]


def with_traits(placement: Placement, traits: TraitQuery) -> list[Provider]:
    """Return the providers whose traits match a query."""
    return [
        row
        for combination in placement.trait_sets()
        if traits.admits(combination)
        for row in placement.by_traits.rows(combination)
    ]


def _has(placement: Placement, row: Provider, amounts: dict[str, int]) -> bool:
    return all(
        (inventory := row.inventories.get(name)) is not None
        and inventory.admits(amount, placement.used(row.uuid, name))
        for name, amount in amounts.items()
    )


def parse_amounts(placement: Placement, text: str | None) -> dict[str, int]:
    """Parse ``VCPU:2,MEMORY_MB:512``."""
    amounts: dict[str, int] = {}
    for part in (text or "").split(","):
        if not part:
            continue
        name, _, amount = part.partition(":")
        if not amount.isdigit() or int(amount) < 1:
            raise bad_request(
                f"Badly formed resources parameter. Expected resources query string: got {part}."
            )
        if not placement.knows_class(name):
            raise bad_request(
                f"Invalid resource class in resources parameter: No such resource class {name}."
            )
        amounts[name] = int(amount)
    return amounts


def parse_traits(placement: Placement, queries: Iterable[str], version: Version) -> TraitQuery:
    """Parse ``required=A,!B`` and ``required=in:A,B``."""
    required: set[str] = set()
    forbidden: set[str] = set()
    any_of: list[frozenset[str]] = []
    for query in queries:
        if query.startswith("in:"):
            if version < (1, 39):
                raise bad_request(
                    f"Invalid query string parameters: 'in:' in required={query} needs microversion 1.39."
                )
            any_of.append(frozenset(query[3:].split(",")))
            continue
        for name in query.split(","):
            (forbidden if name.startswith("!") else required).add(name.removeprefix("!"))
    unknown = sorted(name for name in required.union(forbidden, *any_of) if not placement.knows_trait(name))
    if unknown:
        raise bad_request(f"Invalid query string parameters: No such trait(s): {', '.join(unknown)}.")
    if not (required or forbidden or any_of):
        return NO_TRAITS
    return TraitQuery(frozenset(required), frozenset(forbidden), tuple(any_of))


class _Group:
    """One ``member_of`` filter."""

    def __init__(self, text: str) -> None:
        self._forbidden = text.startswith("!")
        self._uuids = frozenset(text.removeprefix("!").removeprefix("in:").split(","))

    def __call__(self, aggregates: frozenset[str]) -> bool:
        return bool(self._uuids & aggregates) is not self._forbidden


def parse_groups(queries: Iterable[str]) -> list[_Group]:
    """Parse ``member_of=in:A,B``."""
    return [_Group(query) for query in queries]


def create(request: Request) -> Response:
    """Create a provider."""
    body = request.json
    uuid = fields.string_or_none(body, "uuid") or str(uuid_module.uuid4())
    parent = fields.string_or_none(body, "parent_provider_uuid") if request.version >= (1, 14) else None
    row = request.cloud.placement.create_provider(uuid, fields.string(body, "name", max_length=200), parent)
    headers = (("Location", f"{request.origin}/placement/resource_providers/{row.uuid}"),)
    if request.version < (1, 20):
        return Response(201, None, headers)
    return Response(200, render_provider(row, request), headers)


def show(request: Request) -> Response:
    """Show a provider."""
    return Response(200, render_provider(provider_of(request), request))


def update(request: Request) -> Response:
    """Rename a provider, or set its first parent."""
    placement, row = request.cloud.placement, provider_of(request)
    name = fields.string(request.json, "name", max_length=200)
    if name != row.name and placement.by_name.count(name):
        raise conflict(
            f"Conflicting resource provider name: {name} already exists.", "placement.duplicate_name"
        )
    parent_uuid, root_uuid = row.parent_uuid, row.root_uuid
    wanted = fields.string_or_none(request.json, "parent_provider_uuid")
    if wanted is not None and wanted != parent_uuid:
        if parent_uuid is not None:
            raise bad_request(
                "Unable to save resource provider: re-parenting a provider is not currently allowed."
            )
        parent_uuid, root_uuid = wanted, placement.provider(wanted).root_uuid
    row = placement.change(row, None, name=name, parent_uuid=parent_uuid, root_uuid=root_uuid)
    return Response(200, render_provider(row, request))


def delete(request: Request) -> Response:
    """Delete a provider."""
    request.cloud.placement.delete_provider(request.args["uuid"])
    return Response(204)


def _traits_body(row: Provider) -> Json:
    return {"traits": sorted(row.traits), "resource_provider_generation": row.generation}


def show_traits(request: Request) -> Response:
    """List the traits of a provider."""
    return Response(200, _traits_body(provider_of(request)))


def put_traits(request: Request) -> Response:
    """Replace the traits of a provider."""
    placement, row = request.cloud.placement, provider_of(request)
    traits = frozenset(fields.string_list(request.json, "traits"))
    generation = fields.integer(request.json, "resource_provider_generation")
    placement.check_generation(row, generation)
    unknown = sorted(name for name in traits if not placement.knows_trait(name))
    if unknown:
        raise bad_request(f"No such trait {', '.join(unknown)}.")
    return Response(200, _traits_body(placement.change(row, generation, traits=traits)))


def delete_traits(request: Request) -> Response:
    """Delete all traits of a provider."""
    request.cloud.placement.change(provider_of(request), None, traits=frozenset())
    return Response(204)


def _aggregates_body(row: Provider, version: Version) -> Json:
    body: Json = {"aggregates": sorted(row.aggregates)}
    if version >= (1, 19):
        body["resource_provider_generation"] = row.generation
    return body


def show_aggregates(request: Request) -> Response:
    """List the aggregates of a provider."""
    return Response(200, _aggregates_body(provider_of(request), request.version))


def put_aggregates(request: Request) -> Response:
    """Replace the aggregates of a provider."""
    row, generation = provider_of(request), None
    if request.version >= (1, 19):
        generation = fields.integer(request.json, "resource_provider_generation")
        uuids = fields.string_list(request.json, "aggregates")
    else:
        uuids = [str(one) for one in _json_list(request)]
    row = request.cloud.placement.change(row, generation, aggregates=frozenset(uuids))
    return Response(200, _aggregates_body(row, request.version))


def _json_list(request: Request) -> list[object]:
    try:
        body = json.loads(request.raw_body)
    except ValueError:
        body = None
    if not isinstance(body, list):
        raise bad_request("JSON does not validate: a list is required.")
    return body
