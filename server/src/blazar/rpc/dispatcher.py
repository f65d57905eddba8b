"""What blazar-manager does with a call from the wire: find the use case, run it, answer with its result or its error."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import BlazarError, CloudUnavailable, Internal
from blazar.domain.lease import Lease
from blazar.rpc.codec import encode_error, signature
from blazar.service import trail
from blazar.service.context import Caller
from blazar.service.interface import Service
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import Clock

LOG = logging.getLogger(__name__)
BEHIND = timedelta(seconds=2)
"""By how much our clock may be behind that of a caller: a call must not be carried out after its caller has given up."""


class Dispatcher:
    """Carries out calls from the wire. An answer is ``{"result": ...}`` or ``{"error": {"code", "fields"}}``.

    ``context["deadline"]`` is when the other end stops waiting: what it stops waiting for is not begun, and use cases
    are told by their caller. ``context["sent"]`` is when it began to. Where the clocks differ so that the deadline means
    nothing, the call is refused, for dates would mean nothing either."""

    def __init__(self, service: Service, clock: Clock, observer: Observer = NOBODY) -> None:
        self._service = service
        self._clock = clock
        self._observer = observer

    def call(
        self, context: Mapping[str, Any], noun: str, use_case: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        began = time.perf_counter()
        name = f"{noun}.{use_case}"
        try:
            self._require_same_time(context.get("sent"))
            given = _with_deadline(signature(noun, use_case).decode_arguments(arguments), context.get("deadline"))
            caller: Caller | None = given.get("caller")
            with trail.working_for(caller, given.get("lease_id")):
                if caller is not None:
                    caller.require_time(self._clock.now())
                result = getattr(getattr(self._service, noun), use_case)(**given)
                if isinstance(result, Lease):
                    trail.now_on(result.id)
                self._tell(name, "ok", began)
                return {"result": signature(noun, use_case).encode_result(result)}
        except BlazarError as error:
            self._tell(name, error.code, began)
            return {"error": encode_error(error)}
        except Exception:
            # The edge of the process: the caller gets an answer whatever happens, the log gets the details.
            LOG.exception("%s failed unexpectedly", name)
            self._tell(name, Internal.code, began)
            return {"error": encode_error(Internal("Internal Server Error"))}

    def _require_same_time(self, sent: str | None) -> None:
        behind = datetime.fromisoformat(sent) - self._clock.now() if sent else timedelta(0)
        if behind > BEHIND:
            raise CloudUnavailable(
                service="blazar-manager", reason=f"its clock is {behind.total_seconds():.1f} seconds behind"
            )

    def _tell(self, use_case: str, code: str, began: float) -> None:
        seconds = time.perf_counter() - began
        LOG.info("%s: %s after %.1f ms", use_case, code, seconds * 1000, extra={"action": "use_case", "code": code})
        self._observer.use_case_called(use_case, code, seconds)


def _with_deadline(given: dict[str, Any], deadline: str | None) -> dict[str, Any]:
    if deadline is None or "caller" not in given:
        return given
    return {**given, "caller": replace(given["caller"], deadline=datetime.fromisoformat(deadline))}
