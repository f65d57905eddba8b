"""The time in which a lease has to be used, as requests have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MICROVERSION = "1.9"
"""The version of the API that brought it."""
CLAIM_BY = "claim_by"
DEFAULT = "default"
"""The word for what the operator has set, which is null on the wire."""


def with_claim_by(body: dict[str, Any], claim_by: int | str | None) -> dict[str, Any]:
    """Return the body with `claim_by`, in minutes after the start, if it is given: 0 for never, ``default``
    for what the operator has set."""
    if claim_by is None:
        return body
    return {**body, CLAIM_BY: None if claim_by == DEFAULT else claim_by}


def version_of(body: Mapping[str, Any]) -> str | None:
    """Return the version of the API that the body needs; None where any does."""
    return MICROVERSION if CLAIM_BY in body else None
