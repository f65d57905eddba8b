"""Tests of connections whose clients are gone."""

import gc
import socket

import pytest

from blazar_sandbox.server import SandboxServer, _Connection


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
