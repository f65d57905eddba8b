"""Preemptible servers on hosts of the freepool, which are given notice before a lease needs their host.

Half of the seeds have notices, drawn by themselves: the others are the same without this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.kinds.registered_hosts import POOL
from blazar.service.commands import CreateLease
from blazar.service.preemption_notices import NOTICE

from . import moments
from .kinds import KINDS
from .site import NOTICE_MINUTES, SPARE, USERS, has_notices

if TYPE_CHECKING:
    from .people import Action, Operator, User
    from .site import Site

BOOT = "boot preemptible servers"
RESERVE = "reserve the hosts of preemptible servers"
HOSTS = "physical:host"
NEEDED_BY = (LeaseStatus.PENDING, LeaseStatus.STARTING)
SKEWED = timedelta(seconds=2)


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that boot preemptible servers."""
    found = list(actions)
    if not has_notices(random):
        return found
    for who, verb in ((("operator",), BOOT), (USERS, RESERVE)):
        places = [n for n, action in enumerate(found) if action.who in who]
        for place in random.sample(places, min(len(places), random.choice((1, 2, 4)))):
            found[place] = replace(found[place], verb=verb, seed=random.getrandbits(32))
    return found


def boot(operator: Operator, random: Random) -> None:
    hosts = _open(operator.site)
    for host in random.sample(hosts, random.randint(0, len(hosts))):
        _boot(operator.site, host, random)


def reserve(user: User, random: Random) -> None:
    """Reserve hosts on which preemptible servers run, so that these are given notice; and then delete the
    lease, or leave it."""
    site, lease_id = user.site, str(UUID(int=user.ids.getrandbits(128), version=4))
    minute = user.world.now().replace(second=0, microsecond=0)
    start = random.choice((2, 3, 4))
    begin, end = minute + timedelta(minutes=start), minute + timedelta(minutes=start + 2)
    user.create_as(CreateLease("lease", begin, end, None, (KINDS[HOSTS].request(random),), lease_id))
    lease = site.leases().get(lease_id)
    if lease is not None:
        for host in sorted(_planned(site, lease) & set(_open(site))):
            _boot(site, host, random)
    user.world.scheduler.sleep(random.choice((1, 70, 70, 130)))
    if random.random() < 0.7:
        user.delete_lease(lease_id)


def _open(site: Site) -> Sequence[str]:
    """Return the hosts onto which the filter in nova-scheduler lets preemptible servers: those that serve no
    reservation."""
    serving = {h for a in site.cloud.state.aggregates.values() if a.name != FREEPOOL for h in a.hosts}
    return sorted(site.in_freepool() - serving)


def _boot(site: Site, host: str, random: Random) -> None:
    server_id = moments.leave(site, host, random.choice((0, 0, 20)) * random.random())
    site.cloud.state.flavor_of[server_id] = SPARE.id


def _planned(site: Site, lease: Lease) -> set[str]:
    """Return the compute service hosts that the lease has or gets."""
    known = site.registrations()
    return {
        str(known[each.resource_id].facts["service_name"])
        for each in lease.allocations
        if each.resource_id in known and known[each.resource_id].pool == POOL
    }


def not_needed(site: Site) -> Iterator[str]:
    """Yield the servers that carry a notice for a host that no lease needs soon. What is being deleted or
    shelved does not count: Nova lets it not be changed."""
    soon = site.world.now() + timedelta(minutes=NOTICE_MINUTES) + SKEWED
    needed = {
        host
        for lease in site.leases().values()
        if lease.status in NEEDED_BY and lease.interval.start <= soon
        for host in _planned(site, lease)
    }
    state = site.cloud.state
    for server in state.servers.values():
        has_notice = NOTICE in state.server_metadata.get(server.id, {})
        is_unchangeable = server.is_being_deleted or server.status.startswith("SHELVED")
        if has_notice and server.host not in needed and not is_unchangeable:
            yield f"{server.id} on {server.host}"
