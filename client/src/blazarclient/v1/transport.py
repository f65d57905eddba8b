"""How does a call reach the service, and how does its answer come back: as a body, or as an error?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import requests
from keystoneauth1 import adapter
from keystoneauth1.session import Session

from blazarclient import exception

USER_AGENT = "python-blazarclient"
TIMEOUT_SECONDS = 600
Body = Mapping[str, Any]
Answer = tuple[requests.Response, Any]


class Transport(ABC):
    """Requests to the service: each verb gives the response and its decoded body, None when that is empty.

    All raise BlazarClientException for a status of 400 or more.
    """

    def get(self, url: str) -> Answer:
        return self.request(url, "GET")

    def post(self, url: str, body: Body) -> Answer:
        return self.request(url, "POST", body=body)

    def put(self, url: str, body: Body) -> Answer:
        return self.request(url, "PUT", body=body)

    def patch(self, url: str, body: Body) -> Answer:
        return self.request(url, "PATCH", body=body)

    def delete(self, url: str) -> Answer:
        return self.request(url, "DELETE")

    def request(self, url: str, method: str, *, body: Body | None = None) -> Answer:
        """One request; `url` is the path behind the endpoint, beginning with a slash."""
        response = self._send(url, method, {} if body is None else {"json": body})
        return response, decode(response)

    @abstractmethod
    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response: ...


class SessionTransport(Transport):
    """Requests through a keystoneauth session, which finds the endpoint and keeps the token fresh.

    The API has no discovery that clients relied on: the first request is the real one.
    """

    def __init__(self, session: Session, **kwargs: Any) -> None:
        # The version is the client's, not a wish of the catalog: passed on it would start a discovery.
        kwargs.pop("version", None)
        kwargs.setdefault("user_agent", USER_AGENT)
        self._adapter = adapter.Adapter(session, **kwargs)

    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response:
        return self._adapter.request(url, method, raise_exc=False, headers={"Accept": "application/json"}, **payload)


class TokenTransport(Transport):
    """Requests to a known endpoint with a ready token: for programs without a session."""

    def __init__(self, endpoint: str | None, token: str | None) -> None:
        if not endpoint or not token:
            raise exception.InsufficientAuthInformation()
        self._endpoint = endpoint.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": USER_AGENT, "x-auth-token": token}

    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response:
        return requests.request(method, self._endpoint + url, headers=self._headers, timeout=TIMEOUT_SECONDS, **payload)


def decode(response: requests.Response) -> Any:
    """The body of a good answer. Raises BlazarClientException with the service's explanation for the others."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if response.status_code >= 400:
        raise exception.BlazarClientException(
            f"ERROR: {explanation(body, response.text)}",
            code=response.status_code,
            request_id=response.headers.get("x-openstack-request-id"),
        )
    return body


def explanation(body: object, text: str) -> str:
    """What an error says: `error_message` of the service, `error.message` of middleware, else all of the body."""
    if isinstance(body, Mapping):
        if "error_message" in body:
            return str(body["error_message"])
        error = body.get("error")
        if isinstance(error, Mapping) and "message" in error:
            return str(error["message"])
    return text if body is None else str(body)
