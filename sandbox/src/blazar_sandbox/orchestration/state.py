"""Heat's tables, and the changes of stacks as time passes."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import ApiError, bad_request, conflict, not_found
from blazar_sandbox.identity.access import Access
from blazar_sandbox.table import Index, Table

TEST_RESOURCE = "OS::Heat::TestResource"
"""Heat's own resource for tests: its properties ``fail`` and ``wait_secs`` count here, too."""
STARTED, COMPLETED = "Stack {} started", "Stack {} completed successfully"


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack. Its resources have names, and do nothing."""

    id: str
    name: str
    project_id: str
    user_id: str
    template: Mapping[str, Any]
    parameters: Mapping[str, Any]
    created_at: datetime
    action: str = "CREATE"
    status: str = "IN_PROGRESS"
    reason: str = STARTED.format("CREATE")
    due: datetime | None = None
    """When what is under way is done."""
    updated_at: datetime | None = None
    description: str = ""
    timeout_mins: int | None = None
    disable_rollback: bool = True
    tags: tuple[str, ...] = ()


@dataclass
class Conduct:
    """How stacks fare, whatever they are made from."""

    seconds: float = 0.2
    """How long each of their changes takes."""
    create_fails: str = ""
    """Why their creation fails; empty where it does not."""
    delete_fails: str = ""


class Orchestration:
    """Heat's table and rules."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.conduct = Conduct()
        self.table: Table[Stack] = Table("stacks", Stack)
        self.of_project = Index(self.table, lambda row: (row.project_id,))

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        yield self.table

    def advance(self) -> None:
        """Apply every change that is due."""
        now = self.clock.now()
        for row in list(self.table):
            if row.due is not None and row.due <= now:
                self._complete(row, now)

    def _complete(self, row: Stack, now: datetime) -> None:
        failure = self._failure(row)
        if failure:
            reason = f"Resource {row.action} failed: {failure}"
            self.table.put(row.id, replace(row, status="FAILED", reason=reason, due=None, updated_at=now))
        elif row.action == "DELETE":
            self.table.drop(row.id)
        else:
            reason = COMPLETED.format(row.action)
            self.table.put(row.id, replace(row, status="COMPLETE", reason=reason, due=None))

    def _failure(self, row: Stack) -> str:
        if row.action == "DELETE":
            return self.conduct.delete_fails
        failing = (name for name, of in _test_resources(row.template).items() if of.get("fail"))
        name = next(failing, None)
        return (
            self.conduct.create_fails
            if name is None
            else f"ValueError: resources.{name}: Test Resource failed"
        )

    def stacks(self, caller: Access) -> list[Stack]:
        """Return the stacks of the caller's project, the newest first."""
        return self.of_project.rows(caller.project_id)[::-1]

    def find(self, caller: Access, reference: str) -> Stack:
        """Return the stack of the caller's project with this id or name; raise 404."""
        found = next((row for row in self.stacks(caller) if reference in (row.id, row.name)), None)
        if found is None:
            raise not_found(f"The Stack ({reference}) could not be found.", code="EntityNotFound")
        return found

    def create(self, caller: Access, row: Stack) -> Stack:
        """Begin to create a stack."""
        if any(each.name == row.name for each in self.stacks(caller)):
            raise conflict(f"The Stack ({row.name}) already exists.", code="StackExists")
        row = replace(row, due=self._due(row))
        self.table.put(row.id, row)
        return row

    def delete(self, row: Stack) -> None:
        """Begin to delete a stack."""
        self.table.put(
            row.id,
            replace(
                row,
                action="DELETE",
                status="IN_PROGRESS",
                reason=STARTED.format("DELETE"),
                due=self._due(row),
            ),
        )

    def _due(self, row: Stack) -> datetime:
        waits = [float(each.get("wait_secs") or 0) for each in _test_resources(row.template).values()]
        return self.clock.now() + timedelta(seconds=max([self.conduct.seconds, *waits]))


def new_id() -> str:
    """Return the id of a new stack."""
    return str(uuid.uuid4())


def check(template: Mapping[str, Any]) -> None:
    """Refuse what is no template."""
    if not any(key in template for key in ("heat_template_version", "HeatTemplateFormatVersion")):
        raise _invalid("The template version is invalid: Template version was not provided")
    for noun in ("parameters", "resources"):
        if not isinstance(template.get(noun) or {}, dict):
            raise _invalid(f"The template section is invalid: {noun}")
    for name, resource in resources_of(template).items():
        if not isinstance(resource, dict) or not isinstance(resource.get("type"), str):
            raise _invalid(f"resources.{name}: Each Resource must contain a type key")


def check_parameters(template: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse parameters that the template does not have, and the lack of those that it needs."""
    declared = template.get("parameters") or {}
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise bad_request(
            f"The Parameter ({unknown[0]}) was not defined in template.", "UnknownUserParameter"
        )
    missing = sorted(name for name, of in declared.items() if "default" not in of and name not in given)
    if missing:
        raise bad_request(f"The Parameter ({missing[0]}) was not provided.", "UserParameterMissing")


def resources_of(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the resources of a template."""
    found: Mapping[str, Any] = template.get("resources") or {}
    return found


def _test_resources(template: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {
        name: each.get("properties") or {}
        for name, each in resources_of(template).items()
        if each["type"] == TEST_RESOURCE
    }


def _invalid(message: str) -> ApiError:
    return bad_request(message, "StackValidationFailed")
