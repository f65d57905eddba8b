"""The base class of resource kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from blazarclient.kinds.fields import Field
from blazarclient.transport import Transport

if TYPE_CHECKING:
    from openstack.connection import Connection

UUID = re.compile(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
NUMBER = re.compile(r"^[0-9]+$")


@dataclass(frozen=True)
class RegisteredResource:
    """A resource that operators register with the service, for example a host.

    `noun` is its word in commands (`openstack reservation host list`). It is also the name of the attribute
    of the v1 client whose `list(sort_by=...)` returns the registered resources.

    Users name a resource by its id, which matches `id_pattern`, or by the value of `name_key`.

    `allocations_path` is the collection whose ``allocations`` the API lists, for example ``os-hosts``. A
    resource with such a path has rows and an option in `calendar show`, and is an argument of
    `allocation list` and `allocation show`.
    """

    noun: str
    name_key: str
    id_pattern: re.Pattern[str] = UUID
    allocations_path: str | None = None


@dataclass(frozen=True)
class SDKExtension:
    """The part of a kind in `blazarclient.sdk`.

    `methods` is a subclass of `openstack.proxy.Proxy`, whose methods `conn.reservation` gets. `resources` are
    classes that `blazarclient.sdk` exports.
    """

    methods: type[Any]
    resources: tuple[type[Any], ...] = ()


class CommandNames:
    """The names of commands, in the program and for the resource of the command that runs.

    `noun` is the noun of the resource, for example ``host``.
    """

    def __init__(self, command: str, noun: str) -> None:
        self._is_plugin = command.startswith("reservation")
        self.is_list = command.endswith("list")
        self.is_create = command.endswith("create")
        self.is_delete = command.endswith("delete")
        self.noun = noun

    def call(self, noun: str, verb: str) -> str:
        """Return the command: `openstack reservation host list` or `blazar host-list`."""
        words = f"{noun} {verb}"
        return (
            f"`openstack reservation {words}`" if self._is_plugin else f"`blazar {words.replace(' ', '-')}`"
        )


class Kind:
    """A resource kind. Subclasses override what the kind has; all but the first two have a default.

    `resource_type` is the kind's name on the wire, `help` a few words for the documentation. `fields` are the
    keys of a reservation in requests; `answer_keys` names further keys in answers. Kinds are listed by their
    `position`.

    A method imports the modules that it needs, so that loading a kind stays cheap.
    """

    resource_type: ClassVar[str]
    help: ClassVar[str]
    position: ClassVar[int] = 100
    fields: ClassVar[tuple[Field, ...]] = ()
    answer_keys: ClassVar[tuple[str, ...]] = ()
    resource: ClassVar[RegisteredResource | None] = None

    def field(self, name: str) -> Field | None:
        """Return the field of this name, or None."""
        return next((item for item in self.fields if item.name == name), None)

    def check(self, reservation: Mapping[str, Any]) -> None:
        """Raise InvalidInput when values of a reservation, which are valid alone, contradict each other."""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        """Return the attributes that the v1 client gets, for example ``{"host": Hosts(transport)}``."""
        return {}

    def sdk(self) -> SDKExtension | None:
        """Return the methods and resources that `blazarclient.sdk` gets."""
        return None

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        """Return the name in the reservation that the service has refused as an unknown id, or None."""
        return None

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reservation with the id of what it names; as it is if the cloud has nothing of the name.

        Raises openstacksdk's exceptions, DuplicateResource where several have the name.
        """
        return dict(reservation)

    def advice(self, error: Exception, names: CommandNames) -> str:
        """Return what a user can do about an error, or an empty text for the general advice."""
        return ""
