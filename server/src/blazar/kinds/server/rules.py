"""The operator's rules of default leases: which servers get one, how long it lasts, and what it ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from blazar.domain.errors import MalformedParameter
from blazar.kinds.server.schema import Step, parse_on_end
from blazar.service.ports import ChangedServer

GROUP = "default_leases"
CONDITIONS = ("project", "flavor", "image")
LENGTHS = ("days", "hours", "minutes")
WARNING, ON_END, EXEMPT = "warn_hours", "on_end", "exempt"
NOW = "now"
DATE = "%Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a default lease lasts, how long before its end it warns, and what is done at the end."""

    length: timedelta
    warning: timedelta
    on_end: Sequence[Step]


@dataclass(frozen=True, slots=True)
class LeaseRule:
    """The terms of the servers that meet all conditions; an empty one is met by all. Without terms these
    servers get no lease."""

    terms: LeaseTerms | None
    projects: frozenset[str] = frozenset()
    flavors: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()

    def applies_to(self, server: ChangedServer) -> bool:
        return (
            (not self.projects or server.project_id in self.projects)
            and (not self.flavors or server.flavor in self.flavors)
            and (not self.images or server.image_id in self.images)
        )


def parse_rules(own: Mapping[str, Any]) -> Sequence[LeaseRule]:
    """Return the rules of the options, in the order in which they are tried. The last one is for all servers,
    by the options themselves. Raises ValueError."""
    length = timedelta(**{each: own[f"reservation_length_{each}"] for each in LENGTHS})
    options = _terms("", length, timedelta(hours=own[WARNING]), own[ON_END])
    return [*(_rule(text, options) for text in own["rule"]), LeaseRule(options)]


def parse_start(text: str) -> datetime | None:
    """Return the moment before which no default lease starts; None for now. Raises ValueError."""
    if text.strip() == NOW:
        return None
    try:
        return datetime.strptime(text.strip(), DATE).replace(tzinfo=UTC)
    except ValueError:
        example = "YYYY-MM-DD HH:MM (UTC)"
        raise _error("", f"reservation_start_date must be {NOW} or {example}, and is {text!r}") from None


def _rule(text: str, options: LeaseTerms) -> LeaseRule:
    given: dict[str, str] = {}
    for item in filter(None, map(str.strip, text.split(";"))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if name not in (*CONDITIONS, *LENGTHS, WARNING, ON_END, EXEMPT):
            known = ", ".join((*CONDITIONS, *LENGTHS, WARNING, ON_END, EXEMPT))
            raise _error(text, f"{name!r} is not known: take any of {known}")
        if name in given or bool(value) is (name == EXEMPT) or bool(equals) is (name == EXEMPT):
            raise _error(
                text, f"{name} must stand there once, {'alone' if name == EXEMPT else 'with a value'}"
            )
        given[name] = value
    if EXEMPT in given and not set(given) <= {EXEMPT, *CONDITIONS}:
        raise _error(text, f"{EXEMPT} goes with {', '.join(CONDITIONS)} only")
    projects, flavors, images = (_names(given.get(each, "")) for each in CONDITIONS)
    terms = None if EXEMPT in given else _changed(text, options, given)
    return LeaseRule(terms, projects, flavors, images)


def _changed(text: str, options: LeaseTerms, given: Mapping[str, str]) -> LeaseTerms:
    """Return the terms of the options, but for what the rule says."""
    lengths = {each: _number(text, each, given[each]) for each in LENGTHS if each in given}
    length = timedelta(**lengths) if lengths else options.length
    warning = timedelta(hours=_number(text, WARNING, given[WARNING])) if WARNING in given else options.warning
    return _terms(text, length, warning, given.get(ON_END, options.on_end))


def _terms(text: str, length: timedelta, warning: timedelta, on_end: object) -> LeaseTerms:
    try:
        steps = parse_on_end(on_end)
    except MalformedParameter as refusal:
        raise _error(text, refusal.message) from refusal
    if not timedelta(0) < warning < length:
        raise _error(text, f"{WARNING} must be more than 0, and less than the lease lasts")
    return LeaseTerms(length, warning, steps)


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(","))))


def _number(text: str, name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 6):
        raise _error(text, f"{name} must be a number, and is {value!r}")
    return int(value)


def _error(text: str, reason: str) -> ValueError:
    return ValueError(f"[{GROUP}] rule {text!r}: {reason}" if text else f"[{GROUP}] {reason}")
