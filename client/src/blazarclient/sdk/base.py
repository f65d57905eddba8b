"""The base class of the service's resources in openstacksdk, and helpers of the proxy's methods.

The service differs from what openstacksdk expects: the body of a request is not wrapped in the resource's
key, a list may have no pages, and an error has its explanation under `error_message`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar

import requests
from keystoneauth1 import adapter
from openstack import exceptions, resource

from blazarclient.transport import VERSION_HEADER, error_message, version_header
from blazarclient.v1.paging import NOT_ACCEPTABLE, PAGES, next_query

HEADERS = {"Accept": "application/json"}
LIST_HEADERS = {**HEADERS, VERSION_HEADER: version_header(PAGES)}
Rows = list[dict[str, Any]]
T = TypeVar("T")


class ServiceResource(resource.Resource):
    """A resource of the reservation service."""

    allow_fetch = True
    allow_list = True
    update_method: ClassVar[str] = "PUT"

    def create(self, session: adapter.Adapter, *args: Any, **kwargs: Any) -> Self:
        """Create the resource; the further arguments of openstacksdk have no effect."""
        return self._send(session, "POST", self.base_path)

    def commit(self, session: adapter.Adapter, *args: Any, **kwargs: Any) -> Self:
        """Send the changed fields; without changes, send nothing."""
        if not self._body.dirty:
            return self
        return self._send(session, self.update_method, f"{self.base_path}/{self.id}")

    def _send(self, session: adapter.Adapter, method: str, path: str) -> Self:
        body = {key: value for key, value in self._body.dirty.items() if key != "id"}
        self._translate_response(session.request(path, method, json=body, headers=HEADERS, raise_exc=False))
        return self

    def _translate_response(self, response: requests.Response, *args: Any, **kwargs: Any) -> None:
        raise_for_status(response)
        super()._translate_response(response, *args, **kwargs)

    @classmethod
    def list(  # type: ignore[override] # the service has no filters to declare
        cls,
        session: adapter.Adapter,
        paginated: bool = True,
        base_path: str | None = None,
        *,
        limit: int | None = None,
        marker: str | None = None,
        **params: Any,
    ) -> Generator[Self, None, None]:
        """Yield the resources, page by page if the service has pages.

        `limit` is the size of a page, and the first page begins after the id `marker`. A service without
        pages ignores both and returns the full list each time, so repeated resources are skipped.
        """
        path: str | None = base_path or cls.base_path
        query: dict[str, Any] = {**params, "limit": limit, "marker": marker}
        seen: set[str] = set()
        while path is not None:
            query = {key: value for key, value in query.items() if value is not None}
            response = session.request(path, "GET", params=query, headers=LIST_HEADERS, raise_exc=False)
            if response.status_code == NOT_ACCEPTABLE:
                response = session.request(path, "GET", params=query, headers=HEADERS, raise_exc=False)
            raise_for_status(response)
            body = response.json()
            fresh = [row for row in body[cls.resources_key] if cls._identity(row) not in seen]
            for row in fresh:
                seen.add(cls._identity(row))
                yield cls.existing(**row)
            path, query = cls._next_page(path, query, body, fresh, limit) if paginated else (None, {})

    @classmethod
    def _next_page(
        cls, path: str, query: dict[str, Any], body: Any, fresh: Rows, limit: int | None
    ) -> tuple[str | None, dict[str, Any]]:
        following = next_query(body, str(cls.resources_key))
        if following is not None:
            return path, following
        if not fresh:
            return None, {}
        if limit is not None and len(fresh) == limit:
            return path, {**query, "marker": cls._identity(fresh[-1])}
        return None, {}

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["id"])


def raise_for_status(response: requests.Response) -> None:
    """Raise openstacksdk's exception for an error status, with the service's explanation as `message`."""
    if response.status_code < 400:
        return
    try:
        message = error_message(response.json(), response.text)
    except ValueError:
        message = response.text
    exceptions.raise_from_response(response, error_message=message or None)


def resource_id(value: Any) -> str:
    """Return the id of a resource, which may be given as its id."""
    return value if isinstance(value, str) else str(value.id)


def find_resource(
    rows: Iterable[T], keys: Sequence[str], wanted: str, noun: str, ignore_missing: bool
) -> T | None:
    """Return the only resource with the wanted value under one of the keys; earlier keys take precedence.

    Raises DuplicateResource if several match, and NotFoundException, or returns None, if none does.
    """
    candidates = list(rows)
    for key in keys:
        found = [row for row in candidates if getattr(row, key) == wanted]
        if len(found) > 1:
            raise exceptions.DuplicateResource(
                f"{len(found)} resources are the {noun} {wanted!r}: use the id"
            )
        if found:
            return found[0]
    if ignore_missing:
        return None
    raise exceptions.NotFoundException(f"no {noun} is called {wanted!r} or has this id")
