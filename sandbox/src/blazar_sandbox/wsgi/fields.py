"""Are the fields of a JSON body of the types that the API demands?"""

from typing import Any

from blazar_sandbox.errors import bad_request
from blazar_sandbox.wsgi.message import Json


def section(body: Json, name: str) -> Json:
    """Give the object under ``name``; it must be there."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise bad_request(f"Invalid input for field/attribute {name}: an object is required.")
    return value


def text(body: Json, name: str, *, longest: int = 255) -> str:
    """Give a text that must be there and not be empty."""
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. A text is required.")
    if len(value) > longest:
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is too long.")
    return value


def text_or_none(body: Json, name: str) -> str | None:
    """Give a text that may be missing or null."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is not a text.")
    return value


def number(body: Json, name: str, *, default: int | None = None, least: int = 0, most: int = 2**31 - 1) -> int:
    """Give a whole number, also one written as text."""
    value = body.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise bad_request(
            f"Invalid input for field/attribute {name}. Value: {value}. "
            f"A whole number from {least} to {most} is required."
        )
    return value


def flag(body: Json, name: str, *, default: bool = False) -> bool:
    """Give a truth value, also one written as text."""
    value = body.get(name, default)
    return truth(value, name)


def truth(value: Any, name: str) -> bool:
    """Read a truth value from JSON or from a query."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in ("1", "t", "true", "on", "y", "yes"):
        return True
    if word in ("0", "f", "false", "off", "n", "no"):
        return False
    raise bad_request(f"Invalid input for field/attribute {name}. Value: {value}. It is not a boolean.")


def texts(body: Json, name: str) -> list[str]:
    """Give a list of texts, empty when missing."""
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise bad_request(f"Invalid input for field/attribute {name}. A list of texts is required.")
    return value


def mapping(body: Json, name: str) -> dict[str, str]:
    """Give an object of texts, empty when missing; numbers in it become texts."""
    value = body.get(name) or {}
    if not isinstance(value, dict):
        raise bad_request(f"Invalid input for field/attribute {name}. An object is required.")
    for key, item in value.items():
        if not isinstance(item, str | int | float):
            raise bad_request(f"Invalid input for field/attribute {key}. Value: {item}. It is not a text.")
    return {key: str(item) for key, item in value.items()}
