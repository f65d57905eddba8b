"""The built-in HTTP server: waitress, with time-outs and limits for each client.

One thread reads and writes all connections. A request reaches a worker thread when its last byte is there,
and the first thread sends the answer. So a connection that waits or is slow costs a file descriptor, and no
worker. The application may keep a connection open behind its answer: a stream of events, which any thread
adds to and which the first one sends."""

from __future__ import annotations

import json
import logging
import math
import resource
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.utilities import BadRequest

from blazar.api.body import MAX_BYTES
from blazar.api.errors import printable, shape_b
from blazar.api.streams import HOLD

LOG = logging.getLogger(__name__)

BACKLOG = 128
"""Connections that may wait to be accepted."""
MAX_HEADERS = 32 * 1024
"""Bytes of the request line and all headers together."""
MAX_FRAMING = 64 * 1024
"""Bytes that a chunked body may have beside its contents."""
MAX_CHUNK_LINE = 1024
"""Bytes of the line that begins a chunk, and of all trailers together."""

MAX_BEHIND = 1024 * 1024
"""Bytes of a stream that its client has not read, at the most, when there is more."""

DRAIN_SILENCE = 1.0
"""At the stop, a connection that was just opened has so many seconds to begin its request."""
TICK = 0.5
"""Seconds between two looks at all time-outs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for connections; times in seconds."""

    connections: int = 400
    """Above this number, the connection that has waited longest for its request is closed."""
    silence: float = 10.0
    """A new connection must begin its first request within this time."""
    idle: float = 60.0
    """A connection that has had an answer may be silent for this time."""
    headers: float = 10.0
    """All headers must arrive within this time from the first byte, however steadily they trickle."""
    body: float = 30.0
    """The body must arrive within this time after that."""
    answer: float = 60.0
    """The client must take an answer within this time."""
    linger: float = 2.0
    """The input of a refused client is read and dropped for this time, so that it can read the refusal."""


class Listener:
    """Serves a WSGI application on a bound port, in threads of its own.

    ``drain``: seconds that requests under way have at the stop."""

    def __init__(
        self,
        name: str,
        port: socket.socket,
        app: WSGIApplication,
        threads: int,
        drain: float = 5,
        limits: Limits = Limits(),
    ) -> None:
        self._name = name
        self._port = port
        self._app = app
        self._threads = threads
        self._drain = drain
        self._limits = limits
        self._stopping = threading.Event()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        self._server = Server(self._port.dup(), self._app, self._threads, self._limits)
        self._thread.start()

    def stop(self) -> None:
        """Stop: accept nothing more, finish what is under way, close the rest."""
        self._stopping.set()
        if self._server is not None:
            self._server.pull_trigger()
            self._thread.join(self._drain + DRAIN_SILENCE)

    def _serve(self) -> None:
        server = self._server
        assert server is not None  # noqa: S101 - start() has made it
        while not self._stopping.is_set():
            server.turn()
        server.accept_no_more()
        until = time.monotonic() + self._drain
        while server.is_busy() and time.monotonic() < until:
            server.turn()
        LOG.info("%s stops", self._name)
        server.end()


class Parser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """A request that arrives. Refuses input that another server might read as two requests."""

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began = time.monotonic()

    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        body = self.body_rcv
        if (
            isinstance(body, ChunkedReceiver)
            and max(len(body.control_line), len(body.trailer)) > MAX_CHUNK_LINE
        ):
            self.error = BadRequest("A line between the chunks is too long")
            self.completed = True
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Content-Length and Transfer-Encoding exclude each other")
        if "TRANSFER_ENCODING" in self.headers:  # waitress leaves it there where it does not look at it
            raise ParsingError("Transfer-Encoding needs HTTP/1.1")


class Task(WSGITask):  # type: ignore[misc]  # waitress has no types
    """A request that a worker answers."""

    begin: Callable[[Channel], None] | None = None
    """Takes the connection behind the answer, where it stays open."""
    seconds = 0.0

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        if self.request.command == "GET":
            environ[HOLD] = self._hold
        return environ

    def _hold(self, begin: Callable[[Channel], None], seconds: float) -> None:
        self.begin, self.seconds = begin, seconds

    def finish(self) -> None:
        """End the answer, unless it goes on: what has a length, or is a failure, does not."""
        goes_on = self.status == "200 OK" and self.content_length is None
        if self.begin is None or not goes_on or self.channel.server.is_draining:
            super().finish()
            return
        self.close_on_finish = False
        self.channel.hold(self.seconds, self.chunked_response)
        self.begin(self.channel)

    def service(self) -> None:
        try:
            super().service()
        finally:
            # Before the request leaves the channel: from then on the channel's deadline counts.
            self.channel.waiting_since = time.monotonic()

    def build_response_header(self) -> bytes:
        if self.channel.server.is_draining:
            self.set_close_on_finish()
        header: bytes = super().build_response_header()
        return header


class Refusal(ErrorTask):  # type: ignore[misc]  # waitress has no types
    """The answer to a request that is malformed or too large; the connection is closed."""

    def execute(self) -> None:
        error = self.request.error
        sentence = _SENTENCES.get(error.code) or f"The request is not valid HTTP: {error.body[:200]}."
        LOG.info(
            "A request from %s is refused with %s: %s",
            self.channel.addr[0],
            error.code,
            printable(sentence),
            extra={"action": "refuse", "status": str(error.code)},
        )
        body = json.dumps(shape_b(error.code, sentence)).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers.append(("Content-Type", "application/json"))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


_SENTENCES = {
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: f"The request's headers are larger than {MAX_HEADERS} bytes.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: f"The request body is larger than {MAX_BYTES} bytes.",
}


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection. All but ``service`` runs in the server's thread."""

    task_class = Task
    error_task_class = Refusal
    parser_class = Parser

    def __init__(self, server: Server, sock: socket.socket, addr: Any, adj: Adjustments, map: Any) -> None:
        self.waiting_since = time.monotonic()
        self.answers = 0
        self._limits = server.limits
        self._is_last = False
        self._lingers_until: float | None = None
        self._held_until: float | None = None
        self._is_chunked = False
        self._is_finished = False
        self._told: deque[bytes] = deque()
        super().__init__(server, sock, addr, adj, map=map)

    @property
    def is_working(self) -> bool:
        """Return whether a request of this connection is queued or being answered."""
        return bool(self.requests)

    def deadline(self) -> float:
        """Return the monotonic time at which the connection is closed unless the client goes on."""
        limits, request = self._limits, self.request
        if self._lingers_until is not None:
            return self._lingers_until
        if self.is_working:
            return math.inf
        if self.total_outbufs_len:
            return self.waiting_since + limits.answer
        if self._held_until is not None:
            return self._held_until
        silence = self.waiting_since + (limits.idle if self.answers else limits.silence)
        if request is None:
            return silence
        began: float = request.began
        headers = min(began, silence) + limits.headers
        return headers + limits.body if request.headers_finished else headers

    def is_busy(self, now: float) -> bool:
        """Return whether the server waits for this connection when it stops."""
        if self._lingers_until is not None or self._held_until is not None:
            return False
        if self.is_working or self.total_outbufs_len or self.request is not None:
            return True
        return not self.answers and now < self.waiting_since + DRAIN_SILENCE

    def hold(self, seconds: float, is_chunked: bool) -> None:
        """Stay open behind the answer. The client has sent its last request."""
        self._is_chunked = is_chunked
        self._held_until = time.monotonic() + seconds

    @property
    def is_open(self) -> bool:
        """Return whether anything that is told may still reach the client."""
        return bool(self.connected) and not self._is_finished

    @property
    def is_held(self) -> bool:
        return self._held_until is not None

    def tell(self, text: bytes) -> None:
        """Have the server's thread send some more of the answer. Called by any thread."""
        if self.is_open:
            self._told.append(text)
            self.server.pull_trigger()

    def finish(self) -> None:
        """End the answer behind what was told. Called by any thread."""
        self.tell(b"")
        self._is_finished = True

    def pass_on(self) -> None:
        """Send what was told since the last turn. A client that does not read what it was told is given
        up."""
        while self._told and not self.is_working and self.connected:
            text = self._told.popleft()
            if not self.total_outbufs_len:
                self.waiting_since = time.monotonic()
            if self.total_outbufs_len > MAX_BEHIND:
                self.handle_close()
                return
            frame = b"%X\r\n%b\r\n" % (len(text), text)  # without a text it is the last one
            self.write_soon(frame if self._is_chunked else text)
            if not text:
                self.close_when_flushed = True

    def service(self) -> None:
        super().service()
        self.answers += 1
        if self._is_last:
            self.close_when_flushed = True
            self.server.pull_trigger()

    def received(self, data: bytes) -> bool:
        """Take one request at a time.

        A second request in the same packet is dropped, and the connection is closed behind the first answer.
        Else the answers of many small requests would pile up in memory, or hold a worker."""
        is_taken: bool = super().received(data)
        with self.requests_lock:
            if len(self.requests) > 1:
                del self.requests[1:]
                self.request = None
                self._is_last = True
        return is_taken

    def readable(self) -> bool:
        if self._lingers_until is not None:
            return True
        return not self._is_last and super().readable()

    def writable(self) -> bool:
        return self._lingers_until is None and bool(super().writable())

    def handle_close(self) -> None:
        unfinished, self.request = self.request, None
        if unfinished is not None:
            unfinished.close()  # a large body waits in a file
        super().handle_close()

    def handle_read(self) -> None:
        if self._lingers_until is None and self._held_until is None:
            super().handle_read()
            return
        try:
            self.recv(MAX_FRAMING)  # closes at the end of the stream
        except OSError:
            self.handle_close()

    def handle_write(self) -> None:
        """Send the answer, and close the connection where it is the last one.

        A socket that is closed while it has unread input resets the connection, and the client may never see
        the answer. So only our half is closed at first, and further input is read and dropped."""
        is_closing = self.close_when_flushed
        self.close_when_flushed = False
        super().handle_write()
        if not is_closing or not self.connected:
            return
        if self.total_outbufs_len:
            self.close_when_flushed = True
            return
        self._lingers_until = time.monotonic() + self._limits.linger
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()


class Server(TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """The port, its connections and its workers."""

    channel_class = Channel
    active_channels: dict[int, Channel]

    def __init__(self, port: socket.socket, app: WSGIApplication, threads: int, limits: Limits) -> None:
        adj = Adjustments(
            sockets=[port],
            threads=threads,
            ident="blazar",
            backlog=BACKLOG,
            asyncore_use_poll=True,
            # HTTPProxyToWSGI decides which of them are believed, as the operator says.
            clear_untrusted_proxy_headers=False,
            connection_limit=2**31,  # ours closes the oldest instead of refusing the newest
            max_request_header_size=MAX_HEADERS,
            max_request_body_size=MAX_BYTES + MAX_FRAMING,
            inbuf_overflow=64 * 1024,  # larger bodies wait in a file
            outbuf_high_watermark=2
            ** 50,  # so do larger answers: no worker waits for a client that reads slowly
            log_socket_errors=False,
        )
        self.is_draining = False
        self.limits = limits
        # A connection needs up to three files: itself, a large body, a large answer.
        self._max_connections = min(limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)
        self._ending = threading.Lock()
        self._has_ended = False
        self._workers = ThreadedTaskDispatcher()
        self._workers.set_thread_count(threads)
        _quiet_log()
        super().__init__(
            app,
            {},
            _sock=port,
            dispatcher=self._workers,
            adj=adj,
            sockinfo=(port.family, port.type, port.proto, port.getsockname()),
            bind_socket=False,
        )

    def turn(self) -> None:
        """Serve all connections that are ready, and close those whose time is over."""
        try:
            wasyncore.poll2(TICK, self._map)
            for channel in self._channels:
                channel.pass_on()
            self._expire()
        except Exception:  # the process edge: without this thread the port would be open, and silent
            LOG.exception("The server of %s stumbled", self.effective_port)
            time.sleep(TICK)

    def maintenance(self, now: float) -> None:
        """Do nothing: time-outs are looked at after each turn."""

    def handle_accept(self) -> None:
        super().handle_accept()
        waiting = [channel for channel in self._channels if not channel.is_working]
        if len(self.active_channels) > self._max_connections and waiting:
            # Streams, which are fewer, last: strangers could end them all.
            min(waiting, key=lambda channel: (channel.is_held, channel.waiting_since)).handle_close()

    def accept_no_more(self) -> None:
        """Stop listening. The connections go on, and other processes may hold the port."""
        self.is_draining = True
        self.del_channel()
        self.accepting = False
        self.socket.close()

    def is_busy(self) -> bool:
        """Close idle connections. Return whether any other is left."""
        now = time.monotonic()
        for channel in self._channels:
            if not channel.is_busy(now):
                channel.handle_close()
        return bool(self.active_channels)

    def end(self) -> None:
        self._workers.shutdown(timeout=DRAIN_SILENCE)
        for channel in self._channels:
            channel.handle_close()
        with self._ending:
            self._has_ended = True
            wasyncore.close_all(self._map, ignore_all=True)  # with the trigger

    def pull_trigger(self) -> None:
        """Wake the server's thread, unless it has ended: its file descriptor may be another file by then."""
        with self._ending:
            if not self._has_ended:
                super().pull_trigger()

    def _expire(self) -> None:
        now = time.monotonic()
        for channel in self._channels:
            if channel.deadline() < now:
                channel.handle_close()

    @property
    def _channels(self) -> Iterable[Channel]:
        return tuple(self.active_channels.values())


class _OneLine(logging.Filter):
    """Keeps each log record of waitress on one line: it logs paths as clients send them."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(record.getMessage()), None
        return True


_ONE_LINE = _OneLine()


def _quiet_log() -> None:
    logging.getLogger("waitress").addFilter(_ONE_LINE)
    # Says at each request that comes while all workers are busy how many wait.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
