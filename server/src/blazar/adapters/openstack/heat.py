"""Heat: stacks in the projects of users, as the Orchestration port wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazar.adapters.openstack.session import ServiceApi
from blazar.service.ports import NewStack, Stack


class HeatOrchestration:
    """The Orchestration port over Heat's HTTP API. The catalog's address has the project in it."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def is_offered(self) -> bool:
        return self._api.is_offered()

    def check_template(self, new: NewStack, project_id: str) -> None:
        # With a user's token the address comes from our own catalog, and has no project in it.
        self._api.post(f"/{project_id}/validate", _source(new), is_secret=True)

    def stack(self, name: str) -> Stack | None:
        found = self._api.get("/stacks", name=name)["stacks"]
        return next((_stack(raw) for raw in found if raw["stack_name"] == name), None)

    def create_stack(self, new: NewStack) -> str:
        body: dict[str, Any] = {
            "stack_name": new.name,
            "parameters": dict(new.parameters),
            "tags": ",".join(new.tags),
            "disable_rollback": True,
            **_source(new),
        }
        if new.timeout_minutes is not None:
            body["timeout_mins"] = new.timeout_minutes
        answer: Any = self._api.post("/stacks", body, is_secret=True)
        return str(answer["stack"]["id"])

    def delete_stack(self, stack: Stack) -> None:
        self._api.delete(f"/stacks/{stack.name}/{stack.id}")


def _source(new: NewStack) -> dict[str, Any]:
    source: dict[str, Any] = (
        {"template_url": new.template_url} if new.template is None else {"template": dict(new.template)}
    )
    return {**source, "environment": dict(new.environment)}


def _stack(raw: Mapping[str, Any]) -> Stack:
    return Stack(
        id=str(raw["id"]),
        name=str(raw["stack_name"]),
        status=str(raw["stack_status"]),
        reason=str(raw.get("stack_status_reason") or ""),
        tags=frozenset(raw.get("tags") or ()),
    )
