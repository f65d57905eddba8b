"""The transport over a message broker: oslo.messaging with threads, on a configuration of our own."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from datetime import timedelta
from functools import partial
from typing import Any

import amqp
import kombu
from oslo_config import cfg

from blazar.broker import oslo_messaging
from blazar.domain.errors import CloudUnavailable
from blazar.rpc.dispatcher import Dispatcher
from blazar.service.ids import new_id
from blazar.service.interface import CallOptions
from blazar.service.ports import Clock
from blazar.service.tracing import NO_TRACING, Tracing

LOG = logging.getLogger(__name__)
VERSION = "2.0"
SHARES = (1 / 6, 1 / 3, 1 / 2)
"""Of the time for an answer, how much each attempt gets: a manager that died with the call costs only the
first."""
IN_TIME = 0.9
"""Of an attempt's time, how much the manager may use: its answer needs some as well."""
RETRIES = 1
"""How often the broker is tried again before a request is refused."""
UNFORESEEN = (kombu.exceptions.KombuError, amqp.exceptions.AMQPError, OSError)
"""What oslo.messaging lets through when the broker vanishes at the wrong moment."""
ABSENT_PAUSE = 0.2
"""Seconds between two attempts to hand a call to a manager while none is there."""
REFUSED_PAUSE = 5.0
"""Seconds between two attempts to take calls from a broker that refuses."""
LINE_END = "\n"
GRACE = 2.0
"""Seconds after the end of an attempt until the broker itself is taken for lost."""


class _Endpoint:
    """The object that oslo.messaging calls: its public methods are all that a message can reach."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def call(
        self, context: Mapping[str, Any], noun: str, use_case: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return self._dispatcher.call(context, noun, use_case, arguments)


def build_server(transport: Any, dispatcher: Dispatcher, host: str, topic: str) -> Any:
    """Return the RPC server of one manager; calls to the topic go to any of the managers."""
    return oslo_messaging.get_rpc_server(
        transport,
        oslo_messaging.Target(topic=topic, server=host, version=VERSION),
        [_Endpoint(dispatcher)],
        access_policy=oslo_messaging.DefaultRPCAccessPolicy,
    )


class CallServer:
    """Takes calls from the broker from the moment at which the broker lets it, until ``stop``.

    oslo.messaging waits for a broker that is away. One that refuses (the user, the virtual host or the
    exchange is not there yet, or is another one) ends its attempt for good: so each attempt is a new server.
    ``build`` makes one."""

    def __init__(self, build: Callable[[], Any], pause: float = REFUSED_PAUSE) -> None:
        self._build = build
        self._pause = pause
        self._server: Any = None
        self._stopping = threading.Event()
        self._last_failure = ""

    def start(self) -> None:
        threading.Thread(target=self._run, name="rpc-server", daemon=True).start()

    def stop(self) -> None:
        """Take no more calls, and wait for those under way. Those that wait at the broker go to others."""
        self._stopping.set()
        if self._server is not None:
            self._server.stop()
            self._server.wait()

    def _run(self) -> None:
        while not self._stopping.is_set() and self._server is None:
            self._attempt()

    def _attempt(self) -> None:
        server = self._build()
        try:
            server.start()
        except Exception as failure:  # noqa: BLE001 - a broker refuses in many ways, and the thread must not end
            told = f"{type(failure).__name__}: {str(failure).partition(LINE_END)[0]}"
            if told != self._last_failure:  # once for each cause, not every few seconds
                LOG.error("No calls are taken, and it is tried again: the broker refuses: %s", told)
            self._last_failure = told
            self._stopping.wait(self._pause)
        else:
            self._server = server
            if self._stopping.is_set():  # stop() may have looked before
                server.stop()
            LOG.info("The manager takes calls")


class MessagingTransport:
    """Carries calls to any manager that listens.

    oslo.messaging waits for ever for a broker that was never there, or that vanishes at the wrong moment. So
    the calls are made by threads of their own, and while one of them hangs longer than it may, no other call
    is sent the same way."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        transport: Any,
        clock: Clock,
        topic: str,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._client = oslo_messaging.get_rpc_client(
            transport,
            oslo_messaging.Target(topic=topic, version=VERSION),
            # The broker tells where there is no queue for the call, instead of throwing it away.
            transport_options=oslo_messaging.TransportOptions(at_least_once=True),
        )
        self._patience = float(conf.rpc_response_timeout)
        self._clock = clock
        self._tracing = tracing
        self._hanging: set[Future[Any]] = set()

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        patience = calling.patience or self._patience
        shares = SHARES if calling.repeatable else (1.0,)
        for number, share in enumerate(shares):
            self._require_broker()
            try:
                with self._tracing.step(f"call {noun}.{use_case}", {"attempt": number + 1}) as span:
                    send = partial(self._once, noun, use_case, arguments, patience * share, span.headers)
                    return self._taken(send, patience * SHARES[0]), number > 0
            except oslo_messaging.MessagingTimeout:
                LOG.warning("%s.%s was not answered within %.1f s", noun, use_case, patience * share)
            except oslo_messaging.MessagingException as failure:
                # A failure on the other end brings its traceback along.
                raise broker_unavailable(str(failure).partition("\n")[0]) from failure
        raise CloudUnavailable(
            service="blazar-manager",
            reason="no manager answered in time; whether anything was changed is not known",
        )

    def _taken(self, send: Callable[[], Mapping[str, Any]], seconds: float) -> Mapping[str, Any]:
        """Send the call, and again for so long where there is no queue for it: a manager that makes one may
        be about to start. Raises CloudUnavailable where none does."""
        for _ in range(math.ceil(seconds / ABSENT_PAUSE)):
            try:
                return send()
            except oslo_messaging.MessageUndeliverable:
                self._clock.pause(ABSENT_PAUSE)
        raise CloudUnavailable(service="blazar-manager", reason="no manager takes calls")

    def _once(
        self,
        noun: str,
        use_case: str,
        arguments: Mapping[str, Any],
        seconds: float,
        trace: Mapping[str, str],
    ) -> Mapping[str, Any]:
        sent = self._clock.now()
        context: dict[str, Any] = {
            "call": new_id(),
            "sent": sent.isoformat(),
            "deadline": (sent + timedelta(seconds=seconds * IN_TIME)).isoformat(),
        }
        if trace:
            context["trace"] = dict(trace)
        client = self._client.prepare(timeout=seconds, retry=RETRIES)
        words = {"noun": noun, "use_case": use_case, "arguments": dict(arguments)}
        call = _begun(lambda: client.call(context, "call", **words))
        try:
            return call.result(seconds + GRACE)
        except NotInTime as late:
            self._hanging.add(call)
            call.add_done_callback(self._hanging.discard)
            raise broker_unavailable("it does not take any messages") from late

    def _require_broker(self) -> None:
        if self._hanging:
            raise broker_unavailable("it does not take any messages")


def _begun(call: Callable[[], Mapping[str, Any]]) -> Future[Mapping[str, Any]]:
    """Return the call, on its way in a thread that the process does not wait for when it ends."""
    future: Future[Mapping[str, Any]] = Future()

    def carry() -> None:
        try:
            future.set_result(call())
        except UNFORESEEN as failure:
            future.set_exception(broker_unavailable(f"{type(failure).__name__}: {failure}"))
        except Exception as failure:  # noqa: BLE001 - whatever it is, the future carries it to the caller's thread
            future.set_exception(failure)

    threading.Thread(target=carry, name="rpc-call", daemon=True).start()
    return future


def broker_unavailable(reason: str) -> CloudUnavailable:
    return CloudUnavailable(service="the message broker", reason=reason)
