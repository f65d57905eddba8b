"""Tests of connections whose clients are gone or slow."""

import gc
import socket
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Event

import pytest

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer, _Connection
from blazar_sandbox.wsgi.request import Request


def test_what_a_client_did_not_take_goes_with_its_connection(server: SandboxServer) -> None:
    """Nothing is left for the collector of garbage, which since Python 3.13 reports what cannot be sent."""
    ours, theirs = socket.socketpair()
    connection = _Connection(server._server, ours)  # type: ignore[no-untyped-call]
    theirs.close()
    with pytest.raises(OSError, match="Broken pipe"):
        connection.wfile.write(b"an answer")
    connection.close()
    assert connection.wfile.closed
    del connection
    gc.collect()


class _HalfABody(BytesIO):
    """A body of which the client keeps the rest to itself until ``more`` is set."""

    def __init__(self) -> None:
        super().__init__(b"{}")
        self.is_read, self.more = Event(), Event()

    def read(self, size: int | None = -1) -> bytes:
        self.is_read.set()
        assert self.more.wait(30)
        return super().read(size)


def test_a_client_that_sends_half_a_body_holds_up_no_other(cloud: Cloud) -> None:
    def request(body: BytesIO) -> Request:
        return Request(cloud, "identity", "POST", "/", {"CONTENT_LENGTH": "2", "wsgi.input": body})

    half = _HalfABody()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(lambda: request(half).json)
        try:
            assert half.is_read.wait(30)
            other = pool.submit(lambda: request(BytesIO(b"{}")).json)
            assert other.result(timeout=10) == {}
        finally:
            half.more.set()
        assert slow.result(timeout=10) == {}
