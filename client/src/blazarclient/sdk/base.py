"""In what do the service's resources differ from openstacksdk's usual ones?

Requests are not wrapped in the resource's key, answers are; lists come whole unless the service says otherwise; and an
error carries the service's explanation under `error_message`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, Self

import requests
from keystoneauth1 import adapter
from openstack import exceptions, resource

from blazarclient.v1.transport import explanation

HEADERS = {"Accept": "application/json"}
Rows = list[dict[str, Any]]


class ServiceResource(resource.Resource):
    """What all resources of the service have in common."""

    allow_fetch = True
    allow_list = True
    update_method: ClassVar[str] = "PUT"

    def create(self, session: adapter.Adapter, *args: Any, **kwargs: Any) -> Self:
        """Create it; the body is not wrapped, whatever the further arguments say."""
        return self._send(session, "POST", self.base_path)

    def commit(self, session: adapter.Adapter, *args: Any, **kwargs: Any) -> Self:
        """Send what was changed since it was read; nothing is sent when nothing was."""
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
        """Yield the resources, page after page as long as the service gives pages.

        `limit` is the size of a page, `marker` the id behind which to begin. A service that knows neither answers with
        everything, once: what was seen already is not yielded again.
        """
        path: str | None = base_path or cls.base_path
        query: dict[str, Any] = {**params, "limit": limit, "marker": marker}
        seen: set[str] = set()
        while path is not None:
            query = {key: value for key, value in query.items() if value is not None}
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
        if not fresh:
            return None, {}
        for link in body.get(f"{cls.resources_key}_links") or body.get("links") or []:
            if link.get("rel") == "next":
                return link["href"], {}
        if limit is not None and len(fresh) == limit:
            return path, {**query, "marker": cls._identity(fresh[-1])}
        return None, {}

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["id"])


def raise_for_status(response: requests.Response) -> None:
    """Raise openstacksdk's exception for this status, with the service's explanation as its `message`."""
    if response.status_code < 400:
        return
    try:
        said = explanation(response.json(), response.text)
    except ValueError:
        said = response.text
    exceptions.raise_from_response(response, error_message=said or None)
