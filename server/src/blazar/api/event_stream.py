"""Server-sent events, as the HTML standard defines them: the messages of a stream as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from blazar.api.microversion import Version
from blazar.api.routing import Answer, EventStream, HeaderField, Request
from blazar.domain.errors import InvalidInput
from blazar.service.ports import message_name
from blazar.service.subscriptions import StreamPage

SINCE: Version = (1, 16)
MEDIA_TYPE = "text/event-stream"
MISSED = "missed"
"""The event that tells of others that are no longer kept."""
MESSAGES = 100
"""Messages that are told at once."""
RETRY = 5.0
"""Seconds after which a client comes back."""
RETRY_HELD = 1.0
"""The same, where its connection was kept open."""
HEARTBEAT = b":\n\n"
_NAME = re.compile(r"msg_(\d{1,18})", re.ASCII)
LAST_EVENT_ID = HeaderField(
    "Last-Event-ID",
    SINCE,
    "The `id` of the last event that the client has: those after it are told. Without it, all that are kept.",
    f"^{_NAME.pattern}$",
)
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""No proxy keeps the answer, or holds it back."""


def last_event(request: Request) -> int | None:
    """Return the id of the last message that the client has. Raises InvalidInput."""
    name = request.header(LAST_EVENT_ID)
    if not name:
        return None
    found = _NAME.fullmatch(name)
    if found is None:
        raise InvalidInput("Last-Event-ID is the id of an event, such as msg_4711.")
    return int(found[1])


def event_stream(page: StreamPage, is_full: bool, goes_on: bool) -> Answer:
    """Return the answer. Where it does not go on it ends with what there is, and the client comes back."""
    seconds = 0 if is_full else RETRY_HELD if goes_on else RETRY
    text = f": blazar\nretry: {seconds * 1000:.0f}\n\n{text_of(page)}"
    return Answer(200, EventStream(text.encode(), goes_on), HEADERS)


def text_of(page: StreamPage) -> str:
    """Return the events of a page."""
    told = [_event(message_name(each.id), each.event, each.body) for each in page.messages]
    if page.missed:
        body = {"event": MISSED, "subscription_id": page.subscription.id}
        told.insert(0, _event(message_name(page.missed), MISSED, body))
    return "".join(told)


def last_of(page: StreamPage, last: int) -> int:
    """Return the id of the last message that a client has had after the page, and ``last`` before it."""
    return page.messages[-1].id if page.messages else max(page.missed, last)


def _event(name: str, event: str, body: Mapping[str, Any]) -> str:
    return f"id: {name}\nevent: {event}\ndata: {json.dumps(body)}\n\n"
