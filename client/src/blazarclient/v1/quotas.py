"""The calls of the v1 client for quotas and for what is used of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from blazarclient.transport import Transport


class Quotas:
    """The limits of projects, as dictionaries. Without `project_id`, the project is the caller's own."""

    def __init__(self, transport: Transport) -> None:
        self.request_manager = transport

    def list(self) -> dict[str, Any]:
        """Return the limits by default as ``defaults``, and the projects with limits of their own as
        ``quotas``."""
        found: dict[str, Any] = self.request_manager.get("/quotas")[1]
        return found

    def get(self, project_id: str | None = None) -> dict[str, Any]:
        """Return the limits of a project: all of them, and the names of its own."""
        quota: dict[str, Any] = self.request_manager.get(self._path(project_id))[1]["quota"]
        return quota

    def usage(self, project_id: str | None = None) -> dict[str, Any]:
        """Return how much the leases of a project use of what limits count."""
        usage: dict[str, Any] = self.request_manager.get(f"{self._path(project_id)}/usage")[1]["usage"]
        return usage

    def set(self, project_id: str, limits: Mapping[str, int | None]) -> dict[str, Any]:
        """Give a project limits of its own: -1 is none, and None gives a limit up. Return its limits."""
        body = {"limits": dict(limits)}
        quota: dict[str, Any] = self.request_manager.put(self._path(project_id), body)[1]["quota"]
        return quota

    def unset(self, project_id: str, names: Iterable[str] = ()) -> None:
        """Give up these limits of a project's own; without names, all."""
        limits = dict.fromkeys(names)
        if limits:
            self.set(project_id, limits)
        else:
            self.request_manager.delete(self._path(project_id))

    def _path(self, project_id: str | None) -> str:
        return f"/quotas/{project_id or self.request_manager.project_id()}"
