"""The end of a server's time on its host: what its user asked for, step by step, each until Nova has done it.

A step that takes too long is given up, so that the capacity is given back at last. Nothing is lost for that
as long as there is another way: a server of which no image could be made is shelved instead of deleted.

An image that the service makes with its own rights, for want of a trust, belongs to the service's project. It
is handed over to the server's project before the next step, so that the server is not deleted as long as its
project has no image of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import ReservationStatus
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.kinds.aggregates import existing_aggregate
from blazar.kinds.server.arrival import LOOK_AFTER, OFFLOADED, SHELVED
from blazar.kinds.server.marks import ON_A_HOST, RESERVATION, other_reservation, owner_of, remove_mark
from blazar.kinds.server.schema import ServerParameters, Step
from blazar.kinds.shelving import mark_image
from blazar.service.ports import SHELVED_SUFFIX, Aggregate, Cloud, Image, ServerDetails
from blazar.service.ports.kind import Work

ENDING = "ending"
"""In what a reservation remembers: the step that is waited for, since when, and what was given up."""
HAS_IMAGE = "has_image"
"""In what is remembered of an end: whether the server's project has an image of it."""
COMING = frozenset({"unshelving", "spawning"})
DOING = {
    Step.CREATE_IMAGE: "an image of server {name} is being made",
    Step.SUSPEND: "server {name} is being suspended",
    Step.SHELVE: "server {name} is being shelved",
    Step.STOP: "server {name} is being stopped",
    Step.DELETE: "server {name} is being deleted",
}


@dataclass(frozen=True, slots=True)
class DepartureSettings:
    """``patience`` is how long each step may take. ``deletes_at_last`` tells whether a server that could not
    be shelved by then is deleted, also where its user did not ask for that: its host is promised to
    others."""

    image_prefix: str = "reserved_"
    patience: timedelta = timedelta(minutes=15)
    deletes_at_last: bool = True
    exempt_tag: str = ""
    """Servers with this tag stay as they are at the end of a default lease."""


@dataclass(frozen=True, slots=True)
class LeavingServer:
    """A server that leaves, and what is to be done with it."""

    server: ServerDetails
    wanted: frozenset[Step]
    properties: Mapping[str, str]
    """Those of its image. By the last one of them the image is found again."""
    key: str = ENDING
    """Under what the reservation remembers how far its end has come."""
    may_be_shelved: bool = True
    is_hinted: bool = False
    is_in_place: bool = False
    is_freed: bool = False
    """Whether it is marked as the reservation's, and others may have it afterwards."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """How far an end has come."""

    key: str
    step: Step
    since: datetime
    given_up: frozenset[Step]
    has_image: bool

    def remembered(self) -> Mapping[str, Any]:
        return {
            self.key: {
                "step": self.step.value,
                "since": self.since.isoformat(),
                "given_up": sorted(self.given_up),
                HAS_IMAGE: self.has_image,
            }
        }


@dataclass(frozen=True, slots=True)
class _Sight:
    """The images of a server as one look finds them."""

    images: Sequence[Image] = ()
    has_image: bool = False
    """Whether one of them is complete and the server's project has it."""
    failure: BlazarError | None = None
    """Why they were not found, or not handed over."""


class Departure:
    """Takes a server from its host."""

    def __init__(self, settings: DepartureSettings) -> None:
        self._settings = settings

    def deactivate(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Do what was asked for with a server that has served, then forget the host that was kept for it. One
        that never came stays as it is."""
        compute, reservation = cloud.compute, work.reservation
        server = compute.server(asked.adopted_id)
        aggregate = None if asked.is_in_place or asked.stays_on else existing_aggregate(reservation, compute)
        if server is not None and (
            other_reservation(server, work.is_unfinished, reservation.id)
            or (asked.is_in_place and self._settings.exempt_tag in server.tags)
        ):
            server = None
        if server is not None and server.is_locked and asked.locked:
            compute.unlock_server(server.id)
        wanted = _wanted(work, server, aggregate, asked) if server is not None else frozenset[Step]()
        if server is not None and wanted:
            properties = {RESERVATION: reservation.id}
            leaving = LeavingServer(
                server,
                wanted,
                properties,
                is_hinted=asked.is_hinted,
                is_in_place=asked.is_in_place,
                is_freed=True,
            )
            outcome = self.step(work, cloud, leaving)
            if outcome is not None:
                return outcome
        if aggregate is not None:
            for host in aggregate.hosts:
                compute.remove_host(aggregate.id, host)
            compute.delete_aggregate(aggregate.id)
        if server is not None:
            remove_mark(server, reservation.id, (owner_of(work.lease, cloud) or cloud).compute)
        return Done()

    def step(self, work: Work, cloud: Cloud, leaving: LeavingServer) -> Outcome | None:
        """Take the next step, or wait for it; None where there is none left."""
        user, server = owner_of(work.lease, cloud, leaving.is_hinted) or cloud, leaving.server
        # Nova keeps the disk of such a server as a snapshot of its volume, and that cannot be handed over.
        is_impossible = user is cloud and server.boots_from_volume
        cannot = frozenset({Step.CREATE_IMAGE}) if is_impossible else frozenset[Step]()
        is_wanted = Step.CREATE_IMAGE in leaving.wanted - cannot
        sight = _look(work, leaving, user, cloud) if is_wanted else _Sight()
        ending = self._ending(work, leaving, cannot, sight)
        if ending is None:
            return None
        failure = sight.failure if ending.step is Step.CREATE_IMAGE else None
        if failure is None and (server.task_state is None or ending.step is Step.DELETE):
            failure = self._ask(ending.step, leaving, user, cloud, sight)
        if failure is not None:
            # Told as a value, for what an exception tells does not remember since when this is tried.
            after = LOOK_AFTER if isinstance(failure, CloudRefused) else None
            return NotYet(failure.message, after, ending.remembered())
        return NotYet(DOING[ending.step].format(name=server.name), LOOK_AFTER, ending.remembered())

    def _ending(
        self, work: Work, leaving: LeavingServer, cannot: frozenset[Step], sight: _Sight
    ) -> _Ending | None:
        """Return the step that is next, and since when. One that took too long is given up for another."""
        before = work.reservation.cloud_state.get(leaving.key, {})
        given_up = frozenset(Step(each) for each in before.get("given_up", ())) | cannot
        while True:
            step = _next(leaving.server, self._instead(leaving, given_up), sight)
            if step is None:
                return None
            is_same = before.get("step") == step
            since = datetime.fromisoformat(before["since"]) if is_same else work.now
            if work.now - since < self._settings.patience or not self._may_give_up(step, leaving):
                return _Ending(leaving.key, step, since, given_up, sight.has_image)
            given_up |= {step}

    def _may_give_up(self, step: Step, leaving: LeavingServer) -> bool:
        if step is Step.SHELVE:
            deletes_at_last = self._settings.deletes_at_last and not leaving.is_in_place
            return deletes_at_last or Step.DELETE in leaving.wanted
        return step is not Step.DELETE

    def _instead(self, leaving: LeavingServer, given_up: frozenset[Step]) -> frozenset[Step]:
        """Return what is done in place of what was given up."""
        wanted = leaving.wanted
        if Step.CREATE_IMAGE in given_up and leaving.may_be_shelved:
            wanted = wanted - {Step.DELETE} | {Step.SHELVE}
        if Step.SHELVE in given_up:
            wanted = wanted | {Step.DELETE}
        return wanted - given_up

    def _ask(
        self, step: Step, leaving: LeavingServer, user: Cloud, cloud: Cloud, sight: _Sight
    ) -> BlazarError | None:
        """Ask Nova for the step. Return why it is not done; None where it is, or will be."""
        try:
            self._ask_for(step, leaving, user, cloud, sight)
        except (CloudUnavailable, CloudRefused) as failure:
            return failure
        return None

    def _ask_for(self, step: Step, leaving: LeavingServer, user: Cloud, cloud: Cloud, sight: _Sight) -> None:
        compute, server = user.compute, leaving.server
        match step:
            case Step.CREATE_IMAGE:
                if not sight.images:
                    # An image of the service with this suffix counts as a shelved server's, which is removed.
                    name = server.name.removesuffix(SHELVED_SUFFIX) if user is cloud else server.name
                    compute.create_image(
                        server.id, f"{self._settings.image_prefix}{name}", leaving.properties
                    )
            case Step.SUSPEND:
                compute.suspend_server(server.id)
            case Step.SHELVE if server.status == SHELVED:
                cloud.compute.offload_server(server.id)
            case Step.SHELVE:
                if leaving.is_freed:  # once it is shelved, Nova lets its mark not be taken from it
                    remove_mark(server, leaving.properties[RESERVATION], compute)
                compute.shelve_server(server.id)
                if user is cloud:
                    mark_image(server.id, cloud)
            case Step.STOP:
                compute.stop_server(server.id)
            case Step.DELETE:
                compute.delete_server(server.id)


def _wanted(
    work: Work, server: ServerDetails, aggregate: Aggregate | None, asked: ServerParameters
) -> frozenset[Step]:
    """Return what is to be done. What its user wants at the end is for a server that has served: one that was
    only on its way leaves the host, and keeps what it has."""
    if work.reservation.status is ReservationStatus.ACTIVE:
        return frozenset(asked.on_end)
    if aggregate is None:
        return frozenset({Step.SHELVE}) if asked.stays_on and server.host == asked.stays_on else frozenset()
    is_there = server.host in aggregate.hosts or server.task_state in COMING
    return frozenset({Step.SHELVE}) if is_there else frozenset()


def _next(server: ServerDetails, wanted: frozenset[Step], sight: _Sight) -> Step | None:
    """Return the first step that is wanted, not done, and possible in the server's status."""
    is_possible = server.status in ON_A_HOST or sight.failure is not None
    due = {
        Step.CREATE_IMAGE: is_possible and not sight.has_image,
        Step.SUSPEND: server.status == "ACTIVE",
        Step.SHELVE: server.status != OFFLOADED or server.task_state in COMING,
        Step.STOP: server.status == "ACTIVE",
        Step.DELETE: True,
    }
    return next((step for step in Step if step in wanted and due[step]), None)


def _look(work: Work, leaving: LeavingServer, user: Cloud, cloud: Cloud) -> _Sight:
    """Look for the server's images, and hand over to its project what the service has made."""
    if work.reservation.cloud_state.get(leaving.key, {}).get(HAS_IMAGE):
        return _Sight(has_image=True)
    *_, (name, value) = leaving.properties.items()
    project_id = leaving.server.project_id or work.lease.project_id
    images: Sequence[Image] = ()
    try:
        images = user.images.images_with(name, value, project_id if user is cloud else None)
        complete = [image for image in images if image.status == "active"]
        for image in complete:
            if user is cloud and image.project_id != project_id:
                cloud.images.hand_over(image.id, project_id)
    except (CloudUnavailable, CloudRefused) as failure:
        return _Sight(images, failure=failure)
    return _Sight(images, has_image=bool(complete))
