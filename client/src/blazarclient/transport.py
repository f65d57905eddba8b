"""Requests to the service over HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import requests
from keystoneauth1 import adapter
from keystoneauth1.session import Session

from blazarclient import exception

USER_AGENT = "python-blazarclient"
TIMEOUT_SECONDS = 600
SILENT_SECONDS = 60
"""Seconds without a word after which a stream is cut off: the service gives a sign of life every 15."""
FIRST_ERROR = 400
VERSION_HEADER = "OpenStack-API-Version"
Body = Mapping[str, Any]
Response = tuple[requests.Response, Any]


def version_header(version: str) -> str:
    """Return the header that asks for a version of the API, and that tells it in an answer."""
    return f"reservation {version}"


def _later(one: str | None, other: str | None) -> str | None:
    """Return the later one of two versions."""
    versions = [version for version in (one, other) if version is not None]
    return max(versions, key=lambda version: [int(part) for part in version.split(".")], default=None)


class Transport(ABC):
    """Sends requests. Each method returns the response and its decoded body, which is None if it is empty.

    All methods raise BlazarClientException for a status of 400 or more. `needed_version` tells which version
    of the API a body needs at least, where it needs one.
    """

    needed_version: Callable[[Body], str | None] = staticmethod(lambda body: None)

    def get(self, url: str, version: str | None = None) -> Response:
        return self.request(url, "GET", version=version)

    def post(self, url: str, body: Body) -> Response:
        return self.request(url, "POST", body=body)

    def put(self, url: str, body: Body) -> Response:
        return self.request(url, "PUT", body=body)

    def patch(self, url: str, body: Body) -> Response:
        return self.request(url, "PATCH", body=body)

    def delete(self, url: str) -> Response:
        return self.request(url, "DELETE")

    def request(
        self,
        url: str,
        method: str,
        *,
        body: Body | None = None,
        version: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request; `url` is the path below the endpoint and begins with a slash.

        `version` is the version of the API that is asked for. Without it no header is sent, and the service
        answers as version 1.0. `headers` are further headers of the request.
        """
        version = _later(version, None if body is None else self.needed_version(body))
        asked = {} if version is None else {VERSION_HEADER: version_header(version)}
        response = self._send(
            url, method, {**asked, **(headers or {})}, {} if body is None else {"json": body}
        )
        return response, decode(response)

    def stream(self, url: str, *, version: str, headers: Mapping[str, str]) -> requests.Response:
        """Send a GET whose answer is read as it comes. The caller closes it."""
        asked = {VERSION_HEADER: version_header(version), **headers}
        response = self._send(url, "GET", asked, {"stream": True, "timeout": SILENT_SECONDS})
        if response.status_code >= FIRST_ERROR:
            with response:
                decode(response)
        return response

    @abstractmethod
    def project_id(self) -> str:
        """Return the id of the caller's project. Raises BlazarClientException where it is not known."""

    @abstractmethod
    def _send(
        self, url: str, method: str, headers: dict[str, str], payload: dict[str, Any]
    ) -> requests.Response: ...


class SessionTransport(Transport):
    """Sends requests through a keystoneauth session, which finds the endpoint and renews the token.

    It skips version discovery.
    """

    def __init__(self, session: Session, **kwargs: Any) -> None:
        # The adapter would start version discovery if it got the version.
        kwargs.pop("version", None)
        kwargs.setdefault("user_agent", USER_AGENT)
        self._adapter = adapter.Adapter(session, **kwargs)

    def project_id(self) -> str:
        return self._adapter.get_project_id() or _unknown_project()

    def _send(
        self, url: str, method: str, headers: dict[str, str], payload: dict[str, Any]
    ) -> requests.Response:
        headers = {"Accept": "application/json", **headers}
        return self._adapter.request(url, method, raise_exc=False, headers=headers, **payload)


class TokenTransport(Transport):
    """Sends requests to an endpoint with a token, for programs without a session."""

    def __init__(self, endpoint: str | None, token: str | None) -> None:
        if not endpoint or not token:
            raise exception.InsufficientAuthInformation()
        self._endpoint = endpoint.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": USER_AGENT, "x-auth-token": token}

    def project_id(self) -> str:
        return _unknown_project()

    def _send(
        self, url: str, method: str, headers: dict[str, str], payload: dict[str, Any]
    ) -> requests.Response:
        headers = {**self._headers, **headers}
        timeout = payload.pop("timeout", TIMEOUT_SECONDS)
        return requests.request(method, self._endpoint + url, headers=headers, timeout=timeout, **payload)


def _unknown_project() -> NoReturn:
    raise exception.BlazarClientException("ERROR: Your project is not known. Name it by its id.", code=0)


def decode(response: requests.Response) -> Any:
    """Return the body of a response. Raises BlazarClientException with the explanation of an error."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if response.status_code >= FIRST_ERROR:
        raise exception.BlazarClientException(
            f"ERROR: {error_message(body, response.text)}",
            code=response.status_code,
            reasons=reasons_of(body),
            suggestions=_part_of(body, "suggestions"),
            blocking=_part_of(body, "blocking"),
            impact=_part_of(body, "impact"),
            request_id=response.headers.get("x-openstack-request-id"),
        )
    return body


def reasons_of(body: object) -> list[dict[str, Any]]:
    """Return the reasons that a refusal tells to programs; version 1.3 of the API has them."""
    reasons = body.get("reasons") if isinstance(body, Mapping) else None
    found = reasons if isinstance(reasons, list) else []
    return [dict(each) for each in found if isinstance(each, Mapping)]


def _part_of(body: object, name: str) -> dict[str, Any] | None:
    """Return an object in the body of a refusal; later versions of the API have some."""
    part = body.get(name) if isinstance(body, Mapping) else None
    return dict(part) if isinstance(part, Mapping) else None


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
