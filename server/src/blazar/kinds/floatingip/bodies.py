"""The bodies of requests about floating IPs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from blazar.api.schemas.fields import Body, check_characters, sentence, without_defaults
from blazar.domain.errors import MissingParameter
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID

MAX_TEXT = 255


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise sentence(f"A network's id and an address are strings of at most {MAX_TEXT} characters.")
    check_characters("A network's id or an address", value)
    return value


def _required(description: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "description": description}
    )


def _all_required(schema: dict[str, Any]) -> None:
    """Describe the fields as they are: the defaults are there to name all that are missing at once."""
    schema["required"] = list(schema["properties"])
    without_defaults(schema)


class FloatingIPCreate(Body, json_schema_extra=_all_required):
    """A floating IP to register. Both fields are required."""

    floating_network_id: Annotated[
        str | None, BeforeValidator(_text), _required("The external network that the address belongs to.")
    ] = None
    floating_ip_address: Annotated[
        str | None,
        BeforeValidator(_text),
        _required("An IPv4 or IPv6 address in a subnet of the network, outside of its allocation pools."),
    ] = None

    def command(self) -> RegisterFloatingIP:
        """Return the command. Raises MissingParameter with all the names that were not sent."""
        if self.floating_network_id is None or self.floating_ip_address is None:
            missing = [name for name in (NETWORK_ID, ADDRESS) if getattr(self, name) is None]
            raise MissingParameter(param=",".join(missing))
        return RegisterFloatingIP(self.floating_network_id, self.floating_ip_address)
