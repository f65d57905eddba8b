"""One run: what the seed draws, how it goes, and how a failing one is made short."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

from . import (
    lending,
    lifetimes,
    maintenances,
    members,
    moments,
    networks,
    notices,
    offers,
    people,
    priorities,
    series,
    servers,
    sharing,
    splitting,
    stacks,
    troubles,
    waiting,
)
from .kinds import DRAWN
from .people import Action, Operator, User
from .rules import Rules
from .scheduler import SECOND, Violation
from .site import MANAGERS, USERS, Site
from .threads import Simulated, rewired
from .troubles import Trouble
from .world import Line, World, is_planned

SET_UP = 10
ACTS = 300
"""Seconds in which people act and things go wrong."""
CALM = 240
"""Seconds after which nothing may wait any more when nothing goes wrong."""
RETRIED = 60
"""Seconds until what could not be done before is done: it comes again after half a minute."""
COMPARED = 75
"""Seconds in which every active lease is compared with the cloud once."""
RECOVERED = 400
"""Seconds in which the turn of a dead manager to look at hosts is over, and hosts that are back pass their
probation."""
STACKS = 1200
"""Seconds in which the turn of a dead manager with a stack is over, and Heat has been asked again."""
TAKEN_BACK = 240
"""Seconds in which hosts that are lent are back: the turn of a dead manager to look is over, its next look is
made after a rest, and Nova has shelved or deleted what is there."""


@dataclass(frozen=True)
class Plan:
    """All that happens from outside in one run."""

    seed: str
    actions: tuple[Action, ...]
    troubles: tuple[Trouble, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What came of a run."""

    plan: Plan
    violation: Violation | None
    trace: Sequence[Line]
    strikes: Counter[str]
    switches: int
    simulated: float

    @property
    def digest(self) -> str:
        """Tells two traces apart."""
        text = "\n".join(f"{line} {line.is_quiet}" for line in self.trace)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def draw(seed: int, without: Sequence[str] = (), kinds: Sequence[str] = tuple(DRAWN)) -> Plan:
    """Draw the plan of a seed."""
    random = Random(seed)
    chosen = tuple(sorted(random.sample(tuple(kinds), random.randint(1, min(len(kinds), 2)))))
    rare = Random(f"{seed}/moments")
    actions = moments.added(rare, people.draw(random, ACTS, chosen))
    actions = members.added(Random(f"{seed}/exchange"), actions)
    actions = offers.added(Random(f"{seed}/offers"), actions)
    actions = waiting.added(Random(f"{seed}/waiting"), actions)
    actions = priorities.added(Random(f"{seed}/priorities"), actions)
    actions = maintenances.added(Random(f"{seed}/maintenances"), actions)
    actions = servers.added(Random(f"{seed}/servers"), actions)
    actions = lifetimes.added(Random(f"{seed}/lifetimes"), actions)
    actions = networks.added(Random(f"{seed}/networks"), actions, chosen)
    actions = series.added(Random(f"{seed}/series"), actions)
    actions = notices.added(Random(f"{seed}/notices"), actions)
    actions = sharing.added(Random(f"{seed}/sharing"), actions)
    actions = splitting.added(Random(f"{seed}/split"), actions)
    actions = stacks.added(Random(f"{seed}/stacks"), actions)
    actions = lending.added(Random(f"{seed}/lending"), actions)
    found = troubles.draw(random, ACTS, MANAGERS, (*USERS, "operator"), without)
    found = moments.troubled(rare, found, ACTS, without)
    return Plan(str(seed), tuple(actions), tuple(found), chosen)


NO_DEFECT = "no defect is met"
"""The rule that the service fails by troubles of the run only."""


def run(plan: Plan, ignored: Sequence[str] = ()) -> Report:
    """Carry the plan out."""
    world = World.made(plan.seed, [replace(t, begin=t.begin + SET_UP) for t in plan.troubles])
    with rewired(Simulated(world.scheduler, plan.seed)), _log_into(world, NO_DEFECT not in ignored):
        course = _Course(world, plan, ignored)
        try:
            course.run()
        finally:
            violation = world.scheduler.violation
            world.scheduler.close()
    return Report(
        plan,
        violation,
        world.trace,
        world.weather.strikes,
        world.scheduler.switches,
        world.scheduler.now / SECOND,
    )


class _Course:
    """The course of a run, from the start of the site to the end of the last lease."""

    def __init__(self, world: World, plan: Plan, ignored: Sequence[str]) -> None:
        self.world = world
        self.plan = plan
        self.site = Site(world)
        self.rules = Rules(self.site, ignored)
        self.users = [User(name, self.site, self.rules, plan.kinds) for name in USERS]
        self.operator = Operator(self.site, plan.kinds)
        self._busy = 0

    def run(self) -> None:
        for phase in (self.set_up, self.act, self.calm_down, self.lend, self.compare, self.end_all):
            if self.world.scheduler.violation is None:
                phase()

    def set_up(self) -> None:
        self.site.start()
        self._begin("operator", self.operator.set_up)
        self._wait(SET_UP)

    def act(self) -> None:
        for user in self.users:
            self._begin(user.name, lambda u=user: u.act(self._actions_of(u.name)))
        self._begin("operator", lambda: self.operator.act(self._actions_of("operator")))
        self.world.scheduler.run(ACTS)

    def calm_down(self) -> None:
        self.world.weather.clear()
        self.world.tell("the troubles are over", "", actor="site")
        self._wait(1200)
        self._settle(0, RECOVERED, self.rules.are_notices_right)
        self._check(self.rules.require_notices)
        self._settle(0, STACKS, self.rules.are_stacks_right)
        self._check(self.rules.require_stacks)
        self._begin("operator", self.operator.finish)
        self._wait(120)
        self._settle(COMPARED, max(CALM, self._kept() + RETRIED), self.rules.is_nothing_due)
        self._check(self.rules.require_no_waiting, self.rules.require_what_was_promised)
        self._check(self.rules.require_none_in_line_in_vain)

    def _kept(self) -> float:
        """Return for how many seconds some server still refuses to go."""
        until = max(self.site.servers.stubborn_until.values(), default=0)
        return max((until - self.world.scheduler.now) / SECOND, 0.0)

    def lend(self) -> None:
        """Users reserve more hosts that they lend, and others come to all that is lent; then its users need
        some of it, and lend some of it no more."""
        if not self.site.is_lending:
            return
        for user in self.users:
            random = Random(f"{self.plan.seed}/{user.name}/lends")
            self._begin(user.name, lambda u=user, r=random: lending.lend_more(u, r))
        self._wait(120)
        self._settle(2, CALM + self._kept(), self.rules.is_nothing_due)
        self._settle(0, TAKEN_BACK + self._kept(), self.rules.is_lending_right)
        self._check(self.rules.require_lending)
        self._settle(0, 100, lambda: not lending.has_to_be_lent(self.site))
        lending.fill(self.site, Random(f"{self.plan.seed}/fill"))
        self._settle(3, TAKEN_BACK, self.rules.is_lending_right)
        self._check(self.rules.require_lending)
        for user in self.users:
            random = Random(f"{self.plan.seed}/{user.name}/lending")
            self._begin(user.name, lambda u=user, r=random: lending.take_back(u, r))
        self._wait(120)
        self._settle(3, TAKEN_BACK, self.rules.is_lending_right)
        self._check(self.rules.require_lending)

    def compare(self) -> None:
        self.site.restart()
        self.world.scheduler.run(90)
        self._check(self.rules.require_no_waiting, self.rules.require_what_was_promised)
        self._settle(0, RECOVERED, self.rules.is_healthy)
        self._check(self.rules.require_health)
        for user in self.users:
            self._check(user.require_all_known)

    def end_all(self) -> None:
        """Some leases are deleted, the others end."""
        soon = self.world.scheduler.now + 240 * SECOND
        latest = 0
        for user in self.users:
            for lease in list(self.site.leases().values()):
                end = (
                    round((lease.interval.end - self.world.now()).total_seconds() * SECOND)
                    + self.world.scheduler.now
                )
                if lease.user_id != self.site.callers[user.name].user_id:
                    continue
                if end > soon:
                    self._begin(user.name, lambda u=user, i=lease.id: u.delete_lease(i))
                else:
                    latest = max(latest, end)
        self._wait(1200)
        left = max(0.0, (latest - self.world.scheduler.now) / SECOND)
        self._settle(left, left + 150, self.rules.is_everything_over)
        self._check(self.rules.require_everything_over, self.rules.require_what_was_promised)
        self._settle(0, RECOVERED, self.rules.can_all_be_reserved)
        self._check(self.rules.require_reservable)
        self._settle(0, TAKEN_BACK, self.rules.is_lending_right)
        self._check(self.rules.require_lending)
        for user in self.users:
            self._check(user.require_all_known)

    def _actions_of(self, who: str) -> Sequence[Action]:
        return [action for action in self.plan.actions if action.who == who]

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        self._busy += 1

        def done() -> None:
            work()
            self._busy -= 1

        self.world.scheduler.spawn(name, self.site.outside, done)

    def _wait(self, seconds: float) -> None:
        """Let time pass until everybody is done with what they were told."""
        self.world.scheduler.run(seconds, lambda: not self._busy)
        if self._busy and self.world.scheduler.violation is None and seconds > SET_UP:
            self.rules.fail("nothing waits for ever", "a request is not answered")

    def _settle(self, least: float, most: float, is_over: Callable[[], bool]) -> None:
        """Let time pass until nothing is left to be done: at least and at most so many seconds."""
        end = self.world.scheduler.now + most * SECOND
        self.world.scheduler.run(least)
        while self.world.scheduler.now < end and self.world.scheduler.violation is None and not is_over():
            self.world.scheduler.run(1)

    def _check(self, *rules: Callable[[], None]) -> None:
        for rule in rules:
            if self.world.scheduler.violation is None:
                rule()


def shrink(report: Report, ignored: Sequence[str] = (), tries: int = 300) -> Report:
    """Leave out actions and troubles, half of them at first and then one by one, while the same rule is
    broken."""
    assert report.violation is not None
    best, rule = report, report.violation.rule

    def attempt(plan: Plan) -> bool:
        nonlocal best, tries
        tries -= 1
        found = run(plan, ignored)
        if found.violation is None or found.violation.rule != rule:
            return False
        best = found
        return True

    size = max(len(best.plan.actions), len(best.plan.troubles)) // 2
    while size and tries > 0:
        is_shorter = False
        for name in ("troubles", "actions"):
            start = 0
            while start < len(getattr(best.plan, name)) and tries > 0:
                items = getattr(best.plan, name)
                if attempt(replace(best.plan, **{name: items[:start] + items[start + size :]})):
                    is_shorter = True
                else:
                    start += size
        if not is_shorter or size > 1:
            size //= 2
    return best


@contextmanager
def _log_into(world: World, watches_defects: bool) -> Iterator[None]:
    """Have warnings of the service in the trace, and report failures that no trouble of the run is behind."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            failure = record.exc_info[1] if record.exc_info else None
            world.tell(
                "log", record.getMessage() + (f" ({type(failure).__name__}: {failure})" if failure else "")
            )
            if watches_defects and failure is not None and not is_planned(failure):
                world.scheduler.fail(NO_DEFECT, f"{record.getMessage()}: {failure!r}")

    logger, handler = logging.getLogger("blazar"), Handler(logging.WARNING)
    was = logger.propagate
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = was
