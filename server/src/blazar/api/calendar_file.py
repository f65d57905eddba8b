"""The calendar file of a feed, RFC 5545, which calendar programs read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from icalendar import Calendar, Event, Timezone, TimezoneStandard, vDuration

from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.domain.lease.start_task import StartTaskType
from blazar.service.feeds import FeedContent, FeedEntry

MEDIA_TYPE = "text/calendar; charset=utf-8"
REFRESH = timedelta(minutes=15)
"""How often programs are asked to look. Few obey: Google looks when it likes."""
TENTATIVE = frozenset({LeaseStatus.WAITING, LeaseStatus.CREATING})
SENTENCES: Mapping[LeaseStatus, str] = {
    LeaseStatus.WAITING: "It does not fit yet, and waits in line.",
    LeaseStatus.ERROR: "It has failed.",
}
"""What is told of a status besides its name."""

SHARED: Mapping[ShareRight, str] = {
    ShareRight.READ: "It is another project's, and shared with this one to be read only.",
    ShareRight.USE: "It is another project's, and shared with this one to put servers onto it.",
    ShareRight.USE_AND_CHANGE: "It is another project's, and shared with this one to put servers onto it, "
    "and to change its name and dates.",
    ShareRight.TAKE_OVER: "It is another project's, and offered to this one to take it over.",
    ShareRight.CHANGE: "It is another project's, and shared with this one to change its name and dates.",
}
"""What is told of a lease that another project shares."""

STARTS: Mapping[StartTaskType, str] = {
    StartTaskType.STACK: "A stack of Heat is started with it.",
    StartTaskType.WEBHOOK: "A webhook is told of its start and its end.",
}
"""What is told of what is started with a lease."""


def calendar_file(content: FeedContent, entries: Sequence[FeedEntry], url: str | None) -> bytes:
    """Return the file. ``url`` is where a person sees the leases; None for nowhere.

    It depends on nothing but its arguments and the version of the service."""
    calendar = Calendar()
    calendar.add("prodid", f"-//OpenStack//Blazar {version('blazar')}//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    for name in ("name", "x-wr-calname"):
        calendar.add(name, _printable(content.name))
    calendar.add("refresh-interval", vDuration(REFRESH), parameters={"VALUE": "DURATION"})
    calendar.add("x-published-ttl", f"PT{REFRESH // timedelta(minutes=1)}M")
    for entry in entries:
        calendar.add_component(_event(entry, url))
    if not entries:
        calendar.add_component(_utc())
    return bytes(calendar.to_ical())


def _utc() -> Timezone:
    """Return what stands in a calendar without events, for RFC 5545 asks for one component at least."""
    zone, standard = Timezone(), TimezoneStandard()
    zone.add("tzid", "UTC")
    standard.add("dtstart", datetime(1970, 1, 1))  # noqa: DTZ001 - a local time, as the RFC asks for
    for offset in ("tzoffsetfrom", "tzoffsetto"):
        standard.add(offset, timedelta(0))
    zone.add_component(standard)
    return zone


def _event(entry: FeedEntry, url: str | None) -> Event:
    """Return the event of a lease. It makes no person busy, and warns of nothing: a calendar program does so
    where its user wants it."""
    changed = entry.changed_at.astimezone(UTC)
    event = Event()
    event.add("uid", entry.lease_id)
    event.add("dtstamp", changed)
    event.add("last-modified", changed)
    event.add("sequence", entry.revision)
    event.add("dtstart", entry.interval.start.astimezone(UTC))
    event.add("dtend", entry.interval.end.astimezone(UTC))
    event.add("summary", _printable(entry.name if entry.right is None else f"{entry.name} (shared)"))
    event.add("description", "\n".join(_printable(line) for line in _description(entry)))
    event.add("status", _status(entry))
    event.add("transp", "TRANSPARENT")
    if url is not None:
        event.add("url", url)
    return event


def _status(entry: FeedEntry) -> str:
    if entry.is_cancelled:
        return "CANCELLED"
    return "TENTATIVE" if entry.status in TENTATIVE else "CONFIRMED"


def _description(entry: FeedEntry) -> Iterator[str]:
    if entry.status is LeaseStatus.DELETING:
        yield "The lease is deleted."
        return
    yield f"Status: {entry.status}. {SENTENCES.get(entry.status, '')}".strip()
    if entry.reason:
        yield entry.reason
    if entry.right is not None:
        yield SHARED[entry.right]
    yield from (f"Reserved: {each}" for each in entry.reserved)
    if entry.starts is not None and entry.starts in STARTS:
        yield STARTS[entry.starts]
    yield f"openstack reservation lease show {entry.lease_id}"


def _printable(text: str) -> str:
    """Return the text without control characters, which a calendar file must not have."""
    return "".join(char if char.isprintable() else " " for char in text)
