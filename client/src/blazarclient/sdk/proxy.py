"""What can be asked of the reservation service through an openstacksdk connection?"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from openstack import exceptions, proxy

from blazarclient.clock import Clock, SystemClock
from blazarclient.reading.kinds import completed
from blazarclient.sdk.allocation import Allocation
from blazarclient.sdk.base import HEADERS, raise_for_status
from blazarclient.sdk.floating_ip import FloatingIP
from blazarclient.sdk.host import Host, HostProperty
from blazarclient.sdk.lease import Lease
from blazarclient.waiting import Goal, Verdict, wait_for
from blazarclient.wire_time import to_wire

Moment = datetime | str
Fields = Mapping[str, Any]
T = TypeVar("T")


class Proxy(proxy.Proxy):
    """The verbs of the service. All raise openstacksdk's exceptions, with the service's explanation as message:
    NotFoundException, ConflictException (not enough resources, or in use), BadRequestException, ForbiddenException.

    Moments are aware datetimes, or text in UTC as ``YYYY-MM-DD HH:MM``, or ``now``.
    """

    skip_discovery: ClassVar[bool] = True
    clock: Clock = SystemClock()

    # leases

    def leases(self, *, limit: int | None = None, marker: str | None = None) -> Generator[Lease, None, None]:
        """Yield the leases in sight: those of the caller's project, all for an administrator."""
        return Lease.list(self, limit=limit, marker=marker)

    def get_lease(self, lease: str | Lease) -> Lease:
        """One lease by id, freshly read."""
        return self._get(Lease, lease)

    def find_lease(self, name_or_id: str, ignore_missing: bool = True) -> Lease | None:
        """A lease by id or name; None, or NotFoundException, when there is none; DuplicateResource when several."""
        return _find(self.leases(), ("id", "name"), name_or_id, "lease", ignore_missing)

    def create_lease(
        self,
        name: str,
        start_date: Moment = "now",
        end_date: Moment | None = None,
        reservations: Iterable[Fields] = (),
        *,
        duration: timedelta | None = None,
        before_end_date: Moment | None = None,
        events: Iterable[Fields] = (),
    ) -> Lease:
        """Reserve. Give either the end or the duration, which counts from the start. Raises ValueError for both or
        neither, or when the duration follows a start given as text. Requirements may be lists."""
        return self._create(
            Lease,
            name=name,
            start_date=_wire(start_date),
            end_date=self._end(start_date, end_date, duration),
            reservations=[completed(item) for item in reservations],
            events=[dict(item) for item in events],
            before_end_date=None if before_end_date is None else _wire(before_end_date),
        )

    def update_lease(
        self,
        lease: str | Lease,
        *,
        name: str | None = None,
        start_date: Moment | None = None,
        end_date: Moment | None = None,
        before_end_date: Moment | None = None,
        reservations: Iterable[Fields] | None = None,
    ) -> Lease:
        """Change what is given, nothing else. Each of `reservations` names its `id` and the fields to change."""
        changes: dict[str, Any] = {"name": name}
        for key, moment in (
            ("start_date", start_date),
            ("end_date", end_date),
            ("before_end_date", before_end_date),
        ):
            changes[key] = None if moment is None else _wire(moment)
        if reservations is not None:
            changes["reservations"] = [dict(item) for item in reservations]
        changes = {key: value for key, value in changes.items() if value is not None}
        if not changes:
            return self.get_lease(lease)
        return Lease.new(id=_id(lease), **changes).commit(self)

    def extend_lease(self, lease: str | Lease, by: timedelta) -> Lease:
        """Move the end of a lease by this much, counted from the end it has now."""
        return self.update_lease(lease, end_date=self.get_lease(lease).ends_at + by)

    def delete_lease(self, lease: str | Lease, ignore_missing: bool = True) -> None:
        """Delete a lease, with the servers that run in it when it is active."""
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
        """Return the lease once it has the status.

        Looks every `interval` seconds, for `wait` seconds or, with None, for ever; `on_look` is told of each look.
        Raises ResourceFailure when it gets one of the `failures`, ResourceTimeout when the time is over.
        """
        lease_id = _id(lease)
        outcome = wait_for(
            lambda: self.get_lease(lease_id),
            lambda found: found.status,
            Goal((status,), failures),
            clock=self.clock,
            deadline=None if wait is None else self.clock.now() + timedelta(seconds=wait),
            interval=lambda found: interval,
            on_look=on_look,
        )
        found = outcome.lease
        match outcome.verdict:
            case Verdict.REACHED:
                return found
            case Verdict.FAILED:
                why = f" ({found.status_reason})" if found.status_reason else ""
                raise exceptions.ResourceFailure(f"lease {found.name} is {found.status} and will not be {status}{why}")
            case Verdict.TIMED_OUT:
                raise exceptions.ResourceTimeout(
                    f"lease {found.name} is still {found.status} and not {status} after {wait} seconds"
                )

    def _end(self, start: Moment, end: Moment | None, duration: timedelta | None) -> str:
        if (end is None) == (duration is None):
            raise ValueError("give either end_date or duration")
        if end is not None:
            return _wire(end)
        if isinstance(start, str) and start != "now":
            raise ValueError("a duration needs a start_date that is a datetime or 'now'")
        begin = self.clock.now() if isinstance(start, str) else start
        return to_wire(begin + (duration or timedelta()))

    # hosts

    def hosts(self, *, limit: int | None = None, marker: str | None = None) -> Generator[Host, None, None]:
        """Yield the hosts in the service's care."""
        return Host.list(self, limit=limit, marker=marker)

    def get_host(self, host: str | Host) -> Host:
        """One host by id."""
        return self._get(Host, host)

    def find_host(self, name_or_id: str, ignore_missing: bool = True) -> Host | None:
        """A host by id or hypervisor hostname."""
        return _find(self.hosts(), ("id", "hypervisor_hostname"), name_or_id, "host", ignore_missing)

    def create_host(self, name: str, /, **properties: Any) -> Host:
        """Put the hypervisor of this hostname into the service's care, with these properties."""
        return self._host("POST", Host.base_path, {"name": name, **properties})

    def update_host(self, host: str | Host, /, **properties: Any) -> Host:
        """Set properties of a host; None removes one, where the service can."""
        return self._host("PUT", f"{Host.base_path}/{_id(host)}", properties)

    def delete_host(self, host: str | Host, ignore_missing: bool = True) -> None:
        """Take a host out of the service's care."""
        self._delete(Host, host, ignore_missing=ignore_missing)

    def _host(self, method: str, path: str, body: Fields) -> Host:
        response = self.request(path, method, json=dict(body), headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        return Host.existing(**response.json()["host"])

    # properties of hosts

    def properties(self, detail: bool = False, all: bool = False) -> Generator[HostProperty, None, None]:
        """Yield the properties that hosts have; with `detail` also their values, with `all` private ones too."""
        query: dict[str, Any] = {name: "True" for name, wanted in (("detail", detail), ("all", all)) if wanted}
        return HostProperty.list(self, **query)

    def update_property(self, name: str, private: bool) -> HostProperty:
        """Hide a property from everybody but administrators, or show it."""
        path = f"{HostProperty.base_path}/{name}"
        response = self.request(path, "PATCH", json={"private": private}, headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        changed = response.json()["resource_property"]
        return HostProperty.existing(property=changed["property_name"], private=changed["private"])

    # floating IPs

    def floating_ips(self, *, limit: int | None = None, marker: str | None = None) -> Generator[FloatingIP, None, None]:
        """Yield the floating IP addresses in the service's care."""
        return FloatingIP.list(self, limit=limit, marker=marker)

    def get_floating_ip(self, floating_ip: str | FloatingIP) -> FloatingIP:
        """One address by id."""
        return self._get(FloatingIP, floating_ip)

    def find_floating_ip(self, address_or_id: str, ignore_missing: bool = True) -> FloatingIP | None:
        """One address by id or by the address itself."""
        keys = ("id", "floating_ip_address")
        return _find(self.floating_ips(), keys, address_or_id, "floating IP", ignore_missing)

    def create_floating_ip(self, network_id: str, address: str) -> FloatingIP:
        """Put an address of an external network into the service's care."""
        return self._create(FloatingIP, floating_network_id=network_id, floating_ip_address=address)

    def delete_floating_ip(self, floating_ip: str | FloatingIP, ignore_missing: bool = True) -> None:
        """Take an address out of the service's care."""
        self._delete(FloatingIP, floating_ip, ignore_missing=ignore_missing)

    # allocations

    def allocations(
        self, *, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Generator[Allocation, None, None]:
        """Yield every host with its reservations; those of one lease or reservation if named, past ones included."""
        return Allocation.list(self, lease_id=lease_id, reservation_id=reservation_id)

    def get_allocation(
        self, host: str | Host, *, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Allocation:
        """The reservations on one host."""
        query = {"lease_id": lease_id, "reservation_id": reservation_id}
        params = {key: value for key, value in query.items() if value is not None}
        path = f"{Host.base_path}/{_id(host)}/allocation"
        response = self.request(path, "GET", params=params, headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        return Allocation.existing(**response.json()["allocation"])


def _wire(moment: Moment) -> str:
    return to_wire(moment) if isinstance(moment, datetime) else moment


def _id(value: Any) -> str:
    return value if isinstance(value, str) else str(value.id)


def _find(rows: Iterable[T], keys: Sequence[str], wanted: str, noun: str, ignore_missing: bool) -> T | None:
    candidates = list(rows)
    for key in keys:  # an id goes before a name that looks like one
        found = [row for row in candidates if getattr(row, key) == wanted]
        if len(found) > 1:
            raise exceptions.DuplicateResource(f"{len(found)} resources are the {noun} {wanted!r}: use the id")
        if found:
            return found[0]
    if ignore_missing:
        return None
    raise exceptions.NotFoundException(f"no {noun} is called {wanted!r} or has this id")
