"""The reference of the REST API, rendered from its own OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from api_examples import MORE_KINDS, Example, examples
from docutils import nodes
from docutils.parsers.rst import Directive
from generated import table

from blazar import conf
from blazar.api import openapi
from blazar.api.app import routes
from blazar.api.authorization import Authorizer
from blazar.api.health import Health
from blazar.conf.manager import SHIPPED
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.interface import Service

NO_SERVICE = cast(Service, None)
"""Routes are only described here, never called."""


def described() -> dict[str, Any]:
    """Return the OpenAPI document of all routes, with those of the kinds that have some."""
    settings = conf.load(files=())
    settings.set_override("plugins", [*SHIPPED, *MORE_KINDS], "manager")
    plugins = load_plugins(settings)
    authorizer = Authorizer(make_enforcer(settings, plugins.policies))
    *rest, _ = routes(NO_SERVICE, plugins.kinds, plugins.of_api, authorizer, lambda: Health(healthy=True))
    return openapi.document(rest, plugins.kinds)


class ApiReference(Directive):
    """``{api-reference}``: each operation with its parameters and bodies, then each kind of body."""

    def run(self) -> list[nodes.Node]:
        document = described()
        return [*_operations(document), *_bodies(document["components"]["schemas"])]


def _operations(document: dict[str, Any]) -> Iterator[nodes.Node]:
    shown = examples()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield nodes.rubric("", "", nodes.literal(text=f"{method.upper()} {path}"))
            yield nodes.paragraph(text=f"{operation['summary']} {operation.get('description', '')}".strip())
            if operation["parameters"]:
                rows = [(p["name"], p["in"], p["description"]) for p in operation["parameters"]]
                yield table((2, 1, 5), ("parameter", "in", "meaning"), rows)
            yield _exchange(operation)
            if (method.upper(), path) not in shown:
                raise LookupError(f"{method.upper()} {path} has no example: add one to api_examples.STORY")
            yield from _example(shown[method.upper(), path])


def _example(example: Example) -> Iterator[nodes.Node]:
    yield nodes.literal_block("", example.request, language="text")
    if example.answer:
        language = "json" if example.answer[0] in "[{" else "text"
        yield nodes.literal_block("", example.answer, language=language)


def _exchange(operation: dict[str, Any]) -> nodes.paragraph:
    """Return the line that names the bodies of the request and of the answer."""
    line = nodes.paragraph()
    if "requestBody" in operation:
        line += [nodes.Text("Body: "), *_of_content(operation["requestBody"]), nodes.Text(". ")]
    status, answer = next(iter(operation["responses"].items()))
    line += nodes.Text(f"Answer: {status}")
    if "content" in answer:
        line += [nodes.Text(" with "), *_of_content(answer)]
    line += nodes.Text(".")
    return line


def _of_content(holder: dict[str, Any]) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for media_type, described in holder["content"].items():
        is_json = media_type == "application/json"
        found += [nodes.Text(" or ")] if found else []
        found += [_type(described["schema"]) if is_json else nodes.literal("", media_type)]
    return found


def _bodies(schemas: dict[str, Any]) -> Iterator[nodes.Node]:
    for name, schema in sorted(schemas.items()):
        target = nodes.rubric("", name, ids=[f"body-{name.lower()}"])
        yield target
        if "description" in schema:
            yield nodes.paragraph(text=schema["description"])
        needed = set(schema.get("required", ()))
        rows = [
            (key, _type(value), "yes" if key in needed else "no", value.get("description", ""))
            for key, value in schema.get("properties", {}).items()
        ]
        if rows:
            yield table((3, 3, 1, 6), ("key", "type", "always", "meaning"), rows)


def _type(schema: dict[str, Any]) -> nodes.Node:
    """Return the type in words; that of another body leads there."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return nodes.reference("", name, refid=f"body-{name.lower()}")
    if schema.get("type") == "array" and "$ref" in schema.get("items", {}):
        return nodes.inline("", "", nodes.Text("list of "), _type(schema["items"]))
    return nodes.Text(", ".join(dict.fromkeys(_words(schema))) or "any")


def _words(schema: dict[str, Any]) -> Iterable[str]:
    if "anyOf" in schema:
        return [word for each in schema["anyOf"] for word in _words(each)]
    if "const" in schema:
        return [repr(schema["const"])]
    found = schema.get("type", "any")
    return [found] if isinstance(found, str) else found


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("api-reference", ApiReference)
    return {"parallel_read_safe": True}
