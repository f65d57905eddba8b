"""The kind instance:server: what it asks of the calendar, and what becomes of its servers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar

from oslo_config import cfg, types

from blazar.domain.errors import CantUpdateParameter, MalformedParameter
from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import Comparison, Requirement
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import Registration, Usage
from blazar.kinds.aggregates import AGGREGATE_ID, NamedAggregate
from blazar.kinds.fields import described
from blazar.kinds.preemptibles import hosts_of
from blazar.kinds.registered_hosts import POOL, ZONE, HostsExtension
from blazar.kinds.registered_hosts.replies import host_view
from blazar.kinds.server import comparison, rules, schema
from blazar.kinds.server.arrival import OFFLOADED, SHELVED, Arrival
from blazar.kinds.server.default_leases import DefaultLeaseFinder, DefaultLeaseSettings
from blazar.kinds.server.departure import Departure, DepartureSettings
from blazar.kinds.server.errors import (
    ImageNotFound,
    ServerNetworkNotFound,
    ServerNotFound,
    ServerNotReservable,
)
from blazar.kinds.server.hints import HintFinder
from blazar.kinds.server.marks import ON_A_HOST, other_reservation
from blazar.kinds.server.new_servers import SERVERS, NewServers, numbers_of, size_of
from blazar.kinds.server.schema import ReservedServer, ServerParameters, Step
from blazar.kinds.slots import SlotActuator, SlotSettings
from blazar.kinds.slots import comparison as slots_comparison
from blazar.kinds.slots.kind import MEASURES, NOUN
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.kinds.slots.visible import visible_flavor
from blazar.service.ports import Cloud, Difference, Look, MarkedObject, ServerDetails
from blazar.service.ports.kind import Kind, LeaseFinder, Measure, RequestContext, Work

GROUP = "instance:server"
HINTS = "lease_hints"
RESERVABLE = ON_A_HOST | {SHELVED, OFFLOADED}


class ServerKind(Kind[ServerParameters]):
    """A server that exists: shelved until the start, on a host that is kept for it until the end. Or new
    servers, which are booted at the start."""

    resource_type = "instance:server"
    pool = POOL
    extension = HostsExtension
    quantities = ("instances", "vcpus", "memory_mb")
    zone_property = ZONE
    requirement_parameters = (schema.PROPERTIES,)
    parameters_schema: ClassVar[Mapping[str, Any]] = {
        **described(ServerParameters, (), own=schema.OWN),
        "anyOf": [{"required": [schema.SERVER_ID]}, {"required": list(schema.NEEDED)}],
    }
    later_parameters: ClassVar[Mapping[str, tuple[int, int]]] = dict.fromkeys(schema.TEMPLATE, (1, 20))
    options: ClassVar[Mapping[str, Sequence[cfg.Opt]]] = {
        GROUP: (
            cfg.ListOpt(
                "on_end",
                default=["shelve"],
                item_type=types.String(choices=list(Step)),
                help="What is done with the server at the end of reservations that do not say it. One of "
                "shelve and delete must be among it.",
            ),
            cfg.IntOpt(
                "step_timeout",
                default=900,
                min=60,
                help="How many seconds each step at the end may take, such as an image, before it is given "
                "up for the next one.",
            ),
            cfg.BoolOpt(
                "delete_at_last",
                default=True,
                help="Delete a server that could not be shelved within step_timeout, also where its user did "
                "not ask for that: its host is promised to others. Without it, their leases wait.",
            ),
        ),
        HINTS: (
            cfg.BoolOpt(
                "enabled",
                default=False,
                help="Make leases for servers that are booted with the scheduler hint lease_params. Nova has "
                "to have compute microversion 2.100.",
            ),
            cfg.IntOpt(
                "look_seconds",
                default=20,
                min=1,
                help="How many seconds pass between two looks for servers with the hint.",
            ),
        ),
        rules.GROUP: (
            cfg.BoolOpt(
                "enabled",
                default=False,
                help="Give each ordinary server a lease, so that it is reclaimed at the end. Nova has to "
                "have compute microversion 2.100.",
            ),
            cfg.StrOpt(
                "reservation_start_date",
                default=rules.NOW,
                help="When the leases start: now, or YYYY-MM-DD HH:MM (UTC), before which none starts.",
            ),
            cfg.IntOpt(
                "reservation_length_days",
                default=30,
                min=0,
                max=3650,
                help="How many days the leases last. Hours and minutes are added.",
            ),
            cfg.IntOpt(
                "reservation_length_hours",
                default=0,
                min=0,
                help="How many hours the leases last, beside days and minutes.",
            ),
            cfg.IntOpt(
                "reservation_length_minutes",
                default=0,
                min=0,
                help="How many minutes the leases last, beside days and hours.",
            ),
            cfg.IntOpt(
                rules.WARNING,
                default=48,
                min=1,
                help="How many hours before the end of such a lease its user is warned.",
            ),
            cfg.ListOpt(
                rules.ON_END,
                default=["shelve"],
                item_type=types.String(choices=list(Step)),
                help="What is done with the server at the end. One of shelve and delete must be among it. An "
                "image by create_image is handed over to the server's project.",
            ),
            cfg.MultiStrOpt(
                "rule",
                default=[],
                help="Other terms for some servers. The first rule that applies counts. Its parts have "
                "semicolons between them: conditions (project and image by ids, flavor by names, with commas "
                "between several), and days, hours, minutes, warn_hours and on_end, or exempt.",
                sample_default=["flavor=m1.huge; days=7; on_end=stop,delete"],
            ),
            cfg.StrOpt(
                "exempt_tag",
                default="no-lease",
                help="Servers with this tag get no lease, and stay as they are at the end of the one that "
                "they have. Empty for no such tag.",
            ),
            cfg.BoolOpt(
                "include_existing",
                default=False,
                help="Give leases also to servers that were there before this was enabled.",
            ),
            cfg.IntOpt(
                "look_seconds",
                default=20,
                min=1,
                help="How many seconds pass between two looks for servers without a lease.",
            ),
        ),
    }

    def __init__(
        self,
        on_end: Sequence[Step] = (Step.SHELVE,),
        owner_key: str = "blazar:owner",
        settings: DepartureSettings | None = None,
        preemptibles_make_way: bool = False,
        finders: Sequence[LeaseFinder] = (),
    ) -> None:
        self._finders = finders
        self._on_end = on_end
        self._owner_key = owner_key
        self._arrival = Arrival(owner_key, preemptibles_make_way)
        settings = settings or DepartureSettings()
        self._departure = Departure(settings)
        self._slots = SlotSettings(owner_key, settings.image_prefix, preemptibles_make_way)
        self._new_servers = NewServers(SlotActuator(self._slots), self._departure)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> ServerKind:
        own = conf[GROUP]
        try:
            on_end = schema.parse_on_end(own.on_end)
        except MalformedParameter as refusal:
            raise ValueError(f"[{GROUP}] {refusal.message}") from refusal
        patience, exempt = timedelta(seconds=own.step_timeout), conf[rules.GROUP].exempt_tag
        settings = DepartureSettings(conf.nova.image_prefix, patience, own.delete_at_last, exempt)
        return cls(on_end, conf.nova.blazar_owner, settings, conf.nova.end_preemptibles, _finders(conf))

    # hooks of the request

    def decode(self, parameters: Mapping[str, Any]) -> ServerParameters:
        return ServerParameters.model_validate(parameters)

    def encode(self, asked: ServerParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> ServerParameters:
        return schema.parse(parameters, self._on_end)

    def complete(self, asked: ServerParameters, request: RequestContext) -> ServerParameters:
        if asked.server is not None:
            return asked
        server = _new(asked, request) if asked.is_template else _existing(asked, request)
        if not asked.is_in_place:
            needs_of(server.flavor)
        return asked.model_copy(update={"server": server})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> ServerParameters:
        old = self.asked(current)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        revised = self.parse({**current.parameters, **known})
        before, after = self.encode(old), self.encode(revised)
        fixed = [name for name in schema.PARAMETERS if name not in schema.CHANGEABLE]
        if changed := [name for name in fixed if before[name] != after[name]]:
            raise CantUpdateParameter(param=changed[0])
        is_moved = revised.resource_properties != old.resource_properties
        if is_moved and current.status is ReservationStatus.ACTIVE:
            raise CantUpdateParameter(param=schema.PROPERTIES)
        kept = {name: getattr(old, name) for name in schema.OWN}
        return revised.model_copy(update=kept)

    def render(self, reservation: Reservation) -> dict[str, Any]:
        asked = self.asked(reservation)
        flavor = asked.reserved.flavor
        return {
            **(_shown_new(asked, reservation) if asked.is_template else {schema.SERVER_ID: asked.server_id}),
            schema.NAME: asked.reserved.name,
            schema.ON_END: list(asked.on_end),
            schema.PROPERTIES: asked.resource_properties,
            schema.LOCKED: asked.locked,
            "vcpus": flavor.vcpus,
            "memory_mb": flavor.ram,
            "disk_gb": flavor.disk,
            "aggregate_id": reservation.cloud_state.get(AGGREGATE_ID),
        }

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        if asked.is_in_place:
            return Demand(reservation.id, 0, 0, plural=NOUN)
        needs = needs_of(asked.reserved.flavor)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=Usage(needs.amounts),
            requirement=_requirement(asked),
            required_traits=needs.required,
            forbidden_traits=needs.forbidden,
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural=NOUN,
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        asked = self.asked(reservation)
        if asked.is_in_place:
            return {}
        amount, flavor = asked.amount, asked.reserved.flavor
        return {"instances": amount, "vcpus": amount * flavor.vcpus, "memory_mb": amount * flavor.ram}

    def with_units(self, asked: ServerParameters, units: int) -> Mapping[str, Any]:
        return {schema.AMOUNT: units} if asked.is_template and units else {}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return MEASURES

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        return {**host_view(resource)}

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        """Remember a server that exists from the beginning: a deletion has to take the mark from it."""
        asked = self.asked(new)
        is_marked = not (asked.is_template or asked.is_in_place or asked.stays_on)
        return {schema.SERVER_ID: asked.server_id} if old is None and is_marked else None

    def prepare(self, lease: Lease, reservation: Reservation, request: RequestContext) -> Mapping[str, Any]:
        return {}

    def acts_for_user(self, reservation: Reservation) -> bool:
        """The server is the user's, and so are its images. For want of a trust the service makes them, and
        hands them over."""
        return not self.asked(reservation).is_hinted

    def is_made_ready(self, reservation: Reservation) -> bool:
        asked = self.asked(reservation)
        return not (asked.is_template or asked.stays_on)

    # verbs of events

    def make_ready(self, work: Work, cloud: Cloud) -> Outcome:
        return self._arrival.make_ready(work, cloud, self.asked(work.reservation))

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        asked = self.asked(work.reservation)
        if asked.is_in_place:
            return Done()
        if asked.stays_on:
            return self._arrival.stay(cloud, asked)
        doing = self._new_servers if asked.is_template else self._arrival
        return doing.activate(work, cloud, asked)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def hosts_to_clear(self, work: Work) -> Sequence[str]:
        asked = self.asked(work.reservation)
        is_there = asked.is_in_place or asked.stays_on
        return hosts_of(work) if self._slots.preemptibles_make_way and not is_there else ()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        asked = self.asked(work.reservation)
        doing = self._new_servers if asked.is_template else self._departure
        return doing.deactivate(work, cloud, asked)

    def used(self, work: Work, cloud: Cloud) -> int | None:
        """Return how many of the servers are on their hosts."""
        asked = self.asked(work.reservation)
        if asked.is_in_place:
            return None
        if asked.is_template:
            return sum(each.status in ON_A_HOST for each in cloud.compute.servers_of(work.reservation.id))
        server = cloud.compute.server(asked.adopted_id)
        return int(server is not None and server.status in ON_A_HOST)

    def is_used(self, work: Work, cloud: Cloud) -> bool:
        """A host is kept for the server, whether it runs or not."""
        return True

    def lease_finders(self) -> Sequence[LeaseFinder]:
        return self._finders

    # comparison

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        asked = self.asked(work.reservation)
        if asked.is_in_place or asked.stays_on:
            return ()
        if asked.is_template:
            return slots_comparison.differences(work, look, size_of(asked), self._slots)
        return comparison.differences(work, look, asked, self._owner_key)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        yield from comparison.marked(look)
        yield from slots_comparison.marked(look)


def _finders(conf: cfg.ConfigOpts) -> Sequence[LeaseFinder]:
    """Return what the operator has enabled. Raises ValueError."""
    hinted, default = conf[HINTS], conf[rules.GROUP]
    found: list[LeaseFinder] = []
    if hinted.enabled:
        freepool = NamedAggregate(conf.nova.aggregate_freepool_name) if conf.nova.backfill else None
        found.append(HintFinder(timedelta(seconds=hinted.look_seconds), freepool))
    if default.enabled:
        settings = DefaultLeaseSettings(
            rules.parse_rules(default),
            timedelta(seconds=default.look_seconds),
            rules.parse_start(default.reservation_start_date),
            default.exempt_tag,
            default.include_existing,
            hinted.enabled,
        )
        found.append(DefaultLeaseFinder(settings))
    return found


def _requirement(asked: ServerParameters) -> Requirement:
    """Return what the host has to be; the one where the server is, where it stays there."""
    wanted = parse_requirement(asked.resource_properties)
    if not asked.stays_on:
        return wanted
    host = Comparison("service_name", Operator.EQUAL, (term_of(asked.stays_on),))
    return wanted.joined(Requirement(host))


def _existing(asked: ServerParameters, request: RequestContext) -> ReservedServer:
    """Return a server as it is now. Raises ServerNotFound, ServerNotReservable."""
    server = request.cloud.compute.server(asked.adopted_id)
    if server is None or server.project_id != request.caller.project_id:
        raise ServerNotFound(server=asked.adopted_id)
    if asked.stays_on and server.host != asked.stays_on:
        raise ServerNotReservable(server=server.id, reason=f"it is no longer on host {asked.stays_on}")
    if not asked.is_in_place:
        _require_reservable(server, request)
    flavor = SourceFlavor.model_validate({**asdict(server.flavor), "id": server.flavor.name})
    return ReservedServer(name=server.name, flavor=flavor)


def _require_reservable(server: ServerDetails, request: RequestContext) -> None:
    if server.status not in RESERVABLE:
        raise ServerNotReservable(server=server.id, reason=f"it is in status {server.status}")
    if server.is_locked:
        raise ServerNotReservable(server=server.id, reason="it is locked")
    if other := other_reservation(server, request.is_unfinished):
        raise ServerNotReservable(server=server.id, reason=f"it is in reservation {other}")


def _new(asked: ServerParameters, request: RequestContext) -> ReservedServer:
    """Return what new servers get. What can be wrong at the start is looked at now, as far as Nova's
    neighbours tell. Raises FlavorNotFound, ImageNotFound, NetworkNotFound."""
    flavor = visible_flavor(str(asked.flavor_id), request)
    own = request.own_cloud(str(request.caller.project_id))
    if own.images.image(str(asked.image_id)) is None:
        raise ImageNotFound(image=asked.image_id)
    for network_id in () if isinstance(asked.networks, str) else asked.networks:
        if own.network.network(network_id) is None:
            raise ServerNetworkNotFound(network=network_id)
    return ReservedServer(name=str(asked.server_name), flavor=flavor)


def _shown_new(asked: ServerParameters, reservation: Reservation) -> dict[str, Any]:
    """Return what is shown of new servers: of their user data only whether there are any."""
    known = reservation.cloud_state.get(SERVERS, {})
    return {
        schema.IMAGE: asked.image_id,
        schema.FLAVOR: asked.flavor_id,
        schema.AMOUNT: asked.amount,
        schema.NETWORKS: asked.networks if isinstance(asked.networks, str) else list(asked.networks),
        schema.KEY: asked.key_name,
        schema.GROUPS: list(asked.security_groups),
        "has_user_data": asked.user_data is not None,
        SERVERS: [known[number] for number in numbers_of(asked) if number in known],
    }
