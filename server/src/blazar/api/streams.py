"""Streams that stay open: the connections of clients that wait for events, and what they are told.

A server that can keep a connection open without a worker offers so in the WSGI environ. One thread looks for
what is new, once a second for all streams together, and hands it to the server. It lives as long as there
are streams."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from blazar.api.event_stream import HEARTBEAT, MESSAGES, last_of, text_of
from blazar.domain.errors import BlazarError
from blazar.service.interface import Service, SubscriptionsInterface
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.subscriptions import StreamPage

LOG = logging.getLogger(__name__)
HOLD = "blazar.hold"
"""The key of what keeps a connection open in the WSGI environ."""
TOKEN = "keystone.token_info"  # noqa: S105 - the key of what Keystone says of a token in the WSGI environ
STREAMS = 200
"""Streams of one process: half of the connections of the built-in server."""
STREAMS_OF_PROJECT = 40
INTERVAL = 1.0
"""Seconds between two looks."""
SILENCE = 15.0
"""Seconds after which a client is told that the stream is alive. Proxies close connections that are silent
for longer."""
LONGEST = 900.0
"""Seconds after which a client has to come back, so that its rights are looked at again."""
MARGIN = 3.0
"""Seconds that a stream is finished before the server cuts it off."""
BEGINS = 30.0
"""Seconds after which a stream has no place any more whose client has gone before the answer began."""


class Connection(Protocol):
    """A connection that stays open. The server closes it in the end by itself."""

    @property
    def is_open(self) -> bool: ...

    def tell(self, text: bytes) -> None:
        """Send some more of the answer, without waiting for it."""
        ...

    def finish(self) -> None:
        """End the answer."""
        ...


Hold = Callable[[Callable[[Connection], None], float], None]
"""Keep the connection open when the answer is sent, for so many seconds at the most, and pass it on then."""


@dataclass(eq=False)
class Stream:
    """A client that waits. Only the thread that looks changes it, but for its beginning."""

    subscription_id: str
    project_id: str | None
    last: int
    """The id of the last message that it was told."""
    ends: float
    told_at: float
    connection: Connection | None = None
    """None until the first part of the answer is sent."""

    def begin(self, connection: Connection) -> None:
        self.connection = connection

    def tell(self, text: bytes) -> None:
        if self.connection is not None:
            self.connection.tell(text)

    def finish(self) -> None:
        if self.connection is not None:
            self.connection.finish()

    def goes_on(self, now: float) -> bool:
        if self.connection is not None:
            return self.connection.is_open
        return now < self.told_at + BEGINS


class Streams:
    """The streams of one process. Used by several threads."""

    def __init__(
        self,
        service: Service,
        now: Callable[[], datetime],
        most: int = STREAMS,
        most_of_project: int = STREAMS_OF_PROJECT,
        monotonic: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._service = service
        self._now = now
        self._most = most
        self._most_of_project = most_of_project
        self._monotonic = monotonic
        self._interval = interval
        self._metrics = metrics
        self._lock = threading.Lock()
        self._streams: list[Stream] = []
        self._is_looking = False

    def hold(self, environ: Mapping[str, Any], page: StreamPage, last: int, project_id: str | None) -> bool:
        """Have the connection of this request stay open behind a page, which leaves the client at ``last``.
        Return false where the server cannot, there are enough of them, or the token has expired: the answer
        ends then."""
        hold: Hold | None = environ.get(HOLD)
        seconds = min(self._token_seconds(environ), LONGEST)
        if hold is None or seconds <= MARGIN:
            return False
        now = self._monotonic()
        stream = Stream(page.subscription.id, project_id, last, now + seconds - MARGIN, now)
        if not self._has_added(stream):
            return False
        hold(stream.begin, seconds)
        return True

    def _token_seconds(self, environ: Mapping[str, Any]) -> float:
        """Return the seconds until the token expires; 0 where that is not known."""
        expires = environ.get(TOKEN, {}).get("token", {}).get("expires_at")
        return (datetime.fromisoformat(expires) - self._now()).total_seconds() if expires else 0.0

    def _has_added(self, stream: Stream) -> bool:
        """Give the stream a place, and return whether there is one."""
        now = self._monotonic()
        with self._lock:
            there = [each for each in self._streams if each.goes_on(now)]
            of_project = sum(each.project_id == stream.project_id for each in there)
            if len(there) >= self._most or of_project >= self._most_of_project:
                return False
            self._streams = [*there, stream]
            self._metrics.streams_open(len(self._streams))
            is_looking, self._is_looking = self._is_looking, True
        if not is_looking:
            threading.Thread(target=self._run, name="streams", daemon=True).start()
        return True

    def _run(self) -> None:
        has_failed = False
        while (streams := self._those_that_go_on()) is not None:
            time.sleep(self._interval)
            try:
                if streams:
                    self._look(streams)
                has_failed = False
            except BlazarError as failure:
                if not has_failed:
                    LOG.warning("Streams cannot be told what is new: %s", failure)
                has_failed = True
            except Exception:  # the edge of a thread, whose clients come back
                LOG.exception("Streams stumbled")
                for each in streams:
                    each.finish()
            self._tell_alive(streams)

    def _those_that_go_on(self) -> Sequence[Stream] | None:
        """Finish the streams whose time is over, and return the others that have begun. Return None where
        there are none at all: the thread ends."""
        now = self._monotonic()
        with self._lock:
            for each in self._streams:
                if each.ends <= now:
                    each.finish()
            self._streams = [each for each in self._streams if each.goes_on(now)]
            self._is_looking = bool(self._streams)
            self._metrics.streams_open(len(self._streams))
            begun = [each for each in self._streams if each.connection is not None]
            return begun if self._is_looking else None

    def _look(self, streams: Sequence[Stream]) -> None:
        """Tell each stream what is new. Those of one subscription have mostly heard the same, and share a
        question. A subscription that is gone ends its streams."""
        use_cases: SubscriptionsInterface = self._service.noun("subscriptions")
        newest = use_cases.find_newest(sorted({each.subscription_id for each in streams}))
        pages: dict[tuple[str, int], StreamPage] = {}
        for each in streams:
            if each.subscription_id not in newest:
                each.finish()
            elif newest[each.subscription_id] > each.last:
                key = each.subscription_id, each.last
                if key not in pages:
                    # A client that has had nothing has missed nothing.
                    pages[key] = use_cases.read_messages(each.subscription_id, each.last or None, MESSAGES)
                each.tell(text_of(pages[key]).encode())
                each.last, each.told_at = last_of(pages[key], each.last), self._monotonic()

    def _tell_alive(self, streams: Sequence[Stream]) -> None:
        now = self._monotonic()
        for each in streams:
            if now - each.told_at >= SILENCE:
                each.tell(HEARTBEAT)
                each.told_at = now
