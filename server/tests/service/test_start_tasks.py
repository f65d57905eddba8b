"""What is started with leases: a stack is made after the start and deleted before the end, whatever Heat and
the users do meanwhile, and a webhook is told of both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import (
    ClaimLost,
    CloudRefused,
    CloudUnavailable,
    InvalidInput,
    TooManySubscriptions,
)
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.start_task import StackRequest, StartTask, StartTaskStatus
from blazar.domain.subscription import SubscriptionStatus
from blazar.engine.orchestrating import Orchestrating
from blazar.service.commands import (
    NOW,
    CreateLease,
    StartTaskWish,
    WebhookWish,
)
from blazar.service.ports import NewStack, Stack
from blazar.service.ports.kind import Dependencies
from blazar.service.retention import purge_some
from blazar.service.start_tasks import StartTasks, StartTaskUseCases
from blazar.service.webhooks import match

from .world import DEMO, Crash, Steps, World, instances, whole_hosts

TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "parameters": {name: {"type": "string"} for name in ("flavor", "password", "lease")},
}
STACK = StackRequest(TEMPLATE, parameters={"password": "top-secret"})
WEBHOOK = WebhookWish("https://receiver.example.com/leases", "subscription", "whsec_c2VjcmV0")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def world() -> World:
    return World()


def tasks_of(world: World) -> StartTasks:
    return StartTasks(Dependencies(world.database, world.cloud, world.kinds, world.clock))


def create(
    world: World, request: StackRequest = STACK, start: float = 10, end: float = 70, **more: Any
) -> Lease:
    wish = StartTaskWish(**(more or {"stack": request}))
    begin = world.in_minutes(start) if start else NOW
    command = CreateLease("lease", begin, world.in_minutes(end), None, (whole_hosts(),))
    return world.leases.create(command, DEMO, start=wish)


def carry_out(world: World, minutes: float = 0.5) -> None:
    """Let a manager do all that is due for so long."""
    until = world.clock.now() + timedelta(minutes=minutes)
    lane = Orchestrating(tasks_of(world))
    while world.clock.now() < until:
        world.run_due()
        lane.round()
        world.clock.move_to(world.clock.now() + timedelta(seconds=2))


def go_to(world: World, lease: Lease, minutes_after_start: float = 0) -> None:
    world.clock.move_to(lease.interval.start + timedelta(minutes=minutes_after_start))
    carry_out(world)


def task_of(world: World, lease: Lease) -> StartTask:
    with world.database.read() as uow:
        found = uow.start_tasks.get(lease.id)
    assert found is not None
    return found


def status(world: World, lease: Lease) -> StartTaskStatus:
    return task_of(world, lease).status


def stacks(world: World) -> list[Stack]:
    return [made.stack for made in world.cloud.state.stacks.values()]


def told(world: World) -> list[str]:
    with world.database.read() as uow:
        notices = uow.outbox.unmatched(1000)
    return [each.event_type for each in notices if ".stack_" in each.event_type]


def is_gone(world: World, lease: Lease) -> bool:
    with world.database.read() as uow:
        return uow.start_tasks.get(lease.id) is None


# the way of a stack


def test_a_stack_is_made_after_the_start_and_deleted_before_the_end(world: World) -> None:
    lease = create(world)
    assert (lease.status, lease.start_task) == (LeaseStatus.PENDING, "stack")
    carry_out(world)
    assert not stacks(world)
    go_to(world, lease)
    (stack,) = stacks(world)
    assert stack.name == f"blazar-{lease.id}"
    assert status(world, lease) is StartTaskStatus.CREATED
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    go_to(world, lease, 54)
    assert len(stacks(world)) == 1
    go_to(world, lease, 55)
    assert not stacks(world)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert status(world, lease) is StartTaskStatus.DELETED
    go_to(world, lease, 60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert not world.cloud.state.trusts
    assert told(world) == ["lease.stack_created", "lease.stack_deleted"]


def test_the_reservation_serves_before_the_stack_is_made(world: World) -> None:
    lease = create(world)
    world.clock.move_to(lease.interval.start)
    Orchestrating(tasks_of(world)).round()
    assert not stacks(world)
    served: list[tuple[LeaseStatus, int]] = []

    def look(call: str) -> None:
        if call == "create_stack":
            served.append((world.lease(lease).status, len(world.in_freepool())))

    world.cloud.before = look
    carry_out(world)
    assert served == [(LeaseStatus.ACTIVE, 3)]


def test_what_may_be_secret_is_kept_until_the_stack_is_made(world: World) -> None:
    lease = create(world)
    kept = task_of(world, lease).request
    assert kept is not None
    assert kept.parameters == {"password": "top-secret"}
    assert "top-secret" not in repr(task_of(world, lease))
    go_to(world, lease)
    assert task_of(world, lease).request is None
    (made,) = world.cloud.state.stacks.values()
    assert made.parameters == {"password": "top-secret"}


def test_parameters_refer_to_the_lease_and_its_reservations(world: World) -> None:
    wanted = {
        "flavor": "{reservations.0.id}",
        "lease": "{lease.name} ends {lease.end_date}, {{lease.name}} {x}",
        "password": ["{reservations.0.min}", {"a": "{reservations.0.max}"}],
    }
    lease = create(world, replace(STACK, parameters=wanted))
    go_to(world, lease)
    (made,) = world.cloud.state.stacks.values()
    assert made.parameters == {
        "flavor": lease.reservations[0].id,
        "lease": "lease ends 2030-01-01T09:10:00, {{lease.name}} {x}",
        "password": [1, {"a": 1}],
    }


def test_the_flavor_of_instances_is_known_to_templates(world: World) -> None:
    command = CreateLease("lease", world.in_minutes(5), world.in_minutes(65), None, (instances(),))
    request = replace(STACK, parameters={"flavor": "{reservations.0.flavor_id}"})
    lease = world.leases.create(command, DEMO, start=StartTaskWish(stack=request))
    go_to(world, lease)
    (made,) = world.cloud.state.stacks.values()
    flavor = made.parameters["flavor"]
    assert "demo" in world.cloud.state.access[flavor]


def test_the_stack_is_the_users(world: World) -> None:
    lease = create(world)
    trusts = world.cloud.state.trusts
    assert [trust.trustor.user_id for trust in trusts.values()] == ["demo-user"]
    go_to(world, lease)
    (made,) = world.cloud.state.stacks.values()
    assert made.project_id == "demo"


# what is refused at once


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{reservations.1.id}", "1 reservations"),
        ("{reservations.0.nope}", "the reservation has"),
        ("{lease.status}", "a lease has"),
    ],
)
def test_placeholders_that_stand_for_nothing_are_refused(world: World, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        create(world, replace(STACK, parameters={"flavor": text}))
    assert not world.leases.list("demo")


def test_a_cloud_without_heat_refuses(world: World) -> None:
    world.cloud.state.without_heat = True
    with pytest.raises(InvalidInput, match="no Heat"):
        create(world)
    assert not world.leases.list("demo")


def test_a_template_that_heat_does_not_take_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput, match="template version"):
        create(world, StackRequest({"resources": {}}))


def test_a_heat_that_does_not_answer_refuses_no_lease(world: World) -> None:
    with Failing(world, "check_template", CloudUnavailable(service="Heat", reason="away")):
        lease = create(world)
    go_to(world, lease)
    assert status(world, lease) is StartTaskStatus.CREATED


def test_a_dry_run_makes_nothing(world: World) -> None:
    command = CreateLease("x", NOW, world.in_minutes(60), None, (whole_hosts(),))
    shown = world.leases.preview_create(command, DEMO, start=StartTaskWish(stack=STACK))
    assert shown.start_task == "stack"
    assert not world.cloud.state.trusts
    with pytest.raises(InvalidInput, match="template version"):
        world.leases.preview_create(command, DEMO, start=StartTaskWish(stack=StackRequest({})))


def test_a_lease_with_a_stack_does_not_wait_in_line(world: World) -> None:
    command = CreateLease("x", NOW, world.in_minutes(60), None, (whole_hosts(),))
    with pytest.raises(InvalidInput, match="cannot wait"):
        world.leases.create(command, DEMO, wait_until=world.in_minutes(60), start=StartTaskWish(stack=STACK))


def test_a_trust_that_cannot_be_made_leaves_nothing(world: World) -> None:
    refusal = CloudRefused(service="Keystone", reason="no")
    with Failing(world, "create_trust", refusal), pytest.raises(CloudRefused):
        create(world)
    world.run_due()
    assert not world.leases.list("demo")


# Heat fails


class Failing:
    """Have a request to the cloud fail."""

    def __init__(self, world: World, call: str, failure: Exception) -> None:
        self.world, self.call, self.failure = world, call, failure
        self.hits = 0

    def __enter__(self) -> Failing:
        self.world.cloud.before = self.fail
        return self

    def __exit__(self, *_: object) -> None:
        self.world.cloud.before = lambda call: None

    def fail(self, call: str) -> None:
        if call == self.call:
            self.hits += 1
            raise self.failure


AWAY = CloudUnavailable(service="Heat", reason="POST /stacks answered 503")
NO = CloudRefused(service="Heat", reason="you have too many stacks (HTTP 403)")


def test_a_heat_that_is_away_is_asked_again_with_growing_pauses(world: World) -> None:
    lease = create(world)
    with Failing(world, "create_stack", AWAY) as heat:
        go_to(world, lease)
        carry_out(world, 10)
        task = task_of(world, lease)
        assert (task.status, "503" in str(task.reason)) == (StartTaskStatus.CREATING, True)
        assert 5 <= heat.hits <= 9
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    carry_out(world, 6)
    assert status(world, lease) is StartTaskStatus.CREATED
    assert task_of(world, lease).reason is None


def test_a_heat_that_is_away_is_asked_once_in_a_round(world: World) -> None:
    leases = [create(world) for _ in range(3)]
    world.clock.move_to(leases[0].interval.start)
    world.run_due()
    with Failing(world, "stack", AWAY) as heat:
        Orchestrating(tasks_of(world)).round()
        assert heat.hits == 1
        Orchestrating(tasks_of(world)).round()
        assert heat.hits == 2
    tried = [task_of(world, each).attempts for each in leases]
    assert sorted(tried) == [0, 1, 1]


def test_what_heat_refuses_is_told_and_not_tried_again(world: World) -> None:
    lease = create(world)
    with Failing(world, "create_stack", NO) as heat:
        go_to(world, lease)
        carry_out(world, 10)
    task = task_of(world, lease)
    assert (task.status, heat.hits) == (StartTaskStatus.FAILED, 1)
    assert "too many stacks" in str(task.reason)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    assert told(world) == ["lease.stack_failed"]
    go_to(world, lease, 61)
    task = task_of(world, lease)
    assert (task.status, task.due) == (StartTaskStatus.FAILED, None)
    assert not world.cloud.state.trusts


def test_a_stack_that_fails_is_told_and_deleted_at_the_end(world: World) -> None:
    world.cloud.state.stack_fails = "Resource CREATE failed: No valid host"
    lease = create(world)
    go_to(world, lease)
    task = task_of(world, lease)
    assert task.status is StartTaskStatus.FAILED
    assert task.reason == "CREATE_FAILED: Resource CREATE failed: No valid host"
    assert task.request is None
    go_to(world, lease, 55)
    assert not stacks(world)
    task = task_of(world, lease)
    assert (task.status, "No valid host" in str(task.reason)) == (StartTaskStatus.DELETED, True)


def test_a_slow_heat_delays_no_lease(world: World) -> None:
    world.cloud.state.slow_stacks = True
    lease = create(world)
    go_to(world, lease, 3)
    assert status(world, lease) is StartTaskStatus.CREATING
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.cloud.settle_stacks()
    carry_out(world, 1)
    assert status(world, lease) is StartTaskStatus.CREATED
    go_to(world, lease, 55)
    assert status(world, lease) is StartTaskStatus.DELETING
    go_to(world, lease, 61)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    task = task_of(world, lease)
    assert (task.status, task.is_late) == (StartTaskStatus.DELETING, True)
    assert "not deleted yet" in str(task.reason)
    world.cloud.settle_stacks()
    carry_out(world, 6)
    task = task_of(world, lease)
    assert (task.status, task.reason) == (StartTaskStatus.DELETED, None)
    assert told(world) == ["lease.stack_created", "lease.stack_late", "lease.stack_deleted"]


def test_a_stack_that_heat_cannot_delete_is_left_at_last(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    world.cloud.state.stack_stays = "port in use"
    go_to(world, lease, 55)
    task = task_of(world, lease)
    assert (task.status, "port in use" in str(task.reason)) == (StartTaskStatus.DELETING, True)
    go_to(world, lease, 60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    world.clock.move_to(lease.interval.end + timedelta(hours=25))
    carry_out(world)
    task = task_of(world, lease)
    assert (task.status, task.due) == (StartTaskStatus.LEFT, None)
    assert "port in use" in str(task.reason)
    assert told(world)[-1] == "lease.stack_left"
    assert not world.cloud.state.trusts


def test_a_deletion_that_failed_is_tried_again(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    world.cloud.state.stack_stays = "port in use"
    go_to(world, lease, 55)
    world.cloud.state.stack_stays = None
    carry_out(world, 5)
    assert status(world, lease) is StartTaskStatus.DELETED
    assert not stacks(world)


def test_a_trust_that_is_gone_is_told(world: World) -> None:
    lease = create(world)
    world.cloud.state.gone_users.add("demo-user")
    go_to(world, lease)
    task = task_of(world, lease)
    assert (task.status, "trust" in str(task.reason)) == (StartTaskStatus.FAILED, True)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_a_stack_of_the_name_that_is_not_ours_stays(world: World) -> None:
    lease = create(world)
    world.cloud.as_user("demo-token").orchestration.create_stack(NewStack(f"blazar-{lease.id}", TEMPLATE))
    go_to(world, lease)
    assert status(world, lease) is StartTaskStatus.FAILED
    assert "has not made it" in str(task_of(world, lease).reason)
    go_to(world, lease, 61)
    assert len(stacks(world)) == 1


def make_behind(world: World, lease: Lease) -> None:
    """Let Heat do what it was asked for by a request whose sender has given up."""
    new = NewStack(f"blazar-{lease.id}", TEMPLATE, tags=("blazar", f"lease:{lease.id}"))
    world.cloud.as_user("demo-token").orchestration.create_stack(new)


def test_a_stack_that_its_user_deletes_is_not_made_again(world: World) -> None:
    world.cloud.state.slow_stacks = True
    lease = create(world)
    go_to(world, lease)
    world.cloud.state.stacks.clear()
    carry_out(world, 2)
    assert status(world, lease) is StartTaskStatus.FAILED
    assert not stacks(world)
    go_to(world, lease, 56)
    assert not world.cloud.state.trusts


# what users do


def test_deleting_the_lease_deletes_the_stack(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    world.delete(lease)
    carry_out(world, 1)
    assert not stacks(world)
    assert is_gone(world, lease)
    assert not world.cloud.state.trusts
    assert not world.leases.list("demo")


def test_deleting_the_lease_before_its_start_leaves_nothing(world: World) -> None:
    lease = create(world)
    world.delete(lease)
    carry_out(world)
    assert is_gone(world, lease)
    assert not world.cloud.state.trusts
    assert not told(world)


def test_an_extension_keeps_the_stack(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    world.update(lease, end=lease.interval.end + 30 * MINUTE)
    go_to(world, lease, 60)
    assert status(world, lease) is StartTaskStatus.CREATED
    go_to(world, lease, 85)
    assert status(world, lease) is StartTaskStatus.DELETED


def test_a_shortened_lease_loses_its_stack_earlier(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    world.update(lease, end=lease.interval.start + 30 * MINUTE)
    go_to(world, lease, 24)
    assert status(world, lease) is StartTaskStatus.CREATED
    go_to(world, lease, 26)
    assert status(world, lease) is StartTaskStatus.DELETED


def test_an_early_end_deletes_the_stack_at_once(world: World) -> None:
    lease = create(world)
    go_to(world, lease, 10)
    world.update(lease, end=NOW)
    carry_out(world, 1)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert status(world, lease) is StartTaskStatus.DELETED


def test_a_lease_that_starts_later_has_its_stack_later(world: World) -> None:
    lease = create(world)
    world.update(lease, start=lease.interval.start + 20 * MINUTE, end=lease.interval.end + 20 * MINUTE)
    go_to(world, lease, 10)
    assert status(world, lease) is StartTaskStatus.PENDING
    go_to(world, lease, 20)
    assert status(world, lease) is StartTaskStatus.CREATED


def test_a_lease_whose_start_fails_has_no_stack(world: World) -> None:
    lease = create(world)
    with Failing(world, "create_aggregate", CloudRefused(service="Nova", reason="no")):
        go_to(world, lease)
    assert world.lease(lease).status is LeaseStatus.ERROR
    assert status(world, lease) is StartTaskStatus.PENDING
    go_to(world, lease, 61)
    task = task_of(world, lease)
    assert (task.status, task.reason) == (
        StartTaskStatus.DELETED,
        "The lease was over before the stack was made.",
    )
    assert not stacks(world)


def test_a_short_lease_has_its_stack_for_most_of_its_time(world: World) -> None:
    lease = create(world, end=18)
    go_to(world, lease, 5)
    assert status(world, lease) is StartTaskStatus.CREATED
    go_to(world, lease, 6)
    assert status(world, lease) is StartTaskStatus.DELETED


def test_what_a_manager_of_the_version_before_does_is_found(world: World) -> None:
    lease = create(world)

    with world.database.read() as uow:
        cls = type(uow.start_tasks)
    wake = cls.wake
    try:
        cls.wake = lambda self, lease_id, now: None  # type: ignore[method-assign]
        go_to(world, lease)
        carry_out(world, 3)
        assert status(world, lease) is StartTaskStatus.CREATED
        world.delete(lease)
        world.run_due()
        go_to(world, lease, 56)
        assert not stacks(world)
        assert is_gone(world, lease)
    finally:
        cls.wake = wake  # type: ignore[method-assign]


def test_what_is_over_goes_with_the_purge(world: World) -> None:
    lease = create(world)
    go_to(world, lease)
    go_to(world, lease, 55)
    go_to(world, lease, 61)
    assert status(world, lease) is StartTaskStatus.DELETED
    assert purge_some(world.database, world.clock.now()) == 1
    assert is_gone(world, lease)


# crashes


def through_the_life(world: World, lease: Lease) -> None:
    for minute in (0, 1, 2, 56, 61, 62):
        world.clock.move_to(lease.interval.start + minute * MINUTE)
        for _ in range(4):
            world.run_due()
            Orchestrating(tasks_of(world)).round()
            world.clock.move_to(world.clock.now() + timedelta(seconds=5))


def test_a_stack_is_made_once_and_deleted_wherever_the_manager_dies() -> None:
    total = _steps_of_a_life(None)
    assert total > 20
    for crash_at in range(1, total + 1):
        _steps_of_a_life(crash_at)


def _steps_of_a_life(crash_at: int | None) -> int:
    world = World()
    lease = create(world)
    steps = Steps(crash_at)
    world.database.step = steps.step

    world.cloud.before = lambda call: steps.step()
    try:
        through_the_life(world, lease)
    except Crash:
        world.restart()
        # The dead manager's claims run out.
        world.clock.move_to(world.clock.now() + 6 * MINUTE)
        through_the_life(world, lease)
        carry_out(world, 12)
    world.database.step = lambda: None
    assert world.lease(lease).status is LeaseStatus.TERMINATED, crash_at
    assert not stacks(world), crash_at
    assert not world.cloud.state.trusts, crash_at
    assert status(world, lease) is StartTaskStatus.DELETED, crash_at
    return steps.taken


@pytest.mark.parametrize("crash_at", range(1, 8))
def test_the_lease_is_deleted_after_the_manager_died_while_it_made_the_stack(crash_at: int) -> None:
    world = World()
    lease = create(world)
    world.clock.move_to(lease.interval.start)
    world.run_due()
    steps = Steps(crash_at)
    world.database.step = steps.step
    world.cloud.before = lambda call: steps.step()
    with pytest.raises(Crash):
        Orchestrating(tasks_of(world)).round()
        steps.step()
    world.database.step = lambda: None
    world.cloud.before = lambda call: None
    world.delete(lease)
    carry_out(world, 20)
    assert not stacks(world)
    assert is_gone(world, lease)
    assert not world.cloud.state.trusts


def test_a_stack_that_heat_makes_after_it_was_asked_in_vain_is_deleted(world: World) -> None:
    """The request reaches Heat after its sender has given up, and after the lease was deleted."""
    lease = create(world)
    with Failing(world, "create_stack", AWAY):
        go_to(world, lease)
        world.delete(lease)
        carry_out(world, 1)
    assert not is_gone(world, lease)
    make_behind(world, lease)
    carry_out(world, 10)
    assert not stacks(world)
    assert is_gone(world, lease)


def test_a_manager_that_slept_asks_heat_for_nothing(world: World) -> None:
    lease = create(world)
    world.clock.move_to(lease.interval.start)
    world.run_due()

    def sleep(call: str) -> None:
        if call == "stack":
            world.clock.move_to(world.clock.now() + 10 * MINUTE)

    world.cloud.before = sleep
    with pytest.raises(ClaimLost):
        tasks_of(world).work_on(lease.id)
    assert not stacks(world)


def test_two_managers_make_one_stack(world: World) -> None:
    lease = create(world)
    world.clock.move_to(lease.interval.start)
    world.run_due()
    other: list[bool] = []

    def meanwhile(call: str) -> None:
        if call == "create_stack" and not other:
            other.append(True)
            make_behind(world, lease)

    world.cloud.before = meanwhile
    tasks_of(world).work_on(lease.id)
    carry_out(world)
    assert len(stacks(world)) == 1
    assert status(world, lease) is StartTaskStatus.CREATED


def test_a_change_of_the_lease_during_a_step_is_not_lost(world: World) -> None:
    lease = create(world)
    world.clock.move_to(lease.interval.start)
    world.run_due()

    def meanwhile(call: str) -> None:
        if call == "create_stack":
            world.update(lease, end=NOW)

    world.cloud.before = meanwhile
    tasks_of(world).work_on(lease.id)
    world.cloud.before = lambda call: None
    assert task_of(world, lease).due == world.clock.now()
    carry_out(world, 1)
    assert status(world, lease) is StartTaskStatus.DELETED
    assert not stacks(world)


# webhooks


def subscriptions(world: World) -> list[Any]:
    with world.database.read() as uow:
        return list(uow.subscriptions.list(None))


def test_a_webhook_is_a_subscription_to_the_lease(world: World) -> None:
    lease = create(world, webhook=WEBHOOK)
    (made,) = subscriptions(world)
    assert (made.id, made.url, made.lease_id) == ("subscription", WEBHOOK.url, lease.id)
    assert [each.value for each in made.events] == ["started", "failed", "ended", "deleted"]
    assert lease.start_task == "webhook"
    assert not world.cloud.state.trusts
    go_to(world, lease)
    go_to(world, lease, 61)
    assert subscriptions(world)
    go_to(world, lease, 125)
    assert not subscriptions(world)
    assert status(world, lease) is StartTaskStatus.DELETED


def test_a_webhook_stays_while_messages_wait(world: World) -> None:
    lease = create(world, webhook=WEBHOOK)
    go_to(world, lease)
    world.delete(lease)
    carry_out(world, 1)
    world.database.transact(lambda uow: match(uow, uow.outbox.unmatched(100), world.clock.now()))
    (made,) = subscriptions(world)
    assert made.waiting == 2
    world.clock.move_to(world.clock.now() + timedelta(hours=2))
    carry_out(world)
    assert subscriptions(world)
    world.database.transact(lambda uow: uow.subscriptions.suspend(made.id, "dead", world.clock.now()))
    assert subscriptions(world)[0].status is SubscriptionStatus.SUSPENDED
    carry_out(world, 6)
    assert not subscriptions(world)
    assert is_gone(world, lease)


def test_a_webhook_that_its_user_removes_is_no_trouble(world: World) -> None:
    lease = create(world, webhook=WEBHOOK)
    world.database.transact(lambda uow: uow.subscriptions.remove("subscription"))
    go_to(world, lease)
    go_to(world, lease, 61)
    go_to(world, lease, 125)
    assert status(world, lease) is StartTaskStatus.DELETED


def test_webhooks_count_as_subscriptions(world: World) -> None:
    for number in range(10):
        create(
            world,
            webhook=replace(WEBHOOK, subscription_id=f"s{number}"),
            start=number * 100,
            end=number * 100 + 50,
        )
    with pytest.raises(TooManySubscriptions):
        create(world, webhook=WEBHOOK, start=2000, end=2050)
    assert len(world.leases.list("demo")) == 10


def test_a_webhook_that_nothing_is_sent_to_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput, match="https"):
        create(world, webhook=replace(WEBHOOK, url="http://receiver.example.com"))


def test_a_lease_with_a_webhook_may_wait_in_line(world: World) -> None:
    for _ in range(4):
        world.create(start=10, end=70)
    command = CreateLease("x", world.in_minutes(10), world.in_minutes(70), None, (whole_hosts(),))
    lease = world.leases.create(
        command, DEMO, wait_until=world.in_minutes(9), start=StartTaskWish(webhook=WEBHOOK)
    )
    assert lease.status is LeaseStatus.WAITING
    assert subscriptions(world)


# what callers are told


def test_what_is_started_is_told_without_secrets(world: World) -> None:
    lease = create(world)
    shown = StartTaskUseCases(world.database).get_of_lease(lease.id)
    assert shown is not None
    assert (shown.request, shown.trust_id) == (None, None)
    assert StartTaskUseCases(world.database).get_of_lease("other") is None


def test_the_same_request_again_finds_its_lease(world: World) -> None:
    command = CreateLease("x", NOW, world.in_minutes(60), None, (whole_hosts(),), id="the-id")
    first = world.leases.create(command, DEMO, start=StartTaskWish(stack=STACK))
    again = world.leases.create(command, DEMO, start=StartTaskWish(stack=STACK))
    assert first.id == again.id
    assert len(world.cloud.state.trusts) == 1


def test_leases_without_it_ask_for_nothing(world: World) -> None:
    lease = world.create()
    world.run_due()
    carry_out(world)
    assert not [call for call in world.cloud.calls if "stack" in call]
    assert lease.start_task is None
