"""The API's own description: complete, valid, and true of the golden bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from blazar import conf as options
from blazar.api import openapi
from blazar.api.app import routes
from blazar.api.authorization import Authorizer
from blazar.api.health import Health
from blazar.api.schemas.lists import LeasesQueryShared
from blazar.domain.errors import MissingParameter
from blazar.plugins import load_plugins
from blazar.service.ports.kind import Kind

from .canned import FLOATING_IP, LEASE_ID, Canned
from .conftest import EXTENSIONS, Send, enforcer


@pytest.fixture(scope="module")
def documents() -> list[Any]:
    return []


@pytest.fixture
def document(send: Send, documents: list[Any]) -> Any:
    """The description. It is made once for all tests: that takes half a second."""
    if not documents:
        answer = send("GET", "/v1/openapi.json", None)
        assert answer.status_code == 200
        documents.append(answer.json)
    return documents[0]


def test_every_route_is_described(document: Any, service: Canned, conf: Any) -> None:
    table = routes(service, {}, EXTENSIONS, Authorizer(enforcer(conf)), lambda: Health(healthy=True))
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == {
        (route.path, route.method.lower()) for route in table
    }
    assert len(table) >= 23


def test_every_operation_says_what_it_does(document: Any) -> None:
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert all(operation["summary"].endswith((".", ";")) for operation in operations)
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere(document: Any) -> None:
    references = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(document)))
    assert references == set(document["components"]["schemas"])


def all_kinds() -> Mapping[str, Kind[Any]]:
    conf = options.load(files=[])
    conf.set_override(
        "plugins",
        [
            *conf.manager.plugins,
            "instance.server.plugin",
            "storage.volume.plugin",
            "network.plugin",
            "network.port.plugin",
        ],
        "manager",
    )
    return load_plugins(conf).kinds


KINDS = all_kinds()


def test_the_parameters_of_each_kind_are_described(service: Canned, conf: Any) -> None:
    table = routes(service, KINDS, EXTENSIONS, Authorizer(enforcer(conf)), lambda: Health(healthy=True))
    schemas = openapi.document(table, KINDS)["components"]["schemas"]
    at = {
        name: each["$ref"].rpartition("/")[2]
        for name, each in schemas["ReservationCreate"]["x-kinds"].items()
    }
    assert at.keys() == KINDS.keys()
    for name in at.values():
        assert schemas[name]["description"]
        assert all(each["description"] for each in schemas[name]["properties"].values())
        assert "$ref" not in str(schemas[name])
    assert set(schemas["physical.host"]["properties"]) == {
        "min", "max", "hypervisor_properties", "resource_properties", "before_end", "match",
        "lend", "keep_free",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_kind_needs_the_parameters_of_which_its_description_says_so(kind: Kind[Any]) -> None:
    schema = kind.parameters_schema
    needed = schema["required"] or schema.get("anyOf", [schema])[0]["required"]
    if not needed:
        assert kind.parse({})
        return
    with pytest.raises(MissingParameter) as refusal:
        kind.parse({})
    assert str(refusal.value).endswith(f" {','.join(needed)}")


def test_only_discovery_health_and_secret_addresses_are_open_to_all(document: Any) -> None:
    open_to_all = {
        path
        for path, methods in document["paths"].items()
        for o in methods.values()
        if o.get("security") == []
    }
    discovery = {"/", "/versions", "/v1", "/v1/openapi"}
    assert open_to_all == {*discovery, "/healthcheck", "/v1/feeds/{feed_secret}.ics"}
    assert document["security"] == [{"token": []}]


ANSWERS = [
    ("GET", "/", "/", {}),
    ("GET", "/v1", "/v1", {}),
    ("GET", "/healthcheck", "/healthcheck", {}),
    ("GET", "/v1/leases", "/v1/leases", {}),
    ("GET", "/v1/leases/{lease_id}", f"/v1/leases/{LEASE_ID}", {}),
    ("PUT", "/v1/leases/{lease_id}", f"/v1/leases/{LEASE_ID}", {"body": b"{}"}),
    ("GET", "/v1/leases/{lease_id}", "/v1/leases/nope", {}),
    ("GET", "/v1/os-hosts", "/v1/os-hosts", {}),
    ("GET", "/v1/os-hosts/{host_id}", "/v1/os-hosts/1", {}),
    ("GET", "/v1/os-hosts/allocations", "/v1/os-hosts/allocations", {}),
    ("GET", "/v1/os-hosts/{host_id}/allocation", "/v1/os-hosts/1/allocation", {}),
    ("GET", "/v1/os-hosts/properties", "/v1/os-hosts/properties", {"query_string": "detail=1"}),
    (
        "PATCH",
        "/v1/os-hosts/properties/{property_name}",
        "/v1/os-hosts/properties/gpu",
        {"json": {"private": True}},
    ),
    ("GET", "/v1/floatingips", "/v1/floatingips", {}),
    ("GET", "/v1/floatingips/{floatingip_id}", f"/v1/floatingips/{FLOATING_IP.id}", {}),
    ("GET", "/v1/floatingips/{floatingip_id}", "/v1/floatingips/nope", {}),
    (
        "POST",
        "/v1/floatingips",
        "/v1/floatingips",
        {"json": {"floating_network_id": "net1", "floating_ip_address": "172.24.4.102"}},
    ),
    ("POST", "/v1/leases", "/v1/leases", {"body": b"["}),
]


@pytest.mark.parametrize(("method", "route", "path", "more"), ANSWERS)
def test_answers_are_as_described(
    send: Send, document: Any, method: str, route: str, path: str, more: dict[str, Any]
) -> None:
    answer = send(method, path, "admin", **more)
    responses = document["paths"][route][method.lower()]["responses"]
    described = responses.get(str(answer.status_code)) or responses[f"{answer.status_code // 100}XX"]
    schema = {
        **described["content"]["application/json"]["schema"],
        "components": document["components"],
    }
    jsonschema_rs.validator_for(schema).validate(answer.json)


def test_query_parameters_have_their_types(document: Any) -> None:
    def described(path: str) -> dict[str, Any]:
        parameters = document["paths"][path]["get"]["parameters"]
        return {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}

    an_id = {"type": "string", "pattern": "^[\\x21-\\x7e]{0,255}$"}
    filters = {"lease_id": an_id, "reservation_id": an_id}
    assert described("/v1/os-hosts/properties") == {"detail": {"type": "boolean"}, "all": {"type": "boolean"}}
    paged = {"limit": {"type": "integer", "minimum": 1, "maximum": 1000}, "marker": {"type": "string"}}
    assert described("/v1/os-hosts/allocations") == filters | paged
    assert described("/v1/os-hosts/{host_id}/allocation") == filters
    assert described("/v1/os-hosts") == described("/v1/floatingips") == paged
    assert described("/v1/leases").keys() == LeasesQueryShared.model_fields.keys()


def test_request_bodies_are_described_by_their_models(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert set(schemas["LeaseCreate"]["required"]) == {"name", "start_date", "end_date"}
    assert schemas["LeaseCreate"]["properties"]["name"]["maxLength"] == 80
    assert schemas["PropertyPatch"]["properties"]["private"]["type"] == "boolean"


def test_the_document_is_valid_by_the_specification(document: Any) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_everything_is_described(document: Any) -> None:
    """Each property of each body, each parameter and each body itself."""
    silent = [
        f"{name}.{key}"
        for name, schema in document["components"]["schemas"].items()
        for key, value in schema.get("properties", {}).items()
        if not _description(value, document)
    ]
    silent += [
        f"{method} {path} {parameter['name']}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for parameter in operation["parameters"]
        if not parameter.get("description")
    ]
    assert silent == []


def _description(schema: dict[str, Any], document: Any) -> str:
    """Return the description of a schema, or of the one that it refers to."""
    if "description" in schema or "$ref" not in schema:
        return str(schema.get("description", ""))
    return _description(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
