"""Reservations that lend the hosts which their users do not use, and preemptible servers of others that come
there by the rule of nova-scheduler's filter.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.kinds.host.schema import kept_free, lends
from blazar.service.commands import (
    NOW,
    CreateLease,
    Moment,
    ReservationChange,
    ReservationRequest,
    UpdateLease,
)
from blazar.service.ports import Server
from blazarnova import rule

from .kinds import KINDS
from .sharing import GUESTS
from .site import HOSTS as ALL
from .site import KEPT, LENT, PREEMPTIBLE, SPARE, USERS, has_lending

if TYPE_CHECKING:
    from .people import Action, Operator, User
    from .site import Site

LEND = "lend hosts"
CHANGE = "change what is lent"
BOOT = "boot preemptible servers where hosts are lent"
HOSTS = "physical:host"
ROOM = 4
"""Servers with a flavor that these people boot on one host at the most: there is room for more."""
FILTER = rule.Settings(allow_preemptibles=True, lent_aggregate=LENT)
REQUESTED = {rule.PREEMPTIBLE_SPEC: "true"}
STRANGERS = "strangers"
ON_ITS_WAY = 2.0
"""Seconds at the most from the answer of nova-scheduler until the server is on the host."""
SKEWED = timedelta(seconds=2)


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that lend hosts, and some by which others come there."""
    found = list(actions)
    if not has_lending(random):
        return found
    for who, verb, numbers in (
        (USERS, LEND, (4, 8, 12)),
        (USERS, CHANGE, (4, 8, 16)),
        (("operator",), BOOT, (2, 4, 6)),
    ):
        places = [n for n, action in enumerate(found) if action.who in who and action.verb != LEND]
        for place in random.sample(places, min(len(places), random.choice(numbers))):
            found[place] = replace(found[place], verb=verb, seed=random.getrandbits(32))
    return found


# what users do


def lend(user: User, random: Random) -> None:
    """Ask for hosts of which those are lent that are not used; some times for as many as there are, and for
    the same ones again as soon as that is over."""
    number, start = random.choice((1, 2, 2, 3)), random.choice((0, 0, 0, 1))
    if random.random() < 0.7:
        end = user.in_minutes(start + random.choice((2, 2, 3, 5, 30)))
        _reserve(user, random, user.in_minutes(start) if start else NOW, end, (number, number))
        return
    end = user.in_minutes(random.choice((2, 3)))
    _reserve(user, random, NOW, end, (1, len(ALL)))
    _reserve(user, random, end, end + timedelta(minutes=2), (1, len(ALL)))
    for _ in range(20):
        at = end + timedelta(seconds=20 * random.random()) - user.world.now()
        _ask_nova_after(user.site, at.total_seconds(), random)


def _reserve(user: User, random: Random, start: Moment, end: datetime, number: tuple[int, int]) -> None:
    amount = {"min": number[0], "max": number[1], "resource_properties": ""}
    wish = {**KINDS[HOSTS].parameters(random), **amount, **_wish(random)}
    requests = (ReservationRequest(HOSTS, wish),)
    user.create_as(CreateLease("lease", start, end, None, requests, user.new_id()))


def change(user: User, random: Random) -> None:
    """Have an active reservation lend, or keep more, or lend no more; or boot on its hosts."""
    found = _some_active(user, random)
    if found is None:
        return
    verb = random.choice((_change, _change, _boot_own, _boot_own, _force))
    verb(user, random, *found)


def _wish(random: Random) -> Mapping[str, Any]:
    return {"lend": True, "keep_free": random.choice((0, 0, 1, 1, 2))}


def _some_active(user: User, random: Random) -> tuple[Lease, Reservation] | None:
    """Return an active reservation of hosts that the user has; one that lends, where there is one."""
    found = [
        (lease, reservation)
        for lease, reservation in _active(user.site)
        if lease.id in user.known and user.known[lease.id].lease is not None
    ]
    found = [each for each in found if lends(each[1])] or found
    return random.choice(found) if found else None


def _change(user: User, random: Random, lease: Lease, reservation: Reservation) -> None:
    wish = {"lend": False} if lends(reservation) and random.random() < 0.5 else _wish(random)
    user.update(lease, UpdateLease(reservations=(ReservationChange(reservation.id, wish),)))


def _boot_own(user: User, random: Random, lease: Lease, reservation: Reservation) -> None:
    """Boot servers in the reservation, some of them preemptible: a reservation takes all of its project.
    Those that may be moved are left out: nova-scheduler would move them within the reservation only."""
    state = user.site.cloud.state
    for _ in range(random.choice((1, 1, 2))):
        server_id = f"{user.name}{len(user.rules.booted) + 1}"
        host = user.rules.boot(lease, reservation, server_id)
        if host is not None:
            is_preemptible = random.random() < 0.6 and _has_room(user.site, host)
            if is_preemptible:
                state.flavor_of[server_id] = random.choice((SPARE, KEPT)).id
            told = f"on {host}{', preemptible' if is_preemptible else ''}"
            user.world.tell(f"boot {server_id} in {reservation.id[:4]}", told)


def _force(user: User, random: Random, lease: Lease, reservation: Reservation) -> None:
    """Have an administrator boot an ordinary server of others on one of the hosts, past the filter."""
    hosts = sorted(user.site.members(reservation.id))
    if hosts:
        server_id, host = f"forced{len(user.rules.booted) + 1}", random.choice(hosts)
        user.site.cloud.boot(server_id, host, STRANGERS)
        user.rules.watch(server_id, lease, reservation, host)
        user.world.tell(f"force {server_id} into {reservation.id[:4]}", f"on {host}")


# what others do


def boot(operator: Operator, random: Random) -> None:
    """Have preemptible servers of others come to what is lent for a while, at any moment."""
    for _ in range(random.choice((20, 50, 100))):
        _ask_nova_after(operator.site, 100 * random.random(), random)


def fill(site: Site, random: Random) -> None:
    """Have preemptible servers come to all that is lent."""
    for host in sorted(site.members(LENT)):
        for _ in range(random.choice((1, 2))):
            _ask_nova(site, random, [host])


def _ask_nova_after(site: Site, seconds: float, random: Random) -> None:
    seed = random.getrandbits(32)
    site.world.scheduler.after(max(seconds, 0), lambda: _ask_nova(site, Random(seed)))


def _ask_nova(site: Site, random: Random, hosts: Sequence[str] | None = None) -> None:
    """Boot a preemptible server where nova-scheduler lets it in. It is on the host a moment later, unless the
    reservation has the host no more."""
    asked = site.members(LENT) if hosts is None else hosts
    let_in = [host for host in sorted(asked) if _lets(site, host) and _has_room(site, host)]
    if not let_in:
        return
    host, project = random.choice(let_in), random.choice((STRANGERS, STRANGERS, *GUESTS))
    flavor, is_slow = random.choice(PREEMPTIBLE), random.random() < 0.5
    lender = _reservation_with(site, host)
    site.let_in(host)
    site.on_their_way[host] += 1
    site.guests += 1
    server_id = f"stray-guest{site.guests}"

    def arrive() -> None:
        site.on_their_way[host] -= 1
        if _reservation_with(site, host) != lender:
            return
        site.cloud.boot(server_id, host, project)
        site.cloud.state.flavor_of[server_id] = flavor.id
        if is_slow and flavor is KEPT:
            site.cloud.state.slow.add(server_id)
        site.strays[server_id] = site.world.now()
        site.world.tell(f"boot {server_id}, {flavor.name}, of {project}", f"on {host}", actor="cloud")

    site.world.scheduler.after(random.choice((0, ON_ITS_WAY)) * random.random(), arrive)


def _lets(site: Site, host: str) -> bool:
    """Return whether the filter lets a preemptible server onto the host as one that is lent."""
    there = [
        rule.Aggregate(each.name, each.availability_zone, each.metadata)
        for each in site.cloud.state.aggregates.values()
        if host in each.hosts
    ]
    verdict = rule.decide(rule.RequestSpec(STRANGERS, extra_specs=REQUESTED), there, FILTER)
    return verdict.reason is rule.Reason.PREEMPTIBLE_LENT


def _has_room(site: Site, host: str) -> bool:
    """Return whether Placement has room on the host, beside what is there and what is on its way."""
    state = site.cloud.state
    there = sum(each.host == host and each.id in state.flavor_of for each in state.servers.values())
    return there + site.on_their_way[host] < ROOM


def _reservation_with(site: Site, host: str) -> str | None:
    """Return the name of the aggregate of the host reservation that has the host."""
    aggregates = site.cloud.state.aggregates.values()
    return next((a.name for a in aggregates if a.availability_zone and host in a.hosts), None)


# once the troubles are over


def lend_more(user: User, random: Random) -> None:
    """Ask for hosts of which some are lent."""
    for minutes, most in ((15, 3), (6, 3), (4, 2)):
        known = len(user.known)
        _reserve(user, random, NOW, user.in_minutes(minutes), (1, most))
        if len(user.known) > known:
            return


def take_back(user: User, random: Random) -> None:
    """Use some of what is lent, and lend some of it no more."""
    for lease, reservation in list(_active(user.site)):
        if lease.id in user.known and lends(reservation):
            verb = random.choice((_boot_own, _boot_own, _change))
            verb(user, random, lease, reservation)


# what is to be so in the end


def too_few_kept(site: Site) -> Iterator[str]:
    """Yield the active reservations that do not have free what they keep, and their hosts on which servers
    of others are beside those of the reservation's projects."""
    for lease, reservation in _active(site):
        hosts = _hosts(site, reservation)
        idle = [host for host in hosts if not _own_on(site, host, lease)]
        free = [host for host in idle if not _guests_on(site, host, lease)]
        wanted = min(len(idle), kept_free(reservation)) if lends(reservation) else len(idle)
        if len(free) < wanted:
            yield f"reservation {reservation.id} has {free} free of {idle} instead of {wanted}"
        for host in sorted(set(hosts) - set(idle)):
            if guests := _guests_on(site, host, lease):
                yield f"{host} is used by reservation {reservation.id}, and {guests} are on it"


def wrongly_lent(site: Site) -> Iterator[str]:
    """Yield the hosts that are lent, and in no reservation that lends them; and marks of none."""
    lenders = [(lease, each) for lease, each in _active(site) if lends(each)]
    lendable = {
        host for lease, each in lenders for host in _hosts(site, each) if not _own_on(site, host, lease)
    }
    if wrong := site.members(LENT) - lendable:
        yield f"{sorted(wrong)} are lent"
    marks = {key for a in site.cloud.state.aggregates.values() if a.name == LENT for key in a.metadata}
    unfinished = {
        each.id
        for lease in site.leases().values()
        if lease.status is not LeaseStatus.TERMINATED
        for each in lease.reservations
    }
    if wrong := marks - unfinished:
        yield f"reservations {sorted(wrong)} are over, and are said to lend"


def is_too_soon(site: Site, host: str) -> str | None:
    """Say which reservation has the host and has begun too short a time ago to lend it."""
    earliest = site.world.now() - timedelta(minutes=site.lent_after_minutes) + SKEWED
    name = _reservation_with(site, host)
    for lease in site.leases().values():
        if lease.interval.start > earliest and any(each.id == name for each in lease.reservations):
            return f"reservation {name} has begun at {lease.interval.start}, and {host} is lent"
    return None


def has_to_be_lent(site: Site) -> bool:
    """Return whether there is a reservation that could lend, and no host is lent yet."""
    return not site.members(LENT) and any(
        len([h for h in _hosts(site, each) if not _own_on(site, h, lease)]) > kept_free(each)
        for lease, each in _active(site)
        if lends(each)
    )


def _active(site: Site) -> Iterator[tuple[Lease, Reservation]]:
    """Yield the active reservations of hosts in active leases."""
    for lease in site.leases().values():
        if lease.status is LeaseStatus.ACTIVE:
            for each in lease.reservations:
                if each.resource_type == HOSTS and each.status is ReservationStatus.ACTIVE:
                    yield lease, each


def _hosts(site: Site, reservation: Reservation) -> Sequence[str]:
    """Return the hosts that the reservation has and uses: those that are bound."""
    return sorted(site.host_of(a.resource_id) for a in reservation.allocations if a.bound)


def _users(site: Site, lease: Lease) -> set[str]:
    """Return the projects that may use the lease."""
    shares = site.database.committed.shares.get(lease.id, ())
    return {lease.project_id, *(each.project_id for each in shares if each.right.may_use)}


def _own_on(site: Site, host: str, lease: Lease) -> bool:
    users = _users(site, lease)
    return any(each.project_id in users for each in _servers_on(site, host))


def _guests_on(site: Site, host: str, lease: Lease) -> Sequence[str]:
    """Return the preemptible servers of others on the host."""
    users, state = _users(site, lease), site.cloud.state
    preemptible = {flavor.id for flavor in PREEMPTIBLE}
    return sorted(
        each.id
        for each in _servers_on(site, host)
        if each.project_id not in users and state.flavor_of.get(each.id) in preemptible
    )


def _servers_on(site: Site, host: str) -> Sequence[Server]:
    return [each for each in site.cloud.state.servers.values() if each.host == host]
