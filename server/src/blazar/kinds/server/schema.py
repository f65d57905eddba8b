"""The parameters of an instance:server reservation, and their checks."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.kinds.fields import (
    boolean,
    counted,
    identifier,
    printable_text,
    required,
    requirement_text,
    uuid_or_none,
    without_blanks,
)
from blazar.kinds.slots.source_flavor import SourceFlavor

SERVER_ID, ON_END, PROPERTIES, LOCKED = "server_id", "on_end", "resource_properties", "locked"
NAME, IMAGE, FLAVOR, AMOUNT = "server_name", "image_id", "flavor_id", "amount"
NETWORKS, KEY, USER_DATA, GROUPS = "networks", "key_name", "user_data", "security_groups"
NEEDED = (NAME, IMAGE, FLAVOR)
"""What new servers are not booted without."""
TEMPLATE = (*NEEDED, AMOUNT, NETWORKS, KEY, USER_DATA, GROUPS)
"""The parameters of servers that are booted at the start."""
PARAMETERS = (SERVER_ID, ON_END, PROPERTIES, LOCKED, *TEMPLATE)
CHANGEABLE = (ON_END, PROPERTIES)
"""What an update may change."""
MOST = 100
"""The largest number of servers of one reservation."""
HINTED = "is_hinted"
BY_HINT = object()
"""The value of ``is_hinted`` where a hint asks for it: nothing that comes over the network is that."""
BY_RULE = object()
"""The value of ``is_hinted`` where a rule of the operator's gives the lease."""
IN_PLACE = "is_in_place"
STAYS_ON = "stays_on"
OWN = ("server", HINTED, IN_PLACE, STAYS_ON)
"""The parameters that only this service sets."""
LONGEST_TEXT, LONGEST_NAME = 255, 250
LONGEST_USER_DATA = 65535
"""Characters, as Nova takes them."""
WITHOUT_NETWORK, ANY_NETWORK = "none", "auto"


@dataclass(frozen=True, slots=True)
class StaysOn:
    """The value of ``is_hinted`` where a hint asks for it and the server stays on the host on which it was
    booted."""

    host: str


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
    """The server as it was when it was reserved; of servers that are booted at the start, what they get."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    flavor: SourceFlavor


class ServerParameters(BaseModel):
    """A server that exists, or new ones that are booted at the start, and what becomes of them at the end.

    With ``server_id`` it is a server that exists. Without it, ``server_name``, ``image_id`` and ``flavor_id``
    are needed; the parameters of new servers are known since version 1.20."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    server_id: str | None = Field(None, description="A server of the lease's project.")
    on_end: tuple[Step, ...] = Field(
        description="What is done with it at the end. New servers are not shelved, and must be deleted."
    )
    resource_properties: str = Field("", description="A requirement on the host.")
    locked: bool = Field(
        False, description="Whether it is locked until the end against changes and deletion."
    )
    server_name: str | None = Field(
        None, max_length=LONGEST_NAME, description="The name of the new server; several get a number each."
    )
    image_id: str | None = Field(None, description="The image of new servers.")
    flavor_id: str | None = Field(
        None, max_length=LONGEST_TEXT, description="The flavor of new servers, which the user may see."
    )
    amount: int = Field(1, ge=1, le=MOST, description="How many new servers.")
    networks: str | tuple[str, ...] = Field(
        ANY_NETWORK, description="The ids of the networks of new servers, or `auto`, or `none`."
    )
    key_name: str | None = Field(None, description="The user's key pair for new servers.")
    user_data: str | None = Field(
        None,
        max_length=LONGEST_USER_DATA,
        repr=False,
        description="What new servers run at their first boot, in base64. It is never shown.",
        json_schema_extra={"writeOnly": True},
    )
    security_groups: tuple[str, ...] = Field((), description="The security groups of new servers, by name.")
    is_hinted: bool = False
    """Whether the user asked for it by a hint of the server, so that there is no trust."""
    is_in_place: bool = False
    """Whether the server runs on where it is: nothing is kept for it, and it is only ended. There is no trust
    either."""
    stays_on: str = ""
    """The compute service host on which the server stays, which is kept for it until the end; empty where it
    comes to a host that the planner chooses."""
    server: ReservedServer | None = None
    """None until Nova was asked."""

    @property
    def reserved(self) -> ReservedServer:
        """Return the server, of a reservation that was completed."""
        if self.server is None:
            raise RuntimeError(f"server {self.server_id or self.server_name} was not looked up")
        return self.server

    @property
    def is_template(self) -> bool:
        """Return whether servers are booted at the start."""
        return self.server_id is None

    @property
    def adopted_id(self) -> str:
        """Return the id of the server that exists."""
        if self.server_id is None:
            raise RuntimeError("there is no server before the start")
        return self.server_id


def parse(parameters: Mapping[str, Any], default_on_end: Sequence[Step]) -> ServerParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter, MalformedRequirements."""
    parameters = without_blanks(parameters, (SERVER_ID, ON_END, LOCKED, *TEMPLATE))
    is_template = any(name in parameters for name in NEEDED)
    if SERVER_ID in parameters and is_template:
        raise MalformedParameter(param=f"{SERVER_ID} (is not given with what new servers are booted from)")
    required(parameters, NEEDED if is_template else (SERVER_ID,))
    properties = requirement_text(parameters, PROPERTIES)
    parse_requirement(properties)
    on_end = parse_on_end(parameters[ON_END]) if ON_END in parameters else tuple(default_on_end)
    common: Mapping[str, Any] = {PROPERTIES: properties, LOCKED: boolean(parameters, LOCKED, False)}
    if not is_template:
        server_id, origin = identifier(parameters, SERVER_ID, "a server"), parameters.get(HINTED)
        host = origin.host if isinstance(origin, StaysOn) else ""
        found: Mapping[str, Any] = {
            HINTED: bool(host) or origin is BY_HINT or origin is BY_RULE,
            IN_PLACE: origin is BY_RULE,
            STAYS_ON: host,
        }
        return ServerParameters(server_id=server_id, on_end=on_end, **found, **common)
    if ON_END not in parameters:
        on_end = _of_new_servers(on_end)
    _check_of_new_servers(on_end)
    return ServerParameters(
        on_end=on_end,
        server_name=printable_text(parameters, NAME, LONGEST_NAME),
        image_id=identifier(parameters, IMAGE, "an image"),
        flavor_id=printable_text(parameters, FLAVOR, LONGEST_TEXT),
        amount=counted(parameters, AMOUNT, 1, MOST) if AMOUNT in parameters else 1,
        networks=_networks(parameters.get(NETWORKS, ANY_NETWORK)),
        key_name=printable_text(parameters, KEY, LONGEST_TEXT) if KEY in parameters else None,
        user_data=_user_data(parameters[USER_DATA]) if USER_DATA in parameters else None,
        security_groups=_texts(parameters, GROUPS) if GROUPS in parameters else (),
        **common,
    )


def _of_new_servers(on_end: Sequence[Step]) -> tuple[Step, ...]:
    """Return what is done with new servers where servers that exist are treated so: an image is kept of one
    that would be shelved."""
    wanted = {Step.CREATE_IMAGE if step is Step.SHELVE else step for step in on_end} | {Step.DELETE}
    return tuple(step for step in Step if step in wanted)


def _check_of_new_servers(on_end: Sequence[Step]) -> None:
    if Step.SHELVE in on_end:
        reason = "new servers cannot be shelved, for their flavor ends with the reservation: create_image and"
        raise MalformedParameter(param=f"{ON_END} ({reason} delete keep what is on them)")
    if Step.DELETE not in on_end:
        raise MalformedParameter(param=f"{ON_END} (needs delete for new servers)")


def _refuse(name: str, reason: str) -> str:
    raise MalformedParameter(param=f"{name} ({reason})")


def _texts(parameters: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = parameters[name]
    if not isinstance(values, list | tuple) or len(values) > MOST:
        raise MalformedParameter(param=f"{name} (must be a list)")
    return tuple(printable_text({name: value}, name, LONGEST_TEXT) for value in values)


def _networks(value: object) -> str | tuple[str, ...]:
    if value in (ANY_NETWORK, WITHOUT_NETWORK):
        return str(value)
    ids = (
        [uuid_or_none(each) for each in value]
        if isinstance(value, list | tuple) and len(value) <= MOST
        else []
    )
    if not ids or None in ids:
        reason = f"must be a list of ids of networks, or {ANY_NETWORK}, or {WITHOUT_NETWORK}"
        raise MalformedParameter(param=f"{NETWORKS} ({reason})")
    return tuple(str(each) for each in ids)


def _user_data(value: object) -> str:
    """Check without ever repeating what was sent."""
    try:
        if isinstance(value, str) and len(value) <= LONGEST_USER_DATA:
            base64.b64decode(value, validate=True)
            return value
    except (binascii.Error, ValueError):
        pass
    return _refuse(USER_DATA, f"must be base64 of at most {LONGEST_USER_DATA} characters")


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
