"""The parameters of an instance:server reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.kinds.fields import boolean, required, requirement_text, without_blanks
from blazar.kinds.slots.source_flavor import SourceFlavor

SERVER_ID, ON_END, PROPERTIES, LOCKED = "server_id", "on_end", "resource_properties", "locked"
PARAMETERS = (SERVER_ID, ON_END, PROPERTIES, LOCKED)


class Step(StrEnum):
    """What can be done with the server at the end, in this order."""

    CREATE_IMAGE = "create_image"
    SUSPEND = "suspend"
    SHELVE = "shelve"
    STOP = "stop"
    DELETE = "delete"


FREEING = frozenset({Step.SHELVE, Step.DELETE})
"""The steps that take a server from its host. A server that is stopped or suspended still occupies it."""


class ReservedServer(BaseModel):
    """The server as it was when it was reserved."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    flavor: SourceFlavor


class ServerParameters(BaseModel):
    """A server that exists, and what becomes of it at the end."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    server_id: str = Field(description="A server of the lease's project.")
    on_end: tuple[Step, ...] = Field(description="What is done with it at the end.")
    resource_properties: str = Field("", description="A requirement on the host.")
    locked: bool = Field(
        False, description="Whether it is locked until the end against changes and deletion."
    )
    server: ReservedServer | None = None
    """None until Nova was asked."""

    @property
    def reserved(self) -> ReservedServer:
        """Return the server, of a reservation that was completed."""
        if self.server is None:
            raise RuntimeError(f"server {self.server_id} was not looked up")
        return self.server


def parse(parameters: Mapping[str, Any], default_on_end: Sequence[Step]) -> ServerParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter, MalformedRequirements."""
    parameters = without_blanks(parameters, (SERVER_ID, ON_END, LOCKED))
    required(parameters, (SERVER_ID,))
    properties = requirement_text(parameters, PROPERTIES)
    parse_requirement(properties)
    return ServerParameters(
        server_id=_server_id(parameters[SERVER_ID]),
        on_end=parse_on_end(parameters[ON_END]) if ON_END in parameters else tuple(default_on_end),
        resource_properties=properties,
        locked=boolean(parameters, LOCKED, False),
    )


def _server_id(value: object) -> str:
    try:
        return str(UUID(value)) if isinstance(value, str) and len(value) <= 36 else _refuse_id()
    except ValueError:
        return _refuse_id()


def _refuse_id() -> str:
    raise MalformedParameter(param=f"{SERVER_ID} (must be the id of a server)")


def parse_on_end(value: object) -> tuple[Step, ...]:
    """Parse a list of steps, or their names with commas between them, into the order in which they are done.

    Raises MalformedParameter, also where none of them takes the server from its host."""
    named = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if not isinstance(named, list | tuple) or not all(each in list(Step) for each in named):
        raise MalformedParameter(param=f"{ON_END} (must be a list of {', '.join(Step)})")
    wanted = frozenset(named)
    if not wanted & FREEING:
        reason = "needs shelve or delete: any other server keeps its host"
        raise MalformedParameter(param=f"{ON_END} ({reason})")
    return tuple(step for step in Step if step in wanted)
