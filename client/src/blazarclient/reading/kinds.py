"""Which keys has a reservation of each kind, and what may their values be?

One schema per kind; the parser, the help texts, the lease file and the documentation all read these tables.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from blazarclient.reading.errors import NotUnderstood, nearest, unknown


class ValueType(StrEnum):
    """What a value is; each has one reader below."""

    COUNT = "whole number"
    TEXT = "text"
    REQUIREMENT = "JSON requirement"
    CHOICE = "choice"
    ADDRESSES = "list of IP addresses"


@dataclass(frozen=True)
class Field:
    """One key of a reservation. `default` is sent when the key is left out; without `sends_default` nothing is."""

    name: str
    type: ValueType
    help: str
    required: bool = False
    default: Any = None
    sends_default: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0


@dataclass(frozen=True)
class Kind:
    """One resource kind: the word on the wire, and its keys."""

    resource_type: str
    help: str
    fields: tuple[Field, ...] = field(default=())

    def named(self, name: str) -> Field | None:
        return next((item for item in self.fields if item.name == name), None)


def _properties(name: str) -> Field:
    return Field(
        name,
        ValueType.REQUIREMENT,
        'only hosts for which this holds, like ["==", "$gpu", "True"]',
        default="",
        sends_default=True,
    )


_AFFINITY = Field(
    "affinity",
    ValueType.CHOICE,
    "True: all on one host, False: all on different hosts, None: no matter",
    default="None",
    sends_default=True,
    choices=("True", "False", "None"),
)
_BEFORE_END = Field(
    "before_end",
    ValueType.CHOICE,
    "what happens to servers before the end",
    choices=("default", "snapshot", ""),
)
_AMOUNT = Field("amount", ValueType.COUNT, "how many instances", required=True, minimum=1)

KINDS: tuple[Kind, ...] = (
    Kind(
        "physical:host",
        "whole hosts",
        (
            Field("min", ValueType.COUNT, "at least so many hosts", required=True, minimum=1),
            Field("max", ValueType.COUNT, "at most so many hosts", required=True, minimum=1),
            _properties("hypervisor_properties"),
            _properties("resource_properties"),
            _BEFORE_END,
        ),
    ),
    Kind(
        "virtual:instance",
        "room for instances of a size",
        (
            Field("vcpus", ValueType.COUNT, "virtual CPUs of each instance", required=True),
            Field("memory_mb", ValueType.COUNT, "memory of each instance, MiB", required=True),
            Field("disk_gb", ValueType.COUNT, "disk of each instance, GiB", required=True),
            _AMOUNT,
            _AFFINITY,
            _properties("resource_properties"),
            _BEFORE_END,
        ),
    ),
    Kind(
        "flavor:instance",
        "room for instances of a flavor",
        (
            Field("flavor_id", ValueType.TEXT, "id of the flavor", required=True),
            _AMOUNT,
            _AFFINITY,
            Field("resource_properties", ValueType.REQUIREMENT, "as for virtual:instance"),
            _BEFORE_END,
        ),
    ),
    Kind(
        "virtual:floatingip",
        "floating IP addresses",
        (
            Field("network_id", ValueType.TEXT, "id of the external network", required=True),
            Field("amount", ValueType.COUNT, "how many addresses", default=1, sends_default=True, minimum=1),
            Field(
                "required_floatingips",
                ValueType.ADDRESSES,
                'these must be among them: ["172.24.4.10"]',
                default=[],
                sends_default=True,
            ),
        ),
    ),
)
_BY_TYPE = {kind.resource_type: kind for kind in KINDS}


def read_reservation(given: Mapping[str, Any]) -> dict[str, Any]:
    """A reservation for a create request. Raises NotUnderstood.

    A kind that is like none of ours is taken for one of a newer service: its keys are sent as given.
    """
    resource_type = given.get("resource_type")
    if not isinstance(resource_type, str) or not resource_type:
        raise NotUnderstood(f"resource_type is missing: one of {', '.join(_BY_TYPE)}")
    kind = _BY_TYPE.get(resource_type)
    if kind is None:
        halves = {half for known in _BY_TYPE for half in known.split(":")}
        if nearest(resource_type, _BY_TYPE) or nearest(resource_type, halves):
            raise unknown("resource_type", resource_type, _BY_TYPE)
        return {key: _count_if_possible(value) for key, value in given.items()}
    body: dict[str, Any] = {"resource_type": resource_type}
    for key, value in given.items():
        if key != "resource_type":
            body[key] = read_value(_known(kind, key), value)
    missing = [item.name for item in kind.fields if item.required and item.name not in body]
    if missing:
        raise NotUnderstood(f"a {resource_type} reservation needs also {', '.join(missing)}")
    body = completed(body)
    if kind.resource_type == "physical:host" and body["max"] < body["min"]:
        raise NotUnderstood(f"max={body['max']} is less than min={body['min']}")
    return body


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """A reservation of a program's, with what the service insists on, and with requirements that are lists as JSON."""
    kind = _BY_TYPE.get(str(given.get("resource_type")))
    fields = kind.fields if kind else ()
    body = dict(given)
    for item in fields:
        if item.sends_default:
            body.setdefault(item.name, item.default)
        if item.type is ValueType.REQUIREMENT and isinstance(body.get(item.name), list):
            body[item.name] = json.dumps(body[item.name])
    return body


def read_change(given: Mapping[str, Any]) -> dict[str, Any]:
    """A reservation for an update request: its id and the keys to change, of whichever kind. Raises NotUnderstood."""
    if not given.get("id"):
        raise NotUnderstood("id=RESERVATION_ID is missing: see the reservations in `lease show`")
    known = {item.name: item for kind in reversed(KINDS) for item in kind.fields}
    body: dict[str, Any] = {"id": str(given["id"])}
    for key, value in given.items():
        if key in ("id", "resource_type"):
            body[key] = value
        elif key in known:
            body[key] = read_value(known[key], value)
        else:
            raise unknown("key", key, ["id", *known])
    return body


def read_value(item: Field, value: Any) -> Any:
    """The value as the service wants it. Raises NotUnderstood."""
    match item.type:
        case ValueType.COUNT:
            return _count(item, value)
        case ValueType.TEXT:
            if str(value) == "":
                raise NotUnderstood(f"{item.name} is empty")
            return str(value)
        case ValueType.CHOICE:
            return _choice(item, value)
        case ValueType.REQUIREMENT:
            return _requirement(item, value)
        case ValueType.ADDRESSES:
            return _addresses(item, value)


def _known(kind: Kind, key: str) -> Field:
    found = kind.named(key)
    if found is None:
        names = [item.name for item in kind.fields]
        raise unknown("key", key, names, where=f" of {kind.resource_type}")
    return found


def _count(item: Field, value: Any) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError
        number = int(value)
    except (TypeError, ValueError) as error:
        raise NotUnderstood(f"{item.name}={value!s} is not a whole number") from error
    if number < item.minimum:
        raise NotUnderstood(f"{item.name}={number} is too small: at least {item.minimum}")
    return number


def _choice(item: Field, value: Any) -> str:
    text = "None" if value is None and "None" in item.choices else str(value)
    if text.lower() not in {choice.lower() for choice in item.choices}:
        options = ", ".join(choice or "nothing" for choice in item.choices)
        raise NotUnderstood(f"{item.name}={text} is not possible: one of {options}")
    return text


def _requirement(item: Field, value: Any) -> str:
    """JSON text, kept letter by letter when it was typed as text, since the service gives it back as it came."""
    if not isinstance(value, str):
        return "" if value is None else json.dumps(value)
    if value == "":
        return value
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise NotUnderstood(
            f'{item.name} is not JSON: {error}. Write like ["==", "$gpu", "True"] '
            f"and put single quotes around the whole argument; it came as {value}"
        ) from error
    if not isinstance(parsed, list):
        raise NotUnderstood(f'{item.name} is to be a JSON list like ["==", "$gpu", "True"], not {value}')
    return value


def _addresses(item: Field, value: Any) -> list[str]:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = json.loads(text) if text.startswith("[") else text.replace(",", " ").replace(";", " ").split()
        except ValueError:
            value = text.strip("[]").replace(",", " ").split()
    if not isinstance(value, list):
        raise NotUnderstood(f"{item.name} is to be a list of addresses")
    addresses = [str(address) for address in value]
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise NotUnderstood(f"{item.name}: {address} is not an IP address") from error
    return addresses


def _count_if_possible(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def help_text() -> str:
    """All kinds and their keys for `--help`: required ones bare, others in brackets."""
    lines = []
    for kind in KINDS:
        keys = [item.name if item.required else f"[{item.name}]" for item in kind.fields]
        lines.append(f"resource_type={kind.resource_type}: {', '.join(keys)}")
    return "; ".join(lines)
