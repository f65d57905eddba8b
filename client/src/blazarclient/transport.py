"""Requests to the service over HTTP."""

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
Response = tuple[requests.Response, Any]


class Transport(ABC):
    """Sends requests. Each method returns the response and its decoded body, which is None if it is empty.

    All methods raise BlazarClientException for a status of 400 or more.
    """

    def get(self, url: str) -> Response:
        return self.request(url, "GET")

    def post(self, url: str, body: Body) -> Response:
        return self.request(url, "POST", body=body)

    def put(self, url: str, body: Body) -> Response:
        return self.request(url, "PUT", body=body)

    def patch(self, url: str, body: Body) -> Response:
        return self.request(url, "PATCH", body=body)

    def delete(self, url: str) -> Response:
        return self.request(url, "DELETE")

    def request(self, url: str, method: str, *, body: Body | None = None) -> Response:
        """Send one request; `url` is the path below the endpoint and begins with a slash."""
        response = self._send(url, method, {} if body is None else {"json": body})
        return response, decode(response)

    @abstractmethod
    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response: ...


class SessionTransport(Transport):
    """Sends requests through a keystoneauth session, which finds the endpoint and renews the token.

    It skips version discovery.
    """

    def __init__(self, session: Session, **kwargs: Any) -> None:
        # The adapter would start version discovery if it got the version.
        kwargs.pop("version", None)
        kwargs.setdefault("user_agent", USER_AGENT)
        self._adapter = adapter.Adapter(session, **kwargs)

    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response:
        return self._adapter.request(
            url, method, raise_exc=False, headers={"Accept": "application/json"}, **payload
        )


class TokenTransport(Transport):
    """Sends requests to an endpoint with a token, for programs without a session."""

    def __init__(self, endpoint: str | None, token: str | None) -> None:
        if not endpoint or not token:
            raise exception.InsufficientAuthInformation()
        self._endpoint = endpoint.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": USER_AGENT, "x-auth-token": token}

    def _send(self, url: str, method: str, payload: dict[str, Any]) -> requests.Response:
        return requests.request(
            method, self._endpoint + url, headers=self._headers, timeout=TIMEOUT_SECONDS, **payload
        )


def decode(response: requests.Response) -> Any:
    """Return the body of a response. Raises BlazarClientException with the explanation of an error."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if response.status_code >= 400:
        raise exception.BlazarClientException(
            f"ERROR: {error_message(body, response.text)}",
            code=response.status_code,
            request_id=response.headers.get("x-openstack-request-id"),
        )
    return body


def error_message(body: object, text: str) -> str:
    """Return the explanation of an error: `error_message` of the service, or `error.message` of middleware.

    Without either it is the whole body.
    """
    if isinstance(body, Mapping):
        if "error_message" in body:
            return str(body["error_message"])
        error = body.get("error")
        if isinstance(error, Mapping) and "message" in error:
            return str(error["message"])
    return text if body is None else str(body)
