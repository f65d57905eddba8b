"""The texts of mails, made of templates that an operator may replace.

A template is a text whose first line is the subject. ``$name`` stands for a value; a line is left out where
all values in it are empty. The templates are plain text, so a value can be no markup, and a value has no
line of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import Template
from typing import Any

from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import MailBatch, MailItem

SUBJECT = "Subject: "
DETAILS, FOOTER, DIGEST = "details", "footer", "digest"
TEMPLATES = (*(each.value for each in LeaseEvent), DETAILS, FOOTER, DIGEST)
"""The names of all templates."""
OF_LEASE = frozenset(
    {"name", "id", "project", "resources", "start", "end", "claim_by", "status", "reason", "link", "at"}
)
"""What is known of an event of a lease."""
VALUES: Mapping[str, frozenset[str]] = {
    **{each.value: OF_LEASE | {DETAILS, FOOTER} for each in LeaseEvent},
    DETAILS: OF_LEASE,
    FOOTER: frozenset({"dashboard", "choice"}),
    DIGEST: frozenset({"number", "entries", "left_out", FOOTER}),
}
"""The values of each template."""
LONGEST_VALUE = 500
MOMENT = "%Y-%m-%d %H:%M UTC"


@dataclass(frozen=True, slots=True)
class MailText:
    """The subject and the body of a mail."""

    subject: str
    body: str


class MailTexts:
    """Writes mails from templates, whose texts are given by name."""

    def __init__(self, templates: Mapping[str, str], dashboard: str = "", choice: str = "") -> None:
        """``dashboard`` is the address of the calendar page, ``choice`` the one where users read how to
        choose what they are told. Raises ValueError where a template has a value that is not known, or no
        subject."""
        self._templates = {name: _checked(name, templates[name]) for name in TEMPLATES}
        self._dashboard = dashboard.rstrip("/")
        self._choice = choice

    def write(self, batch: MailBatch) -> MailText:
        """Return the mail that tells all of a batch."""
        footer = _filled(self._templates[FOOTER], {"dashboard": self._dashboard, "choice": self._choice})
        if len(batch.items) == 1 and not batch.left_out:
            return self._of_one(batch.items[0], footer)
        values = {
            "number": str(len(batch.items) + batch.left_out),
            "entries": "\n".join(self._entry(each) for each in batch.items),
            "left_out": str(batch.left_out or ""),
            FOOTER: footer,
        }
        return _text(self._templates[DIGEST], values)

    def _of_one(self, item: MailItem, footer: str) -> MailText:
        values = self._values(item)
        details = _filled(self._templates[DETAILS], values)
        return _text(self._templates[item.event.value], {**values, DETAILS: details, FOOTER: footer})

    def _entry(self, item: MailItem) -> str:
        """Return an event as an entry of a list: its moment, its subject, and where more can be read."""
        values = self._values(item)
        text = _text(self._templates[item.event.value], {**values, DETAILS: "", FOOTER: ""})
        link = f"\n  {values['link']}" if values["link"] else ""
        return f"* {values['at']}: {text.subject}{link}"

    def _values(self, item: MailItem) -> dict[str, str]:
        lease = item.document
        id_ = _plain(lease.get("lease_id"))
        return {
            "name": _plain(lease.get("name")),
            "id": id_,
            "project": _plain(lease.get("project_id")),
            "resources": _plain(", ".join(lease.get("resource_types", ()))),
            "start": _moment(lease.get("start_date")),
            "end": _moment(lease.get("end_date")),
            "claim_by": _moment(lease.get("claim_by_date")),
            "status": _plain(lease.get("status")),
            "reason": _plain(lease.get("status_reason")),
            "link": f"{self._dashboard}/#/leases/{id_}" if self._dashboard else "",
            "at": item.created_at.strftime(MOMENT),
        }


def _checked(name: str, text: str) -> str:
    """Return the text of a template. Raises ValueError where it cannot be filled."""
    template = Template(text)
    unknown = sorted(set(template.get_identifiers()) - VALUES[name])
    if unknown:
        known = ", ".join(sorted(VALUES[name]))
        raise ValueError(f"The template {name} has ${unknown[0]}, and may have {known}")
    if not template.is_valid():
        raise ValueError(f"The template {name} has a $ that begins no value; write $$ for the sign itself")
    if name not in (DETAILS, FOOTER) and not text.startswith(SUBJECT):
        raise ValueError(f"The template {name} must begin with the line {SUBJECT}...")
    return text


def _text(template: str, values: Mapping[str, str]) -> MailText:
    first, _, rest = template.partition("\n")
    subject = Template(first.removeprefix(SUBJECT)).substitute(values)
    body = re.sub(r"\n{3,}", "\n\n", _filled(rest, values))
    return MailText(_plain(subject), body.strip() + "\n")


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return the text with its values, without the lines whose values are all empty."""
    lines = [Template(each) for each in template.splitlines()]
    kept = [each for each in lines if _has_something(each.get_identifiers(), values)]
    return "\n".join(each.substitute(values) for each in kept)


def _has_something(names: Sequence[str], values: Mapping[str, str]) -> bool:
    return not names or any(values[each] for each in names)


def _plain(value: Any) -> str:
    """Return a text of users on one line, without what is not seen: no line of a header, and none of the
    body, can be made with it."""
    text = "" if value is None else str(value)
    seen = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(seen.split())[:LONGEST_VALUE]


def _moment(text: Any) -> str:
    """Return a moment of a notification in words."""
    return "" if text is None else datetime.fromisoformat(str(text)).strftime(MOMENT)
