"""Users who reserve servers that exist: shelved until the start, on the host that is kept for them until the
end.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import NOW, CreateLease

from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .people import Action, User
    from .site import Site

RESERVE = "reserve a server"
TYPE = "instance:server"
ORDINARY = "ordinary"
"""The host of ordinary servers, which is not the service's."""
SEEN_AFTER = 20
"""How often an administrator looks for servers that wait to be evacuated."""


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that reserve servers."""
    return some_replaced(random, actions, RESERVE, (1, 2, 4, 8))


def reserve(user: User, random: Random) -> None:
    """Boot a server, and reserve it for a while."""
    server_id, lease_id = (str(UUID(int=user.ids.getrandbits(128), version=4)) for _ in range(2))
    _boot(user, server_id, is_slow=random.random() < 0.5)
    request = KINDS[TYPE].request(random)
    request = replace(request, parameters={**request.parameters, "server_id": server_id})
    more = [KINDS[random.choice(user.kinds)].request(random)] if random.random() < 0.2 else []
    minute = user.world.now().replace(second=0, microsecond=0)
    start = random.choice((0, 0, 1, 2, 3))
    end = max(start, 1) + random.choice((1, 2, 3, 5, 30))
    begin = minute + timedelta(minutes=start) if start else NOW
    user.create_as(
        CreateLease("lease", begin, minute + timedelta(minutes=end), None, (request, *more), lease_id)
    )
    if random.random() < 0.3:
        user.world.scheduler.sleep(random.choice((0.1, 1, 5, 70)) * random.random())
        random.choice((user.delete_lease, lambda _: user.end_now(random)))(lease_id)


def _boot(user: User, server_id: str, is_slow: bool) -> None:
    site, state = user.site, user.site.cloud.state
    if not site.adopted:
        site.cloud.add_hypervisor("99", ORDINARY)
        user.world.scheduler.spawn("administrator", site.outside, lambda: _evacuate_all(site))
    site.cloud.boot(server_id, ORDINARY, user.caller.project_id)
    state.flavor_of[server_id] = "small"
    if is_slow:
        state.slow.add(server_id)
    site.adopted.add(server_id)
    user.world.tell(f"boot {server_id[:4]}", f"on {ORDINARY}{', where Nova is slow' if is_slow else ''}")


def _evacuate_all(site: Site) -> None:
    while True:
        site.world.scheduler.sleep(SEEN_AFTER)
        for lease in site.leases().values():
            if lease.status in (LeaseStatus.STARTING, LeaseStatus.ACTIVE):
                for each in lease.reservations:
                    if each.resource_type == TYPE and each.allocations:
                        host = site.host_of(each.allocations[0].resource_id)
                        # Nova's scheduler lets it onto no other host than one that is kept for it.
                        if host in site.cloud.hosts_in(each.id):
                            _evacuate(site, each.parameters["server_id"], host)


def _evacuate(site: Site, server_id: str, host: str) -> None:
    state = site.cloud.state
    server = state.servers.get(server_id)
    is_elsewhere = server is not None and server.host not in (host, None, ORDINARY)
    if server is not None and is_elsewhere and server_id not in state.tasks and site.is_whole(host):
        state.servers[server_id] = replace(server, host=host)
        site.world.tell(f"evacuate {server_id[:4]}", f"from {server.host} to {host}")
