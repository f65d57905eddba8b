"""What is started with a lease, as requests have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient.v1 import priority

MICROVERSION = "1.37"
"""The version of the API that brought it."""
ON_START = "on_start"


def stack(
    template: Mapping[str, Any] | None = None,
    *,
    template_url: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    timeout_minutes: int | None = None,
) -> dict[str, Any]:
    """Return a stack of Heat as `on_start` has it, from a template or its address."""
    given = {
        "template": template,
        "template_url": template_url,
        "parameters": parameters,
        "environment": environment,
        "timeout_minutes": timeout_minutes,
    }
    return {"type": "stack", **{name: value for name, value in given.items() if value is not None}}


def webhook(url: str) -> dict[str, Any]:
    """Return a webhook as `on_start` has it."""
    return {"type": "webhook", "url": url}


def with_on_start(body: dict[str, Any], on_start: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the body with what is started with the lease, if it is given."""
    return body if on_start is None else {**body, ON_START: dict(on_start)}


def version_of(body: Mapping[str, Any]) -> str | None:
    """Return the version of the API that the body needs; None where any does."""
    return MICROVERSION if ON_START in body else priority.version_of(body)
