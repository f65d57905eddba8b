"""Are long lists of hosts, floating IPs and allocations asked of a manager in parts, and shown as at once?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain
from typing import Any, Protocol

import pytest
from oslo_config import cfg

from blazar.domain.resource import Allocation, Registration
from blazar.domain.time import Interval
from blazar.kinds.floatingip.actions import PAGE as FLOATING_IPS
from blazar.kinds.floatingip.actions import floatingip_pages
from blazar.kinds.floatingip.names import ADDRESS, floating_ip_id
from blazar.kinds.registered_hosts.actions import ALLOCATIONS_PAGE, allocation_pages, host_pages
from blazar.kinds.registered_hosts.actions import PAGE as HOSTS
from blazar.kinds.registered_hosts.views import ResourceAllocations
from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service
from blazar.service.context import Caller
from blazar.service.interface import Service

from .canned import FLOATING_IP, HOST, INTERVAL, LEASE_ID, RESERVATION_ID, Canned
from .conftest import INTERFACES, edge
from .test_lists import Managers

ADMIN = Caller("u1", "p1", ("admin",), is_admin=True)


def hosts(count: int) -> Sequence[Registration]:
    return [replace(HOST, id=str(n), name=f"host{n}") for n in range(1, count + 1)]


def floatingips(count: int) -> Sequence[Registration]:
    """In the order of their numbers, which is not that of their ids."""
    addresses = [f"10.0.{n // 200}.{n % 200 + 1}" for n in range(count)]
    return [
        replace(FLOATING_IP, id=floating_ip_id("net1", a), facts={**FLOATING_IP.facts, ADDRESS: a})
        for a in addresses
    ]


def allocated(count: int) -> Sequence[ResourceAllocations]:
    """So many rows: hosts without allocations, with some, and one with most of them."""
    found: list[ResourceAllocations] = []
    number = 0
    while count > 0:
        number += 1
        here = min((0, 3, 1, 0, 0, 2500, 7)[number % 7], count)
        some = tuple(_allocation(str(number), n) for n in range(here))
        found.append(ResourceAllocations(str(number), some))
        count -= max(here, 1)
    return found


def _allocation(host_id: str, number: int) -> Allocation:
    start = INTERVAL.start + timedelta(hours=number // 3)  # always three begin at once
    interval = Interval(start, start + timedelta(hours=1))
    return Allocation(f"{host_id}-{number:05}", RESERVATION_ID, LEASE_ID, host_id, interval)


class FormerHosts(Protocol):
    def list(self, caller: Caller) -> Sequence[Registration]: ...


class FormerFloatingIPs(Protocol):
    def list(self) -> Sequence[Registration]: ...


class FormerAllocations(Protocol):
    def list_for_hosts(
        self, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Sequence[ResourceAllocations]: ...


@dataclass(frozen=True)
class Listed:
    """One of the lists: what is in it, where it is, and how it is asked for."""

    field: str
    path: str
    page: int
    make: Callable[[int], Sequence[Any]]
    pages: Callable[[Service], Iterator[Sequence[Any]]]
    former: dict[str, type]

    def service(self, count: int) -> Canned:
        return Canned(**{self.field: self.make(count)})


LISTS = {
    "hosts": Listed(
        "hosts",
        "/v1/os-hosts",
        HOSTS,
        hosts,
        lambda service: host_pages(service.noun("hosts"), ADMIN),
        {"hosts": FormerHosts},
    ),
    "floatingips": Listed(
        "floatingips",
        "/v1/floatingips",
        FLOATING_IPS,
        floatingips,
        lambda service: floatingip_pages(service.noun("floatingips")),
        {"floatingips": FormerFloatingIPs},
    ),
    "allocations": Listed(
        "allocated",
        "/v1/os-hosts/allocations",
        ALLOCATIONS_PAGE,
        allocated,
        lambda service: allocation_pages(service.noun("allocations"), None, None),
        {"allocations": FormerAllocations},
    ),
}
EACH = pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
COUNTS = pytest.mark.parametrize(("pages", "more"), [(0, 0), (0, 1), (1, -1), (1, 0), (1, 1), (2, 7)])
TODAY = Codec(INTERFACES)


def former(listed: Listed) -> Codec:
    return Codec({**INTERFACES, **listed.former})


@EACH
@COUNTS
def test_the_bytes_are_those_of_one_document(
    conf: cfg.ConfigOpts, listed: Listed, pages: int, more: int
) -> None:
    service = listed.service(pages * listed.page + more)
    answer = edge(service, conf)("GET", listed.path, headers={"X-Auth-Token": "admin"})
    name = listed.path.rpartition("/")[2].removeprefix("os-")
    document = answer.json
    assert answer.content == json.dumps(document).encode()
    stored = getattr(service, listed.field)
    assert [each.get("resource_id") or each["id"] for each in document[name]] == [
        getattr(each, "resource_id", None) or each.id for each in stored
    ]
    if name == "allocations":
        counts = [len(each["reservations"]) for each in document[name]]
        assert counts == [len(each.allocations) for each in stored]
    if pages * listed.page + more < listed.page:
        assert "content-length" in answer.headers


@EACH
def test_no_message_has_more_than_a_page(listed: Listed) -> None:
    service = listed.service(3 * listed.page + 1)
    managers = Managers(service, TODAY)
    found = list(chain.from_iterable(listed.pages(remote_service(managers, TODAY))))
    assert found == getattr(service, listed.field)
    assert managers.asked == 4
    assert managers.largest <= listed.page


@EACH
@pytest.mark.parametrize(("pages", "more"), [(0, 1), (1, 0), (2, 7)])
@pytest.mark.parametrize("versions", ["F", "FT", "TF", "TTF"])
def test_managers_of_the_version_before_are_asked_for_all(
    listed: Listed, versions: str, pages: int, more: int
) -> None:
    service = listed.service(pages * listed.page + more)
    codecs = {"F": former(listed), "T": TODAY}
    managers = Managers(service, *(codecs[version] for version in versions))
    found = list(chain.from_iterable(listed.pages(remote_service(managers, TODAY))))
    assert found == getattr(service, listed.field)


@EACH
def test_an_api_of_the_version_before_is_answered_with_all(listed: Listed) -> None:
    service = listed.service(2 * listed.page)
    remote: Any = remote_service(Managers(service, TODAY), former(listed))
    noun = remote.noun(next(iter(listed.former)))
    answers = {
        "hosts": lambda: noun.list(ADMIN),
        "floatingips": lambda: noun.list(),
        "allocated": lambda: noun.list_for_hosts(None, None),
    }
    assert list(answers[listed.field]()) == list(getattr(service, listed.field))
