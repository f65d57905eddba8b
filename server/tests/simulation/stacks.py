"""Users who have a stack made with their lease, and a Heat that makes and deletes it.

Half of the seeds have some of them, drawn by themselves: the other seeds have no stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.start_task import StackRequest
from blazar.service.commands import CreateLease, RequestKey, StartTaskWish

from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .people import Action, User
    from .site import Site

START = "create with a stack"
TEMPLATE = {"heat_template_version": "2021-04-16", "parameters": {"lease": {"type": "string"}}}
WISH = StartTaskWish(stack=StackRequest(TEMPLATE, parameters={"lease": "{lease.id}"}))
HAS_STACK = (LeaseStatus.ACTIVE, LeaseStatus.ERROR)


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some leases that have a stack."""
    return some_replaced(random, actions, START, (2, 4, 8))


def create(user: User, random: Random) -> None:
    """Ask for a lease with a stack; and then delete it, end it, or leave it."""
    lease_id = str(UUID(int=user.ids.getrandbits(128), version=4))
    minute = user.world.now().replace(second=0, microsecond=0)
    start = minute + timedelta(minutes=random.choice((1, 1, 2, 3)))
    end = start + timedelta(minutes=random.choice((1, 2, 3, 5, 30)))
    request = KINDS[random.choice(user.kinds)].request(random)
    command = CreateLease("lease", start, end, None, (request,), lease_id)
    user.ask(
        lease_id,
        f"create {request.resource_type} with a stack from {start:%H:%M} to {end:%H:%M}",
        lambda: user.leases.create(command, user.caller, key=RequestKey(lease_id, ""), start=WISH),
    )
    if random.random() < 0.3:
        user.world.scheduler.sleep(random.choice((1, 62, 64, 70, 100)))
        user.delete_lease(lease_id)


def twice(site: Site) -> Iterator[str]:
    """Yield the names that two stacks have."""
    names = Counter(made.stack.name for made in site.cloud.state.stacks.values())
    yield from (name for name, number in names.items() if number > 1)


def left(site: Site) -> Iterator[str]:
    """Yield what is left of stacks: the stacks themselves, and what is kept of them, without a lease that has
    them."""
    known = {lease.id for lease in site.leases().values() if lease.status in HAS_STACK}
    names = {f"blazar-{lease_id}" for lease_id in known}
    yield from (m.stack.name for m in site.cloud.state.stacks.values() if m.stack.name not in names)
    for lease_id, held in site.database.committed.start_tasks.items():
        is_over = held.task.due is None and held.task.trust_id is None and held.task.request is None
        if lease_id not in site.leases() or (
            not is_over and site.leases()[lease_id].status is LeaseStatus.TERMINATED
        ):
            yield f"the task of lease {lease_id}"
