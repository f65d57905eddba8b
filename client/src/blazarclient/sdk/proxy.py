"""The methods of `conn.reservation` for leases."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from openstack import exceptions, proxy

from blazarclient.clock import Clock, SystemClock
from blazarclient.kinds.base import UUID
from blazarclient.kinds.reservations import with_defaults
from blazarclient.sdk.base import find_resource, resource_id
from blazarclient.sdk.lease import Lease
from blazarclient.waiting import Goal, WaitResult, wait_for
from blazarclient.wire_time import to_wire

Time = datetime | str
Fields = Mapping[str, Any]


class Proxy(proxy.Proxy):
    """The methods of the service for leases. The proxy of a connection also has those of the installed kinds.

    All raise openstacksdk's exceptions, with the service's explanation as message: NotFoundException,
    ConflictException (in use), BadRequestException (also not enough resources),
    ForbiddenException.

    Times are aware datetimes, or text in UTC as ``YYYY-MM-DD HH:MM``, or ``now``.
    """

    skip_discovery: ClassVar[bool] = True
    clock: Clock = SystemClock()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a method of an installed kind. `reservation(connection, methods)` has their types."""

    def leases(
        self, *, limit: int | None = None, marker: str | None = None, **filters: Any
    ) -> Generator[Lease, None, None]:
        """Yield the visible leases: those of the caller's project, or all for an administrator.

        `limit` is the size of a page. `filters` are the parameters of the service's list from microversion
        1.1 on, for example `status`, `name`, `starts_before` and `sort`; an older service ignores them.
        """
        return Lease.list(self, limit=limit, marker=marker, **filters)

    def get_lease(self, lease: str | Lease) -> Lease:
        """Return one lease by its id."""
        return self._get(Lease, lease)

    def find_lease(self, name_or_id: str, ignore_missing: bool = True) -> Lease | None:
        """Return a lease by its id or name. Raises DuplicateResource if several have the name.

        If there is none, return None, or raise NotFoundException without `ignore_missing`.
        """
        # An older service ignores the filters, and returns all.
        rows = [] if UUID.match(name_or_id) is None else list(self.leases(id=name_or_id))
        rows = rows or list(self.leases(name=name_or_id))
        return find_resource(rows, ("id", "name"), name_or_id, "lease", ignore_missing)

    def create_lease(
        self,
        name: str,
        start_date: Time = "now",
        end_date: Time | None = None,
        reservations: Iterable[Fields] = (),
        *,
        duration: timedelta | None = None,
        before_end_date: Time | None = None,
        events: Iterable[Fields] = (),
    ) -> Lease:
        """Create a lease with either an end or a duration. Requirements of reservations may be lists.

        Raises ValueError for both or neither, and for a duration after a start that is text.
        """
        return self._create(
            Lease,
            name=name,
            start_date=_wire(start_date),
            end_date=self._end(start_date, end_date, duration),
            reservations=[with_defaults(item) for item in reservations],
            events=[dict(item) for item in events],
            before_end_date=None if before_end_date is None else _wire(before_end_date),
        )

    def update_lease(
        self,
        lease: str | Lease,
        *,
        name: str | None = None,
        start_date: Time | None = None,
        end_date: Time | None = None,
        before_end_date: Time | None = None,
        reservations: Iterable[Fields] | None = None,
    ) -> Lease:
        """Change the given fields. Each of `reservations` has its `id` and the fields to change."""
        changes: dict[str, Any] = {"name": name}
        for key, time in (
            ("start_date", start_date),
            ("end_date", end_date),
            ("before_end_date", before_end_date),
        ):
            changes[key] = None if time is None else _wire(time)
        if reservations is not None:
            changes["reservations"] = [dict(item) for item in reservations]
        changes = {key: value for key, value in changes.items() if value is not None}
        if not changes:
            return self.get_lease(lease)
        return Lease.new(id=resource_id(lease), **changes).commit(self)

    def extend_lease(self, lease: str | Lease, by: timedelta) -> Lease:
        """Postpone the end of a lease by this duration."""
        return self.update_lease(lease, end_date=self.get_lease(lease).ends_at + by)

    def delete_lease(self, lease: str | Lease, ignore_missing: bool = True) -> None:
        """Delete a lease. If it is active, its servers are deleted too."""
        self._delete(Lease, lease, ignore_missing=ignore_missing)

    def wait_for_lease(
        self,
        lease: str | Lease,
        status: str = "ACTIVE",
        failures: Sequence[str] = ("ERROR", "TERMINATED"),
        interval: float = 2,
        wait: float | None = 120,
        on_look: Callable[[Lease], None] | None = None,
    ) -> Lease:
        """Wait until the lease has the status, and return it.

        The lease is polled every `interval` seconds for `wait` seconds, or without limit if `wait` is None.
        `on_look` is called with the lease after each poll. Raises ResourceFailure if the lease gets one of
        the `failures`, and ResourceTimeout when the time is over.
        """
        lease_id = resource_id(lease)
        outcome = wait_for(
            lambda: self.get_lease(lease_id),
            lambda found: found.status,
            Goal((status,), failures),
            clock=self.clock,
            deadline=None if wait is None else self.clock.now() + timedelta(seconds=wait),
            interval=lambda found: interval,
            on_poll=on_look,
        )
        found = outcome.lease
        match outcome.result:
            case WaitResult.REACHED:
                return found
            case WaitResult.FAILED:
                why = f" ({found.status_reason})" if found.status_reason else ""
                raise exceptions.ResourceFailure(
                    f"lease {found.name} is {found.status} and will not be {status}{why}"
                )
            case WaitResult.TIMED_OUT:
                raise exceptions.ResourceTimeout(
                    f"lease {found.name} is still {found.status} and not {status} after {wait} seconds"
                )

    def _end(self, start: Time, end: Time | None, duration: timedelta | None) -> str:
        if (end is None) == (duration is None):
            raise ValueError("give either end_date or duration")
        if end is not None:
            return _wire(end)
        if isinstance(start, str) and start != "now":
            raise ValueError("a duration needs a start_date that is a datetime or 'now'")
        begin = self.clock.now() if isinstance(start, str) else start
        return to_wire(begin + (duration or timedelta()))


def _wire(time: Time) -> str:
    return to_wire(time) if isinstance(time, datetime) else time
