"""What a refusal tells beside its reasons, as text: what could be had instead, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient.wire_time import from_wire, to_wire

CUT_SHORT = "The search was cut short: there may be other or earlier ones."
MOST_SHOWN = 5
"""How many leases in the way are shown."""


def describe_explanation(details: Mapping[str, Any]) -> list[str]:
    """Return the lines; none where the service does not tell."""
    return [*_suggestions(details.get("suggestions") or {}), *_blocking(details.get("blocking") or {})]


def _suggestions(found: Mapping[str, Any]) -> list[str]:
    answers = found.get("answers") or ()
    head = ["What you could have instead (UTC):"] if answers else []
    cut_short = [CUT_SHORT] if found.get("cut_short") else []
    return [*head, *(f"  {_times(each)}  {each['description']}" for each in answers), *cut_short]


def _blocking(found: Mapping[str, Any]) -> list[str]:
    leases = found.get("leases") or ()
    head = ["What stands in the way (UTC):"] if leases else []
    lines = [f"  {_times(each)}  {_owner(each)}, {_resources(each)}" for each in leases[:MOST_SHOWN]]
    more = int(found.get("more") or 0) + len(leases[MOST_SHOWN:])
    return [*head, *lines, *([f"  and {more} more"] if more else [])]


def _times(each: Mapping[str, Any]) -> str:
    return f"{to_wire(from_wire(each['start_date']))} to {to_wire(from_wire(each['end_date']))}"


def _owner(each: Mapping[str, Any]) -> str:
    what = "offer" if each.get("is_offer") else "lease"
    if each.get("lease_id") is None:
        return f"{'an' if what == 'offer' else 'a'} {what} of another project"
    name = f" {each['name']}" if each.get("name") else ""
    return f"{what}{name} ({each['lease_id']})"


def _resources(each: Mapping[str, Any]) -> str:
    return f"{each['resources']} resource{'' if each['resources'] == 1 else 's'}"
