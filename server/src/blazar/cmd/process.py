"""What all programs share: configuration and logs at the start, signals at the end."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from cheroot.wsgi import Server
from oslo_config import cfg
from oslo_log import log

from blazar import conf as options

BACKLOG = 128
"""Connections that may wait to be accepted."""


class Refused(Exception):
    """The program cannot run as it was asked to; the message is for whoever started it. Exit code 2."""


def configured(argv: Sequence[str], project: str = "blazar") -> cfg.ConfigOpts:
    """The configuration, with logging set up as it says."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    log.register_options(conf)
    conf.set_default("instance_uuid_format", "[lease %(uuid)s] ")  # what service.trail calls a resource
    conf(list(argv), project=project)
    log.setup(conf, project)
    return conf


def run(main: Callable[[], None]) -> None:
    """Run a program; a refusal or a configuration error is one clear sentence and exit code 2."""
    try:
        main()
    except (Refused, cfg.Error, LookupError, ValueError) as refusal:
        print(f"{sys.argv[0].rsplit('/', 1)[-1]}: {refusal}", file=sys.stderr)
        raise SystemExit(2) from None


def until_signalled() -> threading.Event:
    """An event that SIGTERM and SIGINT set."""
    stopped = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    return stopped


def bound(name: str, host: str, port: int) -> socket.socket:
    """A socket that has the port. Raises Refused where another program has it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # for all that is accepted
        taken.bind(address)
        taken.listen(BACKLOG)
    except OSError as failure:
        raise Refused(f"cannot listen on {host}:{port} for {name}: {failure.strerror or failure}") from failure
    return taken


class _Server(Server):
    """cheroot on a port that is bound already."""

    def __init__(self, port: socket.socket, app: object, threads: int, drain: float) -> None:
        address = port.getsockname()[:2]
        super().__init__(address, app, numthreads=threads, server_name="blazar", request_queue_size=BACKLOG)
        self.shutdown_timeout = drain
        self._port = port

    def bind(self, family: int, type: int, proto: int = 0) -> socket.socket:
        self.socket: socket.socket = self._port.dup()
        return self.socket


class Listener:
    """cheroot serving a WSGI application in a thread of its own; ``drain`` seconds for requests under way at the end."""

    def __init__(self, name: str, port: socket.socket, app: object, threads: int, drain: float = 5) -> None:
        self._name = name
        self._server = _Server(port, app, threads, drain)
        self._drain = drain
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        self._server.prepare()
        self._thread.start()

    def stop(self) -> None:
        self._server.stop()
        self._thread.join(self._drain)

    def _serve(self) -> None:
        try:
            self._server.serve()
        except KeyboardInterrupt:
            logging.getLogger(__name__).info("%s stops", self._name)
