"""The HTTP server of a cloud, which runs in a thread."""

import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any

from cheroot import wsgi
from cheroot.server import HTTPConnection

from blazar_sandbox.app import DROP_KEY, SandboxApp
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.persistence import Persistence
from blazar_sandbox.wsgi.cors import with_cors


class _Gateway(wsgi.Gateway_10):
    """The gateway that gives the application a function to close the connection."""

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]  # the stub says None, the server a dict
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        environ[DROP_KEY] = self._drop
        return environ

    def _drop(self) -> None:
        self.req.close_connection = True
        self.req.conn.socket.shutdown(socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    """A connection that drops what its client did not take.

    Cheroot leaves the rest of an answer in the buffer of a client that is gone. Since Python 3.13, the
    collector of garbage reports that it cannot be sent any more."""

    def close(self) -> None:
        with suppress(OSError, ValueError):
            self.wfile.close()
        super().close()


class SandboxServer:
    """A cloud on an HTTP port, used with ``with`` or by ``start`` and ``stop``."""

    def __init__(
        self,
        cloud: Cloud,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        threads: int = 16,
        state_path: Path | None = None,
        origins: Collection[str] = (),
    ) -> None:
        """``origins`` are those of pages whose scripts may call the cloud from a browser."""
        self.app = SandboxApp(cloud)
        self._persistence = Persistence(cloud, state_path) if state_path is not None else None
        self._server = wsgi.Server(
            (host, port), with_cors(self.app, origins), numthreads=threads, max=64, request_queue_size=128,
            timeout=120, shutdown_timeout=1, server_name="blazar-sandbox",
        )  # fmt: skip
        self._server.gateway = _Gateway
        self._server.ConnectionClass = _Connection
        self._thread: Thread | None = None

    def start(self) -> "SandboxServer":
        """Bind the port, load the saved state and serve until ``stop``.

        Raise ``OSError`` if the port is in use.
        """
        self._server.prepare()
        if self._persistence is not None:
            self._persistence.open()
        self._thread = Thread(target=self._server.serve, name="blazar-sandbox", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; running calls have a second to complete."""
        self._server.stop()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
        if self._persistence is not None:
            self._persistence.close()

    @property
    def cloud(self) -> Cloud:
        """The cloud that is served."""
        return self.app.cloud

    def replace(self, cloud: Cloud) -> None:
        """Serve another cloud on the same port from the next call on, which is for tests."""
        self.app.cloud = cloud

    @property
    def port(self) -> int:
        """The bound port, also if 0 was requested."""
        port: int = self._server.bind_addr[1]
        return port

    @property
    def url(self) -> str:
        """The origin of all services."""
        return f"http://{self._server.bind_addr[0]}:{self.port}"

    @property
    def auth_url(self) -> str:
        """The URL of Keystone."""
        return f"{self.url}/v3"

    def __enter__(self) -> "SandboxServer":
        return self.start()

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()
