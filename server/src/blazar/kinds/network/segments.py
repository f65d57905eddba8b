"""The use cases of segments: operators register ranges of them, and give them up again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from blazar.domain.errors import Stale
from blazar.domain.resource import Registration
from blazar.kinds.network.errors import (
    InvalidSegments,
    NetworkSegmentAlreadyRegistered,
    NetworkSegmentInUse,
    NetworkSegmentNotFound,
    NetworkSegmentReserved,
)
from blazar.kinds.network.names import HIGHEST, POOL, NetworkType, name_of, registration_of
from blazar.service.context import Caller
from blazar.service.interface import call_options
from blazar.service.pages import ResourcePage, resource_page
from blazar.service.ports import Clock, Cloud, Database, Segment, UnitOfWork
from blazar.service.request_cloud import within_request

MOST_AT_ONCE = 1000
MOST_TOLD = 5
"""Segments that a refusal names."""


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """Segments of one type and physical network whose numbers follow each other."""

    network_type: NetworkType
    physical_network: str | None
    first: int
    last: int

    def segments(self) -> Sequence[Segment]:
        """Return the segments. Raises InvalidSegments."""
        self._check()
        numbers = range(self.first, self.last + 1)
        return [Segment(self.network_type.value, self.physical_network, number) for number in numbers]

    def _check(self) -> None:
        if (self.network_type is NetworkType.VLAN) != (self.physical_network is not None):
            raise InvalidSegments(reason="A VLAN needs a physical network, and a tunnel has none.")
        if not 1 <= self.first <= self.last <= HIGHEST[self.network_type]:
            highest = HIGHEST[self.network_type]
            raise InvalidSegments(
                reason=f"The ids of type {self.network_type} are 1 to {highest}, in rising order."
            )
        if self.last - self.first >= MOST_AT_ONCE:
            raise InvalidSegments(reason=f"More than {MOST_AT_ONCE} at once.")


class NetworkSegmentsInterface(Protocol):
    """The use cases of segments, as blazar-api may call them."""

    @call_options(repeatable=False, once=True)
    def register(self, wanted: SegmentRange, caller: Caller | None = None) -> Sequence[Registration]:
        """Offer the segments of a range: all or none. Neutron is used no longer than the caller waits."""
        ...

    def get(self, segment_id: str) -> Registration:
        """Return the segment. Raises NetworkSegmentNotFound."""
        ...

    def list(self, page: ResourcePage) -> Sequence[Registration]:
        """Return a page of the segments, in the order of their ids."""
        ...

    @call_options(once=True)
    def unregister(self, segment_id: str) -> None: ...


class NetworkSegments:
    """The same calls, as blazar-manager carries them out. A segment in our care is one on which Neutron makes
    no network by itself."""

    def __init__(self, database: Database, cloud: Cloud, clock: Clock) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock

    def register(self, wanted: SegmentRange, caller: Caller | None = None) -> Sequence[Registration]:
        """Nothing is made in Neutron. Raises InvalidSegments, NetworkSegmentAlreadyRegistered,
        NetworkSegmentInUse."""
        found = [registration_of(each) for each in wanted.segments()]
        with self._database.read() as uow:
            known = [each.name for each in found if uow.resources.get(each.id) is not None]
        if known:
            raise NetworkSegmentAlreadyRegistered(segments=_told(known))
        self._require_unused(wanted, caller)
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Sequence[Registration]:
            return [uow.resources.add(each, now) for each in found]

        try:
            return self._database.transact(commit)
        except Stale:
            raise NetworkSegmentAlreadyRegistered(segments=_told([each.name for each in found])) from None

    def _require_unused(self, wanted: SegmentRange, caller: Caller | None) -> None:
        network = within_request(self._cloud, caller, self._clock).network
        there = network.networks_on(wanted.network_type.value, wanted.physical_network)
        segments = set(wanted.segments())
        used = sorted(
            (each.segment.segmentation_id, f"{name_of(each.segment)} (network {each.id})")
            for each in there
            if each.segment in segments
        )
        if used:
            raise NetworkSegmentInUse(segments=_told([text for _, text in used]))

    def get(self, segment_id: str) -> Registration:
        with self._database.read() as uow:
            return _existing(uow, segment_id)

    def list(self, page: ResourcePage) -> Sequence[Registration]:
        with self._database.read() as uow:
            return resource_page(uow, [POOL], page)

    def unregister(self, segment_id: str) -> None:
        """Raises NetworkSegmentNotFound, NetworkSegmentReserved."""

        def commit(uow: UnitOfWork) -> None:
            known = _existing(uow, segment_id)
            if uow.resources.allocations(POOL, resource_ids=[segment_id]):
                raise NetworkSegmentReserved(segment=known.name)
            uow.resources.remove(segment_id, known.generation)

        self._database.transact(commit)


def _existing(uow: UnitOfWork, segment_id: str) -> Registration:
    found = uow.resources.get(segment_id)
    if found is None or found.pool != POOL:
        raise NetworkSegmentNotFound(segment=segment_id)
    return found


def _told(names: Iterable[str]) -> str:
    listed = list(names)
    more = ["..."] if len(listed) > MOST_TOLD else []
    return ", ".join([*listed[:MOST_TOLD], *more])
