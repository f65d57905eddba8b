"""A topic on the message broker, with services that listen on it and clients that call them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

from oslo_config import cfg

from blazar import conf as options
from blazar.adapters.clock import SystemClock
from blazar.broker import rpc_transport
from blazar.plugins import load_plugins
from blazar.rpc.codec import Codec
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.messaging import MessagingTransport, build_server
from blazar.rpc.proxy import remote_service
from blazar.service.interface import Service
from blazar.service.ports import Clock

CODEC = Codec(load_plugins(options.load(files=[])).interfaces)
RABBITMQ = os.environ.get("BLAZAR_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")


class Bus:
    """A topic of this test alone, on the broker, with services that listen on it."""

    def __init__(self, directory: Path, url: str = RABBITMQ, timeout: int = 12) -> None:
        name = f"blazar-test-{uuid4().hex[:12]}"
        path = directory / f"{name}.conf"
        path.write_text(
            f"[DEFAULT]\ntransport_url = {url}\ncontrol_exchange = {name}\nrpc_response_timeout = {timeout}\n"
            f"[manager]\nrpc_topic = {name}\n"
            "[oslo_messaging_rabbit]\namqp_auto_delete = true\nheartbeat_timeout_threshold = 0\n"
            f"[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = {name}\n"
        )
        self.name = name
        self.conf: cfg.ConfigOpts = options.load(files=[str(path)])
        self._servers: list[Any] = []
        self._transports: list[Any] = []

    def listen(self, service: Service, deliveries: Any = None) -> None:
        """Carry out the calls to the topic with ``service``."""
        server = self.server(service, deliveries)
        server.start()
        self._servers.append(server)

    def server(self, service: Service, deliveries: Any = None) -> Any:
        """Return a server of the calls to the topic, which has not begun."""
        dispatcher = Dispatcher(service, CODEC, SystemClock(), deliveries=deliveries)
        return build_server(self._transport(), dispatcher, uuid4().hex, self.name)

    def client(self, clock: Clock | None = None) -> Service:
        transport = MessagingTransport(self.conf, self._transport(), clock or SystemClock(), self.name)
        return remote_service(transport, CODEC)

    def _transport(self) -> Any:
        self._transports.append(rpc_transport(self.conf))
        return self._transports[-1]

    def close(self) -> None:
        for server in self._servers:
            server.stop()
            server.wait()
        for transport in self._transports:
            # oslo.messaging waits there for ever for a broker that never was
            cleanup = threading.Thread(target=transport.cleanup, daemon=True)
            cleanup.start()
            cleanup.join(3)
