"""The kind ``instance:server``: capacity for a server that exists, or for new ones."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind
from blazarclient.kinds.compute_fields import requirement
from blazarclient.kinds.fields import BooleanField, CountField, Field, ListField, StepsField, TextField
from blazarclient.parsing.errors import InvalidInput

if TYPE_CHECKING:
    from openstack.connection import Connection

_NOT_FOUND = re.compile(r"(Server|Image|Network|Flavor) .* could not be found")
STEPS = ("create_image", "suspend", "shelve", "stop", "delete")
NETWORK_WORDS = ("auto", "none")
NEW = "1.20"
"""The version of the API that brought new servers."""


@dataclass(frozen=True, kw_only=True)
class NetworksField(ListField):
    """Networks with plus signs between them, or one word for what Nova does by itself."""

    def parse(self, value: Any) -> Any:
        return value if value in NETWORK_WORDS else super().parse(value)


@dataclass(frozen=True, kw_only=True)
class UserDataField(Field):
    """The path of a file, whose contents are sent."""

    def parse(self, value: Any) -> str:
        try:
            return base64.b64encode(Path(str(value)).expanduser().read_bytes()).decode()
        except OSError as failure:
            raise InvalidInput(f"{self.name}: {value!s} cannot be read: {failure.strerror}") from failure


class ServerKind(Kind):
    """A server that exists, or new ones."""

    resource_type = "instance:server"
    help = "capacity for a server that exists, or for new ones"
    position = 35
    fields = (
        TextField(name="server_id", help="id or name of a server that exists"),
        StepsField(
            name="on_end", help="what is done with it at the end, like create_image+delete", steps=STEPS
        ),
        BooleanField(name="locked", help="True: it is locked until the end against changes and deletion"),
        requirement("resource_properties"),
        TextField(name="server_name", help="name of the new server", since=NEW),
        TextField(name="image_id", help="id or name of its image", since=NEW),
        TextField(name="flavor_id", help="id or name of its flavor", since=NEW),
        CountField(name="amount", help="how many new servers", minimum=1, since=NEW),
        NetworksField(name="networks", help="ids or names with + between, or auto, or none", since=NEW),
        TextField(name="key_name", help="your key pair", since=NEW),
        UserDataField(name="user_data", help="file with what it runs at its first boot", since=NEW),
        ListField(name="security_groups", help="names with + between", since=NEW),
    )
    answer_keys = ("servers", "has_user_data", "vcpus", "memory_mb", "disk_gb", "aggregate_id")

    def check(self, reservation: Mapping[str, Any]) -> None:
        new = ("server_name", "image_id", "flavor_id")
        given = [name for name in new if name in reservation]
        missing = [name for name in new if name not in reservation]
        if "server_id" in reservation and given:
            raise InvalidInput(f"server_id is of a server that exists: leave it out, or {', '.join(given)}")
        if "server_id" not in reservation and missing:
            other = "" if given else "server_id, or "
            raise InvalidInput(f"a {self.resource_type} reservation needs also {other}{', '.join(missing)}")

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        told = str(error)
        named = [(name, str(reservation.get(name))) for name in ("server_id", "image_id", "flavor_id")]
        is_refused = "networks (must be" in told or _NOT_FOUND.search(told)
        refused = (text for name, text in named if f"{name} (must be the id" in told or is_refused)
        return next((text for text in refused if text != "None"), None)

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        compute = cloud.compute
        finders = {
            "server_id": compute.find_server,
            "image_id": cloud.image.find_image,
            "flavor_id": compute.find_flavor,
        }
        found = dict(reservation)
        for name, find in finders.items():
            if name in found and (resource := find(found[name], ignore_missing=True)):
                found[name] = resource.id
        if isinstance(found.get("networks"), list):
            known = [cloud.network.find_network(name, ignore_missing=True) for name in found["networks"]]
            pairs = zip(known, found["networks"], strict=True)
            found["networks"] = [network.id if network else name for network, name in pairs]
        return found

    def advice(self, error: Exception, names: CommandNames) -> str:
        if not isinstance(error, exception.BlazarClientException):
            return ""
        refused = _NOT_FOUND.search(str(error))
        return f"See what there is with `openstack {refused[1].lower()} list`." if refused else ""
