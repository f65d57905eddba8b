"""The dispatcher of calls in blazar-manager: find the use case, run it, answer with its result or
its error."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import BlazarError, CloudUnavailable, Internal
from blazar.domain.lease.lease import Lease
from blazar.rpc.codec import CALLER, Codec, NotUnderstood, decode_caller, encode_error, noun_of
from blazar.rpc.deliveries import Deliveries
from blazar.service import log_context
from blazar.service.context import Caller
from blazar.service.interface import Service
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock
from blazar.service.short_requests import ShortRequests
from blazar.service.tracing import NO_TRACING, NOTHING, Tracing

LOG = logging.getLogger(__name__)
BEHIND = timedelta(seconds=2)
"""By how much our clock may be behind that of a caller: a call must not be carried out after its caller has
given up."""


class Dispatcher:
    """Carries out calls from the wire. An answer is ``{"result": ...}`` or ``{"error": {"code", "fields"}}``.

    ``context["call"]`` is the id of the message: what changes something is carried out once for each.
    ``context["deadline"]`` is when the other end stops waiting: what it stops waiting for is not begun, and
    use cases are told by their caller. ``context["sent"]`` is when it began to. Where the clocks differ so
    that the deadline means nothing, the call is refused, for dates would mean nothing either.
    ``context["trace"]`` is there where the request is traced: the headers of the caller's span.

    The caller stands among the arguments of nearly every call, for the log and for the deadline. Only a use
    case that has such a parameter gets it."""

    def __init__(
        self,
        service: Service,
        codec: Codec,
        clock: Clock,
        metrics: Metrics = NO_METRICS,
        deliveries: Deliveries | None = None,
        tracing: Tracing = NO_TRACING,
        requests: ShortRequests | None = None,
    ) -> None:
        """Without ``deliveries``, a call may be carried out as often as it comes. The calls are told to
        ``requests``, for which long plans wait."""
        self._deliveries = deliveries
        self._service = service
        self._codec = codec
        self._clock = clock
        self._metrics = metrics
        self._tracing = tracing
        self._requests = requests or ShortRequests()

    def call(
        self, context: Mapping[str, Any], noun: str, use_case: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        began = time.perf_counter()
        noun = noun_of(noun)
        name = f"{noun}.{use_case}"
        # The line about a call is logged inside of this block: operators search for a refused call by its
        # request id.
        with log_context.bound_to(None), self._tracing.entry(name, NOTHING, context.get("trace")) as span:
            try:
                result = self._result(context, noun, use_case, arguments)
            except BlazarError as error:
                span.tell({"error.type": error.code})
                self._tell(name, error.code, began)
                return {"error": encode_error(error)}
            except Exception:
                # The edge of the process: the caller gets an answer whatever happens, the log the details.
                LOG.exception("%s failed unexpectedly", name)
                span.tell({"error.type": Internal.code})
                self._tell(name, Internal.code, began)
                return {"error": encode_error(Internal("Internal Server Error"))}
            self._tell(name, "ok", began)
            return {"result": result}

    def _result(
        self, context: Mapping[str, Any], noun: str, use_case: str, arguments: Mapping[str, Any]
    ) -> Any:
        """Carry out the call, and bind the log to its caller and its lease as soon as they are known."""
        caller = _with_deadline(decode_caller(arguments.get(CALLER)), context.get("deadline"))
        if caller is not None:
            log_context.bind(caller)
        self._require_same_time(context.get("sent"))
        known = self._codec.signature(noun, use_case)
        own = {name: value for name, value in arguments.items() if name != CALLER}
        given = known.decode_arguments(own) | ({CALLER: caller} if CALLER in known.parameters else {})
        if lease_id := given.get("lease_id"):
            log_context.bind_lease(lease_id)
        if caller is not None:
            caller.require_time(self._clock.now())
        # An API of the version before sends no id.
        if self._deliveries is not None and known.calling.once and (call_id := context.get("call")):
            self._deliveries.require_first(call_id, caller.deadline if caller is not None else None)
        with self._requests.arrived(caller.project_id if caller is not None else None):
            result = getattr(self._service.noun(noun), use_case)(**given)
        if isinstance(result, Lease):
            log_context.bind_lease(result.id)
        return known.encode_result(result)

    def _require_same_time(self, sent: str | None) -> None:
        behind = datetime.fromisoformat(sent) - self._clock.now() if sent else timedelta(0)
        if behind > BEHIND:
            raise CloudUnavailable(
                service="blazar-manager", reason=f"its clock is {behind.total_seconds():.1f} seconds behind"
            )

    def _tell(self, use_case: str, code: str, began: float) -> None:
        seconds = time.perf_counter() - began
        LOG.info(
            "%s: %s after %.1f ms", use_case, code, seconds * 1000, extra={"action": "use_case", "code": code}
        )
        # What is not known must not make metrics of its own.
        self._metrics.use_case_called("unknown" if code == NotUnderstood.code else use_case, code, seconds)


def _with_deadline(caller: Caller | None, deadline: str | None) -> Caller | None:
    if deadline is None or caller is None:
        return caller
    return replace(caller, deadline=datetime.fromisoformat(deadline))
