"""Heat in memory: stacks of projects, which hold nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blazar.adapters.memory.cloud_state import Called, CloudState, MadeStack
from blazar.domain.errors import CloudRefused
from blazar.service.ports import NewStack, Stack

VERSION = "heat_template_version"


@dataclass(frozen=True, slots=True)
class MemoryOrchestration:
    """The Orchestration port."""

    _state: CloudState
    _called: Called

    def is_offered(self) -> bool:
        self._called("is_offered")
        return not self._state.without_heat

    def check_template(self, new: NewStack, project_id: str) -> None:
        self._called("check_template")
        _check(new)

    def stack(self, name: str) -> Stack | None:
        found = self._made(self._project("stack"), name)
        return None if found is None else found.stack

    def create_stack(self, new: NewStack) -> str:
        project_id = self._project("create_stack")
        _check(new)
        declared = (new.template or {}).get("parameters", {})
        if isinstance(declared, Mapping) and (unknown := sorted(new.parameters.keys() - declared.keys())):
            raise _refused(f"The Parameter ({unknown[0]}) was not defined in template.", 400)
        with self._state.lock:
            if self._made(project_id, new.name) is not None:
                raise _refused(f"The Stack ({new.name}) already exists.", 409)
            stack_id = f"stack-{self._state.next_id()}"
            status, reason = "CREATE_COMPLETE", "Stack CREATE completed successfully"
            if self._state.slow_stacks:
                status, reason = "CREATE_IN_PROGRESS", "Stack CREATE started"
            elif self._state.stack_fails is not None:
                status, reason = "CREATE_FAILED", self._state.stack_fails
            made = MadeStack(
                Stack(stack_id, new.name, status, reason, frozenset(new.tags)), project_id, new.parameters
            )
            self._state.stacks[stack_id] = made
        return stack_id

    def delete_stack(self, stack: Stack) -> None:
        project_id = self._project("delete_stack")
        with self._state.lock:
            made = self._state.stacks.get(stack.id)
            if made is None or made.project_id != project_id:
                return
            if self._state.stack_stays is not None:
                failed = replace(made.stack, status="DELETE_FAILED", reason=self._state.stack_stays)
                self._state.stacks[stack.id] = replace(made, stack=failed)
            elif self._state.slow_stacks:
                gone = replace(made.stack, status="DELETE_IN_PROGRESS", reason="Stack DELETE started")
                self._state.stacks[stack.id] = replace(made, stack=gone)
            else:
                del self._state.stacks[stack.id]

    def _project(self, call: str) -> str:
        actor = self._called(call)
        return "service" if actor is None else actor.project_id

    def _made(self, project_id: str, name: str) -> MadeStack | None:
        stacks = self._state.stacks.values()
        return next((m for m in stacks if (m.project_id, m.stack.name) == (project_id, name)), None)


def _check(new: NewStack) -> None:
    if new.template is not None and VERSION not in new.template:
        raise _refused("The template version is invalid: Template version was not provided", 400)
    if new.template_url is not None:
        raise _refused(f"Could not retrieve template: {new.template_url}", 400)


def _refused(reason: str, status: int) -> CloudRefused:
    return CloudRefused(service="Heat", reason=f"{reason} (HTTP {status})")
