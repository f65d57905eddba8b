"""The request and the lease that this thread works on, for the log and for the logs of other services.

The use cases get their caller as a value. This is only for what must stand in each line of the log, those of
libraries included; oslo.log reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

from oslo_context import context

from blazar.service.context import Caller


@contextmanager
def bound_to(caller: Caller | None, lease_id: str | None = None) -> Iterator[None]:
    """Until the end of the block, lines logged by this thread carry the caller's request, or one of their
    own."""
    before = context.get_current()
    if caller is None:
        context.RequestContext(resource_uuid=lease_id, overwrite=True)
    else:
        bind(caller, lease_id)
    try:
        yield
    finally:
        _restore(before)


def _restore(before: context.RequestContext | None) -> None:
    if before is not None:
        before.update_store()
    else:
        context.RequestContext(request_id="-", overwrite=True)


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """Return ``work`` for another thread, where it has what stands in the lines of this one, and the context
    variables: the trace and the time that is left."""
    lines, variables = context.get_current(), copy_context()

    def there() -> None:
        before = context.get_current()
        _restore(lines)
        try:
            variables.run(work)
        finally:
            _restore(before)

    return there


def bind(caller: Caller, lease_id: str | None = None) -> None:
    """This thread works for the caller from now on."""
    context.RequestContext(
        user_id=caller.user_id,
        project_id=caller.project_id,
        system_scope=caller.system_scope,
        request_id=caller.request_id,
        global_request_id=caller.global_request_id,
        resource_uuid=lease_id,
        overwrite=True,
    )


def bind_lease(lease_id: str) -> None:
    """This thread works on this lease from now on: it was not known before."""
    current = context.get_current()
    if current is not None:
        current.resource_uuid = lease_id


def request_id() -> str | None:
    """Return the id that other services are told, so that their logs can be put beside ours; None outside of
    any request."""
    current = context.get_current()
    found: str | None = current.global_id if current else None
    return None if found in (None, "-") else found
