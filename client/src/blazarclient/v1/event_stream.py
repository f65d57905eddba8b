"""Server-sent events: reading them, and coming back for more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from keystoneauth1 import exceptions as ksa_exceptions

from blazarclient.exception import BlazarClientException

PAUSE = 5.0
"""Seconds before a client comes back, unless the service says."""
LONGEST_PAUSE = 60.0
NOT_AVAILABLE = 500
"""Statuses from here on are of a service that may be back later."""
Open = Callable[[str | None], requests.Response]


@dataclass(frozen=True)
class StreamEvent:
    """An event of a stream. `data` is what a receiver of the subscription would be sent."""

    id: str
    event: str
    data: Mapping[str, Any]


@dataclass
class EventReader:
    """Reads the lines of streams, as the HTML standard defines them, and keeps where they stopped."""

    last_id: str | None = None
    pause: float = PAUSE
    """Seconds before the client comes back."""
    _fields: dict[str, str] = field(default_factory=dict)

    def events(self, lines: Iterable[bytes]) -> Iterator[StreamEvent]:
        """Yield the events of one answer. One that is cut off is left out."""
        self._fields = {}
        for line in lines:
            name, _, value = line.decode().partition(":")
            if line:
                self._take(name, value.removeprefix(" "))
            elif "data" in self._fields:
                yield self._event()
                self._fields = {}

    def _take(self, name: str, value: str) -> None:
        if name == "retry" and value.isdecimal():
            self.pause = int(value) / 1000
        elif name == "data" and "data" in self._fields:
            self._fields["data"] += "\n" + value
        else:
            self._fields[name] = value

    def _event(self) -> StreamEvent:
        self.last_id = self._fields.get("id", self.last_id)
        event, data = self._fields.get("event", "message"), json.loads(self._fields["data"])
        return StreamEvent(self.last_id or "", event, data)


def follow(open_stream: Open, sleep: Callable[[float], None], last_id: str | None) -> Iterator[StreamEvent]:
    """Yield the events of a stream for ever. `open_stream` asks for those after an id.

    A service that is away is asked again, once it has answered. Raises what it refuses."""
    reader = EventReader(last_id)
    failures, has_answered = 0, False
    while True:
        try:
            with open_stream(reader.last_id) as response:
                has_answered, failures = True, 0
                yield from reader.events(response.iter_lines())
        except (BlazarClientException, requests.RequestException, ksa_exceptions.ClientException) as error:
            if not has_answered or not _may_pass(error):
                raise
            failures += 1
        sleep(min(max(reader.pause, failures and PAUSE) * 2 ** max(failures - 1, 0), LONGEST_PAUSE))


def _may_pass(error: Exception) -> bool:
    """Return whether the service may be back later."""
    if isinstance(error, BlazarClientException):
        return int(error.kwargs.get("code") or 0) >= NOT_AVAILABLE
    return isinstance(error, requests.RequestException | ksa_exceptions.ConnectFailure)
