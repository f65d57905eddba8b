"""Validation of the fields of a JSON body: each function returns one field or refuses the request "
"with 400."""

from typing import Any

from blazar_sandbox.errors import bad_request

Json = dict[str, Any]


def json_object(body: Json, name: str) -> Json:
    """Return a required object."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise bad_request(f"Invalid input for field/attribute {name}: an object is required.")
    return value


def string(body: Json, name: str, *, max_length: int = 255) -> str:
    """Return a required string that is not blank."""
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. A text is required.")
    if len(value) > max_length:
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is too long.")
    return value


def string_or_none(body: Json, name: str) -> str | None:
    """Return a string that may be missing or null."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is not a text.")
    return value


def integer(
    body: Json, name: str, *, default: int | None = None, minimum: int = 0, maximum: int = 2**31 - 1
) -> int:
    """Return an integer, which may also be written as a string."""
    value = body.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise bad_request(
            f"Invalid input for field/attribute {name}. Value: {value}. "
            f"A whole number from {minimum} to {maximum} is required."
        )
    return value


def boolean(body: Json, name: str, *, default: bool = False) -> bool:
    """Return a boolean, which may also be written as a string."""
    return parse_boolean(body.get(name, default), name)


def parse_boolean(value: Any, name: str) -> bool:
    """Parse a boolean of a JSON body or of a query parameter."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in ("1", "t", "true", "on", "y", "yes"):
        return True
    if word in ("0", "f", "false", "off", "n", "no"):
        return False
    raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is not a boolean.")


def string_list(body: Json, name: str) -> list[str]:
    """Return a list of strings, empty when missing."""
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise bad_request(f"Invalid input for field/attribute {name}. A list of texts is required.")
    return value


def string_map(body: Json, name: str) -> dict[str, str]:
    """Return an object of strings, empty when missing; numbers in it become strings."""
    value = body.get(name) or {}
    if not isinstance(value, dict):
        raise bad_request(f"Invalid input for field/attribute {name}. An object is required.")
    for key, item in value.items():
        if not isinstance(item, str | int | float):
            raise bad_request(f"Invalid input for field/attribute {key}. Value: {item}. It is not a text.")
    return {key: str(item) for key, item in value.items()}
