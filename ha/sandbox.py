"""The sandbox cloud of a site, as users and operators see it, and its state for the checks."""

from __future__ import annotations

from typing import Any

import requests

PASSWORD = "sandbox"


class Sandbox:
    """A client of the sandbox cloud; ``before`` is its state before the first lease."""

    def __init__(self, url: str) -> None:
        self.cloud_url = url
        self.before: dict[str, Any] = {}

    def user(self, name: str) -> requests.Session:
        """Return a session with a token of this user in the project of the same name."""
        session = requests.Session()
        domain = {"id": "default"}
        identity = {
            "methods": ["password"],
            "password": {"user": {"name": name, "domain": domain, "password": PASSWORD}},
        }
        project = {"name": name, "domain": domain}
        body = {"auth": {"identity": identity, "scope": {"project": project}}}
        answer = session.post(f"{self.cloud_url}/v3/auth/tokens", json=body, timeout=30)
        answer.raise_for_status()
        session.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
        return session

    def sandbox(self, method: str, path: str, **more: Any) -> Any:
        answer = requests.request(method, f"{self.cloud_url}/sandbox{path}", timeout=30, **more)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sandbox("GET", "/snapshot")
        return found

    def leftovers(self) -> list[str]:
        """Return the differences between the cloud now and before the first lease."""
        now, found = self.snapshot(), []
        for kind in self.before:
            for key in self.before[kind].keys() | now[kind].keys():
                if self.before[kind].get(key) != now[kind].get(key):
                    found.append(f"{kind}/{key}: {self.before[kind].get(key)} -> {now[kind].get(key)}")
        return found
