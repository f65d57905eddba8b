"""The keys of a reservation, and the parsers of their values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from blazarclient.parsing.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Field:
    """One key of a reservation.

    A create request always contains a field with `sends_default`; it contains another one only if the user
    gives it. `since` is the version of the API that brought the field, where that is a later one.
    Subclasses define the type of the value.
    """

    name: str
    help: str
    required: bool = False
    default: Any = None
    sends_default: bool = False
    since: str | None = None

    def parse(self, value: Any) -> Any:
        """Return the value of a request for a typed value or a value of a file. Raises InvalidInput."""
        raise NotImplementedError

    def encode(self, value: Any) -> Any:
        """Return the value of a request for a value that a program gives."""
        return value


@dataclass(frozen=True, kw_only=True)
class CountField(Field):
    """A whole number."""

    minimum: int = 0

    def parse(self, value: Any) -> int:
        try:
            if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
                raise ValueError
            number = int(value)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{self.name}={value!s} is not a whole number") from error
        if number < self.minimum:
            raise InvalidInput(f"{self.name}={number} is too small: at least {self.minimum}")
        return number


@dataclass(frozen=True, kw_only=True)
class TextField(Field):
    """A text that is not empty."""

    def parse(self, value: Any) -> str:
        if str(value) == "":
            raise InvalidInput(f"{self.name} is empty")
        return str(value)


@dataclass(frozen=True, kw_only=True)
class ChoiceField(Field):
    """One of several texts, in any case."""

    choices: tuple[str, ...]

    def parse(self, value: Any) -> str:
        text = "None" if value is None and "None" in self.choices else str(value)
        if text.lower() not in {choice.lower() for choice in self.choices}:
            options = ", ".join(choice or "nothing" for choice in self.choices)
            raise InvalidInput(f"{self.name}={text} is not possible: one of {options}")
        return text


@dataclass(frozen=True, kw_only=True)
class ListField(Field):
    """Words with plus signs between them, or a list of a file."""

    def parse(self, value: Any) -> Any:
        words = value if isinstance(value, list) else str(value).split("+")
        return [str(word).strip() for word in words]


@dataclass(frozen=True, kw_only=True)
class StepsField(ListField):
    """Steps with plus signs between them, or a list of a file."""

    steps: tuple[str, ...]

    def parse(self, value: Any) -> Any:
        steps = super().parse(value)
        for step in steps:
            if step not in self.steps:
                options = ", ".join(self.steps)
                raise InvalidInput(f"{self.name}={step} is not possible: {options}, with + between")
        return steps


@dataclass(frozen=True, kw_only=True)
class BooleanField(Field):
    """True or False, in any case."""

    def parse(self, value: Any) -> bool:
        text = str(value).lower()
        if text not in ("true", "false"):
            raise InvalidInput(f"{self.name}={value!s} is not possible: one of True, False")
        return text == "true"


@dataclass(frozen=True, kw_only=True)
class RequirementField(Field):
    """A requirement in JSON, for example ``["==", "$gpu", "True"]``."""

    def parse(self, value: Any) -> str:
        """Return JSON text. Typed text stays unchanged, because the service returns it unchanged."""
        if not isinstance(value, str):
            return "" if value is None else json.dumps(value)
        if value == "":
            return value
        try:
            parsed = json.loads(value)
        except ValueError as error:
            raise InvalidInput(
                f'{self.name} is not JSON: {error}. Write like ["==", "$gpu", "True"] '
                f"and put single quotes around the whole argument; it came as {value}"
            ) from error
        if not isinstance(parsed, list):
            raise InvalidInput(f'{self.name} is to be a JSON list like ["==", "$gpu", "True"], not {value}')
        return value

    def encode(self, value: Any) -> Any:
        return json.dumps(value) if isinstance(value, list) else value
