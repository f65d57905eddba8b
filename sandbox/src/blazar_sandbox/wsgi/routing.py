"""The router, which finds the responder of a method and a path."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from blazar_sandbox.errors import NO_ROUTE, ApiError
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

Responder = Callable[[Request], Response]


@dataclass(frozen=True)
class Route:
    """One route of a service."""

    method: str
    template: str
    responder: Responder
    needs_token: bool = True


@dataclass
class _Node:
    """A segment of the paths; a literal child has precedence over the variable one."""

    literals: dict[str, "_Node"] = field(default_factory=dict)
    variable: "_Node | None" = None
    routes: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict)


class Router:
    """The routes of a service, as a tree of path segments."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        self.routes = tuple(routes)
        for route in self.routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node, names = self._root, []
        for segment in _segments(route.template):
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.literals.setdefault(segment, _Node())
        if route.method in node.routes:
            raise ValueError(f"two routes for {route.method} {route.template}")
        node.routes[route.method] = (route, tuple(names))

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """Return the route and the values of its variables; raise 404 or 405."""
        leaf = _walk(self._root, _segments(path), 0, ())
        if leaf is None:
            raise ApiError(404, "The resource could not be found.", code=NO_ROUTE)
        node, values = leaf
        found = node.routes.get(method)
        if found is None and method == "HEAD":
            found = node.routes.get("GET")
        if found is None:
            allow = ", ".join(sorted(node.routes))
            raise ApiError(405, f"{method} is not allowed here.", headers=(("Allow", allow),))
        route, names = found
        return route, dict(zip(names, values, strict=True))


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def _walk(
    node: _Node, segments: list[str], at: int, values: tuple[str, ...]
) -> tuple[_Node, tuple[str, ...]] | None:
    if at == len(segments):
        return (node, values) if node.routes else None
    segment = segments[at]
    literal = node.literals.get(segment)
    if literal is not None:
        found = _walk(literal, segments, at + 1, values)
        if found is not None:
            return found
    if node.variable is not None:
        return _walk(node.variable, segments, at + 1, (*values, segment))
    return None
