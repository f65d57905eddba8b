"""A small client of the cloud's APIs; it needs only the standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

from blazar_lab.settings import PASSWORD, Settings

SECONDS = 5.0
VERSIONS = {"nova": "compute 2.53", "cinder": "volume 3.70"}
# requests to this machine must not go through a proxy
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ApiError(Exception):
    """An API gave no usable answer."""


class Api:
    """Requests as the administrator; one token for as long as this object lives."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._token: str | None = None

    def status(self, url: str) -> int:
        """Send a request without a token; return its status, or 599 when there is no answer."""
        try:
            with _direct.open(url, timeout=SECONDS) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 599

    def get(self, service: str, path: str) -> Any:
        request = urllib.request.Request(self._settings.url(service) + path)
        request.add_header("X-Auth-Token", self._token or self._authenticate())
        request.add_header("OpenStack-API-Version", VERSIONS[service])
        return self._send(request)[1]

    def moment(self, text: str) -> float:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    def _authenticate(self) -> str:
        domain = {"name": "Default"}
        user = {"name": "admin", "password": PASSWORD, "domain": domain}
        body = {
            "auth": {
                "identity": {"methods": ["password"], "password": {"user": user}},
                "scope": {"project": {"name": "admin", "domain": domain}},
            }
        }
        request = urllib.request.Request(
            self._settings.url("keystone") + "/v3/auth/tokens",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        self._token = self._send(request)[0]["X-Subject-Token"]
        return str(self._token)

    def _send(self, request: urllib.request.Request) -> tuple[Any, Any]:
        try:
            with _direct.open(request, timeout=SECONDS) as response:
                return response.headers, json.load(response)
        except (OSError, ValueError) as error:
            raise ApiError(str(error)) from error
